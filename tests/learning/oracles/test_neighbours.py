"""Single steps from known classifiers: the cheapest of all is found, and the search that starts there is no worse."""

from __future__ import annotations

import numpy as np
import pytest

from fairwise.learning.oracles import descent as module
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.descent import DescentOracle, Neighbours
from fairwise.learning.oracles.descent_kernels import Columns, scores
from fairwise.learning.oracles.line_kernels import labels_after
from fairwise.learning.oracles.linear import LinearClassifiers, RegressionOracle


def example(seed: int, n: int = 60) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Rows of numbers of both signs, of 0 and 1, of -2 and 0; costs of errors; judged points; costs there besides."""
    rng = np.random.default_rng(seed)
    columns = (rng.integers(-3, 4, n), rng.random(n) < 0.5, -2.0 * (rng.random(n) < 0.3), rng.normal(size=n))
    rows = np.column_stack(columns).astype(float)
    error_cost = rng.choice([-1.0, 0.0, 1.0, 2.0], size=n) / n
    judged = rng.choice(n, 12)
    cost = error_cost.copy()
    cost[np.unique(judged)] += rng.normal(size=len(np.unique(judged))) / 5
    return rows, error_cost, judged, cost


def least_of_steps(one: LinearClassifiers, rows: FloatArray, cost: FloatArray) -> float:
    """The least cost of any step along a coordinate, by trying one between any two breakpoints."""
    with_one = np.column_stack([np.ones(len(rows)), rows])
    beta = np.append(one.intercept, one.coef)
    least = np.inf
    for j, column in enumerate(with_one.T):
        at = np.unique(-(with_one @ beta)[column != 0] / column[column != 0])
        between = np.concatenate([at[:1] - 1, (at[1:] + at[:-1]) / 2, at[-1:] + 1])
        for step in between:
            moved = beta + step * (np.arange(len(beta)) == j)
            least = min(least, float(cost @ (with_one @ moved > 0)))
    return least


@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_step_of_all_is_found(seed: int) -> None:
    rows, error_cost, judged, cost = example(seed)
    rng = np.random.default_rng(100 + seed)
    known = LinearClassifiers(rng.normal(size=(5, rows.shape[1])), rng.normal(size=5))
    neighbours = Neighbours(Columns.of(rows), error_cost, judged)
    for one in known:
        neighbours.remember(one)
    found, labels = neighbours.best_of_each(cost, 5, np.inf)
    expected = sorted(least_of_steps(one, rows, cost) for one in known)
    np.testing.assert_allclose(labels @ cost, expected, atol=1e-12)
    np.testing.assert_array_equal(labels, found.labels(rows))
    assert neighbours.cheapest(cost).total_costs(rows, cost)[0] == pytest.approx(expected[0])


def test_what_is_of_no_use_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY", 0)
    rows, error_cost, judged, cost = example(1)
    neighbours = Neighbours(Columns.of(rows), error_cost, judged)
    good = RegressionOracle(rows, np.ones(len(rows))).best_response(cost)
    neighbours.remember(good)
    least = float(neighbours.cheapest(cost).total_costs(rows, cost)[0])
    for _ in range(40):
        neighbours.remember(LinearClassifiers(np.zeros((1, rows.shape[1])), np.ones(1)))
        neighbours.cheapest(cost)
    assert len(neighbours) == module.FEWEST
    assert float(neighbours.cheapest(cost).total_costs(rows, cost)[0]) <= least


def test_costs_elsewhere_do_not_suit() -> None:
    rows, error_cost, judged, cost = example(2)
    neighbours = Neighbours(Columns.of(rows), error_cost, judged)
    assert neighbours.suit(cost)
    elsewhere = np.setdiff1d(np.arange(len(rows)), judged)[0]
    cost[elsewhere] += 1.0
    assert not neighbours.suit(cost)


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_is_no_dearer_than_any_single_step_nor_the_regression(seed: int) -> None:
    rows, error_cost, judged, cost = example(seed, 200)
    oracle = DescentOracle(rows, np.ones(len(rows)), error_cost, judged=judged)
    first = oracle.best_response(error_cost)
    found = oracle.best_response(cost, first).total_costs(rows, cost)[0]
    assert found <= least_of_steps(first, rows, cost) + 1e-12
    assert found <= oracle.regression.best_response(cost).total_costs(rows, cost)[0] + 1e-12


def test_variations_are_single_steps_with_their_labels() -> None:
    rows, error_cost, judged, cost = example(3)
    oracle = DescentOracle(rows, np.ones(len(rows)), error_cost, judged=judged)
    assert oracle.variations(cost, np.inf, 8) is None
    known = oracle.best_response(error_cost)
    varied = oracle.variations(cost, np.inf, 8)
    assert varied is not None
    np.testing.assert_array_equal(varied[1], varied[0].labels(rows))
    assert float(varied[1][0] @ cost) == pytest.approx(least_of_steps(known, rows, cost))
    assert oracle.variations(cost, float(varied[1][0] @ cost) - 1e-12, 8) is None


@pytest.mark.parametrize("j", [-1, 0, 1, 2])
def test_labels_after_a_step_are_those_of_the_sum_even_where_it_is_only_rounding(j: int) -> None:
    rng = np.random.default_rng(5)
    sparse = rng.choice([-1, 1, 2], 3000) * (rng.random(3000) < 0.1)
    rows = np.column_stack([rng.integers(-3, 4, 3000), rng.random(3000) < 0.5, sparse]).astype(float)
    columns, coef, intercept, step = Columns.of(rows), np.array([0.1, 0.3, 0.7]), 0.2, -0.2
    scores(columns, coef, intercept, before := np.empty(len(rows)))
    coef, intercept = coef + step * (np.arange(3) == j), intercept + step * (j < 0)
    expected = LinearClassifiers(coef[None], np.array([intercept])).labels(rows)[0]
    moved = before + step * (rows[:, j] if j >= 0 else 1.0)
    assert (np.abs(moved) < 1e-14).any()  # the examples are there
    labels = np.empty(len(rows), dtype=np.uint8)
    labels_after(columns, j, step, coef, intercept, before, 1e-12, labels)
    np.testing.assert_array_equal(labels, expected)


def test_labels_of_an_answer_are_known_and_of_nothing_else() -> None:
    rows, error_cost, judged, cost = example(6)
    oracle = DescentOracle(rows, np.ones(len(rows)), error_cost, judged=judged)
    first = oracle.best_response(error_cost)
    assert oracle.known_labels(first) is not None
    answer = oracle.best_response(cost, first)
    np.testing.assert_array_equal(oracle.known_labels(answer), answer.labels(rows))
    assert oracle.known_labels(first) is None


def test_the_same_questions_get_the_same_answers() -> None:
    rows, error_cost, judged, cost = example(4)
    answers = []
    for _ in range(2):
        oracle = DescentOracle(rows, np.ones(len(rows)), error_cost, judged=judged)
        known = oracle.best_response(error_cost)
        answers.append([oracle.best_response(cost + shift * (cost - error_cost), known) for shift in (0.0, 0.5, -0.5)])
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one.coef, other.coef)
