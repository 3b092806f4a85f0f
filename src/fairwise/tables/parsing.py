"""Files of tables as batches of Arrow: CSV and Excel as text, of which the first bad line is refused; Parquet.

Nothing is believed that a file says of its own size. Rows, columns, cells and unpacked bytes are bounded while it is
read, whether that is done in a guarded process or here. This module loads little, as such a process does so anew.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from fairwise.errors import InputError, some
from fairwise.tables.excel import Budget, excel_rows

# Whatever a damaged file makes its readers raise; arrow's own errors are of all these kinds, and of one more.
DAMAGES = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, pa.ArrowException)
SEPARATORS: Mapping[str, str] = {",": "comma", ";": "semicolon", "\t": "tab"}
MOST_COLUMNS = 10_000
"""Each column takes some kilobytes, however little is in it."""

MOST_CELLS = 2_000_000_000
"""A column of one value repeated takes a few bytes in a file, however many rows it has, but not in memory."""

_LEAST_BYTES, _TIMES_ITS_SIZE = 512 << 20, 200
_LONGEST_LINE = 1 << 20
_BATCH, _CELLS_OF_A_BATCH = 50_000, 1_000_000
_PARQUET_BATCH = 1 << 16
_BLOCK, _BLOCK_OF_A_COLUMN = 1 << 20, 1 << 11
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
_LINES = "\0lines"
_TEXTS, _UNIT = b"fairwise.texts", b"fairwise.unit"


@dataclass(frozen=True)
class Batches:
    """A table that is read batch by batch; to be sent to another process, or to be made whole here."""

    schema: pa.Schema
    """Text of Parquet files is in dictionaries; its own types are in the schema's metadata."""

    batches: Iterator[pa.RecordBatch]

    @property
    def header(self) -> list[str]:
        return [name for name in self.schema.names if name != _LINES]

    def send(self, target: Path) -> None:
        """Write the batches to a file."""
        with pa.OSFile(str(target), "wb") as file, pa.ipc.new_stream(file, self.schema) as stream:
            for batch in self.batches:
                stream.write_batch(batch)

    @classmethod
    def received(cls, file: Path) -> Batches:
        """Return what was sent, all of it in memory."""
        with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
            return cls(stream.schema, iter([*stream]))

    def table(self) -> Parsed:
        """Return the whole table, text as text."""
        whole, about = pa.Table.from_batches(self.batches, self.schema), self.schema.metadata or {}
        for place, kind in json.loads(about.get(_TEXTS, b"{}")).items():
            at = int(place)
            text = whole.column(at).cast(getattr(pa, kind)())
            whole = whole.set_column(at, whole.field(at).with_type(text.type), text)
        lines = None
        if whole.column_names[-1:] == [_LINES]:
            lines = whole.column(_LINES).to_numpy()
            whole = whole.drop_columns([_LINES])
        ours = {name: value for name, value in about.items() if name not in {_TEXTS, _UNIT}}
        return Parsed(whole.replace_schema_metadata(ours), lines, about.get(_UNIT, b"line").decode())


@dataclass(frozen=True)
class Parsed:
    """A table, with the number of each row in its file where it has one."""

    table: pa.Table
    lines: np.ndarray[tuple[int], np.dtype[np.int64]] | None
    unit: str


def most_bytes(size: int) -> int:
    """Return how large a file of this size may become in memory."""
    return _LEAST_BYTES + _TIMES_ITS_SIZE * size


def send_file(path: str, target: str, separator: str | None, most: int | None = None) -> None:
    """Read a table and write it to another file, as a guarded process does."""
    with Path(path).open("rb") as file:
        read_batches(Path(path), file, separator, most).send(Path(target))


def try_parquet(path: str) -> None:
    """Read a file of a study and keep nothing of it, as a guarded process does."""
    with Path(path).open("rb") as file:
        for _ in _parquet_file(Path(path), file, most_bytes(Path(path).stat().st_size)).batches:
            pass


def read_batches(path: Path, file: BinaryIO, separator: str | None, most: int | None = None) -> Batches:
    """Return the table in an open file, by the ending of its name; `most` bytes are taken when it is unpacked."""
    kind = path.suffix.lower()
    limit = most_bytes(path.stat().st_size) if most is None else most
    if kind == ".parquet":
        return _parquet_file(path, file, limit)
    return _excel_file(path, file, limit) if kind == ".xlsx" else _csv_file(path, file, separator)


# Parquet: checked to the last byte of text, or refused.


