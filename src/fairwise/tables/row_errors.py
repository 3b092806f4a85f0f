"""Where a table came from and how its values and names are shown, so that an error can say exactly where to look."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import TableError, quote


@dataclass(frozen=True)
class Source:
    """Names rows: by line in a text file, by position (and index label) in a table."""

    file: str | None = None
    lines: NDArray[np.int64] | None = None
    labels: pd.Index | None = None

    def place(self, row: int) -> str:
        """Return the row's place alone: ``line 7`` or ``row 5 (counting from 0)``."""
        if self.lines is not None:
            return f"line {self.lines[row]}"
        label = None if self.labels is None else self.labels[row]
        named = "" if label is None or (type(label) is int and label == row) else f", index label {label!r}"
        return f"row {row} (counting from 0{named})"

    def where(self, row: int | None = None, column: str | None = None) -> str:
        """Return the beginning of a message: file, row and column, as far as they are known."""
        parts = [
            self.file,
            None if row is None else self.place(row),
            None if column is None else f"column {column}",
        ]
        return ", ".join(part for part in parts if part) or "judgments"

    def refuse(self, bad: NDArray[np.bool_], column: str, values: pd.Series, rule: str) -> None:
        """Raise about the first of the `bad` rows, if there is any, and say how many more there are."""
        rows = np.flatnonzero(bad)
        if rows.size == 0:
            return
        first = int(rows[0])
        more = f" ({rows.size - 1} more such rows)" if rows.size > 1 else ""
        raise TableError(f"{self.where(first, column)}: {cell_text(values.iloc[first])} {rule}{more}")


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


def cut(text: str) -> str:
    """Return the beginning of a text, for an error message."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
