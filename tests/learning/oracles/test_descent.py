"""Coordinate descent: never worse than its starts, and no single coordinate can improve on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.oracles.regression import RegressionOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray


def people(rng: np.random.Generator, kind: str, n: int = 60) -> FloatArray:
    if kind == "smooth":
        return rng.normal(size=(n, 3))
    if kind == "levels":  # columns of zeros and one other number, of either sign
        return np.column_stack([rng.normal(size=n), *(level * rng.integers(2, size=n) for level in (-2.0, 1.0, 0.5))])
    counts = np.column_stack([rng.integers(12, size=n), rng.integers(4, size=n), np.eye(3)[rng.integers(3, size=n)]])
    return np.unique(counts.astype(float) / [4.0, 1.0, 1.0, 1.0, 1.0], axis=0)


def paid(classifiers: LinearClassifiers, rows: FloatArray, cost: FloatArray) -> FloatArray:
    total: FloatArray = classifiers.labels(rows) @ cost
    return total


def moves(rows: FloatArray, classifier: LinearClassifiers) -> Any:
    """Every classifier that differs in one number: one step into each interval between two breakpoints."""
    score = rows @ classifier.coef[0] + classifier.intercept[0]
    for column in range(-1, rows.shape[1]):
        x = np.ones(len(rows)) if column < 0 else rows[:, column]
        at = np.unique(-score[x != 0] / x[x != 0])
        gaps = np.diff(at)
        middles = (at[:-1] + gaps / 2)[gaps > 1e-9]
        for step in [at[0] - 1, *middles, at[-1] + 1]:
            coef, intercept = classifier.coef.copy(), classifier.intercept.copy()
            if column < 0:
                intercept += step
            else:
                coef[0, column] += step
            yield LinearClassifiers(coef, intercept)


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
@pytest.mark.parametrize("seed", range(8))
def test_no_single_coordinate_can_improve_it(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = people(rng, kind)
    cost = rng.normal(size=len(rows)) / len(rows)
    found = DescentOracle(rows, np.ones(len(rows))).best_response(cost)
    mine = float(paid(found, rows, cost)[0])
    least = min(float(paid(other, rows, cost)[0]) for other in moves(rows, found))
    assert least >= mine - 1e-9


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
def test_it_is_never_worse_than_regression_and_often_better(kind: str) -> None:
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(20):
        rows = people(rng, kind)
        cost = rng.normal(size=len(rows))
        by_regression = float(paid(RegressionOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        by_descent = float(paid(DescentOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        assert by_descent <= by_regression + 1e-12
        better += by_descent < by_regression - 1e-6
    assert better > 10


def test_it_is_never_worse_than_what_it_may_start_from() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows, cost = people(rng, "smooth"), rng.normal(size=60)
        warm = LinearClassifiers(rng.normal(size=(12, 3)), rng.normal(size=12))
        found = DescentOracle(rows, np.ones(60)).best_response(cost, warm)
        assert paid(found, rows, cost)[0] <= paid(warm, rows, cost).min() + 1e-12


def test_a_good_start_is_used() -> None:
    """Least squares is led astray by one far person; the start is not."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(200, 6))
    truth = LinearClassifiers(rng.normal(size=(1, 6)), np.zeros(1))
    cost = np.where(truth.labels(rows)[0] == 1, -1.0, 1.0) * 10.0 ** rng.uniform(-3, 0, size=200)
    perfect = float(paid(truth, rows, cost)[0])
    oracle = DescentOracle(rows, np.ones(200))
    assert paid(oracle.best_response(cost), rows, cost)[0] > perfect + 1e-9
    assert paid(oracle.best_response(cost, truth), rows, cost)[0] == pytest.approx(perfect)


def test_starts_are_left_as_they_were() -> None:
    rng = np.random.default_rng(3)
    rows, cost = rng.normal(size=(40, 3)), rng.normal(size=40)
    warm = LinearClassifiers(rng.normal(size=(4, 3)), rng.normal(size=4))
    before = warm.coef.copy(), warm.intercept.copy()
    DescentOracle(rows, np.ones(40)).best_response(cost, warm)
    assert np.array_equal(before[0], warm.coef)
    assert np.array_equal(before[1], warm.intercept)


def test_the_same_costs_give_the_same_classifier() -> None:
    rng = np.random.default_rng(4)
    rows = people(rng, "counts")
    cost = rng.normal(size=len(rows))
    oracle = DescentOracle(rows, np.ones(len(rows)))
    first, second = oracle.best_response(cost), oracle.best_response(cost)
    assert np.array_equal(first.coef, second.coef)
    assert np.array_equal(first.intercept, second.intercept)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_costs_of_one_sign_give_a_constant(sign: float) -> None:
    rng = np.random.default_rng(5)
    rows = people(rng, "counts")
    cost = sign * rng.random(len(rows))
    labels = DescentOracle(rows, np.ones(len(rows))).best_response(cost).labels(rows)
    assert np.unique(labels).tolist() == [int(sign < 0)]


def test_without_costs_there_is_still_a_classifier() -> None:
    rows = people(np.random.default_rng(6), "smooth")
    assert len(DescentOracle(rows, np.ones(60)).best_response(np.zeros(60))) == 1


def test_it_claims_no_proof() -> None:
    assert not DescentOracle.exact


def test_the_plain_model_is_searched_longer() -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        rows = people(rng, "counts")
        cost = rng.normal(size=len(rows))
        once = float(paid(DescentOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        plain = DescentOracle(rows, np.ones(len(rows)), error_cost=cost)
        longer = float(paid(plain.best_response(cost), rows, cost)[0])
        assert longer <= once
        other = rng.normal(size=len(rows))
        assert np.array_equal(
            plain.best_response(other).coef, DescentOracle(rows, np.ones(len(rows))).best_response(other).coef
        )
    assert longer < once  # and here it pays
