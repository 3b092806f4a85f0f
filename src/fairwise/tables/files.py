"""Tables in users' files: CSV as text, of which the first bad line is refused; Parquet; Excel."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.tables.excel import excel_rows
from fairwise.tables.ids import some
from fairwise.tables.row_errors import Source, cut, did_you_mean
from fairwise.tables.text_formats import SEPARATORS, separator_of

# Parquet files from anywhere: read whole and checked to the last byte of text, or refused.

# Whatever a damaged file makes its readers raise; arrow's own errors are of all these kinds, and of one more.
DAMAGES = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, pa.ArrowException)
MOST_CELLS = 2_000_000_000
"""A column of one value repeated takes a few bytes in a file, however many rows it has, but not in memory."""


def read_open_parquet(file: BinaryIO, most_cells: int = MOST_CELLS) -> pd.DataFrame:
    """Return the table in a file; raises one of `DAMAGES`, also for what would fill the memory."""
    frame: pd.DataFrame = _parquet_table(file, most_cells).to_pandas()
    return frame


def read_parquet(file: Path) -> pa.Table:
    """Return the table in a file of a study; errors name the file."""
    try:
        return _parquet_table(file, MOST_CELLS)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def _parquet_table(file: BinaryIO | Path, most_cells: int) -> pa.Table:
    with pq.ParquetFile(file) as parquet:
        known = parquet.metadata
        if known.num_rows * known.num_columns > most_cells:
            raise ValueError(f"{known.num_rows:,} rows of {known.num_columns:,} columns are more than can be read")
        table = parquet.read()
        table.validate(full=True)  # text that is no text would otherwise show later, wherever it is first looked at
        _ = table.column_names  # and so would a name that is none
    return table


HeaderCheck = Callable[[list[str]], None]
_LONGEST_LINE = 1 << 20
_BATCH = 50_000
_BLOCK = 1 << 20
_OPEN = re.compile("field limit|unexpected end")
_PARQUET = b"PAR1"
_OTHER_FORMATS = {
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the table as CSV (UTF-8)",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV (UTF-8)",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\xff\xfe": "encoded as UTF-16; save it as UTF-8",
    b"\xfe\xff": "encoded as UTF-16; save it as UTF-8",
    _PARQUET: "a Parquet file; call it .parquet",
}


def read_table(
    path: Path,
    check_header: HeaderCheck = lambda _: None,
    most_cells: int = MOST_CELLS,
    *,
    may_be_empty: bool = False,
    separator: str | None = None,
) -> tuple[pd.DataFrame, Source]:
    """Return the table in a ``.csv``, ``.tsv``, ``.xlsx`` (all cells as text) or ``.parquet`` file, and where rows are.

    `check_header` may refuse the columns' names before the rows are read; `most_cells` is for Parquet, of which a few
    bytes may be any number of rows. A header without rows is refused unless it `may_be_empty`. The `separator` of cells
    in a CSV file is seen from its header, unless it is given.
    """
    kind = path.suffix.lower()
    if kind not in {".csv", ".tsv", ".parquet", ".xlsx"}:
        raise InputError(f"{path}: tables are read from files that end in .csv, .tsv, .parquet or .xlsx")
    _check_separator(path, separator)
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a file")
        with path.open("rb") as file:
            if kind == ".parquet":
                frame, source = _read_parquet(path, file, check_header, most_cells)
            elif kind == ".xlsx":
                frame, source = _read_excel(path, file, check_header)
            else:
                frame, source = _read_csv(path, file, check_header, separator)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if frame.empty and not may_be_empty:
        raise InputError(f"{path}: only a header ({some(frame.columns)}) and not a single row")
    return frame, source


def _read_parquet(
    path: Path, file: BinaryIO, check_header: HeaderCheck, most_cells: int
) -> tuple[pd.DataFrame, Source]:
    if file.read(4) != _PARQUET:
        raise InputError(f"{path}: not a Parquet file")
    file.seek(0)
    try:
        frame = read_open_parquet(file, most_cells)
    except DAMAGES as error:
        raise InputError(f"{path}: a damaged Parquet file: {error}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    _refuse_twice(path, header)
    check_header(header)
    return frame.set_axis(header, axis="columns"), Source(file=str(path))


def _read_excel(path: Path, file: BinaryIO, check_header: HeaderCheck) -> tuple[pd.DataFrame, Source]:
    rows = iter(excel_rows(str(path), file))
    _, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{path}: the first sheet is empty; needed: a header and one row per person or answer")
    _refuse_twice(path, header)
    check_header(header)
    frame, lines = _text_table(rows, header)
    return frame, Source(file=str(path), lines=lines, unit="row")


def _read_csv(
    path: Path, file: BinaryIO, check_header: HeaderCheck, separator: str | None
) -> tuple[pd.DataFrame, Source]:
    _refuse_other_formats(path, file.read(8))
    file.seek(0)
    lines = _text_lines(path, file)
    start: list[str] = []
    for line in lines:
        start.append(line)
        if line.strip():
            break
    else:
        raise InputError(f"{path}: the file is empty; needed: a header and one row per line")
    separator = separator or separator_of(start[-1])
    rows = _rows(path, itertools.chain(start, lines), separator)
    first, header = next(rows)
    _refuse_twice(path, header)
    check_header(header)
    # Nothing of a plain file needs explaining, and a million rows are read in a second or two.
    plain = read_plain(path, header, separator) if first == 1 else None
    if plain is not None:
        return plain.to_pandas(), Source(file=str(path), lines=np.arange(2, 2 + plain.num_rows))
    return _carefully_read(path, rows, header, separator)


def read_plain(path: Path, header: Sequence[str], separator: str) -> pa.Table | None:
    """Return the rows below the header on line 1, every cell as text, or None where the file is not as plain.

    Without quotation marks, blank lines or anything odd Arrow may split at every separator, and fast. What is odd is
    left to the careful reader, which is slow but can say what is wrong and where.
    """
    with path.open("rb") as file:
        try:
            table = arrow_csv.read_csv(
                file,
                read_options=arrow_csv.ReadOptions(column_names=list(header), skip_rows=1, block_size=_BLOCK),
                parse_options=arrow_csv.ParseOptions(delimiter=separator, quote_char=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(header, pa.large_string()), strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:  # cells missing or too many, not UTF-8, a line longer than a block
            return None
        file.seek(0)
        return table if table.num_rows + 1 == _plain_lines(file) else None


def _plain_lines(file: BinaryIO) -> int | None:
    """Return how many lines there are, or None if there is a quotation mark, a NUL or a line end of its own kind."""
    ends = returns = both = 0
    last = b"\n"
    while block := file.read(_BLOCK):
        if b'"' in block or b"\0" in block:
            return None
        joined = last + block
        ends += block.count(b"\n")
        returns += block.count(b"\r")
        both += joined.count(b"\r\n")
        last = block[-1:]
    return ends + (last != b"\n") if returns == both else None


def _carefully_read(
    path: Path, rows: Iterator[tuple[int, list[str]]], header: list[str], separator: str
) -> tuple[pd.DataFrame, Source]:
    def whole(rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        for number, row in rows:
            if len(row) != len(header):
                marks = f"{SEPARATORS[separator]}s" if separator in SEPARATORS else repr(separator)
                raise InputError(
                    f"{path}, line {number}: {_cells(len(row))} where the header has {len(header)} "
                    f"(cells are separated by {marks}): {some(cell[:40] for cell in row)}"
                )
            yield number, row

    frame, lines = _text_table(whole(rows), header)
    return frame, Source(file=str(path), lines=lines)


def _text_table(rows: Iterator[tuple[int, list[str]]], header: list[str]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return rows of cells as a table of text, and their numbers."""
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    batches: list[pa.RecordBatch] = []
    while batch := list(itertools.islice(rows, _BATCH)):
        numbers.append(np.array([number for number, _ in batch], dtype=np.int64))
        cells = zip(*(row for _, row in batch), strict=True)
        batches.append(pa.record_batch([pa.array(column, pa.large_string()) for column in cells], header))
    frame = pa.Table.from_batches(batches, pa.schema([(name, pa.large_string()) for name in header])).to_pandas()
    return frame, np.concatenate(numbers)


