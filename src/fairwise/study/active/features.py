"""What can be seen of two people side by side, as numbers: how far apart they are, and which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# Rarer categories count as one, so that a column of names does not become a thousand features.
_CATEGORIES = 12


@dataclass(frozen=True, eq=False)
class SeenPeople:
    """What is shown of n people: standardised numbers, categories and their codes; no outcomes."""

    places: Mapping[str, int]
    """Where each person stands in the table."""

    numbers: Floats
    """``(n, N)``; the mean, which is 0, where a number is not known."""

    codes: Ints
    """``(n, C)``: which category. For numbers that are not always known, whether they are is one."""

    indicators: Floats
    """``(n, I)``: 1 for each person's categories."""

    @classmethod
    def of(cls, people: pd.DataFrame) -> SeenPeople:
        """Read a table of what is shown, ids in its index, one column for each thing that is shown."""
        if not people.columns.size or not people.index.is_unique:
            raise InputError("people: at least one column and an index without repeated ids are needed")
        numbers, codes = [], []
        for name in people.columns:
            column = people[name]
            if not is_number(column):
                codes.append(_common(pd.factorize(column)[0]))
                continue
            unknown = column.isna().to_numpy()
            numbers.append(_standardised(column))
            if unknown.any():
                codes.append(unknown.astype(np.int64))
        indicators = [np.equal.outer(code, np.unique(code)) for code in codes]
        return cls(
            {person: place for place, person in enumerate(people.index)},
            _columns(numbers, len(people)),
            _columns(codes, len(people)).astype(np.int64),
            _columns(indicators, len(people)),
        )

    def positions(self, ids: Sequence[str]) -> Ints:
        """Return where people stand in the table."""
        try:
            return np.array([self.places[person] for person in ids], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"people: nobody with the id {error.args[0]!r}") from None

    def apart(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, 1 + N + C)``: 1, |difference| of each number, whether each category differs.

        Nothing here changes if the two change sides.
        """
        ones = np.ones((len(left), 1))
        return np.hstack(
            [ones, np.abs(self.numbers[left] - self.numbers[right]), self.codes[left] != self.codes[right]]
        )

    def ahead(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, N + I)``: the signed difference of each number and each indicator.

        All signs turn, exactly, if the two change sides.
        """
        return np.hstack([side[left] - side[right] for side in (self.numbers, self.indicators)])


def is_number(column: pd.Series) -> bool:
    """Whether values of a column have distances; whatever else they are, they are the same or not."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _standardised(column: pd.Series) -> Floats:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = values[~np.isnan(values)]
    if not known.size:
        return np.zeros(len(values))
    standardised: Floats = np.nan_to_num((values - known.mean()) / (known.std() or 1.0))
    return standardised


def _common(codes: Ints) -> Ints:
    """Return codes in which all but the commonest categories are one; a missing value is a category."""
    found, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(-count, kind="stable")] = np.arange(len(found))
    common: Ints = np.minimum(rank, _CATEGORIES - 1)[place]
    return common


def _columns(parts: Sequence[NDArray[np.generic]], n: int) -> Floats:
    return np.column_stack(parts).astype(np.float64) if parts else np.empty((n, 0))
