"""The ``fairwise`` command: its sub-commands, its exit codes, its one-line errors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fairwise
from fairwise.cli.demo import demo
from fairwise.errors import FairwiseError

app = typer.Typer(
    name="fairwise",
    help="Fairness elicitation: learn the most accurate classifier that respects what people say is fair.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo)

_debug = False


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairwise {fairwise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    global _debug  # noqa: PLW0603 - the one setting that the error handler below needs
    _debug = debug


def run() -> None:
    """Exit 0 when done, 1 when it could not be done (with one line that says why), 2 for wrong usage."""
    try:
        app()
    except FairwiseError as error:
        if _debug:
            raise
        typer.echo(f"fairwise: {error}", err=True)
        sys.exit(1)
