"""The ``fairwise`` command: its sub-commands."""

from typing import Annotated

import typer
from typer import Option

import fairwise
from fairwise.cli.audit import audit
from fairwise.cli.backup import backup, restore
from fairwise.cli.bots import bots
from fairwise.cli.check import check
from fairwise.cli.compare_arms import compare_arms
from fairwise.cli.demo import demo
from fairwise.cli.derandomize import derandomize
from fairwise.cli.error_handling import Debug, ErrorHandlingGroup, debuggable, show_warnings_as_notes
from fairwise.cli.export import export
from fairwise.cli.fit import fit
from fairwise.cli.frontier import frontier
from fairwise.cli.plan import plan
from fairwise.cli.predict import predict
from fairwise.cli.report import report
from fairwise.cli.serve import serve
from fairwise.cli.show import show
from fairwise.cli.study import study

app = typer.Typer(
    name="fairwise",
    cls=ErrorHandlingGroup,
    help="Fairness elicitation: learn the most accurate classifier that respects what people say is fair.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_learning = (demo, check, fit, show, predict, derandomize, frontier, audit, report, compare_arms)
_asking = (plan, serve, bots, export, backup, restore)
for command in (*_learning, *_asking):
    app.command()(debuggable(command))
app.add_typer(study)


def _show_version(wanted: bool) -> None:
    if wanted:
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
    """Nothing happens before a command."""


def run() -> None:
    """Exit 0 when done, 1 when it could not be done (with one line that says why), 2 for wrong usage."""
    show_warnings_as_notes()
    app()
