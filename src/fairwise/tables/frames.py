"""Frames and series of any make (polars, pyarrow, modin …) as those of pandas, with every value as it was; columns.

Numbers of many values become a few bands, and groups of people stand in the order in which they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from fairwise.errors import InputError, TableError, quote, some
from fairwise.tables.files import require_column
from fairwise.tables.ids import text_of
from fairwise.tables.row_errors import did_you_mean

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
        known = nw.from_native(table, pass_through=True, allow_series=True)
        if isinstance(known, nw.LazyFrame):
            raise InputError(f"{make_of(table)}: a lazy frame, whose rows are not there yet; collect it first")
        if isinstance(known, nw.DataFrame | nw.Series):
            if known.implementation.is_pandas_like():  # it has an index
                return known.to_pandas()
            columns = known.to_arrow()
        elif hasattr(table, "__arrow_c_stream__"):  # a table of a make that narwhals does not know
            columns = pa.table(table)
        else:
            return table
        values = _of_arrow(columns, getattr(known, "name", None))
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
    known = list(columns)
    chosen = known if features is None else list(features)
    for name in chosen:
        if name not in known:
            hint = did_you_mean(str(name), [str(column) for column in known])
            raise InputError(f"features: there is no column {quote(name)}{hint}; allowed: {some(known)}.")
    return [name for name in known if name in chosen]


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, and not yes and no: its values have distances; others are the same or not."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def bands(column: pd.Series[Any]) -> pd.Series[Any]:
    """Each number's band of about a size, written as its least and its largest number: 18\N{EN DASH}24."""
    codes = pd.qcut(column, BANDS, labels=False, duplicates="drop")
    ends = column.groupby(codes).agg(["min", "max"])
    words = {
        code: f"{low:g}\N{EN DASH}{high:g}" if low < high else f"{low:g}"
        for code, low, high in ends.itertuples(name=None)
    }
    return codes.map(words)


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers and bands from the least to the largest, then words by name.

    >>> in_order(["32\N{EN DASH}42", "not known", "9\N{EN DASH}25", "43\N{EN DASH}96"])
    ['9–25', '32–42', '43–96', 'not known']
    """

    def place(name: str) -> tuple[bool, float, str]:
        begins = re.match(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=\N{EN DASH}|$)", name)
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
    known = {text.strip().lower() for text in texts if text is not None}
    if known and known <= set(_TRUTHS):
        return pa.array([None if text is None else _TRUTHS[text.strip().lower()] for text in texts], pa.bool_())
    return pa.array(texts, pa.string())


def _text(value: object) -> str | None:
    if pd.api.types.is_scalar(value) and pd.isna(value):  # type: ignore[call-overload]
        return None
    return text_of(value).removesuffix(" 00:00:00" if isinstance(value, pd.Timestamp) else "")
