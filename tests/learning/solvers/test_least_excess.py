"""The least mean excess of the panel for an error, against the linear programme over every classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.listed_programme import least

from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.few_classifiers import FewClassifiers, choose_few
from fairwise.learning.solvers.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed

    from fairwise.learning.problem import Problem

RULES: list[dict[str, Any]] = [
    {"gamma": 0.0, "eta": 0.05},
    {"gamma": 0.1, "eta": 0.4, "sign": -1.0},
    {"gamma": 0.0, "eta": 1.0},
    {"gamma": 0.05, "eta": 0.3, "judges": 0.2},
    {"gamma": 0.0, "eta": 0.3, "judges": {"u": 0.02, "v": 0.0}},
]
each_rules = pytest.mark.parametrize("rules", RULES, ids=str)
CEILINGS = (1e-4, 0.01, 0.05)  # above the least error


def least_excess(problem: Problem, errors: Any, values: Any, ceiling: float) -> float:
    n_rows, nothing = values.shape[1], np.zeros(len(errors))
    budgets = np.zeros((len(problem.budgets), n_rows))
    for shares, budget in zip(budgets, problem.budgets, strict=True):
        shares[budget.rows] = budget.shares
    matrix = [
        *np.concatenate([values.T, -np.eye(n_rows)], axis=1),
        *(np.concatenate([nothing, shares]) for shares in budgets),
        np.concatenate([errors, np.zeros(n_rows)]),
    ]
    limits = [*problem.row_limits, *(budget.limit for budget in problem.budgets), ceiling]
    excess = np.concatenate([nothing, budgets[0]])
    return float(excess @ least(excess, matrix, limits, n_rows, problem.hard))


def excess_of(problem: Problem, values: Any) -> float:
    panel = problem.budgets[0]
    return float(panel.shares @ np.maximum(values - problem.row_limits, 0.0)[panel.rows])


@each_rules
def test_an_exact_oracle_finds_the_least_of_all_its_classifiers(
    listed: Callable[..., Listed], rules: dict[str, Any]
) -> None:
    for seed in range(12):
        game = listed(seed, **rules)
        search = ColumnGeneration(game.problem, game.oracle)
        best = search.solve(tol=1e-4)
        for above in CEILINGS:
            ceiling = best.bound + 1e-4 + above
            problem = search.with_least_excess(game.problem, ceiling)
            solved = search.pool.solve(problem)
            expected = least_excess(game.problem, game.errors, game.differences, ceiling)
            assert solved.value <= ceiling + 1e-9
            assert excess_of(game.problem, search.pool.row_values(solved.weights)) == pytest.approx(expected, abs=1e-7)


@each_rules
def test_points_of_a_curve_have_the_least_excess_of_what_was_found_and_prices_of_their_own(
    listed: Callable[..., Listed], rules: dict[str, Any]
) -> None:
    for seed in range(12):
        game = listed(seed, **rules)
        search = ColumnGeneration(game.problem, game.oracle)
        best = search.solve(tol=1e-4)
        asked = search.pool.solve(game.problem)
        point = search.over_pool(game.problem, best.bound)
        expected = least_excess(game.problem, search.pool.errors, search.pool.values, asked.value + 1e-12)
        _, values = game.problem.evaluate(point.classifiers)
        assert excess_of(game.problem, point.weights @ values) == pytest.approx(expected, abs=1e-7)
        assert point.error == pytest.approx(asked.value, abs=1e-9)
        assert np.array_equal(point.multipliers.rows, asked.multipliers.rows)


@each_rules
def test_few_classifiers_are_mixed_for_the_least_excess(listed: Callable[..., Listed], rules: dict[str, Any]) -> None:
    for seed in range(6):
        game = listed(seed, **rules)
        pool = Pool(game.problem, game.oracle)
        pool.keep(game.oracle._everyone, *game.problem.evaluate(game.oracle._everyone))
        ceiling = pool.solve(game.problem).value + 1e-4
        choice, _ = choose_few(game.problem, game.oracle, pool, ceiling, most=2)
        assert len(choice) <= 2
        errors, values = pool.errors[choice.which], pool.values[choice.which]
        expected = least_excess(game.problem, errors, values, max(choice.error, ceiling) + 1e-12)
        assert excess_of(game.problem, choice.weights @ values) == pytest.approx(expected, abs=1e-7)


def test_nothing_is_changed_where_no_excess_is_allowed(listed: Callable[..., Listed]) -> None:
    game = listed(1, gamma=0.1, eta=0.0)
    search = ColumnGeneration(game.problem, game.oracle)
    best = search.solve()
    calls = search.oracle_calls
    assert search.with_least_excess(game.problem, best.error + 0.1) is game.problem
    without = replace(game.problem, budgets=())
    assert search.with_least_excess(without, best.error + 0.1) is without
    assert search.oracle_calls == calls
    few = FewClassifiers(game.problem, game.oracle, search.pool)
    assert few.fewest(best.error + 0.1).error <= best.error + 0.1 + 1e-9
