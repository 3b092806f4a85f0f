"""The compiled game against the regression oracle is the plain one, round for round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.constraints.pairs import judge_budgets, panel_budget
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.no_regret import (
    _play,
    _play_in_turn,
    _play_regression,
    guarantee_of,
    seeds,
    solve_games,
    solve_no_regret,
)
from fairwise.learning.solvers.regret_bound import promise

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.constraints.pairs import PairRows
    from fairwise.learning.problem import Points

SHAPES: list[dict[str, Any]] = [
    {"eta": 0.0},
    {"eta": 0.0, "gamma": 0.3, "sign": -1.0},
    {"eta": 0.03},
    {"eta": None, "judges": 0.05},
    {"eta": 0.03, "judges": {"u": 0.0, "v": 0.05}, "sign": -1.0},
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=[" ".join(f"{k}={v}" for k, v in s.items()) for s in SHAPES])


@pytest.fixture
def game(
    random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]
) -> Callable[..., tuple[Problem, RegressionOracle]]:
    def make(
        seed: int, *, gamma: float = 0.05, eta: float | None = 0.0, judges: Any = None, sign: float = 1.0
    ) -> tuple[Problem, RegressionOracle]:
        rng = np.random.default_rng(seed)
        points = random_points(rng, 40, rng.normal(size=(40, 3)))
        pairs = random_pairs(rng, 8, 20)
        budgets = [] if eta is None else [panel_budget(pairs, eta, "answers")]
        budgets += [] if judges is None else judge_budgets(pairs, judges)
        judged = rng.choice(40, size=len(pairs.people), replace=True).astype(np.intp)
        problem = Problem.build(points, judged, pairs, budgets, sign=sign, gamma=gamma)
        return problem, RegressionOracle(points.rows, points.multiplicity)

    return make


@shapes
@pytest.mark.parametrize("lambda_bound", [0.3, 3.0])
def test_round_for_round(
    game: Callable[..., tuple[Problem, RegressionOracle]], shape: dict[str, Any], lambda_bound: float
) -> None:
    problem, oracle = game(0, **shape)
    guarantee = promise(
        len(problem),
        lambda_bound=lambda_bound,
        tau_bound=2.0,
        n_budgets=len(problem.soft_budgets),
        n_rounds=120,
    )
    terms = oracle.regression_terms(problem)
    assert terms is not None
    compiled = _play_regression([problem], oracle, terms, [guarantee])[0]
    in_turn = _play_in_turn(problem, terms, guarantee)
    assert np.allclose(in_turn.classifiers.coef, compiled.classifiers.state()["coef"], atol=1e-9)
    assert in_turn.violations == pytest.approx(compiled.trajectory["max_violation"], abs=1e-12)
    assert in_turn.average.multipliers.budgets == pytest.approx(compiled.multipliers.budgets, abs=1e-12)
    plain = _play(problem, oracle, guarantee, None)
    for name in ("error", "max_violation"):
        assert compiled.trajectory[name] == pytest.approx(plain.trajectory[name], abs=1e-12)
    assert compiled.trajectory["gap"][-1] == pytest.approx(plain.trajectory["gap"][-1], abs=1e-9)
    assert np.isnan(compiled.trajectory["gap"][:-1]).all()
    assert compiled.error == pytest.approx(plain.error, abs=1e-12)
    assert compiled.bound == pytest.approx(plain.bound, abs=1e-9)
    assert compiled.multipliers.rows == pytest.approx(plain.multipliers.rows, abs=1e-12)
    assert compiled.multipliers.budgets == pytest.approx(plain.multipliers.budgets, abs=1e-12)
    assert compiled.oracle_calls == plain.oracle_calls
    assert not compiled.exact
    # Something happened in that game.
    assert len(np.unique(compiled.classifiers.labels(problem.points.rows), axis=0)) > 1
    if lambda_bound == 3.0 and problem.soft_budgets:
        assert compiled.multipliers.budgets.max() > 0


@shapes
def test_what_is_returned_is_the_average_of_the_rounds(
    game: Callable[..., tuple[Problem, RegressionOracle]], shape: dict[str, Any]
) -> None:
    problem, oracle = game(1, **shape)
    solution = solve_no_regret(problem, oracle, n_rounds=80, lambda_bound=2.0)
    errors, differences = problem.evaluate(solution.classifiers)
    assert solution.weights == pytest.approx(np.full(80, 1 / 80))
    assert solution.trajectory["error"] == pytest.approx(np.cumsum(errors) / np.arange(1, 81))
    running = np.cumsum(differences, axis=0) / np.arange(1, 81)[:, None]
    assert solution.trajectory["max_violation"] == pytest.approx(np.maximum(running.max(axis=1), 0.0))


def test_each_round_is_a_regression_on_its_costs(game: Callable[..., tuple[Problem, RegressionOracle]]) -> None:
    """The first classifier is the oracle's answer to even multipliers."""
    problem, oracle = game(2)
    solution = solve_no_regret(problem, oracle, n_rounds=1, lambda_bound=2.0)
    even = np.full(len(problem), 2.0 / (len(problem) + 1))
    expected = oracle.best_response(problem.cost(even))
    assert solution.classifiers.state()["coef"] == pytest.approx(expected.coef)
    assert solution.classifiers.state()["intercept"] == pytest.approx(expected.intercept)


def test_seeds_are_rounds_of_the_dynamics_at_several_bounds(
    game: Callable[..., tuple[Problem, RegressionOracle]],
) -> None:
    problem, oracle = game(0)
    found = seeds(problem, oracle)
    assert found is not None
    first = solve_no_regret(problem, oracle, n_rounds=len(found) // 4, lambda_bound=0.3, tau_bound=0.3)
    labels = found.labels(problem.points.rows)
    assert np.array_equal(labels[: len(found) // 4], first.classifiers.labels(problem.points.rows))


def test_descent_is_seeded_too_and_other_classes_are_not(
    game: Callable[..., tuple[Problem, RegressionOracle]], listed: Callable[..., Any]
) -> None:
    problem, _ = game(0)
    found = seeds(problem, DescentOracle(problem.points.rows, problem.points.multiplicity))
    assert found is not None
    assert len(found) > 100
    tiny = listed(0)
    assert seeds(tiny.problem, tiny.oracle) is None


@shapes
def test_many_games_at_once_are_the_games_one_at_a_time(
    game: Callable[..., tuple[Problem, RegressionOracle]], shape: dict[str, Any]
) -> None:
    problem, oracle = game(3, **shape)
    soft = [budget.limit for budget in problem.budgets]
    none = [0.0 for _ in soft]
    games = [problem.at(gamma, limits) for gamma in (0.0, 0.1, 0.7) for limits in (soft, none)]
    together = solve_games(games, oracle, [guarantee_of(game, 150, None, 3.0, 1.0) for game in games], None)
    for one, found in zip(games, together, strict=True):
        alone = solve_no_regret(one, oracle, n_rounds=150, lambda_bound=3.0)
        for name, values in alone.classifiers.state().items():
            assert np.array_equal(found.classifiers.state()[name], values)
        assert np.array_equal(found.trajectory["error"], alone.trajectory["error"])
        assert np.array_equal(found.trajectory["max_violation"], alone.trajectory["max_violation"])
        assert np.array_equal(found.multipliers.rows, alone.multipliers.rows)
        assert np.array_equal(found.multipliers.budgets, alone.multipliers.budgets)
        assert (found.error, found.bound) == (alone.error, alone.bound)
    # They are different games.
    assert len({solution.error for solution in together}) > 2
