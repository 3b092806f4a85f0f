"""A mixture's probability is its classifiers' weighted vote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.learning.model import mixture as module
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers


@pytest.fixture
def mixture() -> Mixture:
    rng = np.random.default_rng(0)
    return Mixture(LinearClassifiers(rng.normal(size=(9, 3)), rng.normal(size=9)), rng.dirichlet(np.ones(9)))


@pytest.fixture
def rows() -> Any:
    return np.random.default_rng(1).normal(size=(40, 3))


def test_probabilities_are_weighted_votes(mixture: Mixture, rows: Any) -> None:
    assert mixture.probabilities(rows) == pytest.approx(mixture.weights @ mixture.classifiers.labels(rows))


def test_probabilities_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch, mixture: Mixture, rows: Any) -> None:
    whole = mixture.probabilities(rows)
    order = np.random.default_rng(2).permutation(40)
    assert np.array_equal(mixture.probabilities(rows[order]), whole[order])
    assert np.array_equal(np.concatenate([mixture.probabilities(rows[i : i + 1]) for i in range(40)]), whole)
    for labels_at_once in (1, 20, 100, 361):
        monkeypatch.setattr(module, "_LABELS_AT_ONCE", labels_at_once)
        assert np.array_equal(mixture.probabilities(rows), whole)


def test_weights_that_add_to_a_little_more_than_one_do_not_show() -> None:
    weights = np.full(10, 0.1) + 1e-12
    certain = Mixture(LinearClassifiers(np.zeros((10, 1)), np.ones(10)), weights)
    assert certain.probabilities(np.zeros((3, 1))).tolist() == [1.0] * 3


def test_a_table_is_taken_in_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LABELS_AT_ONCE", 4)
    half = Mixture(FittedClassifiers([0, 1], np.full(2, np.nan)), np.array([0.25, 0.75]))
    assert half.probabilities(pd.DataFrame({"x": range(7)})).tolist() == [0.75] * 7
    assert half.probabilities(pd.DataFrame({"x": []})).tolist() == []
