"""The ``fairwise`` command: its sub-commands, and how each of them ends.

Exit codes: 0 done, 1 could not be done (with one line that says why), 2 wrong usage, 130 interrupted.
"""

import functools
import inspect
import traceback
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer import Option
from typer.core import TyperGroup

import fairwise
from fairwise.cli.archive import backup, export, reopen, restore, verify
from fairwise.cli.audit import audit
from fairwise.cli.check import check
from fairwise.cli.compare_arms import compare_arms
from fairwise.cli.demo import demo
from fairwise.cli.fit import fit
from fairwise.cli.frontier import frontier
from fairwise.cli.kept_model import derandomize, predict, show
from fairwise.cli.plan import plan
from fairwise.cli.recruitment import add, ids, links, participants, reset, room
from fairwise.cli.report import report
from fairwise.cli.serve import bots, serve
from fairwise.cli.study import forget, new
from fairwise.errors import FairwiseError
from fairwise.tables.guarded import guarding

Result = TypeVar("Result")
_DEBUG = "fairwise.debug"
WRONG_USAGE = 2
INTERRUPTED = 130


class ErrorHandlingGroup(TyperGroup):
    """A group of commands whose errors become one readable line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command."""
        has_words = bool(args)  # reading them empties the list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if not has_words or not _is_usage(error):  # without any word the help is shown
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
        """Print the reason, while the error is being handled, and return the end of the command."""
        if ctx.meta.get(_DEBUG):
            typer.echo(traceback.format_exc(), err=True, nl=False)
        else:
            typer.echo(f"fairwise: {_one_line(message)}", err=True)
        return typer.Exit(code)

    @staticmethod
    def _wrong_usage(error: Any) -> typer.Exit:
        path = error.ctx.command_path if error.ctx else "fairwise"
        what = _one_line(error.format_message())
        typer.echo(f"fairwise: {what}{'' if what.endswith(('.', '?')) else '.'} Try: {path} --help", err=True)
        return typer.Exit(WRONG_USAGE)


def _is_usage(error: Exception) -> bool:
    """Whether it is the command line's own complaint, which ends with exit code 2."""
    return hasattr(error, "exit_code") and hasattr(error, "show")


def _one_line(message: str) -> str:
    return " ".join(message.split())


def _remember_debug(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True  # meta is shared by the group and its commands


Debug = Annotated[
    bool, Option("--debug", help="Show the traceback of an error.", is_eager=True, callback=_remember_debug)
]


def as_command(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return the function with ``--debug`` added and each dataclass among its parameters replaced by its fields.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Where:
    ...     people: str
    ...     id: str = "id"
    >>> @as_command
    ... def show(where: Where, out: str = "-") -> str:
    ...     return f"{where.people} {where.id} {out}"
    >>> show(people="p.csv", out="x")
    'p.csv id x'
    >>> list(inspect.signature(show).parameters)
    ['people', 'id', 'out', 'debug']
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if name != "return" and is_dataclass(kind)}
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        options, kinds = [parameter], hints
        if name in groups:
            options = list(inspect.signature(groups[name]).parameters.values())
            kinds = get_type_hints(groups[name], include_extras=True)
        parameters += [option.replace(kind=option.KEYWORD_ONLY, annotation=kinds[option.name]) for option in options]
    parameters.append(inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug))

    @functools.wraps(function)
    def command(*, debug: bool = False, **options: object) -> Result:
        del debug  # remembered while the command line was read
        for name, kind in groups.items():
            own = {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
            options[name] = kind(**own)
        return function(**options)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del command.__wrapped__  # or the annotations of the function would be read
    return command


app = typer.Typer(
    name="fairwise",
    cls=ErrorHandlingGroup,
    help="Fairness elicitation: learn the most accurate classifier that respects what people say is fair.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
study = typer.Typer(
    name="study",
    help="Make a study in which participants compare pairs of people.\n\n"
    "Example: fairwise study new my-study --people people.csv --id id --show sex,age",
)
operator = typer.Typer(
    name="operator",
    help="Let an operator in again who cannot log in, or make an account without the console.\n\n"
    "Example: fairwise study operator reset my-study Ada",
)
_learning = (demo, check, fit, show, predict, derandomize, frontier, audit, report, compare_arms)
_asking = (plan, serve, bots, export, backup, restore)
for _group, _functions in (
    (app, (*_learning, *_asking)),
    (study, (new, links, room, ids, participants, forget, verify, reopen)),
    (operator, (reset, add)),
):
    for _function in _functions:
        _group.command()(as_command(_function))
study.add_typer(operator)
app.add_typer(study)


def _show_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"fairwise {fairwise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _debug: Debug = False,
    _version: Annotated[
        bool, Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Read the options before a command."""


def run() -> None:
    """Run the command; warnings about the user's data become notes, each once.

    Warnings about a fit stand in its certificate.
    """

    def print_note(message: Warning | str, *_: object, **__: object) -> None:
        typer.echo(f"Note: {_one_line(str(message))}", err=True)

    warnings.showwarning = print_note
    warnings.simplefilter("ignore")
    warnings.simplefilter("once", UserWarning)
    in_certificate = r"The search ended|One (label|amount) for everyone|Column .* is read as .* people\["
    warnings.filterwarnings("ignore", in_certificate, UserWarning)
    app()
