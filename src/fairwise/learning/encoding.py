"""People's tables as matrices: numbers shifted and scaled, categories one-hot, missing values marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import fsum
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from fairwise.errors import InputError, quote, warn
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.tables.columns import PLURALS, Kind, kind_of, microseconds, nearly, nearly_in_words

MAX_CATEGORIES = 1000
LARGEST_EXACT = 2**53
TOO_FINE = (
    f"Of whole numbers beyond {LARGEST_EXACT} (2**53) neighbours cannot be told apart. Leave the column out if it only "
    "names people, or give it in larger units."
)
_MANY_ROWS = 20_000  # from so many on compiled code does the same in one pass
_SMALLEST, _LARGEST = 2.0**-1074, float(np.finfo(float).max)


@dataclass(frozen=True)
class NumberColumn:
    """``(x - shift) / scale``; missing values become ``fill`` and, if training had some, a column of their own.

    The shift is the smallest value, so that zeros of counts stay zeros. The scale is a power of two near the
    standard deviation: dividing by it rounds nothing, so the encoding does not depend on the order of rows.
    """

    name: str
    shift: float
    scale: float
    fill: float
    marks_missing: bool
    kind: Kind = "number"
    """Meaning of the number: a date as microseconds since 1970, a duration as microseconds."""

    @property
    def outputs(self) -> list[str]:
        return [self.name, f"{self.name} is missing"] if self.marks_missing else [self.name]

    @property
    def in_own_units(self) -> bool:
        """Whether a number that is there stays as it is."""
        return self.shift == 0.0 and self.scale == 1.0


@dataclass(frozen=True)
class CategoryColumn:
    """One 0/1 column for each category seen in training; missing is a category if training had it."""

    name: str
    categories: tuple[str, ...]
    marks_missing: bool

    @property
    def outputs(self) -> list[str]:
        known = [f"{self.name} = {category}" for category in self.categories]
        return [*known, f"{self.name} is missing"] if self.marks_missing else known


@dataclass(frozen=True)
class TableEncoder:
    """How each column of the training table is encoded."""

    columns: tuple[NumberColumn | CategoryColumn, ...]

    @classmethod
    def learn(cls, table: pd.DataFrame, weights: FloatArray, *, scaled: bool) -> Self:
        """Learn categories, shifts and scales; with ``scaled=False`` numbers keep their own units."""
        return cls.learn_and_encode(table, weights, scaled=scaled)[0]

    @classmethod
    def learn_and_encode(cls, table: pd.DataFrame, weights: FloatArray, *, scaled: bool) -> tuple[Self, FloatArray]:
        """The encoder and the rows that it makes of this table, for which every column is read once."""
        kinds = [kind_of(series) for _, series in table.items()]
        read = [
            _as_text(series) if kind == "category" else numbers_of(series, kind)
            for kind, (_, series) in zip(kinds, table.items(), strict=True)
        ]
        encoder = cls(
            tuple(
                _learn_number(str(name), values, weights, kind, scaled=scaled)
                if isinstance(values, np.ndarray)
                else _learn_categories(table[name], values)
                for name, kind, values in zip(table.columns, kinds, read, strict=True)
            )
        )
        return encoder, encoder._encode(read, table.index)

    @property
    def outputs(self) -> list[str]:
        """A readable name for every encoded column."""
        return [output for column in self.columns for output in column.outputs]

    def described(self) -> pd.DataFrame:
        """Table of how each column is read: kind, number of categories (NA for others), whether values were missing."""
        kinds = [column.kind if isinstance(column, NumberColumn) else "category" for column in self.columns]
        sizes = [len(column.categories) if isinstance(column, CategoryColumn) else pd.NA for column in self.columns]
        names = pd.Index([column.name for column in self.columns], name="column", dtype=object)
        missing = [column.marks_missing for column in self.columns]
        columns = {"kind": kinds, "categories": pd.array(sizes, dtype="Int64"), "missing": missing}
        return pd.DataFrame(columns, index=names)

    def encode(
        self,
        table: pd.DataFrame,
        *,
        order: Literal["C", "F"] = "C",
        only: IntArray | None = None,
    ) -> FloatArray:
        """Encoded rows ``(n, len(outputs))``, or ``(n, len(only))`` of these outputs, ascending.

        With ``order="F"`` it is a column whose numbers lie side by side.

        A category that training never had counts as none of the known ones, with a warning. Columns that are not
        wanted are checked like the others.
        """
        read = [
            _numbers_again(column, series) if isinstance(column, NumberColumn) else _as_text(series)
            for column, (_, series) in zip(self.columns, table.items(), strict=True)
        ]
        return self._encode(read, table.index, order=order, only=only)

    def unchanged(self, table: pd.DataFrame) -> FloatArray | None:
        """The table's own numbers ``(n, columns)``, not a copy, where encoding would change nothing; else None."""
        if not all(
            isinstance(column, NumberColumn) and column.in_own_units and column.kind == "number"
            for column in self.columns
        ):
            return None
        if any(column.marks_missing for column in self.columns) or not all(table.dtypes == np.float64):
            return None
        memory = [series.to_numpy().base for _, series in table.items()]
        if memory[0] is None or any(base is not memory[0] for base in memory):
            return None  # columns in several places would be copied
        matrix = table.to_numpy()
        return matrix if all_finite(matrix) else None

    def _encode(
        self,
        read: Sequence[FloatArray | _Texts],
        people: pd.Index,
        *,
        order: Literal["C", "F"] = "C",
        only: IntArray | None = None,
    ) -> FloatArray:
        """Columns as they were read, the way this encoder knows them."""
        wanted = np.arange(len(self.outputs)) if only is None else only
        matrix = np.zeros((len(people), len(wanted)), order=order)
        at = 0
        for column, values in zip(self.columns, read, strict=True):
            begin, end = np.searchsorted(wanted, (at, at + len(column.outputs)))
            own, parts = matrix[:, begin:end], wanted[begin:end] - at
            if isinstance(column, NumberColumn) and isinstance(values, np.ndarray):
                _encode_number(column, values, people, own, parts)
            elif isinstance(column, CategoryColumn) and isinstance(values, _Texts):
                _encode_categories(column, values, own, parts)
            at += len(column.outputs)
        return matrix

    def state(self) -> list[dict[str, Any]]:
        """Plain values from which :meth:`from_state` makes the same encoder."""
        return [
            {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(column).items()}
            for column in self.columns
        ]

    @classmethod
    def from_state(cls, state: list[dict[str, Any]]) -> Self:
        return cls(
            tuple(
                CategoryColumn(**{**values, "categories": tuple(values["categories"])})
                if "categories" in values
                else NumberColumn(**values)
                for values in state
            )
        )


