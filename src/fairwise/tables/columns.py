"""Columns: their kinds (numbers, dates, durations, categories) and values; frames of other libraries as pandas'."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairwise.errors import InputError, TableError, quote, some
from fairwise.numbers import record_number
from fairwise.tables.rows import did_you_mean, require_column, text_of

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


def nearly_in_words(name: str, kind: Kind, categories: int, exceptions: int, total: int) -> str:
    """Return a sentence on a column that is nearly all numbers or dates but is read as categories."""
    if not exceptions:
        return f"Column {name!r} is read as {categories:,} categories, although all values are {kind}s."
    are = f"is no {kind}" if exceptions == 1 else f"are no {kind}s"
    return f"Column {name!r} is read as {categories:,} categories, because {exceptions:,} of {total:,} values {are}."


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


_COUNTED = "row, not an id"
"""The name of an index that only counts the rows of a frame without one: it stays when rows are selected."""

# With a missing value, integers would become floats and truth values objects.
_WITH_MISSING = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
BANDS = 4
_TRUTHS = {"true": True, "false": False}


def to_pandas(table: Any, index: pd.Index | None = None) -> Any:
    """Return a frame or series of any make as one of pandas; whatever else it is, as it is.

    What has no index gets ``index`` where that is given and as long. Otherwise its rows are counted, and `has_ids`
    knows that the numbers name nobody.
    """
    if table is None or isinstance(table, pd.DataFrame | pd.Series | np.ndarray):
        return table
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=True)
        if isinstance(frame, nw.LazyFrame):
            raise InputError(f"{make_of(table)}: a lazy frame, whose rows are not there yet; collect it first")
        if isinstance(frame, nw.DataFrame | nw.Series):
            if frame.implementation.is_pandas_like():  # it has an index
                return frame.to_pandas()
            columns = frame.to_arrow()
        elif hasattr(table, "__arrow_c_stream__"):  # a table of a make that narwhals does not know
            columns = pa.table(table)
        else:
            return table
        values = _of_arrow(columns, getattr(frame, "name", None))
    except (nw.exceptions.NarwhalsError, pa.ArrowException, TypeError, NotImplementedError) as error:
        raise InputError(f"{make_of(table)}: cannot be read as a table: {' '.join(str(error).split())}") from None
    counted = pd.RangeIndex(len(values), name=_COUNTED)
    return values.set_axis(counted if index is None or len(index) != len(values) else index, axis="index")


def _of_arrow(columns: pa.Table | pa.ChunkedArray, name: str | None) -> pd.DataFrame | pd.Series:
    if isinstance(columns, pa.Table):
        frame = pd.DataFrame({k: _series(column) for k, column in enumerate(columns.columns)})
        return frame.set_axis(columns.column_names, axis="columns")
    series = _series(columns)
    series.name = name or None
    return series


def _series(column: pa.ChunkedArray) -> pd.Series:
    if pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type):
        raise TypeError("a column holds bytes, or objects that only its own library knows")
    kinds = _WITH_MISSING.get if column.null_count else None
    series: pd.Series = column.to_pandas(types_mapper=kinds, date_as_object=False)
    return series


def has_ids(table: object) -> bool:
    """Whether rows are named: by the index of a frame or series of pandas, unless `to_pandas` counted them."""
    return isinstance(table, pd.DataFrame | pd.Series) and table.index.name != _COUNTED


def make_of(table: object) -> str:
    """Return what a table is, for messages: "polars DataFrame"."""
    kind = type(table)
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}"


def indexed_by(table: object, id_column: str, what: str) -> pd.DataFrame:
    """Return a table with this column as its index; `what` is what the table is called where it cannot be."""
    if not isinstance(table, pd.DataFrame):
        raise TableError(f"{what}: id={id_column!r} names a column of a frame, not of {type(table).__name__}")
    require_column(id_column, [str(name) for name in table.columns], what)
    return table.set_index(id_column)


def used_columns(columns: Iterable[Any], features: Iterable[Any] | None) -> list[Any]:
    """The columns that a model may use, in the order of the table; all of them where it is not said which."""
    names = list(columns)
    chosen = names if features is None else list(features)
    for name in chosen:
        if name not in names:
            hint = did_you_mean(str(name), [str(column) for column in names])
            raise InputError(f"features: there is no column {quote(name)}{hint}; allowed: {some(names)}.")
    return [name for name in names if name in chosen]


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, and not yes and no: its values have distances; others are the same or not."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def bands(column: pd.Series[Any]) -> pd.Series[Any]:
    """Each number's band of about a size, written as its least and its largest number: 18\N{EN DASH}24."""
    codes = pd.qcut(column, BANDS, labels=False, duplicates="drop")
    ends = column.groupby(codes).agg(["min", "max"])
    words = {
        code: "\N{EN DASH}".join(map(record_number, (low, high) if low < high else (low,)))
        for code, low, high in ends.itertuples(name=None)
    }
    return codes.map(words)


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers and bands from the least to the largest, then words by name.

    >>> in_order(["32\N{EN DASH}42", "not known", "9\N{EN DASH}25", "43\N{EN DASH}96"])
    ['9–25', '32–42', '43–96', 'not known']
    """

    def place(name: str) -> tuple[bool, float, str]:
        begins = re.match(r"-?\d+(?:\.\d+)?(?=\N{EN DASH}|$)", name)
        return (begins is None, float(begins[0]) if begins else 0.0, name)

    return sorted(names, key=place)


def arrow_column(column: pd.Series[Any]) -> pa.Array:
    """Return a column as truths, numbers or text, whatever it was."""
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
        return pa.array(column)
    texts = [_text(value) for value in column.array]
    if pd.api.types.is_float_dtype(column.dtype):
        # By way of text, as 0.1 in half the digits is another number in all of them.
        return pa.array([None if text is None else float(text) for text in texts], pa.float64())
    words = {text.strip().lower() for text in texts if text is not None}
    if words and words <= set(_TRUTHS):
        return pa.array([None if text is None else _TRUTHS[text.strip().lower()] for text in texts], pa.bool_())
    return pa.array(texts, pa.string())


def _text(value: object) -> str | None:
    if pd.api.types.is_scalar(value) and pd.isna(value):  # type: ignore[call-overload]
        return None
    return text_of(value).removesuffix(" 00:00:00" if isinstance(value, pd.Timestamp) else "")
