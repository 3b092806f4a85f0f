"""How a simulated person sees a table of people, column by column."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError

Floats: TypeAlias = NDArray[np.float64]

# What one unit of a number, or each value of a category, is worth.
Points: TypeAlias = float | Mapping[str, float]


@dataclass(frozen=True)
class Discount:
    """Counts only a part of some numbers for everybody except one group."""

    columns: tuple[str, ...]
    group: str
    except_for: object
    factor: float = 0.5

    def applied(self, people: pd.DataFrame) -> pd.DataFrame:
        """Return the table as the person sees it."""
        need([self.group, *self.columns], people)
        factor = np.where(people[self.group] == self.except_for, 1.0, self.factor)
        return people.assign(**{name: people[name] * factor for name in self.columns})

    def describe(self) -> str:
        """Say it in words."""
        return f"counts {self.factor:.0%} of {listed(self.columns)} where {self.group} is not {self.except_for}"


def is_number(column: pd.Series) -> bool:
    """Tell numbers, of which differences have a size, from categories, which are equal or not."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def gap(left: pd.Series, right: pd.Series) -> Floats:
    """Return how far apart two columns are: the absolute difference, or 0 and 1 for categories.

    Two missing values are equal; a missing number is infinitely far from any number.
    """
    nothing, nothing_else = left.isna().to_numpy(), right.isna().to_numpy()
    if is_number(left):
        apart = np.nan_to_num(np.abs(_floats(left) - _floats(right)))
        apart[nothing != nothing_else] = np.inf
        return apart
    differ = np.asarray(left.astype(object).to_numpy() != right.astype(object).to_numpy(), dtype=bool)
    differ[nothing | nothing_else] = (nothing != nothing_else)[nothing | nothing_else]
    return differ.astype(np.float64)


def worth(column: pd.Series, points: Points) -> Floats:
    """Return what each value is worth; a missing or unlisted value is worth 0."""
    if isinstance(points, Mapping):
        return np.array([points.get(value, 0.0) for value in column], dtype=np.float64)
    return np.nan_to_num(_floats(column)) * points


def need(columns: Iterable[str], people: pd.DataFrame) -> None:
    """Refuse a table without these columns."""
    missing = [name for name in columns if name not in people.columns]
    if missing:
        raise InputError(f"people: no column {listed(missing)}; there are {listed(people.columns)}")


def listed(names: Iterable[str]) -> str:
    """Return names as one says them: x, y and z."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def _floats(column: pd.Series) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