def numbers_of(series: pd.Series, kind: Kind = "number") -> FloatArray:
    """The numbers of a column, NaN where one is missing; dates and durations in microseconds."""
    if kind != "number":
        return microseconds(series, kind)
    if isinstance(series.dtype, pd.ArrowDtype) and series.dtype.kind not in "iufb":  # decimals
        series = series.astype(object)
    if series.dtype == object:
        series = series.where(series.notna(), np.nan)
    try:
        plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufb"  # whatever is missing there is NaN
        values = series.to_numpy(dtype=float) if plain else series.to_numpy(dtype=float, na_value=np.nan)
    except OverflowError as error:
        raise InputError(f"Column {series.name!r} holds a number that is too large for a float: {error}.") from None
    _refuse_inexact(series, values)
    if not all_finite(values) and len(infinite := np.flatnonzero(np.isinf(values))):
        where = series.index[infinite[0]]
        raise InputError(
            f"Column {series.name!r} is infinity for person {quote(where)}. Numbers must be finite, or missing."
        )
    return values


def all_finite(values: FloatArray) -> bool:
    """Whether certainly all are finite: their sum is, which takes one pass and no memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _refuse_inexact(series: pd.Series, values: FloatArray) -> None:
    """A whole number that a float cannot hold would become its neighbour."""
    if series.dtype != object and not pd.api.types.is_integer_dtype(series):
        return
    for position in np.flatnonzero(np.isfinite(values) & (np.abs(values) >= LARGEST_EXACT)).tolist():
        value = series.iloc[position]
        exact = int(value) if isinstance(value, Integral) else value  # numpy would compare two floats
        if exact != float(values[position]):
            where = quote(series.index[position])
            raise InputError(f"Column {series.name!r} is {value} for person {where}. {TOO_FINE}")


def _learn_number(name: str, values: FloatArray, weights: FloatArray, kind: Kind, *, scaled: bool) -> NumberColumn:
    known = ~np.isnan(values)
    marks_missing = not known.all()
    if not known.any():
        return NumberColumn(name, 0.0, 1.0, 0.0, marks_missing, kind)
    values, weights = values[known], weights[known]
    # In units of a power of two near the largest, which rounds nothing, no sum and no square leaves the range of a
    # float. Summed exactly where it becomes a value: rounding must not depend on the order of people.
    exponent = int(np.frexp(np.abs(values).max())[1])
    units = np.ldexp(values, -exponent)
    total = fsum(weights) if marks_missing else float(weights.sum())
    mean = (fsum(units * weights) if marks_missing else float(units @ weights)) / total
    shift, scale = 0.0, 1.0
    if scaled:
        shift, most = float(values.min()), float(values.max())
        if not np.isfinite(most / 2 - shift / 2) or most / 2 - shift / 2 > _LARGEST / 2:
            raise InputError(
                f"Column {name!r} holds numbers too large to be scaled: the difference of {shift:.1e} and {most:.1e} "
                "is no float. Give it in larger units."
            )
        spread = float(np.ldexp(np.sqrt(np.average((units - mean) ** 2, weights=weights)), exponent))
        scale = scale_of(name, max(spread, _SMALLEST) if shift < most else 0.0, max(abs(shift), abs(most)))
    return NumberColumn(name, shift, scale, fill_of(float(np.ldexp(mean, exponent)), kind), marks_missing, kind)


def fill_of(mean: float, kind: Kind) -> float:
    """Value of a missing number; a date that can be written."""
    return mean if kind == "number" else float(np.floor(mean))


def scale_of(name: str, spread: float, largest: float) -> float:
    """The power of two near a column's standard deviation."""
    if not np.isfinite(spread):
        raise InputError(f"Column {name!r} holds numbers too large to be scaled (up to {largest:.1e}).")
    return 2.0 ** round(np.log2(spread)) if spread > 0 else 1.0


