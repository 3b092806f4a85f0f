"""Where a table came from and how its values and names are shown, so that an error can say exactly where to look."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import TableError, cut, quote


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
"""What is wrong with a row: a value, and the rule that it breaks with, after a semicolon, what is allowed."""


class RowErrors:
    """What is wrong with a table, gathered over several checks, so that one error can tell it all.

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
        (first, column, complaint), *others = sorted(self._first, key=itemgetter(0))[:_LISTED]
        message = f"{self._source.where(first, column)}: {' '.join(complaint(first))}"
        places: dict[str, list[int]] = {}  # rows of which the same is to be said
        for row, column, complaint in others:
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
"""To compare two names takes time that grows with the product of their lengths, and both may come from anywhere."""


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """Return a hint for an error message, with the nearest of the first names that are not too long, or ""."""
    names = {one.lower(): one for one in reversed(candidates[:_MOST]) if len(one) <= _LONGEST}
    near = get_close_matches(name.lower(), names, n=1) if len(name) <= _LONGEST else []
    return f" (did you mean {names[near[0]]!r}?)" if near else ""
