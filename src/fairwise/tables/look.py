"""A first look at an uploaded table of people."""

from __future__ import annotations

import codecs
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise.errors import InputError
from fairwise.tables.columns import arrow_column, nearly
from fairwise.tables.files import detect_decimal, read_sent, typed
from fairwise.tables.parsing import send_file, separator_of
from fairwise.tables.rows import text_of

LOOK, SAMPLE, TABLE = "look.json", "sample.parquet", "table"
"""Files that are written: what was seen, a few rows, and all rows as they were read."""

_TEXT = {".csv", ".tsv"}
_LEAST_BYTES, _TIMES_ITS_SIZE = 64 << 20, 40
# Enough to find two people who differ, and little enough to be read for every preview.
_SAMPLE_ROWS = 60
_EXAMPLES = 3
_FIRST_ROWS = 5
_LONGEST_EXAMPLE = 40
_TRUTHS = ("true", "false")


@dataclass(frozen=True)
class ColumnLook:
    """Summary of a column by which an operator recognises it."""

    name: str
    examples: tuple[str, ...]
    different: int
    missing: int
    kind: str = "text"
    """One of number, yes_no and text."""

    tells_apart: bool = False
    """Whether it is different for everyone, and there for everyone."""

    labels: tuple[str, ...] = ()
    """All its values, if there are so few that each may be a decision, and it is there for everyone."""

    ends: tuple[str, ...] = ()
    """The least and the largest, if it is a number for everyone."""

    nearly: str = ""
    """``number`` or ``date`` for text whose values nearly all are."""

    odd: str = ""
    """The first of the other values, if there are any."""

    @property
    def may_be_outcome(self) -> bool:
        """Whether it may say what was decided: one of a few things, or an amount."""
        return bool(self.labels or self.ends)


@dataclass(frozen=True)
class FileFormat:
    """Format of a file, detected or given by its sender."""

    encoding: str = ""
    """Empty, as the separator, for files that are no text."""

    separator: str = ""
    decimal: str = "."


def look_at_people(received: str, name: str, shown: str, wanted: Mapping[str, str], most: Mapping[str, int]) -> None:
    """Read a table that was received, and write beside it what is in it; errors call it as it was `shown`.

    It is read as `wanted`, or as it seems to be. `most` says how many people, columns and labels are taken.
    """
    file, folder = Path(name), Path(name).parent
    try:
        frame, how = _read(Path(received), file, FileFormat(**wanted))
    except InputError as error:
        raise InputError(str(error).replace(name, shown).replace(received, shown)) from None
    finally:
        file.unlink(missing_ok=True)
    if len(frame.columns) > most["columns"]:
        raise InputError(f"{shown}: {len(frame.columns)} columns; at most {most['columns']} are taken")
    if len(frame) > most["people"]:
        raise InputError(
            f"{shown}: {len(frame):,} people; at most {most['people']:,} are taken here. A random sample of "
            "some thousands serves as well, as everyone sees only some pairs; or make the study "
            "with: fairwise study new"
        )
    columns = {column: typed(frame[column], how.decimal) for column in map(str, frame.columns)}
    looks = [asdict(_look(column, values, most["labels"])) for column, values in columns.items()]
    some = np.unique(np.linspace(0, len(frame) - 1, _SAMPLE_ROWS).astype(int))
    sample = {column: _kept(values, some) for column, values in columns.items()}
    pq.write_table(pa.table(sample), folder / SAMPLE)
    first = np.arange(min(_FIRST_ROWS, len(frame)))
    rows = zip(*(arrow_column(values.iloc[first]).to_pylist() for values in columns.values()), strict=True)
    kept = {
        "name": shown,
        "rows": len(frame),
        "columns": looks,
        "format": asdict(how),
        "first_rows": [["" if cell is None else str(cell)[:_LONGEST_EXAMPLE] for cell in row] for row in rows],
    }
    (folder / LOOK).write_text(json.dumps(kept), encoding="utf-8")


def _read(received: Path, file: Path, asked: FileFormat) -> tuple[pd.DataFrame, FileFormat]:
    """Put what was received into its place, as UTF-8 if it is text, and read it; also how it was read."""
    encoding = separator = ""
    if file.suffix in _TEXT:
        encoding = asked.encoding or detect_encoding(received)
        separator = asked.separator or detect_separator(received, encoding)
    if encoding in ("", UTF_8):
        shutil.copyfile(received, file)
    else:
        write_as_utf8(received, encoding, file)
    table = file.with_name(TABLE)
    send_file(str(file), str(table), separator or None, _LEAST_BYTES + _TIMES_ITS_SIZE * file.stat().st_size)
    frame, _ = read_sent(table, file)
    return frame, FileFormat(encoding, separator, asked.decimal or detect_decimal(frame))


