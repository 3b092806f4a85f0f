"""What can be seen of two people side by side, as numbers: how far apart they are, where they stand, and which way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, some
from fairwise.tables.columns import is_numeric

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# Rarer categories count as one, so that a column of names does not become a thousand features.
_CATEGORIES = 12
_MISSING = ("missing",)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number, in standard deviations from the mean; and its rank, as 3 beside 2 may say more than 30 beside 20."""

    name: object
    mean: float
    scale: float
    values: Floats
    """The distinct values, ascending."""

    ranks: Floats
    """Of each of them, standardised; empty where ranks are not wanted, or say nothing new of fewer than three."""

    @classmethod
    def learn(cls, column: pd.Series, *, ranked: bool) -> NumberColumn:
        numbers = _floats(column)
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            return cls(column.name, 0.0, 1.0, np.empty(0), np.empty(0))
        values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - (counts - 1) / 2
        spread = middle[place].std() or 1.0
        ranks = (middle - middle[place].mean()) / spread if ranked and len(values) > 2 else np.empty(0)
        return cls(column.name, float(numbers.mean()), float(numbers.std()) or 1.0, values, ranks)

    def standardised(self, numbers: Floats) -> Floats:
        """The mean, which is 0, where a number is not known."""
        return np.nan_to_num((numbers - self.mean) / self.scale)

    def merits(self, numbers: Floats) -> list[Floats]:
        """Return the columns in which one person can be ahead of another."""
        ranked = [np.nan_to_num(np.interp(numbers, self.values, self.ranks))] if self.ranks.size else []
        return [self.standardised(numbers), *ranked]


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category; rare values, and those that were not there to learn from, are the last one. Missing is one too."""

    name: object
    codes: dict[object, int]
    shares: Floats
    """Of each code."""

    @classmethod
    def learn(cls, column: pd.Series) -> CategoryColumn:
        """The commonest have a code of their own; of equally common ones what is missing first, then as they appear."""
        codes, values = pd.factorize(_keys(column))
        counts = np.bincount(codes, minlength=len(values))
        order = sorted(range(len(values)), key=lambda code: (-counts[code], values[code] != _MISSING, code))
        numbers = {values[code]: min(number, _CATEGORIES - 1) for number, code in enumerate(order)}
        coded = np.array([numbers[value] for value in values], dtype=np.int64)
        return cls(column.name, numbers, np.bincount(coded, weights=counts) / max(len(column), 1))

    def code(self, column: pd.Series) -> Ints:
        """Of somebody with a value that was never seen it is one behind the last, or that of the rare ones."""
        strange = min(len(self.shares), _CATEGORIES - 1)
        return _keys(column).map(lambda value: self.codes.get(value, strange)).to_numpy(dtype=np.int64)

    def indicators(self, codes: Ints) -> Floats:
        """Return 1 for each person's category, minus its share."""
        return np.equal.outer(codes, np.arange(len(self.shares))) - self.shares


