"""Output of commands: answers on stdout, notes and progress on stderr, and whole files."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from fairwise.errors import InputError
from fairwise.tables.output import json_text, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress, ProgressColumn, TaskID

    from fairwise.judgments.files import Account


_WIDE = 200
Json = Annotated[bool, Option("--json", help="Print the answer as JSON, for programs.")]


def echo(text: object = "") -> None:
    """Print text without markup, as users' data may look like it; in a terminal wrapped at words."""
    typer.echo(_wrapped(str(text)) if sys.stdout.isatty() else str(text))


def note(text: str) -> None:
    """Print on stderr, where it cannot get into an answer."""
    typer.echo(_wrapped(text) if sys.stderr.isatty() else text, err=True)


def _wrapped(text: str) -> str:
    """Break long lines of prose between words; what follows is indented a little more."""
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if len(line) > width and "   " not in line.strip()  # columns are not prose
        else line
        for line in text.split("\n")
    )


def heading(text: str) -> None:
    """Print a line that stands out where the terminal can do so."""
    from rich.console import Console
    from rich.text import Text

    Console(soft_wrap=True).print(Text(f"\n{text}", style="bold"))


def print_frame(frame: pd.DataFrame, headings: Mapping[str, str]) -> None:
    """Print these columns of a table under these headings: words to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = frame[[name for name in headings if name in frame.columns]]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in shown.columns:
        words = any(isinstance(value, str) for value in shown[name])
        table.add_column(Text(headings[name]), justify="left" if words else "right", overflow="fold")
    for row in shown.itertuples(index=False):
        table.add_row(*(Text(_cell(value)) for value in row))
    # In a file nothing needs to be folded.
    Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE).print(table)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "none" if isnan(value) else f"{value:.4f}"
    return str(value)


def print_import(account: Account | None, *, as_json: bool = False) -> None:
    """Say on stderr what became what in a file from another tool; as JSON it is part of the answer."""
    for line in account.lines() if account and not as_json else ():
        note(line)


@contextmanager
def spinner(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something is going on for which nobody knows how long it takes; gone when done.

    Call what is yielded with how far it is.
    """
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _progress(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()) as progress:
        task = progress.add_task(what)
        yield lambda state: progress.update(task, description=f"{what}: {state}")


def _progress(*columns: ProgressColumn) -> Progress:
    """Show progress on stderr, if that is a terminal, until it is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left; call what is yielded with how many are done, of how many."""
    with progress_bars() as progress:
        yield lambda done, total: progress(what, done, total)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar for the stage under way; call what is yielded with its name, how many are done, of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    name, numbers = TextColumn("{task.description}", markup=False), (BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with _progress(name, *numbers, *times) as progress:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=None)
            progress.update(tasks[stage], completed=done, total=total)

        yield update


TABLES = (".csv", ".parquet")


def check_target(path: Path, endings: tuple[str, ...], inputs: Iterable[Path | None]) -> None:
    """Refuse, before any work, a file that could not be written or that is one of the inputs."""
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the name of this file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    check_folder(path.parent)
    for file in inputs:
        if file is not None and path.exists() and file.exists() and path.samefile(file):
            raise InputError(f"{path}: is also an input and would be overwritten; choose another name")


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not there or not ours to write in."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder}: cannot be written to")


def write_output(path: Path, write: Callable[[Path], object], *, private: bool = False) -> None:
    """Let `write` fill a draft, then give it the file's name; an error leaves what was there."""
    try:
        write_whole(path, write, private=private)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_table(frame: pd.DataFrame, path: Path, *, private: bool = False) -> None:
    """Write a table without its index as CSV or Parquet."""
    if path.suffix.lower() == ".parquet":
        write_output(path, lambda draft: frame.to_parquet(draft, index=False), private=private)
    else:
        write_output(path, lambda draft: frame.to_csv(draft, index=False, lineterminator="\n"), private=private)


def print_json(answer: Mapping[str, object]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json_text(answer))