def _look(name: str, values: pd.Series[Any], most_labels: int) -> ColumnLook:
    filled = values.dropna()
    try:
        codes, different = pd.factorize(filled)
    except TypeError:  # lists and the like, in a Parquet file
        codes, different = pd.factorize(filled.astype(str))
    examples = tuple(str(value)[:_LONGEST_EXAMPLE] for value in different[:_EXAMPLES])
    everyone, kind = len(filled) == len(values), _kind(filled)
    few = everyone and 2 <= len(different) <= most_labels
    is_amount = everyone and kind == "number" and len(different) > 2
    is_text = kind == "text" and pd.api.types.is_string_dtype(filled.dtype)
    near_kind, exceptions = (nearly(different.tolist(), np.bincount(codes)) if is_text else None) or (
        "",
        np.array([False]),
    )
    return ColumnLook(
        name,
        examples,
        len(different),
        missing=len(values) - len(filled),
        kind=kind,
        tells_apart=len(different) == len(values),
        labels=tuple(map(text_of, sorted(different.tolist(), key=_in_order))) if few else (),
        ends=(text_of(filled.min()), text_of(filled.max())) if is_amount else (),
        nearly=near_kind,
        odd=str(different[int(exceptions.argmax())])[:_LONGEST_EXAMPLE] if exceptions.any() else "",
    )


def _in_order(value: object) -> tuple[bool, float, str]:
    """Numbers by their size, before words."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if isinstance(value, int | float) else 0.0, str(value)


def _kind(filled: pd.Series[Any]) -> str:
    if pd.api.types.is_bool_dtype(filled.dtype) or (
        pd.api.types.is_string_dtype(filled.dtype)
        and len(filled)
        and filled.str.strip().str.lower().isin(_TRUTHS).all()
    ):
        return "yes_no"
    return "number" if pd.api.types.is_numeric_dtype(filled.dtype) else "text"


def _kept(values: pd.Series[Any], some: np.ndarray[Any, Any]) -> pa.Array:
    """Return the cells of some rows as a study keeps them; all rows decide the kind of column."""
    kept = arrow_column(values.iloc[some])
    texts = values.dropna()
    if pa.types.is_boolean(kept.type) and pd.api.types.is_string_dtype(texts.dtype):
        truths = texts.str.strip().str.lower().isin(_TRUTHS).all()
        return kept if truths else pa.array([None if pd.isna(text) else str(text) for text in values.iloc[some]])
    return kept


# Encodings of files that spreadsheet programs save.

UTF_8 = "utf-8"
ENCODINGS: Mapping[str, str] = {
    UTF_8: "UTF-8",
    "cp1252": "Windows-1252 (Western Europe)",
    "cp1250": "Windows-1250 (Central Europe)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "utf-16": "UTF-16",
}
"""Encodings that files of spreadsheet programs have, with their names for people."""

_BLOCK = 1 << 20
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def detect_encoding(file: Path) -> str:
    """Return UTF-8 if that is what the bytes are, UTF-16 if they say so, and else what Windows uses in the West.

    What is no text at all is left to those who read it as UTF-8, and say what it is.
    """
    decoder = codecs.getincrementaldecoder(UTF_8)()
    with file.open("rb") as content:
        start = content.read(_BLOCK)
        if start[:2] in _UTF_16:
            return "utf-16"
        if b"\0" in start:
            return UTF_8
        content.seek(0)
        try:
            while block := content.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return UTF_8


def detect_separator(file: Path, encoding: str) -> str:
    """Return what separates the cells of the first line that is not blank."""
    with file.open(encoding="utf-8-sig" if encoding == UTF_8 else encoding, errors="replace") as lines:
        return separator_of(next((line for line in iter(partial(lines.readline, _BLOCK), "") if line.strip()), ""))


def write_as_utf8(file: Path, encoding: str, target: Path) -> None:
    """Write the text of a file anew as UTF-8; lines stay where they are."""
    try:
        with file.open(encoding=encoding, newline="") as old, target.open("w", encoding=UTF_8, newline="") as new:
            while block := old.read(_BLOCK):
                new.write(block)
    except UnicodeError as error:
        raise InputError(f"{file}: cannot be read as {ENCODINGS[encoding]}: {error}") from None
