"""A class that is given by its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.finite_oracle import FiniteClassOracle, ListedClassifiers

from fairwise.errors import InputError


def test_nothing_in_the_class_is_cheaper() -> None:
    rng = np.random.default_rng(0)
    predictions = rng.integers(2, size=(30, 7))
    oracle = FiniteClassOracle(predictions)
    for _ in range(50):
        cost = rng.normal(size=7)
        found = float((oracle.best_response(cost).labels(np.arange(7)) @ cost)[0])
        assert found == pytest.approx(min(0.0, cost.sum(), (predictions @ cost).min()))
    assert oracle.exact


def test_the_constants_are_always_in() -> None:
    oracle = FiniteClassOracle(np.array([[0, 1, 0]]))
    assert oracle.constants().labels(np.arange(3)).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert oracle.best_response(np.array([-1.0, -1.0, -1.0])).labels(np.arange(3)).tolist() == [[1, 1, 1]]
    assert oracle.hypothesis_class == "1 given classifiers and both constants"


def test_rows_are_numbers_of_points() -> None:
    listed = ListedClassifiers(np.array([[0, 1, 1], [1, 0, 0]], dtype=np.uint8))
    assert listed.labels(np.array([2, 0, 2])).tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("predictions", [np.array([0, 1]), np.array([[0, 2]]), np.array([[0.5, 1.0]])])
def test_anything_but_zeros_and_ones_is_refused(predictions: Any) -> None:
    with pytest.raises(InputError, match="array of 0 and 1"):
        FiniteClassOracle(predictions)