def _rows(path: Path, lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank with the line on which it begins; a quoted cell may go over several."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # The reader's own words are about its settings; what users can look for is a quotation mark.
            hint = "a quotation mark is left open" if _OPEN.search(str(error)) else str(error)
            raise InputError(f"{path}, line {begins}: not a CSV row: {hint}") from None
        if row:
            yield begins, row


def _text_lines(path: Path, file: BinaryIO) -> Iterator[str]:
    """Yield the lines as text; refuse the first that is too long, binary or not UTF-8, without reading on."""
    offset, begun = 0, False  # blanks before the header are no cell
    for number in itertools.count(1):
        line = file.readline(_LONGEST_LINE + 1)
        if not line:
            return
        if b"\0" in line:
            raise InputError(f"{path}, line {number}: a binary file, not CSV text")
        if len(line) > _LONGEST_LINE:
            raise InputError(f"{path}, line {number}: longer than {_LONGEST_LINE:,} bytes; this is not a table")
        if line.endswith(b"\r") or (b"\r" in line and b"\n" not in line):
            raise InputError(f"{path}, line {number}: lines end in CR alone; save the file with ordinary line ends")
        try:
            text = line.decode("utf-8-sig" if offset == 0 else "utf-8")
        except UnicodeDecodeError as error:
            at = error.start + (3 if offset == 0 and line.startswith(b"\xef\xbb\xbf") else 0)
            raise InputError(
                f"{path}, line {number}: byte 0x{line[at]:02x} at position {offset + at} is not UTF-8; "
                "save the file as UTF-8"
            ) from None
        begun = begun or bool(text.strip())
        offset += len(line)
        yield text if begun else "\n"


def _check_separator(path: Path, separator: str | None) -> None:
    if separator is None:
        return
    if path.suffix.lower() not in {".csv", ".tsv"}:
        raise InputError(
            f"{path}: sep={separator!r} is for text; cells of such a file are not separated by a character"
        )
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise InputError(f"{path}: sep={separator!r} is not allowed: give one character, such as ';' or '|'")


def _refuse_other_formats(path: Path, start: bytes) -> None:
    for mark, what in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise InputError(f"{path}: {what}")


def _refuse_twice(path: Path, header: list[str]) -> None:
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path}, line 1: columns given twice: {some(twice)}")


def require_column(name: str, header: Sequence[str], where: str) -> None:
    """Refuse a name that no column has, and say which there are."""
    if name in header:
        return
    hint = did_you_mean(name.strip(), header)
    raise InputError(f"{where}: there is no column {cut(repr(name))}{hint}; found: {some(header)}")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
