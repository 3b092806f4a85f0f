"""Kinds of columns: numbers, dates, durations or categories; and text that is nearly all numbers or dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairwise.errors import InputError, quote

Kind = Literal["number", "date", "duration", "category"]
PLURALS: dict[Kind, str] = {"number": "numbers", "date": "dates", "duration": "durations", "category": "categories"}
DATES = {"date", "datetime", "datetime64", "period"}  # as pandas calls objects
DURATIONS = {"timedelta", "timedelta64"}

# A number written with a leading zero is a code, such as 01234.
NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?Z?)?$"
_NEARLY = 0.9
_MOST_CODES = 20
_NUMBERS_AS_OBJECTS = {"integer", "floating", "mixed-integer-float", "decimal", "boolean"}  # as pandas calls them
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000
_MOST = 2.0**62
_PATTERNS: dict[Kind, str] = {"number": NUMBER, "date": DATE}


def kind_of(series: pd.Series[Any]) -> Kind:
    """Return what a column holds, by its type; text is a category, whatever it spells."""
    dtype = series.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype) or _is_arrow(dtype, "is_date"):
        return "date"
    if pd.api.types.is_timedelta64_dtype(dtype) or _is_arrow(dtype, "is_duration"):
        return "duration"
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(series, skipna=True)
        if kind in DATES | DURATIONS:
            return "date" if kind in DATES else "duration"
        if kind in _NUMBERS_AS_OBJECTS:
            return "number"
        if kind.startswith("mixed") and all(isinstance(value, Real | Decimal) for value in series[series.notna()]):
            return "number"  # numbers of several types
    if pd.api.types.is_complex_dtype(dtype):
        raise InputError(f"Column {series.name!r} holds complex numbers. Complex data not supported.")
    is_number = pd.api.types.is_numeric_dtype(dtype) or _is_arrow(dtype, "is_boolean")
    return "number" if is_number else "category"


def _is_arrow(dtype: object, test: str) -> bool:
    return isinstance(dtype, pd.ArrowDtype) and bool(getattr(pa.types, test)(dtype.pyarrow_dtype))


def microseconds(series: pd.Series[Any], kind: Kind) -> NDArray[np.float64]:
    """Return dates as microseconds since 1970 (in UTC where they have a zone), durations as microseconds.

    Missing ones are NaN. A time that is no whole number of microseconds, or none that a float holds, is refused.
    """
    plain: Any = series
    if isinstance(series.dtype, pd.ArrowDtype):
        plain = pa.chunked_array(pa.array(series.array)).to_pandas(date_as_object=False)
    try:
        if kind == "duration":
            times: Any = pd.TimedeltaIndex(plain)
        elif pd.api.types.infer_dtype(plain, skipna=True) == "period":
            times = pd.PeriodIndex(plain).to_timestamp()
        else:
            times = pd.DatetimeIndex(pd.to_datetime(plain, utc=True))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"Column {series.name!r} holds {kind}s that cannot be read: {error}") from None
    numbers = times.asi8
    missing = numbers == np.iinfo(np.int64).min
    factor = _MICROSECONDS.get(times.unit, 1)
    whole = numbers // 1000 if times.unit == "ns" else numbers * factor
    lost = numbers % 1000 != 0 if times.unit == "ns" else np.abs(numbers.astype(float)) >= _MOST / factor
    values: NDArray[np.float64] = whole.astype(float)
    lost |= np.abs(values) >= _MOST
    lost[~lost] = values[~lost].astype(np.int64) != whole[~lost]
    for first in np.flatnonzero(lost & ~missing)[:1]:
        raise InputError(
            f"Column {series.name!r} is {times[first]} for person {quote(series.index[first])}: times are told apart "
            "by whole microseconds, and far from 1970 (before 1685, after 2255) only by whole seconds. Round them, or "
            "leave the column out."
        )
    return np.where(missing, np.nan, values)


def date_text(value: float) -> str:
    """Return microseconds since 1970 as a date, with its time of day where that is not midnight.

    Half a microsecond is cut off: whether a date is at most this stays the same.

    >>> date_text(86_400_000_000.0), date_text(60_500_000.0)
    ('1970-01-02', '1970-01-01T00:01:00.500000')
    """
    text = str(np.datetime64(int(np.floor(value)), "us")).removesuffix(".000000")
    return text.removesuffix("T00:00:00")


def duration_text(value: float, *, exact: bool = True) -> str:
    """Return microseconds as days and time.

    >>> duration_text(86_400_000_000.0), duration_text(-60_500_000.0), duration_text(129_600_000_000.0, exact=False)
    ('1 days', '-0 days 00:01:00.500000', '1.5 days')
    """
    if not exact:
        return f"{value / _DAY:.4g} days"
    days, rest = divmod(abs(int(np.floor(value))), _DAY)
    seconds, micro = divmod(rest, 1_000_000)
    time = f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" if rest else ""
    return f"{'-' if value < 0 else ''}{days} days{time}{f'.{micro:06}' if micro else ''}"


def nearly(texts: Sequence[str], counts: NDArray[np.int64]) -> tuple[Kind, NDArray[np.bool_]] | None:
    """Return what nearly all cells of a column of text are, number or date, and which of its values are not.

    None where too few are, and where numbers seem to be codes: a few without anything else, or some with leading zeros.
    """
    plain = pc.utf8_trim_whitespace(pa.array(texts, pa.large_string()))
    for kind, pattern in _PATTERNS.items():
        fits = pc.match_substring_regex(plain, pattern).to_numpy(zero_copy_only=False).astype(bool)
        whole = fits.all() and (kind == "date" or len(texts) > _MOST_CODES)
        if 0 < _NEARLY * counts.sum() <= counts[fits].sum() and (whole or not fits.all()):
            codes = pc.any(pc.match_substring_regex(plain, r"^0[0-9]+$")).as_py()
            return None if codes else (kind, ~fits)
    return None


def nearly_in_words(name: str, kind: Kind, categories: int, others: int, total: int) -> str:
    """Return a sentence on a column that is nearly all numbers or dates but is read as categories."""
    if not others:
        return f"Column {name!r} is read as {categories:,} categories, although all values are {kind}s."
    are = f"is no {kind}" if others == 1 else f"are no {kind}s"
    return f"Column {name!r} is read as {categories:,} categories, because {others:,} of {total:,} values {are}."


def described(table: pd.DataFrame) -> pd.DataFrame:
    """Return how each column of a table would be read by a fit: kind, categories, missing."""
    kinds = [kind_of(column) for _, column in table.items()]
    sizes = [
        column.nunique() if kind == "category" else pd.NA
        for kind, (_, column) in zip(kinds, table.items(), strict=True)
    ]
    columns = {"kind": kinds, "categories": pd.array(sizes, dtype="Int64"), "missing": table.isna().any().tolist()}
    return pd.DataFrame(columns, index=pd.Index([*table.columns], name="column", dtype=object))


def described_in_words(columns: pd.DataFrame) -> str:
    """Return one sentence on how columns are read, such as those of :func:`described`.

    >>> described_in_words(described(pd.DataFrame({"age": [20, 30], "city": ["Ulm", "Bonn"]})))
    'Columns read as numbers: age; as categories: city (2).'
    """
    parts = []
    for kind, rows in columns.groupby("kind", sort=False):
        sizes = rows["categories"] if "categories" in rows else pd.Series(pd.NA, rows.index)
        names = [f"{name}" if pd.isna(size) else f"{name} ({size:,})" for name, size in sizes.items()]
        parts.append(f"as {PLURALS.get(kind, kind)}: {', '.join(names)}")  # type: ignore[call-overload]
    return f"Columns read {'; '.join(parts)}."


def described_json(columns: pd.DataFrame) -> dict[str, dict[str, object]]:
    """Return the same for programs, by column; what is not known of one is left out."""
    rows = columns.astype(object).to_dict("index").items()
    return {str(name): {str(what): value for what, value in row.items() if pd.notna(value)} for name, row in rows}


@dataclass(frozen=True)
class Reading:
    """Reading options for columns of text that are ambiguous."""

    numeric: tuple[str, ...] = ()
    """Columns of numbers: whatever else stands there is missing."""

    na_values: tuple[str, ...] = ()
    """Cells that mean a missing value, in every column."""

    def __bool__(self) -> bool:
        return bool(self.numeric or self.na_values)

    def read(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """Return a column as asked for; what is no text stays as it is."""
        if not self or kind_of(column) != "category" or isinstance(column.dtype, pd.CategoricalDtype):
            return column
        missing = column.astype(str).str.strip().isin(self.na_values) & column.notna()
        column = column.mask(missing) if missing.any() else column
        if column.name not in self.numeric:
            return column
        return pd.to_numeric(column, errors="coerce").astype(float)
