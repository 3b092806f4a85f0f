"""Keys depend on nothing but a row's content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwise.learning.keys import row_keys, uniforms

matrices = st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=20).map(np.array)


@settings(max_examples=60)
@given(matrices, st.integers(0, 2**31), st.randoms())
def test_keys_are_the_same_in_any_batch_and_order(rows: Any, seed: int, random: Any) -> None:
    keys = row_keys(rows, seed)
    order = list(range(len(rows)))
    random.shuffle(order)
    assert np.array_equal(row_keys(rows[order], seed), keys[order])
    assert [int(row_keys(rows[i : i + 1], seed)[0]) for i in range(len(rows))] == keys.tolist()
    assert np.array_equal(row_keys(np.asfortranarray(rows), seed), keys)


@settings(max_examples=60)
@given(matrices)
def test_equal_rows_have_equal_keys_and_other_rows_others(rows: Any) -> None:
    twice = np.concatenate([rows, rows])
    keys = row_keys(twice)
    assert np.array_equal(keys[: len(rows)], keys[len(rows) :])
    distinct = {tuple("nan" if np.isnan(x) else x for x in row) for row in rows}
    assert len(set(keys.tolist())) == len(distinct)


def test_zero_has_no_sign_and_nan_no_kind() -> None:
    assert row_keys(np.array([[0.0]])) == row_keys(np.array([[-0.0]]))
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(float)
    keys = row_keys(np.array([[np.nan], *other_nan[:, None]]))
    assert len(set(keys.tolist())) == 1


def test_columns_are_not_interchangeable() -> None:
    assert row_keys(np.array([[1.0, 2.0]])) != row_keys(np.array([[2.0, 1.0]]))
    assert row_keys(np.array([[0.0]])) != row_keys(np.array([[0.0, 0.0]]))


def test_another_seed_gives_other_keys() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 2))
    assert not np.any(row_keys(rows, 1) == row_keys(rows, 2))


def test_tables_with_text_have_keys_too() -> None:
    table = pd.DataFrame({"x": [1, 1, 2, 1], "g": ["a", "a", "a", None], "c": pd.Categorical(["u", "u", "u", "u"])})
    keys = row_keys(table)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3
    assert np.array_equal(row_keys(table.iloc[[3, 1]]), keys[[3, 1]])
    assert np.array_equal(row_keys(table.astype({"g": object, "x": float})), keys)


def test_a_missing_text_is_neither_empty_nor_the_word() -> None:
    table = pd.DataFrame({"g": ["", None, "None", "nan"]}, dtype=object)
    assert len(set(row_keys(table).tolist())) == 4


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_uniforms_are_uniform(seed: int) -> None:
    """Kolmogorov-Smirnov distance below what one in ten thousand samples exceeds; rows differ as little as can be."""
    n = 20_000
    for rows in (np.arange(n, dtype=float)[:, None], np.random.default_rng(seed).normal(size=(n, 3))):
        drawn = np.sort(uniforms(row_keys(rows, seed)))
        assert drawn[0] >= 0.0
        assert drawn[-1] < 1.0
        distance = np.abs(drawn - (np.arange(n) + 0.5) / n).max()
        assert distance < 2.23 / np.sqrt(n)


def test_draws_of_two_seeds_have_nothing_to_do_with_each_other() -> None:
    rows = np.arange(20_000, dtype=float)[:, None]
    one, two = uniforms(row_keys(rows, 1)), uniforms(row_keys(rows, 2))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.03


def test_uniforms_reach_from_zero_to_just_below_one() -> None:
    ends = uniforms(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert ends[0] == 0.0
    assert ends[1] == 1.0 - 2.0**-53
