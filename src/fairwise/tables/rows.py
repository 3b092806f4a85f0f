"""Rows of a table, identified by the ids of people and by their places in a file; errors that name both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, TableError, cut, quote, some

# At most 18 digits, so that every match fits in 64 bits.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TOO_LONG = 10**18
_FIRST_MERGED = 2.0**53


def text_of(value: object) -> str:
    """Return the canonical text of an id: a whole number never ends in ``.0``."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)


def encode(column: pd.Series) -> tuple[NDArray[np.intp], NDArray[np.object_]]:
    """Return codes and distinct canonical texts; the code is -1 where there is nothing, or only blanks."""
    codes, cells = pd.factorize(column)
    values = np.asarray(cells, dtype=object)
    _refuse_merged(values, column.name)
    texts = [text_of(value) for value in values]
    # 1 and "1" are two values with one text. None at the end gets -1, which is where the code -1 points.
    merged, distinct = pd.factorize(np.array([*(text if text.strip() else None for text in texts), None], dtype=object))
    return merged[codes], np.asarray(distinct, dtype=object)


def _refuse_merged(values: Iterable[object], name: object) -> None:
    """Refuse floats that may have been other whole numbers: from 2**53 on they stand for their neighbours, too."""
    large = next((value for value in values if isinstance(value, float) and _FIRST_MERGED <= abs(value) < np.inf), None)
    if large is not None:
        raise TableError(
            f"column {name!r}: the id {int(large)} is a float, and from 2**53 on floats stand for several whole "
            "numbers. Give ids as whole numbers (Int64 where some are missing) or as text."
        )


