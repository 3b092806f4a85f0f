"""The problem's costs, rows and error are what their formulas say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.constraints.pairs import Budget, judge_budgets, panel_budget
from fairwise.learning.deduplication import merge_equal
from fairwise.learning.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed

    from fairwise.constraints.pairs import PairRows
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.problem import Points


def lagrangian(problem: Problem, multipliers: FloatArray, probability: FloatArray) -> float:
    """``err + sum lambda s (h_i - h_j)`` written out, pair by pair, at probabilities on the points."""
    points = problem.points
    total = points.error_offset + float(points.error_cost @ probability)
    for price, i, j in zip(multipliers, problem.reference, problem.owed, strict=True):
        total += price * problem.sign * (probability[problem.judged[i]] - probability[problem.judged[j]])
    return float(total)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(5))
def test_costs_are_finite_differences_of_the_lagrangian(listed: Callable[..., Listed], seed: int, sign: float) -> None:
    problem = listed(seed, n_points=4, n_people=6, sign=sign).problem  # more people than points: some share one
    rng = np.random.default_rng(seed)
    multipliers, at = rng.random(len(problem)), rng.random(4)
    step = 1e-3
    gradient = [
        (lagrangian(problem, multipliers, at + step * e) - lagrangian(problem, multipliers, at - step * e)) / (2 * step)
        for e in np.eye(4)
    ]
    assert problem.cost(multipliers) == pytest.approx(gradient, abs=1e-9)


def test_cost_and_differences_agree_on_the_lagrangian_of_every_classifier(listed: Callable[..., Listed]) -> None:
    game = listed(3, sign=-1.0)
    multipliers = np.random.default_rng(0).random(len(game.problem))
    by_costs = game.problem.points.error_offset + game.labels @ game.problem.cost(multipliers)
    assert by_costs == pytest.approx(game.errors + game.differences @ multipliers)
    assert by_costs == pytest.approx([lagrangian(game.problem, multipliers, h.astype(float)) for h in game.labels])


def test_costs_leave_the_problem_as_it_was(listed: Callable[..., Listed]) -> None:
    problem = listed(0).problem
    before = problem.points.error_cost.copy()
    problem.cost(np.ones(len(problem)))
    assert np.array_equal(problem.points.error_cost, before)


def test_where_label_0_is_favourable_every_difference_turns(listed: Callable[..., Listed]) -> None:
    up, down = listed(1, sign=1.0), listed(1, sign=-1.0)
    assert np.array_equal(up.differences, -down.differences)
    assert up.differences.dtype == np.int8
    assert {-1, 0, 1} == set(np.unique(up.differences))


def test_differences_of_probabilities_are_not_rounded(listed: Callable[..., Listed]) -> None:
    problem = listed(1).problem
    probability = np.linspace(0.1, 0.9, len(problem.judged))
    expected = probability[problem.reference] - probability[problem.owed]
    assert problem.differences(probability[None, :])[0] == pytest.approx(expected)


def test_error_is_the_weighted_share_of_people_who_get_the_other_label() -> None:
    rng = np.random.default_rng(0)
    rows, outcome = rng.integers(3, size=(60, 2)).astype(float), rng.integers(2, size=60)
    weight = rng.random(60)
    points = merge_equal(rows, outcome, weight, np.empty((0, 2))).points
    assert len(points.rows) == 9

    def rule(table: Any) -> Any:
        return (table[:, 0] > table[:, 1]).astype(np.uint8)

    expected = float(weight @ (rule(rows) != outcome) / weight.sum())
    assert points.errors(rule(points.rows)[None, :]) == pytest.approx([expected])


def test_constants_err_on_the_other_class(listed: Callable[..., Listed]) -> None:
    game = listed(0)
    zero, one = game.errors[:2]
    assert zero == pytest.approx(game.problem.points.error_offset)
    assert zero + one == pytest.approx(1.0)


def test_only_rows_in_some_budget_are_kept_and_know_where_they_came_from(
    random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]
) -> None:
    rng = np.random.default_rng(0)
    pairs, points = random_pairs(rng, 6, 20), random_points(rng, 6)
    budgets = judge_budgets(pairs, {"v": 0.0, "w": 0.2})
    judged = np.arange(len(pairs.people))
    problem = Problem.build(points, judged, pairs, budgets, sign=1.0, gamma=0.0)
    kept = np.union1d(budgets[0].rows, budgets[1].rows)
    assert len(kept) < len(pairs)
    assert problem.source.tolist() == kept.tolist()
    assert problem.reference.tolist() == pairs.reference[kept].tolist()
    assert problem.owed.tolist() == pairs.owed[kept].tolist()
    for before, after in zip(budgets, problem.budgets, strict=True):
        assert problem.source[after.rows].tolist() == before.rows.tolist()
    assert np.flatnonzero(problem.hard).tolist() == problem.budgets[0].rows.tolist()
    assert [budget.name for budget in problem.soft_budgets] == ["judge w"]


def test_without_a_budget_no_row_is_kept(
    random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]
) -> None:
    rng = np.random.default_rng(0)
    pairs = random_pairs(rng)
    problem = Problem.build(random_points(rng, 6), np.arange(len(pairs.people)), pairs, [], sign=1.0, gamma=0.0)
    assert len(problem) == 0
    assert not problem.hard.any()


def test_another_gamma_and_other_limits_change_nothing_else(listed: Callable[..., Listed]) -> None:
    problem = listed(0, eta=0.1, judges=0.3).problem
    moved = problem.at(0.5, [0.0] + [0.7] * (len(problem.budgets) - 1))
    assert moved.gamma == 0.5
    assert [b.limit for b in moved.budgets] == [0.0] + [0.7] * (len(problem.budgets) - 1)
    assert moved.hard.any()
    assert not problem.hard.any()
    assert problem.gamma == 0.1
    assert moved.points is problem.points
    with pytest.raises(ValueError, match="zip"):
        problem.at(0.5, [0.1])


def test_a_panel_budget_of_zero_makes_its_rows_hard(
    random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]
) -> None:
    rng = np.random.default_rng(1)
    pairs = random_pairs(rng)
    budgets: list[Budget] = [panel_budget(pairs, 0.0, "panel"), *judge_budgets(pairs, 0.5)]
    problem = Problem.build(random_points(rng, 6), np.arange(len(pairs.people)), pairs, budgets, sign=1.0, gamma=0.0)
    assert problem.hard.all()