def _numbers_again(column: NumberColumn, series: pd.Series) -> FloatArray:
    name, now = column.name, kind_of(series)
    if now != column.kind and {now, column.kind} & {"date", "duration"} and series.notna().any():
        held = "text" if now == "category" else PLURALS[now]
        raise InputError(f"Column {name!r} was {PLURALS[column.kind]} in training, but now holds {held}.")
    try:
        return numbers_of(series, column.kind)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"Column {name!r} was numbers in training, but now holds text: {error}") from None


def _encode_number(
    column: NumberColumn, values: FloatArray, people: pd.Index, wanted: FloatArray, parts: IntArray
) -> None:
    if not len(parts) and column.in_own_units:
        return  # these numbers were checked when they were read
    whole = len(parts) == len(column.outputs)
    out = wanted if whole else np.empty((len(values), len(column.outputs)), order="F")
    if len(values) >= _MANY_ROWS:
        from fairwise.learning.row_kernels import scaled  # numba is slow to load

        scaled(values, column.fill, column.shift, column.scale, out)
    else:
        missing = np.isnan(values)
        with np.errstate(over="ignore"):
            out[:, 0] = (np.where(missing, column.fill, values) - column.shift) / column.scale
        if column.marks_missing:
            out[:, 1] = missing
    if not all_finite(out[:, 0]) and len(endless := np.flatnonzero(~np.isfinite(out[:, 0]))):
        who, value = people[endless[0]], values[endless[0]]
        raise InputError(
            f"Column {column.name!r} is {value:g} for person {quote(who)}, too far from the training people to be "
            "measured in units of their spread."
        )
    if not whole:
        wanted[:] = out[:, parts]


class _Texts(NamedTuple):
    """A column of categories."""

    codes: IntArray
    """``(n,)`` which of the texts each row has; -1 where it is missing."""

    texts: list[str]


def _as_text(series: pd.Series) -> _Texts:
    codes, values = pd.factorize(series)
    # To a hash table 1, 1.0 and True are one value, and as text they are three: only text is told apart by it.
    if not all(type(value) is str for value in values):
        codes, values = pd.factorize(series.astype(str).where(series.notna(), None))
    return _Texts(codes.astype(np.intp), list(values))


def _learn_categories(series: pd.Series, column: _Texts) -> CategoryColumn:
    name, categories = str(series.name), tuple(sorted(column.texts))
    if not isinstance(series.dtype, pd.CategoricalDtype):  # which says that categories are meant
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
        odd = nearly(column.texts, counts)
        if odd is not None:
            kind, others = odd
            words = nearly_in_words(name, kind, len(categories), int(counts[others].sum()), int(counts.sum()))
            for first in np.flatnonzero(np.append(others, False)[column.codes])[:1]:
                words += f" The first is {series.iloc[first]!r}, of person {quote(series.index[first])}."
            warn(
                f"{words} To read {PLURALS[kind]}, and what is none as missing: people[{name!r}] = "
                f'pd.to_{"numeric" if kind == "number" else "datetime"}(people[{name!r}], errors="coerce"). If '
                'categories are meant: astype("category").',
            )
    if len(categories) > MAX_CATEGORIES:
        raise InputError(
            f"Column {name!r} has {len(categories)} different values in {len(column.codes)} rows; at most "
            f"{MAX_CATEGORIES} can be told apart. Is it a name or a free text? Leave it out, or group its values."
        )
    return CategoryColumn(name, categories, marks_missing=bool((column.codes < 0).any()))


def _encode_categories(column: CategoryColumn, values: _Texts, out: FloatArray, parts: IntArray) -> None:
    place = {category: code for code, category in enumerate(column.categories)}
    codes = np.array([*(place.get(text, -1) for text in values.texts), -1])[values.codes]
    known, missing = codes >= 0, values.codes < 0
    if len(parts) == len(column.outputs):
        out[np.flatnonzero(known), codes[known]] = 1.0
    for at, part in enumerate(parts):
        if part == len(column.categories):
            out[:, at] = missing
        elif len(parts) < len(column.outputs):
            out[:, at] = codes == part
    known |= missing & column.marks_missing
    unknown = np.flatnonzero(~known)
    if not len(unknown):
        return
    first = unknown[0]
    value = "a missing value" if missing[first] else repr(values.texts[values.codes[first]])
    rows = "1 row" if len(unknown) == 1 else f"{len(unknown)} rows"
    warn(
        f"Column {column.name!r}: {value} was never seen in training ({rows}); it counts as none of the known "
        "categories.",
    )
