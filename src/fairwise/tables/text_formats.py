"""Tables as spreadsheet programs of any country save them: encodings other than UTF-8, and numbers such as 1.234,5.

What is found out here is shown to whoever brought the file before anything is made of it; nobody else's files are
guessed at.
"""

import codecs
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairwise.errors import InputError
from fairwise.tables.parsing import separator_of

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

DECIMALS: Mapping[str, str] = {".": "point", ",": "comma"}

_BLOCK = 1 << 20
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OTHER = {".": ",", ",": "."}
_NO_THOUSANDS = r"^[+-]?0,|,([0-9]{1,2}|[0-9]{4,})$"


def found_encoding(file: Path) -> str:
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


def found_separator(file: Path, encoding: str) -> str:
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


def found_decimal(frame: pd.DataFrame) -> str:
    """Return the comma if some column has numbers such as 2,5 that cannot be thousands, and else the point."""
    columns = [cells for name in frame.columns if (cells := _cells(frame[name])) is not None]
    with_commas = any(_all_match(cells, _number(",")) and _any_match(cells, _NO_THOUSANDS) for cells in columns)
    return "," if with_commas else "."


def with_plain_numbers(column: pd.Series, decimal: str) -> pd.Series:
    """Return a column of text in which numbers written with this decimal sign are written as 1234.5.

    Only where every cell is such a number, or empty; marks between thousands are taken out.
    """
    cells, other = _cells(column), _OTHER[decimal]
    if cells is None or not _all_match(cells, _number(decimal)) or not _any_match(cells, r"[.,]"):
        return column
    text = pc.utf8_trim_whitespace(pa.array(column, pa.large_string(), from_pandas=True))
    plain = pc.replace_substring(pc.replace_substring(text, other, ""), decimal, ".")
    return pd.Series(plain.to_pandas(), index=column.index, dtype=column.dtype)


def _number(decimal: str) -> str:
    """The expression of a number with this decimal sign, perhaps with the other sign between thousands."""
    point, group = (rf"\{sign}" for sign in (decimal, _OTHER[decimal]))
    return rf"^[+-]?(0|[1-9][0-9]{{0,2}}({group}[0-9]{{3}})+|[1-9][0-9]*)({point}[0-9]+)?$"


def _cells(column: pd.Series) -> pa.Array | None:
    """The cells that are not empty; None if there are none, or if they are no text."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return None
    text = pc.utf8_trim_whitespace(pa.array(column, pa.large_string(), from_pandas=True).drop_null())
    cells = text.filter(pc.not_equal(text, ""))
    return cells if len(cells) else None


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def _any_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())
