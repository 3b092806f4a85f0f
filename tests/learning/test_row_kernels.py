"""Sums over row values, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fairwise.learning.row_kernels import combine, mix


@pytest.mark.parametrize("weighted", [0, 1, 7, 10])
def test_only_what_has_a_weight_is_mixed(weighted: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 2, (10, 30)).astype(np.int8)
    # Whatever lies behind the weights in memory must not matter: classifiers found since have none.
    weights = np.full(10, 1e6)
    weights[:weighted] = rng.random(weighted)
    assert mix(values, weights[:weighted]) == pytest.approx(weights[:weighted] @ values[:weighted])


def test_stretches_of_rows_are_summed() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-1, 2, (6, 20)).astype(np.int8)
    starts, rows, coefficients = np.array([0, 3, 3, 8]), rng.integers(0, 20, 8), rng.random(8)
    found = combine(values, starts, rows, coefficients)
    for c in range(3):
        part = slice(starts[c], starts[c + 1])
        assert found[c] == pytest.approx(values[:, rows[part]] @ coefficients[part])
