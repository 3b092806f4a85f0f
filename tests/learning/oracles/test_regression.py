"""The paper's oracle is least squares of the costs on the features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fairwise.learning.folding import fold
from fairwise.learning.oracles.regression import RegressionOracle


@pytest.mark.parametrize("seed", range(5))
def test_it_is_scikit_learns_linear_regression_of_the_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 5.0, 0.0, -3.0]
    cost = rng.normal(size=60)
    found = RegressionOracle(rows, np.ones(60)).best_response(cost)
    expected = LinearRegression().fit(rows, -cost)
    assert found.coef[0] == pytest.approx(expected.coef_, rel=1e-6, abs=1e-10)
    assert found.intercept[0] == pytest.approx(expected.intercept_, rel=1e-6, abs=1e-10)


def test_two_regressions_are_one_of_their_difference() -> None:
    rng = np.random.default_rng(0)
    rows, cost_0, cost_1 = rng.normal(size=(80, 3)), rng.random(80), rng.random(80)
    of_0, of_1 = (LinearRegression().fit(rows, cost).predict(rows) for cost in (cost_0, cost_1))
    found = RegressionOracle(rows, np.ones(80)).best_response(cost_1 - cost_0)
    assert np.array_equal(found.labels(rows)[0], of_1 < of_0)


def test_folded_rows_weigh_as_often_as_they_stand_in_the_table() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(3, size=(200, 2)).astype(float)
    outcome = (rng.random(200) < 0.2 + 0.3 * rows[:, 0]).astype(int)
    points = fold(rows, outcome, np.ones(200), np.empty((0, 2))).points
    assert len(points.rows) == 9
    found = RegressionOracle(points.rows, points.multiplicity).best_response(points.error_cost)
    expected = LinearRegression().fit(rows, -(1 - 2 * outcome) / 200)
    assert found.coef[0] == pytest.approx(expected.coef_)
    assert found.intercept[0] == pytest.approx(expected.intercept_)


def test_columns_that_repeat_each_other_are_no_trouble() -> None:
    """One-hot columns add to the intercept's: many solutions, one set of fitted costs."""
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=90)
    rows = np.column_stack([np.eye(3)[group], rng.normal(size=90), np.full(90, 2.0), np.zeros(90)])
    cost = rng.normal(size=90)
    found = RegressionOracle(rows, np.ones(90)).best_response(cost)
    fitted = -(rows @ found.coef[0] + found.intercept[0])
    assert fitted == pytest.approx(LinearRegression().fit(rows, cost).predict(rows), abs=1e-8)


def test_the_size_of_the_costs_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows, cost = rng.normal(size=(50, 3)), rng.normal(size=50)
    oracle = RegressionOracle(rows, np.ones(50))
    labels = oracle.best_response(cost).labels(rows)
    for size in (1e-12, 1e12):
        assert np.array_equal(oracle.best_response(size * cost).labels(rows), labels)


def test_it_knows_the_constants_and_claims_no_proof() -> None:
    oracle = RegressionOracle(np.zeros((4, 2)), np.ones(4))
    assert oracle.constants().labels(oracle.rows).tolist() == [[0] * 4, [1] * 4]
    assert not oracle.exact