def is_integer(texts: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Tell which texts are integers written the one usual way."""
    return np.array([_INTEGER.fullmatch(text) is not None for text in texts], dtype=bool)


def integers_or_texts(texts: NDArray[np.object_]) -> pd.Index:
    """Return the texts as integers if every one of them is an integer, else as they are."""
    if is_integer(texts).all():
        return pd.Index(np.array([int(text) for text in texts], dtype=np.int64))
    return pd.Index(texts).astype(str)


class PeopleIds:
    """The ids of a table of people, found by their canonical text."""

    def __init__(self, index: pd.Index) -> None:
        if index.nlevels > 1:
            raise TableError("people: the index has several levels; allowed: one id per person")
        if index.hasnans:
            raise TableError(f"people: {np.count_nonzero(index.isna())} ids in the index are missing")
        if not index.is_unique:
            repeated = index[index.duplicated()].unique()
            raise TableError(f"people: every id must be there once; repeated: {some(repeated)}")
        _refuse_merged(index if index.dtype.kind in "fO" else (), index.name or "index")
        self.labels = index
        # The canonical text of an integer need not be written down, which a million people would feel.
        self._numbers = pd.api.types.is_integer_dtype(index.dtype) and _all_short(index)
        texts = index if self._numbers else [text_of(label) for label in index]
        self._texts = pd.Index(texts, dtype=index.dtype if self._numbers else object)
        if not self._texts.is_unique:
            twice = self._texts[self._texts.duplicated()].unique()
            raise TableError(f"people: ids that look the same but differ in type: {some(twice)}")

    def positions(self, texts: NDArray[np.object_]) -> NDArray[np.intp]:
        """Return where each text's person is, -1 where there is none."""
        if not self._numbers:
            return np.asarray(self._texts.get_indexer(pd.Index(texts, dtype=object)))
        result = np.full(len(texts), -1, dtype=np.intp)
        integers = is_integer(texts)
        numbers = pd.Index([int(text) for text in texts[integers]], dtype=np.int64)
        result[integers] = self._texts.get_indexer(numbers)
        return result

    def hint(self, text: str) -> str:
        """Return what to say of a text that is nobody's id but for blanks around it, or ""."""
        stripped = text.strip()
        near = stripped if self.positions(np.array([stripped], dtype=object))[0] >= 0 else self._stripped.get(stripped)
        if near is None:
            return ""
        return f" (did you mean {cut(quote(near))}? Ids must match exactly: strip the spaces in the file)"

    @cached_property
    def _stripped(self) -> dict[str, str]:
        """The ids with blanks around them, by what is between."""
        if self._numbers:
            return {}
        return {text.strip(): text for text in self._texts if text != text.strip()}


def _all_short(integers: pd.Index) -> bool:
    return not len(integers) or (integers.min() > -_TOO_LONG and integers.max() < _TOO_LONG)


@dataclass(frozen=True)
class Source:
    """Names rows: by line in a text file, by row in a workbook, by position (and index label) in a table."""

    file: str | None = None
    lines: NDArray[np.int64] | None = None
    labels: pd.Index | None = None
    unit: str = "line"

    def place(self, row: int) -> str:
        """Return the row's place alone: ``line 7`` or ``row 5 (counting from 0)``."""
        if self.lines is not None:
            return f"{self.unit} {self.lines[row]}"
        label = self._label(row)
        return f"row {row} (counting from 0{f', index label {label}' if label else ''})"

    def short_places(self, rows: Sequence[int]) -> str:
        """Return where rows are, after another was named in full: ``line 7``, ``rows 1 ('x'), 2 ('y') and 3``."""
        if self.lines is not None:
            unit, names = self.unit, [str(self.lines[row]) for row in rows]
        else:
            labels = map(self._label, rows)
            unit, names = (
                "row",
                [f"{row} ({label})" if label else str(row) for row, label in zip(rows, labels, strict=True)],
            )
        *first, last = names
        return f"{unit}s {', '.join(first)} and {last}" if first else f"{unit} {last}"

    def _label(self, row: int) -> str:
        """The row's label in the index, if it is not just its number."""
        label = None if self.labels is None else self.labels[row]
        return "" if label is None or (type(label) is int and label == row) else repr(label)

    def where(self, row: int | None = None, column: str | None = None) -> str:
        """Return the beginning of a message: file, row and column, as far as they are known."""
        parts = [
            self.file,
            None if row is None else self.place(row),
            None if column is None else f"column {column}",
        ]
        return ", ".join(part for part in parts if part) or "judgments"

    def refuse(self, bad: NDArray[np.bool_], column: str, values: pd.Series, rule: str) -> None:
        """Raise about the `bad` rows, if there are any."""
        errors = RowErrors(self)
        errors.refuse(bad, column, values, rule)
        errors.raise_any()


_LISTED = 20
Complaint = Callable[[int], tuple[str, str]]
"""Function of a row that returns its value and the rule it breaks, with what is allowed after a semicolon."""


class RowErrors:
    """Errors in rows of a table, gathered over several checks and raised as one.

    However many rows are bad, words are made only for those that are told.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._count = 0
        self._first: list[tuple[int, str | None, Complaint]] = []

    def refuse(self, bad: NDArray[np.bool_], column: str, values: pd.Series, rule: str | Callable[[int], str]) -> None:
        """Note that the values of the `bad` rows break a rule, or each its own."""
        self.note(bad, column, lambda row: (cell_text(values.iloc[row]), rule if isinstance(rule, str) else rule(row)))

    def note(self, bad: NDArray[np.bool_], column: str | None, complaint: Complaint) -> None:
        """Note that the `bad` rows cannot be used."""
        rows = np.flatnonzero(bad)
        self._count += rows.size
        self._first += [(row, column, complaint) for row in rows[:_LISTED].tolist()]

    def raise_any(self) -> None:
        """Raise if anything was noted: about the first row in full, about the next ones in short."""
        if not self._count:
            return
        (first, column, complaint), *more = sorted(self._first, key=itemgetter(0))[:_LISTED]
        message = f"{self._source.where(first, column)}: {' '.join(complaint(first))}"
        places: dict[str, list[int]] = {}  # rows of which the same is to be said
        for row, column, complaint in more:
            value, rule = complaint(row)
            what = f"{f', column {column}' if column else ''}: {value} {rule.partition('; ')[0]}"
            places.setdefault(what, []).append(row)
        lines = [message, *(f"{self._source.short_places(rows)}{what}" for what, rows in places.items())]
        if len(lines) > 1:
            lines[1] = f"also {lines[1]}"
        if self._count > _LISTED:
            lines.append(f"and {self._count - _LISTED:,} more")
        raise TableError("; ".join(lines))


def cell_text(value: object) -> str:
    """Return a value as it can be recognised in the table; nothing there is called empty."""
    missing = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))
    if missing or value == "":
        return "empty"
    return cut(quote(value))


_LONGEST, _MOST = 60, 500
"""Limits of compared names: the time grows with the product of their lengths, and both may come from anywhere."""


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """Return a hint for an error message, with the nearest of the first names that are not too long, or ""."""
    names = {one.lower(): one for one in reversed(candidates[:_MOST]) if len(one) <= _LONGEST}
    near = get_close_matches(name.lower(), names, n=1) if len(name) <= _LONGEST else []
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def require_column(name: str, header: Sequence[str], where: str) -> None:
    """Refuse a name that no column has, and say which there are."""
    if name in header:
        return
    hint = did_you_mean(name.strip(), header)
    raise InputError(f"{where}: there is no column {cut(repr(name))}{hint}; found: {some(header)}")
