"""A block says of itself the same whether it was read from a file or is a DataFrame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.learning import row_kernels
from fairwise.learning.large.passes import ArrowBlock, Block, FrameBlock

TABLE = pd.DataFrame(
    {
        "whole": [3, 1, 2, 7],
        "float": [0.5, np.nan, -1.0, 2.0],
        "text": ["a", "b", "a", "c"],
        "bool": [True, False, True, True],
        "id": [10, 11, 13, 12],
    }
)


def _blocks(start: int = 0) -> list[Block]:
    arrow = pa.table({name: pa.array(values.to_numpy(), from_pandas=False) for name, values in TABLE.items()})
    halves = pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)])
    return [FrameBlock(start, TABLE.set_index("id")), ArrowBlock(start, arrow, "id"), ArrowBlock(start, halves, "id")]


@pytest.mark.parametrize("block", _blocks())
def test_columns_of_numbers(block: Block) -> None:
    for name in ("whole", "float"):
        np.testing.assert_array_equal(block.numbers(name), TABLE[name].to_numpy())
    assert block.numbers("text") is None
    assert block.numbers("bool") is None
    assert list(block.ids if block.ids is not None else []) == [10, 11, 13, 12]


@pytest.mark.parametrize("block", _blocks())
@pytest.mark.parametrize("columns", [["whole", "float"], ["text", "whole"]])
def test_rows_taken_are_those_of_the_table(block: Block, columns: list[str]) -> None:
    taken = block.take(columns, np.array([3, 1]))
    pd.testing.assert_frame_equal(taken.reset_index(drop=True), TABLE[columns].iloc[[3, 1]].reset_index(drop=True))
    assert block.table.index.to_list() == TABLE["id"].to_list()


def test_ids_that_are_numbers_in_a_row() -> None:
    block = ArrowBlock(2, pa.table({"x": [1.0, 2.0]}), range(100, 160, 10))
    assert block.ids is not None
    assert block.ids.tolist() == block.table.index.to_list() == [120, 130]


def test_what_is_marked_as_missing_is_not_numbers_alone() -> None:
    block = ArrowBlock(0, pa.table({"whole": pa.array([1, None]), "float": pa.array([None, 2.0])}), range(2))
    assert block.numbers("whole") is None
    assert block.numbers("float") is None


@given(st.lists(st.integers(-40, 40), max_size=30), st.sets(st.integers(-40, 40)))
def test_places_marked_are_those_of_the_last_bits(numbers: list[int], wanted: set[int]) -> None:
    marks = np.zeros(16, dtype=bool)
    marks[[number & 15 for number in wanted]] = True
    places = row_kernels.places_marked(np.array(numbers, dtype=np.int64), marks)
    assert places.tolist() == [p for p, number in enumerate(numbers) if marks[number & 15]]


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_codes_of_labels_are_those_of_pandas(values: list[int]) -> None:
    codes, labels = row_kernels.label_codes(np.array(values, dtype=np.int64), 7)
    expected, different = pd.factorize(np.array(values, dtype=np.int64))
    assert (codes.tolist(), labels.tolist()) == (expected.tolist(), different.tolist())


def test_more_labels_than_allowed_are_seen() -> None:
    assert len(row_kernels.label_codes(np.arange(9), 4)[1]) == 5


@given(st.lists(st.floats(width=64), max_size=20), st.floats(-10, 10), st.integers(-1000, 1000))
def test_scaling_by_the_inverse_is_dividing(values: list[float], shift: float, exponent: int) -> None:
    column, scale = np.array(values, dtype=float), 2.0**exponent
    divided, multiplied = np.empty((len(column), 1)), np.empty(len(column))
    row_kernels.scaled(column, 1.5, shift, scale, divided)
    finite = row_kernels.scale_numbers(column, 1.5, shift, 1.0 / scale, multiplied)
    np.testing.assert_array_equal(multiplied, divided[:, 0])
    assert finite == np.isfinite(divided).all()