def _parquet_file(path: Path, file: BinaryIO, most: int) -> Batches:
    if file.read(4) != _PARQUET:
        raise InputError(f"{path}: not a Parquet file")
    file.seek(0)

    def named(error: Exception) -> InputError:
        return InputError(f"{path}: a damaged Parquet file: {' '.join(str(error).split())}")

    def batches(inner: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from inner
        except (InputError, MemoryError):
            raise
        except DAMAGES as error:
            raise named(error) from None

    try:
        parsed = parquet_batches(str(path), file, most)
    except (InputError, MemoryError):
        raise
    except DAMAGES as error:
        raise named(error) from None
    return Batches(parsed.schema, batches(parsed.batches))


def parquet_batches(name: str, file: BinaryIO | Path, most: int) -> Batches:
    """Read a Parquet file; raises one of `DAMAGES`, an InputError for what would fill the memory.

    A text may be in the file once and in the table a million times. So text stays in dictionaries until it is known
    how large it is.
    """
    schema = pq.ParquetFile(file).schema_arrow
    texts = {at: one.type for at, one in enumerate(schema) if _is_text(one.type)}
    parquet = pq.ParquetFile(file, read_dictionary=[schema.names[at] for at in texts])
    about, count = parquet.metadata, len(schema)
    if count > MOST_COLUMNS:
        raise InputError(f"{name}: {count:,} columns; at most {MOST_COLUMNS:,} are read")
    fixed = sum(one.type.bit_width for one in schema if pa.types.is_primitive(one.type)) / 8
    if about.num_rows * count > MOST_CELLS or about.num_rows * fixed > most:
        raise InputError(f"{name}: {about.num_rows:,} rows of {count:,} columns are more than can be read")
    for column in schema:
        if pa.types.is_nested(column.type):  # how large a list becomes is known only when it is unpacked
            raise InputError(f"{name}, column {column.name}: lists and records are not read; take the column out")
    kept = {_TEXTS: json.dumps({at: str(kind) for at, kind in texts.items()}), **(schema.metadata or {})}
    coded = parquet.schema_arrow.with_metadata(kept)

    def batches() -> Iterator[pa.RecordBatch]:
        budget = Budget(name, most)
        for batch in parquet.iter_batches(_PARQUET_BATCH):
            batch.validate(full=True)  # text that is no text would otherwise show later, wherever it is first looked at
            for column in batch.columns:
                budget.spend(_dense_bytes(column))
            yield batch.cast(coded) if batch.schema != coded else batch

    return Batches(coded, batches())


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )


def _dense_bytes(column: pa.Array) -> int:
    """Return how many bytes a column takes without a dictionary."""
    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths.cast(pa.int64())).as_py() or 0) + 8 * len(column)


# Excel and CSV: every cell as text.


def _excel_file(path: Path, file: BinaryIO, most: int) -> Batches:
    rows = excel_rows(str(path), file, most)
    _, header = next(rows, (0, list[str]()))
    if not header:
        raise InputError(f"{path}: the first sheet is empty; needed: a header and one row per person or answer")
    schema = _text_schema(path, header, "row")
    return Batches(schema, _text_batches(rows, schema))


def _csv_file(path: Path, file: BinaryIO, separator: str | None) -> Batches:
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
    schema = _text_schema(path, header, "line")

    def batches() -> Iterator[pa.RecordBatch]:
        # Nothing of a plain file needs explaining, and a million rows are read in a second or two.
        plain = read_plain(path, header, separator) if first == 1 else None
        if plain is None:
            yield from _text_batches(_whole(path, rows, header, separator), schema)
            return
        numbered = plain.append_column(_LINES, pa.array(np.arange(2, 2 + plain.num_rows)))
        yield from numbered.cast(schema).to_batches()

    return Batches(schema, batches())


def separator_of(header: str) -> str:
    """Return the separator that occurs most often outside quotes in the header; in doubt a comma."""
    outside = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=outside.count)


def _text_schema(path: Path, header: Sequence[str], unit: str) -> pa.Schema:
    if len(header) > MOST_COLUMNS:
        raise InputError(f"{path}: {len(header):,} columns; at most {MOST_COLUMNS:,} are read")
    refuse_twice(path, header)
    columns = [(name, pa.large_string()) for name in header]
    return pa.schema([*columns, (_LINES, pa.int64())], {_UNIT: unit})


def refuse_twice(path: Path, header: Sequence[str]) -> None:
    """Refuse a name that two columns have."""
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path}, line 1: columns given twice: {some(twice)}")


def _text_batches(rows: Iterator[tuple[int, list[str]]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield numbered rows of cells, some at a time."""
    at_once = max(1, min(_BATCH, _CELLS_OF_A_BATCH // len(schema)))
    while batch := list(itertools.islice(rows, at_once)):
        columns = [pa.array(column, pa.large_string()) for column in zip(*(row for _, row in batch), strict=True)]
        yield pa.record_batch([*columns, pa.array([number for number, _ in batch], pa.int64())], schema)


def read_plain(path: Path, header: Sequence[str], separator: str) -> pa.Table | None:
    """Return the rows below the header on line 1, every cell as text, or None where the file is not as plain.

    Without quotation marks, blank lines or anything odd Arrow may split at every separator, and fast. What is odd is
    left to the careful reader, which is slow but can say what is wrong and where.
    """
    with path.open("rb") as file:
        try:
            table = arrow_csv.read_csv(
                file,
                read_options=arrow_csv.ReadOptions(
                    column_names=list(header), skip_rows=1, block_size=max(_BLOCK, _BLOCK_OF_A_COLUMN * len(header))
                ),
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


def _whole(
    path: Path, rows: Iterator[tuple[int, list[str]]], header: Sequence[str], separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows; refuse the first that has not as many cells as the header."""
    for number, row in rows:
        if len(row) != len(header):
            marks = f"{SEPARATORS[separator]}s" if separator in SEPARATORS else repr(separator)
            raise InputError(
                f"{path}, line {number}: {_cells(len(row))} where the header has {len(header)} "
                f"(cells are separated by {marks}): {some(cell[:40] for cell in row)}"
            )
        yield number, row


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
    offset, has_text = 0, False  # blanks before the header are no cell
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
        has_text = has_text or bool(text.strip())
        offset += len(line)
        yield text if has_text else "\n"


def _refuse_other_formats(path: Path, start: bytes) -> None:
    for mark, what in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise InputError(f"{path}: {what}")


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