@dataclass(frozen=True, eq=False)
class PeopleEncoder:
    """Turns rows of people into numbers by what it learned from some of them; knows no outcomes."""

    columns: tuple[object, ...]
    numbers: tuple[NumberColumn, ...]
    categories: tuple[CategoryColumn, ...]
    """Also of numbers that are not always known: whether they are."""

    plain: bool
    """Whether differences are all that counts: no ranks of numbers, and not where the two stand."""

    @classmethod
    def learn(cls, people: pd.DataFrame, *, plain: bool = False) -> PeopleEncoder:
        """Read a table of what is shown, one column for each thing that is shown."""
        if not people.columns.size or not people.columns.is_unique:
            raise InputError("people: at least one column is needed, and each once")
        named = [people[name] for name in people.columns]
        numbers = [column for column in named if is_numeric(column)]
        told = [column.isna() if is_numeric(column) else column for column in named]
        categories = [each for each, column in zip(told, named, strict=True) if not is_numeric(column) or each.any()]
        return cls(
            tuple(people.columns),
            tuple(NumberColumn.learn(column, ranked=not plain) for column in numbers),
            tuple(CategoryColumn.learn(column) for column in categories),
            plain,
        )

    def encode(self, people: pd.DataFrame) -> EncodedPeople:
        """Return these people as numbers; they need the columns that were learned from, in any order."""
        missing = [name for name in self.columns if name not in people.columns]
        if missing:
            raise InputError(f"people: without the columns {some(missing)}, which the answers were learned with")
        numbers = [self._number(column, people) for column in self.numbers]
        codes = [column.code(self._category(column, people)) for column in self.categories]
        standardised = [column.standardised(values) for column, values in zip(self.numbers, numbers, strict=True)]
        merits = [each for column, values in zip(self.numbers, numbers, strict=True) for each in column.merits(values)]
        indicators = [column.indicators(code) for column, code in zip(self.categories, codes, strict=True)]
        n = len(people)
        return EncodedPeople(
            numbers=_stacked(standardised, n),
            codes=_stacked(codes, n).astype(np.int64),
            merits=_stacked([*merits, *indicators], n),
            levels=_stacked([] if self.plain else [*standardised, *indicators], n),
        )

    def _number(self, column: NumberColumn, people: pd.DataFrame) -> Floats:
        values = people[column.name]
        if not is_numeric(values):
            raise InputError(
                f"people: {column.name!r} held numbers when the answers were learned, and now holds others"
            )
        return _floats(values)

    def _category(self, column: CategoryColumn, people: pd.DataFrame) -> pd.Series:
        known_by_number = column.name in {number.name for number in self.numbers}
        return people[column.name].isna() if known_by_number else people[column.name]

    @property
    def ahead_columns(self) -> list[object]:
        """For each feature of `EncodedPeople.ahead`, the column of people it comes from."""
        numbers = [column.name for column in self.numbers for _ in range(1 + bool(column.ranks.size))]
        return [*numbers, *self._indicator_columns()]

    @property
    def apart_columns(self) -> list[object]:
        """Likewise of `EncodedPeople.apart`; None for the first, which is always 1."""
        numbers = [column.name for column in self.numbers]
        levels = [] if self.plain else [*numbers, *self._indicator_columns()]
        return [None, *numbers, *(column.name for column in self.categories), *levels]

    def _indicator_columns(self) -> list[object]:
        return [column.name for column in self.categories for _ in column.shares]


@dataclass(frozen=True, eq=False)
class EncodedPeople:
    """What is shown of n people: standardised numbers, codes of categories, merits and levels."""

    numbers: Floats
    """``(n, N)``."""

    codes: Ints
    """``(n, C)``."""

    merits: Floats
    """``(n, T)``: numbers, their ranks, indicators of categories."""

    levels: Floats
    """``(n, L)``: numbers and indicators."""

    def apart(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, 1 + N + C + L)``: 1, |difference| of numbers, whether categories differ, mean levels of the two.

        Nothing here changes, not in the last digit, if the two change sides.
        """
        return np.hstack(
            [
                np.ones((len(left), 1)),
                np.abs(self.numbers[left] - self.numbers[right]),
                self.codes[left] != self.codes[right],
                (self.levels[left] + self.levels[right]) / 2,
            ]
        )

    def ahead(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, T)``: the signed difference of each merit. All signs turn, exactly, if the two change sides."""
        difference: Floats = self.merits[left] - self.merits[right]
        return difference


def _floats(column: pd.Series) -> Floats:
    numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise InputError(f"people: {column.name!r} holds an infinite number; leave empty what is not known")
    return numbers


def _keys(column: pd.Series) -> pd.Series:
    """The values as something that is equal to itself, which a missing value is not."""
    values = column.astype(object)
    return values.where(values.notna(), None).map(lambda value: _MISSING if value is None else value)


def _stacked(parts: Sequence[NDArray[np.generic]], n: int) -> Floats:
    return np.column_stack(parts).astype(np.float64) if parts else np.empty((n, 0))
