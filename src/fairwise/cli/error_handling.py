"""How every command ends: 0 done, 1 could not do it, 2 wrong usage, 130 interrupted; errors in one line."""

import functools
import inspect
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option
from typer.core import TyperGroup

from fairwise.errors import FairwiseError
from fairwise.tables.guarded import guarding

_DEBUG = "fairwise.debug"
WRONG_USAGE = 2
INTERRUPTED = 130


class ErrorHandlingGroup(TyperGroup):
    """A group of commands whose errors become one readable line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command."""
        anything = bool(args)  # reading them empties the list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if not anything or not _is_usage(error):  # without any word the help is shown
                raise
            raise self._wrong_usage(error) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with guarding():  # who made the files that are named is not known
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt as stop:
            raise self._end(ctx, f"interrupted; {stop}" if str(stop) else "interrupted", INTERRUPTED) from None
        except FairwiseError as error:
            raise self._end(ctx, str(error), 1) from None
        except OSError as error:  # the system's own refusal: a name too long, a disk that is full
            where = f"{str(error.filename)[:200]}: " if error.filename else ""
            raise self._end(ctx, f"{where}{error.strerror or error}", 1) from None
        except MemoryError as error:
            raise self._end(ctx, f"not enough memory: {error}".rstrip(": "), 1) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, users get one line
            if _is_usage(error):
                raise self._wrong_usage(error) from None
            what = f"{type(error).__name__}: {error}"
            raise self._end(ctx, f"{what} (this is a bug; run with --debug to see where)", 1) from None

    @staticmethod
    def _end(ctx: Any, message: str, code: int) -> typer.Exit:
        """Say why, while the error is being handled, and return the end of the command."""
        if ctx.meta.get(_DEBUG):
            typer.echo(traceback.format_exc(), err=True, nl=False)
        else:
            typer.echo(f"fairwise: {one_line(message)}", err=True)
        return typer.Exit(code)

    @staticmethod
    def _wrong_usage(error: Any) -> typer.Exit:
        path = error.ctx.command_path if error.ctx else "fairwise"
        what = one_line(error.format_message())
        typer.echo(f"fairwise: {what}{'' if what.endswith(('.', '?')) else '.'} Try: {path} --help", err=True)
        return typer.Exit(WRONG_USAGE)


def one_line(message: str) -> str:
    """Return the message without line breaks."""
    return " ".join(message.split())


def note_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as a line for the user instead of a place in the code."""
    typer.echo(f"Note: {one_line(str(message))}", err=True)


def show_warnings_as_notes() -> None:
    """Only those that are about the user's data; each once. Those about a fit stand in its certificate."""
    warnings.showwarning = note_warning
    warnings.simplefilter("ignore")
    warnings.simplefilter("once", UserWarning)
    in_other_words = r"The search ended|One (label|amount) for everyone|Column .* is read as .* people\["
    warnings.filterwarnings("ignore", in_other_words, UserWarning)


def debuggable(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option ``--debug`` more, which the group looks at when something fails."""

    @functools.wraps(command)
    def with_debug(*, debug: bool = False, **given: object) -> None:
        del debug  # remembered while the command line was read
        command(**given)

    hints = get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
    ]
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    with_debug.__signature__ = inspect.Signature([*parameters, debug])  # type: ignore[attr-defined]
    with_debug.__annotations__ = {parameter.name: parameter.annotation for parameter in [*parameters, debug]}
    return with_debug


def _remember(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True  # meta is shared by the group and its commands


Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.", is_eager=True, callback=_remember)]


def _is_usage(error: Exception) -> bool:
    """Whether it is the command line's own complaint, which ends with exit code 2."""
    return hasattr(error, "exit_code") and hasattr(error, "show")
