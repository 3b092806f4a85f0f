"""Frames of other libraries arrive with every value as it was, and rows without a name are never taken for people."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.tables.columns import has_ids, indexed_by, to_pandas, used_columns

KINDS: dict[str, tuple[st.SearchStrategy[Any], Any, Any]] = {
    "integer": (st.integers(-(2**63), 2**63 - 1), pl.Int64, pa.int64()),
    "small": (st.integers(0, 255), pl.UInt8, pa.uint8()),
    "unsigned": (st.integers(0, 2**64 - 1), pl.UInt64, pa.uint64()),
    "truth": (st.booleans(), pl.Boolean, pa.bool_()),
    "number": (st.floats(allow_nan=False), pl.Float64, pa.float64()),
    "text": (st.text(st.characters(codec="utf-8")), pl.String, pa.string()),
    "category": (st.sampled_from(["x", "y", ""]), pl.Categorical, pa.dictionary(pa.int8(), pa.string())),
    "enum": (st.sampled_from(["x", "y", ""]), pl.Enum(["x", "y", ""]), pa.dictionary(pa.int32(), pa.large_string())),
    "decimal": (st.decimals(-99, 99, places=2), pl.Decimal(10, 2), pa.decimal128(10, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_value_and_every_gap_arrives(kind: str, data: st.DataObject) -> None:
    values, polars_type, arrow_type = KINDS[kind]
    column = data.draw(st.lists(st.none() | values, max_size=6))
    series = pl.Series("x", column, dtype=polars_type)
    arrow = pa.chunked_array([pa.array(column, arrow_type)])
    for table in (pl.DataFrame({"x": series}), pa.table({"x": arrow}), series, arrow):
        found = to_pandas(table)
        found = found["x"] if isinstance(found, pd.DataFrame) else found
        assert [None if pd.isna(value) else value for value in found.tolist()] == column
        assert not has_ids(found)


def test_not_a_number_is_missing_and_dates_are_dates() -> None:
    table = to_pandas(pl.DataFrame({"x": [1.0, float("nan"), None], "day": [date(2025, 1, 31), None, None]}))
    assert table["x"].isna().tolist() == [False, True, True]
    assert pd.api.types.is_datetime64_any_dtype(table["day"])


def test_rows_without_a_name_stay_so_when_some_are_selected() -> None:
    table = to_pandas(pl.DataFrame({"x": [1, 2, 3]}))
    for part in (table, table.iloc[[2, 0]], table[table["x"] > 1], table["x"], table.copy(), table.drop(index=0)):
        assert not has_ids(part)
    assert has_ids(table.set_index("x"))
    assert has_ids(pd.DataFrame({"x": [1]}))


def test_a_series_without_an_index_takes_that_of_the_people_if_it_is_as_long() -> None:
    ids = pd.Index(["p", "q"])
    assert to_pandas(pl.Series([1, 0]), ids).to_dict() == {"p": 1, "q": 0}
    assert not has_ids(to_pandas(pl.Series([1, 0, 1]), ids))
    own = pd.Series([1, 0], index=[7, 8])
    assert to_pandas(own, ids) is own


def test_what_is_no_frame_is_left_alone() -> None:
    for thing in (np.zeros(3), [1, 2], None, "people.parquet", {"x": [1]}, 3):
        assert to_pandas(thing) is thing


class Stream:
    """A table of which only Arrow's own interface is known."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table({"x": [1, None]}).__arrow_c_stream__(requested_schema)


def test_a_table_of_any_make_comes_through_arrow() -> None:
    for table in (Stream(), pa.record_batch({"x": [1, None]})):
        assert to_pandas(table)["x"].tolist() == [1, pd.NA]


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (pl.LazyFrame({"x": [1]}), "polars LazyFrame: a lazy frame.*collect it first"),
        (pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}), "objects that only its own library knows"),
        (pl.DataFrame({"x": pl.Series([2**100], dtype=pl.Int128)}), "polars DataFrame: cannot be read as a table"),
        (pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), "pyarrow Table: cannot be read.*unique"),
    ],
)
def test_what_cannot_be_read_is_refused(table: Any, part: str) -> None:
    with pytest.raises(InputError, match=part) as caught:
        to_pandas(table)
    assert "\n" not in str(caught.value)


def test_the_column_of_ids() -> None:
    table = to_pandas(pl.DataFrame({"id": [7, 8], "x": [1, 2]}))
    assert indexed_by(table, "id", "people").index.tolist() == [7, 8]
    with pytest.raises(InputError, match=r"people: there is no column 'idd' \(did you mean 'id'\?\)"):
        indexed_by(table, "idd", "people")
    with pytest.raises(InputError, match="names a column of a frame, not of ndarray"):
        indexed_by(np.zeros((2, 2)), "id", "people")


def test_columns_are_used_in_the_order_of_the_table() -> None:
    assert used_columns(["a", "b", "c"], ["c", "a"]) == ["a", "c"]
    assert used_columns([0, 1], None) == [0, 1]
    with pytest.raises(InputError, match=r"features: there is no column 'd'; allowed: 'a', 'b'\."):
        used_columns(["a", "b"], ["a", "d"])
