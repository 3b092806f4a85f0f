"""Sums over blocks: exact where a rounded one would show, and the same as of the whole."""

from __future__ import annotations

from math import fsum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.learning import row_kernels
from fairwise.learning.large.passes import FrameBlock
from fairwise.learning.large.sums import block_sums

numbers = st.integers(-(10**15), 10**15).map(lambda value: value / 1000) | st.just(np.nan)


@given(st.lists(st.lists(numbers, max_size=20), min_size=1, max_size=6))
def test_sums_of_blocks_round_like_one_exact_sum(blocks: list[list[float]]) -> None:
    """What replaces a missing value is a mean, and must not depend on where blocks begin."""
    high, low = 0.0, 0.0
    for block in blocks:
        _, _, _, *part = row_kernels.column_sums(np.array(block, dtype=float))
        high, low = row_kernels.add_pairs(high, low, *part)
    assert high == fsum(value for block in blocks for value in block if not np.isnan(value))


def test_what_a_plain_sum_would_lose() -> None:
    values = np.array([1e16, 1.0, -1e16, 1.0, np.nan] * 9)
    n_missing, least, greatest, high, _ = row_kernels.column_sums(values)
    assert (n_missing, least, greatest, high) == (9, -1e16, 1e16, 18.0)


def test_products_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": rng.normal(5, 1, size=90),
            "kind": rng.choice(["a", "b", "c"], size=90),
            "gap": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)),
        }
    )
    outcome = pd.Series(rng.choice(["no", "yes"], size=90))
    cuts = [(0, 30), (30, 31), (31, 90)]
    centres = [4.0, 0.0, -1.0]
    people = table.assign(outcome=outcome)
    parts = [block_sums(FrameBlock(a, people[a:b]), list(table.columns), "outcome", None, centres) for a, b in cuts]
    whole = parts[0].plus(parts[1], list(table.columns)).plus(parts[2], list(table.columns))
    columns = {
        (0, "number", ""): table["x"] - 4.0,
        **{(1, "category", kind): table["kind"] == kind for kind in "abc"},
        (2, "number", ""): (table["gap"] + 1.0).fillna(0.0),
        (2, "missing", ""): table["gap"].isna(),
    }
    assert set(whole.keys) == set(columns)
    matrix = np.column_stack([np.ones(90), *(columns[key].to_numpy(dtype=float) for key in whole.keys)])
    assert whole.gram == pytest.approx(matrix.T @ matrix)
    for label in ("no", "yes"):
        assert whole.by_cell[label, ""] == pytest.approx(matrix[outcome == label].sum(axis=0))
    assert (whole.start, whole.n_rows) == (0, 90)
