"""The one reader of tables: a file or a frame of any library, and where each of its rows is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa

from fairwise.errors import InputError, cut, some
from fairwise.tables.guarded import GuardedWork, is_guarding
from fairwise.tables.parsing import (
    DAMAGES,
    Batches,
    Parsed,
    most_bytes,
    parquet_batches,
    read_batches,
    refuse_twice,
    send_file,
    try_parquet,
)
from fairwise.tables.row_errors import Source, did_you_mean

HeaderCheck = Callable[[list[str]], None]
_KINDS, _TEXT = {".csv", ".tsv", ".parquet", ".xlsx"}, {".csv", ".tsv"}
_SMALL_TEXT = 4 << 20
"""Size up to which text is read in this process: nothing in it unpacks, and starting a process takes longer."""


def read_table(
    path: Path,
    check_header: HeaderCheck = lambda _: None,
    *,
    may_be_empty: bool = False,
    separator: str | None = None,
    most: int | None = None,
) -> tuple[pd.DataFrame, Source]:
    """Return the table in a ``.csv``, ``.tsv``, ``.xlsx`` (all cells as text) or ``.parquet`` file, and where rows are.

    `check_header` may refuse the columns' names, mostly before the rows are read. A header without rows is refused
    unless it `may_be_empty`. The `separator` of cells in a CSV file is seen from its header, unless it is given. `most`
    bytes are taken when a file is unpacked; otherwise that depends on its size.
    """
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"{path}: tables are read from files that end in .csv, .tsv, .parquet or .xlsx")
    _check_separator(path, separator)
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a file")
        if is_guarding() and (path.suffix.lower() not in _TEXT or path.stat().st_size > _SMALL_TEXT):
            parsed = _guarded(path, check_header, separator)
        else:
            with path.open("rb") as file:
                batches = read_batches(path, file, separator, most)
                check_header(batches.header)
                parsed = batches.table()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise InputError(f"{path}: needs more memory than there is") from None
    return _frame(path, parsed, may_be_empty=may_be_empty)


def read_sent(sent: Path, path: Path) -> tuple[pd.DataFrame, Source]:
    """Return a table that another process has read and sent; errors call it by its `path`."""
    return _frame(path, Batches.received(sent).table(), may_be_empty=False)


def _guarded(path: Path, check_header: HeaderCheck, separator: str | None) -> Parsed:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "table"
        GuardedWork(str(path), path.stat().st_size, send_file, (str(path), str(target), separator)).run()
        batches = Batches.received(target)
    check_header(batches.header)
    return batches.table()


def _frame(path: Path, parsed: Parsed, *, may_be_empty: bool) -> tuple[pd.DataFrame, Source]:
    try:
        frame: pd.DataFrame = parsed.table.to_pandas()
    except DAMAGES as error:  # what pandas once wrote about a table, and somebody changed
        raise InputError(f"{path}: a damaged Parquet file: {error}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    refuse_twice(path, header)
    if frame.empty and not may_be_empty:
        raise InputError(f"{path}: only a header ({some(header)}) and not a single row")
    source = Source(file=str(path), lines=parsed.lines, unit=parsed.unit)
    return frame.set_axis(header, axis="columns"), source


def read_parquet(file: Path) -> pa.Table:
    """Return the table in a file of a study; errors name the file."""
    try:
        return parquet_batches(str(file), file, most_bytes(file.stat().st_size)).table().table
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def check_parquet(file: Path) -> None:
    """Refuse a file of a study that somebody else made, before it is read here as one's own."""
    if is_guarding():
        GuardedWork(str(file), file.stat().st_size, try_parquet, (str(file),)).run()


def _check_separator(path: Path, separator: str | None) -> None:
    if separator is None:
        return
    if path.suffix.lower() not in _TEXT:
        raise InputError(
            f"{path}: sep={separator!r} is for text; cells of such a file are not separated by a character"
        )
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise InputError(f"{path}: sep={separator!r} is not allowed: give one character, such as ';' or '|'")


def require_column(name: str, header: Sequence[str], where: str) -> None:
    """Refuse a name that no column has, and say which there are."""
    if name in header:
        return
    hint = did_you_mean(name.strip(), header)
    raise InputError(f"{where}: there is no column {cut(repr(name))}{hint}; found: {some(header)}")
