"""How much the two people of each pair differ, column by column."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments.oriented import Ints, Oriented
from fairwise.judgments.table import Judgments
from fairwise.tables.ids import some


@dataclass(frozen=True, eq=False)
class Differences:
    """``amounts`` is ``(R, K)``: one row per answer, one column for each of ``columns``."""

    columns: pd.Index
    amounts: NDArray[np.float64]

    def take(self, rows: Ints) -> "Differences":
        return Differences(self.columns, self.amounts[rows])


def differences(judgments: Judgments, rows: Oriented, columns: Iterable[Any] | None = None) -> Differences:
    """Return for each answer |x - x'| / sd for a number, and 0 or 1 for a category.

    The standard deviation is over the judged people. Two missing values are equal. A missing category differs from any
    other; between a number and a missing one the difference is taken to be the average one of the column.
    """
    if judgments.people is None:
        raise JudgmentsError(
            "judgments: made without people=, so nobody's features are known; see judgments.about(people)"
        )
    table = pd.DataFrame(judgments.people_rows(rows.people)).reset_index(drop=True)
    if columns is not None:
        wanted = list(columns)
        unknown = [name for name in wanted if name not in table.columns]
        if unknown:
            raise InputError(f"columns: not in people: {some(unknown)}; there are {some(table.columns)}")
        table = table[wanted]
    values = [_difference(table[name], rows) for name in table.columns]
    return Differences(table.columns, np.column_stack(values) if values else np.empty((len(rows.first), 0)))


def _difference(column: pd.Series, rows: Oriented) -> NDArray[np.float64]:
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        known = x[~np.isnan(x)]
        scale = float(known.std()) if len(known) else 0.0
        apart = np.abs(x[rows.first] - x[rows.second]) / (scale or 1.0)
        unknown = np.isnan(apart)
        typical = float(apart[~unknown].mean()) if not unknown.all() else 0.0
        neither = np.isnan(x[rows.first]) & np.isnan(x[rows.second])
        return np.where(unknown, np.where(neither, 0.0, typical), apart)
    codes, _ = pd.factorize(column)
    differ: NDArray[np.bool_] = codes[rows.first] != codes[rows.second]
    return differ.astype(np.float64)
