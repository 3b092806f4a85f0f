"""What commands leave behind: files that appear whole or not at all, and JSON for programs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

from fairwise.errors import InputError
from fairwise.tables.plain_json import json_text
from fairwise.tables.safe_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import pandas as pd

TABLES = (".csv", ".parquet")


def check_target(path: Path, endings: tuple[str, ...], inputs: Iterable[Path | None]) -> None:
    """Refuse, before any work, a file that could not be written or that is one of the inputs."""
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the name of this file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    check_folder(path.parent)
    for given in inputs:
        if given is not None and path.exists() and given.exists() and path.samefile(given):
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


def print_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    typer.echo(json_text(answer))
