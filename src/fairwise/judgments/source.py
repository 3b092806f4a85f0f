"""Where a table came from, so that an error can say exactly where to look."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import JudgmentsError
from fairwise.judgments.close_match import cut


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
        raise JudgmentsError(f"{self.where(first, column)}: {shown(values.iloc[first])} {rule}{more}")


def shown(value: object) -> str:
    """Return a value as it can be recognised in the table; nothing there is called empty."""
    missing = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))
    if missing or value == "":
        return "empty"
    return cut(repr(value.item() if isinstance(value, np.generic) else value))
