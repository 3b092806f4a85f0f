"""Judgments in files: CSV read cell by cell as text, so that nothing is guessed, and Parquet."""

import contextlib
import csv
import io
import itertools
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from fairwise.errors import JudgmentsError
from fairwise.judgments import parquet
from fairwise.judgments.ids import encode, some
from fairwise.judgments.source import Source

_PARQUET_MARK = b"PAR1"
_BATCH = 50_000
_NEW_LINE = re.compile(r"\r\n|\r|\n")


def read(path: Path) -> tuple[pd.DataFrame, Source]:
    """Return the table in the file, every cell of a CSV as text, and where its rows are."""
    kind = _kind(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise JudgmentsError(f"{path}: there is no such file") from None
    except OSError as error:
        raise JudgmentsError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not data.strip():
        raise JudgmentsError(f"{path}: the file is empty; needed: a header and one row per answer")
    return _read_csv(path, data) if kind == "csv" else _read_parquet(path, data)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write the table, or leave what was there as it was."""
    kind = _kind(path)
    table = frame.copy()
    for name in ("a", "b"):
        # An id of any type is written as its text, by which it is also found again.
        if not pd.api.types.is_integer_dtype(table[name].dtype):
            codes, texts = encode(table[name])
            table[name] = pd.Series(texts, dtype=str).take(codes).to_numpy()
    buffer = io.BytesIO()
    try:
        if kind == "csv":
            buffer.write(_as_csv(table).encode())
        else:
            table.to_parquet(buffer, index=False)
    except (ValueError, TypeError) as error:  # what pyarrow and the encoder raise derives from these
        raise JudgmentsError(f"{path}: cannot be written as {kind}: {error}") from error
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(buffer.getbuffer())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise JudgmentsError(f"{path}: cannot be written: {error.strerror or error}") from None


def _kind(path: Path) -> str:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in {"csv", "parquet"}:
        raise JudgmentsError(f"{path}: judgments are kept in files that end in .csv or .parquet")
    return kind


def _read_csv(path: Path, data: bytes) -> tuple[pd.DataFrame, Source]:
    text = _decoded(path, data)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next((row for row in reader if row), None)
        if header is None:  # nothing but a byte order mark, say
            raise JudgmentsError(f"{path}: the file is empty; needed: a header and one row per answer")
        _check_header(path, header)
        lines: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        batches: list[pa.RecordBatch] = []
        last = reader.line_num
        while batch := list(itertools.islice(reader, _BATCH)):
            numbers = _line_numbers(batch, last, reader.line_num)
            last = reader.line_num
            filled = [row for row in batch if row]  # a blank line says nothing
            _check_width(path, filled, len(header), numbers)
            lines.append(numbers)
            batches.append(_text_batch(filled, header))
    except csv.Error as error:
        raise JudgmentsError(f"{path}, line {_broken_line(text)}: not a CSV row: {error}") from None
    schema = pa.schema([(name, pa.large_string()) for name in header])
    frame = pa.Table.from_batches(batches, schema).to_pandas()
    return frame, Source(file=str(path), lines=np.concatenate(lines))


def _line_numbers(rows: list[list[str]], before: int, last: int) -> NDArray[np.int64]:
    """Return where each row that is not blank begins, given the last line before them and their own last."""
    if last - before == len(rows) and all(rows):
        return np.arange(before + 1, last + 1, dtype=np.int64)
    # A quoted cell may go over several lines.
    heights = [1 + sum(len(_NEW_LINE.findall(cell)) for cell in row) for row in rows]
    starts = itertools.accumulate(heights[:-1], initial=before + 1)
    return np.array([start for start, row in zip(starts, rows, strict=True) if row], dtype=np.int64)


def _check_width(path: Path, rows: list[list[str]], width: int, lines: NDArray[np.int64]) -> None:
    if not rows or set(map(len, rows)) == {width}:
        return
    odd = next(i for i, row in enumerate(rows) if len(row) != width)
    raise JudgmentsError(
        f"{path}, line {lines[odd]}: {len(rows[odd])} cells where the header has {width}: {some(rows[odd])}"
    )


def _text_batch(rows: list[list[str]], header: list[str]) -> pa.RecordBatch:
    cells = zip(*rows, strict=True) if rows else ([] for _ in header)
    return pa.record_batch([pa.array(column, pa.large_string()) for column in cells], header)


def _broken_line(text: str) -> int:
    """Return where the first row that cannot be parsed begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    with contextlib.suppress(csv.Error):
        for _ in reader:
            line = reader.line_num + 1
    return line


def _check_header(path: Path, header: list[str]) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise JudgmentsError(f"{path}, line 1: {header[0]!r} must be separated by commas")
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise JudgmentsError(f"{path}, line 1: columns given twice: {some(twice)}")


def _decoded(path: Path, data: bytes) -> str:
    if data.startswith(_PARQUET_MARK):
        raise JudgmentsError(f"{path}: this is a Parquet file; call it .parquet")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise JudgmentsError(f"{path}: encoded as UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise JudgmentsError(f"{path}: a binary file, not CSV text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JudgmentsError(
            f"{path}, line {line}: the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None


def _as_csv(table: pd.DataFrame) -> str:
    plain: str = table.to_csv(index=False, lineterminator="\n")
    if "\0" in plain:
        raise ValueError("a cell contains the NUL character")
    if "\r" in plain:  # which the writer leaves unquoted, and every reader takes for the end of a row
        return table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    return plain


def _read_parquet(path: Path, data: bytes) -> tuple[pd.DataFrame, Source]:
    if not data.startswith(_PARQUET_MARK):
        raise JudgmentsError(f"{path}: not a Parquet file")
    try:
        frame = parquet.read(io.BytesIO(data))
    except parquet.DAMAGES as error:
        raise JudgmentsError(f"{path}: a damaged Parquet file: {error}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame, Source(file=str(path))
