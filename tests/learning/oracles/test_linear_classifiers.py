"""Quick labels and sums are those of the exact loops, also where single precision cannot tell a sign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwise.learning.oracles import linear_classifiers, linear_kernels
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers


def exact_labels(rows: Any, coef: Any, intercept: Any) -> Any:
    return linear_kernels.labels(rows, np.ascontiguousarray(coef.T), intercept)


def near_ties(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, Any, Any]:
    """Classifiers that pass through one of the rows, up to the last bits."""
    rows = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-3, 4, size=d)
    rows[rng.random(size=(n, d)) < 0.3] = 0.0
    coef = rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-12, 3, size=(k, 1))
    through = rows[rng.integers(n, size=k)]
    intercept = -(coef * through).sum(axis=1) * (1 + rng.integers(-2, 3, size=k) * 2.0**-52)
    return rows, coef, intercept


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 40), st.integers(1, 300))
def test_labels_are_exact_near_and_on_the_boundary(seed: int, n: int, d: int, k: int) -> None:
    rows, coef, intercept = near_ties(np.random.default_rng(seed), n, d, k)
    assert np.array_equal(linear_classifiers.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_the_boundary_is_where_single_precision_fails() -> None:
    """The test above would pass for nothing if plain single precision got these right too."""
    rows, coef, intercept = near_ties(np.random.default_rng(0), 300, 20, 300)
    single = rows.astype(np.float32) @ coef.T.astype(np.float32) + intercept.astype(np.float32) > 0
    assert (single != exact_labels(rows, coef, intercept)).any()


def test_sums_by_cell_add_the_rows_in_order() -> None:
    rng = np.random.default_rng(1)
    rows, coef, intercept = near_ties(rng, 500, 7, 300)
    cell, value = rng.integers(3, size=500), rng.normal(size=500)
    labels = exact_labels(rows, coef, intercept)
    expected = np.zeros((3, 300))
    for p in range(500):
        expected[cell[p]] += value[p] * labels[p]
    assert np.array_equal(linear_classifiers.cell_totals(rows, coef, intercept, cell, value, 3), expected)
    counts = linear_classifiers.cell_totals(rows, coef, intercept, cell, np.ones(500, dtype=np.int32), 3)
    assert counts.dtype == np.int32
    assert np.array_equal(counts, [labels[cell == c].sum(axis=0) for c in range(3)])


@pytest.mark.parametrize("large", [1e16, 1e40, 1e300])
def test_numbers_beyond_single_precision(large: float) -> None:
    rng = np.random.default_rng(2)
    rows, coef, intercept = near_ties(rng, 60, 4, 50)
    rows[::7, 1] = large
    rows[3, 2] = -large
    assert np.array_equal(linear_classifiers.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_classifiers_that_are_zero_or_tiny() -> None:
    rows = np.random.default_rng(3).normal(size=(20, 3))
    coef, intercept = np.zeros((20, 3)), np.zeros(20)
    coef[1], intercept[2], coef[3, 0], coef[4] = 1e-310, 5e-324, -1e-300, [1.0, 1e-60, -1e-60]
    assert np.array_equal(linear_classifiers.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_few_and_many_classifiers_agree() -> None:
    rows, coef, intercept = near_ties(np.random.default_rng(4), 200, 5, 40)
    cost = np.random.default_rng(5).normal(size=200)
    many = LinearClassifiers(coef, intercept)
    one_by_one = [many.take(np.array([t])) for t in range(40)]
    assert np.array_equal(many.labels(rows), np.concatenate([one.labels(rows) for one in one_by_one]))
    costs = np.concatenate([one.total_costs(rows, cost) for one in one_by_one])
    assert np.array_equal(many.total_costs(rows, cost), costs)
