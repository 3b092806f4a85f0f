"""Column generation against the full programme over a class that can be listed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.finite_oracle import FiniteClassOracle, SlowOracle

from fairwise.constraints.groups import GroupRows
from fairwise.learning.solvers import column_generation
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.solution import Multipliers, lagrangian_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed, Optimum

    from fairwise.learning.oracles.base import Classifiers, FloatArray
    from fairwise.learning.problem import Problem
    from fairwise.learning.solvers.master import MasterSolution
    from fairwise.learning.solvers.solution import Solution

    Direct = Callable[..., Optimum]

SHAPES: list[dict[str, Any]] = [
    {"eta": 0.0, "gamma": 0.0},
    {"eta": 0.0, "gamma": 0.25},
    {"eta": 0.02, "gamma": 0.0},
    {"eta": 0.05, "gamma": 0.1, "weighting": "panel", "sign": -1.0},
    {"eta": None, "judges": 0.05},
    {"eta": 0.03, "judges": {"u": 0.0, "v": 0.05}},
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=[" ".join(f"{k}={v}" for k, v in s.items()) for s in SHAPES])


def excesses(problem: Problem, solution: Solution) -> FloatArray:
    """What a mixture takes beyond gamma on every row, from its classifiers alone."""
    _, differences = problem.evaluate(solution.classifiers)
    return np.asarray(np.maximum(solution.weights @ differences - problem.gamma, 0.0))


def assert_keeps_the_rules(problem: Problem, solution: Solution) -> None:
    excess = excesses(problem, solution)
    assert excess[problem.hard].max(initial=0.0) <= 1e-6
    for budget in problem.budgets:
        assert budget.shares @ excess[budget.rows] <= budget.limit + 1e-6


@shapes
@pytest.mark.parametrize("n_classifiers", [None, 40], ids=["every labeling", "some labelings"])
@pytest.mark.parametrize("kind", [FiniteClassOracle, SlowOracle], ids=["asked at will", "asked rarely"])
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_optimum_of_the_full_programme_and_proves_it(
    listed: Callable[..., Listed],
    direct_optimum: Direct,
    shape: dict[str, Any],
    n_classifiers: int | None,
    kind: type[FiniteClassOracle],
    seed: int,
) -> None:
    game = listed(seed, n_people=6, n_answers=14, n_classifiers=n_classifiers, **shape)
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    solution = ColumnGeneration(game.problem, kind(game.labels[2:])).solve(tol=1e-7)
    assert solution.exact
    assert solution.error == pytest.approx(optimum, abs=1e-6)
    assert solution.bound <= optimum + 1e-9
    assert solution.error - solution.bound <= 1e-7
    assert_keeps_the_rules(game.problem, solution)
    errors, _ = game.problem.evaluate(solution.classifiers)
    assert solution.weights @ errors == pytest.approx(solution.error, abs=1e-12)
    assert solution.weights.sum() == pytest.approx(1.0)
    assert solution.weights.min() > 0


def as_rules(problem: Problem) -> Problem:
    """The same problem, its pairs written as rules about groups of one person each."""
    matrix = np.zeros((problem.n_pairs, len(problem.points.error_cost)))
    rows = np.arange(problem.n_pairs)
    np.add.at(matrix, (rows, problem.judged[problem.reference]), problem.sign)
    np.add.at(matrix, (rows, problem.judged[problem.owed]), -problem.sign)
    limits, nobody = np.full(problem.n_pairs, problem.gamma), np.empty(0, dtype=np.intp)
    groups = GroupRows([f"pair {row}" for row in rows], matrix, limits, limits)
    return replace(problem, reference=nobody, owed=nobody, source=nobody, budgets=(), groups=groups)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_rules_about_groups_asked_of_a_slow_oracle_are_solved_as_exactly(
    listed: Callable[..., Listed], direct_optimum: Direct, gamma: float, seed: int
) -> None:
    game = listed(seed, n_points=10, n_people=8, n_answers=20, n_classifiers=300, gamma=gamma)
    solution = ColumnGeneration(as_rules(game.problem), SlowOracle(game.labels[2:])).solve(tol=1e-7)
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    assert solution.error == pytest.approx(optimum, abs=1e-6)
    assert solution.bound <= optimum + 1e-9
    assert solution.error - solution.bound <= 1e-7
    assert_keeps_the_rules(game.problem, solution)


def test_where_the_plain_model_keeps_every_rule_it_is_the_only_question(listed: Callable[..., Listed]) -> None:
    game = listed(0, n_points=10, n_people=8, n_answers=20, n_classifiers=300, gamma=1.0)
    oracle = SlowOracle(game.labels[2:])
    solution = ColumnGeneration(as_rules(game.problem), oracle).solve()
    assert solution.oracle_calls == len(oracle.questions) == 1
    assert solution.error == solution.bound == game.errors.min()


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_oracle_is_asked_where_what_is_known_promises_half_of_the_gap(
    listed: Callable[..., Listed], seed: int
) -> None:
    """So first it is asked on the way from no multipliers to the duals, where the promise is half of the way up."""
    game = listed(seed, n_points=12, n_people=8, n_answers=20, n_classifiers=300, gamma=0.05)
    problem, oracle = as_rules(game.problem), SlowOracle(game.labels[2:])
    search = ColumnGeneration(problem, oracle)
    first, zero, n_known = search.pool.solve(problem), Multipliers.zero(problem), len(search.pool)
    plain = float(search.pool.errors.min())
    assert first.value > plain + 1e-3
    search.solve(max_iter=1)
    rising = [
        lagrangian_bound(problem, at, float(search.pool.costs(at)[:n_known].min()))
        for at in (zero.towards(first.multipliers, share) for share in np.linspace(0, 1, 1001))
    ]
    share = np.flatnonzero(np.array(rising) >= (plain + first.value) / 2)[0] / 1000
    asked = problem.cost(zero.towards(first.multipliers, share).rows)
    at_zero = problem.points.error_cost
    assert 0 < share < 1
    np.testing.assert_allclose(oracle.questions[1] - at_zero, asked - at_zero, atol=2e-3 * np.abs(asked).max())


@shapes
def test_no_answer_is_worse_than_a_constant(listed: Callable[..., Listed], shape: dict[str, Any]) -> None:
    for seed in range(10):
        game = listed(seed, n_classifiers=3, **shape)
        solution = ColumnGeneration(game.problem, game.oracle).solve()
        assert solution.error <= game.errors[:2].min() + 1e-9


@pytest.mark.parametrize("eta", [0.0, 0.03])
def test_a_mixture_has_at_most_one_classifier_more_than_rows(listed: Callable[..., Listed], eta: float) -> None:
    sizes = []
    for seed in range(12):
        game = listed(seed, n_points=9, n_answers=2 + seed % 3, n_classifiers=200, eta=eta, gamma=0.05)
        solution = ColumnGeneration(game.problem, game.oracle).solve(tol=1e-7)
        sizes.append(len(solution.weights))
        assert len(solution.weights) <= len(game.problem) + 1
    assert max(sizes) > 2  # some mixtures are real ones


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_it_stops_within_the_tolerance_asked_for(
    listed: Callable[..., Listed], direct_optimum: Direct, tol: float
) -> None:
    for seed in range(6):
        game = listed(seed, n_points=10, n_people=8, n_answers=20, n_classifiers=300, gamma=0.05, eta=0.01)
        solution = ColumnGeneration(game.problem, game.oracle).solve(tol=tol)
        optimum = direct_optimum(game.problem, game.errors, game.differences).value
        assert solution.error - solution.bound <= tol + 1e-9
        assert solution.bound <= optimum + 1e-9
        assert solution.error >= optimum - 1e-7
        assert_keeps_the_rules(game.problem, solution)


def test_the_trajectory_tells_of_every_iteration(listed: Callable[..., Listed]) -> None:
    game = listed(1, n_points=10, n_people=8, n_answers=20, n_classifiers=300, gamma=0.05)
    solution = ColumnGeneration(game.problem, game.oracle).solve(tol=1e-7)
    error, gap = solution.trajectory["error"], solution.trajectory["gap"]
    assert len(error) == len(gap) == len(solution.trajectory["max_violation"]) > 2
    assert np.diff(error).max() <= 1e-9
    assert np.diff(gap).max() <= 1e-9
    assert error[-1] == pytest.approx(solution.error, abs=1e-9)
    assert gap[-1] == pytest.approx(solution.error - solution.bound, abs=1e-9)
    assert solution.trajectory["max_violation"].max() <= 0.05 + 1e-8
    assert solution.oracle_calls > len(error)


def test_the_pool_serves_every_gamma_and_limit(listed: Callable[..., Listed], direct_optimum: Direct) -> None:
    game = listed(2, n_points=8, n_people=7, n_answers=16, n_classifiers=100, eta=0.05)
    shared = ColumnGeneration(game.problem, game.oracle)
    for gamma, eta in [(0.3, 0.05), (0.0, 0.05), (0.0, 0.01), (0.1, 0.2), (1.0, 0.05), (0.0, 0.002)]:
        moved = game.problem.at(gamma, [eta])
        solution = shared.solve(moved, tol=1e-7)
        optimum = direct_optimum(moved, game.errors, game.differences).value
        assert solution.error == pytest.approx(optimum, abs=1e-6)
        assert solution.bound <= optimum + 1e-9
        assert_keeps_the_rules(moved, solution)


def test_multipliers_are_those_of_the_rows(listed: Callable[..., Listed], direct_optimum: Direct) -> None:
    """A price is error per unit of gamma: the derivative of the optimum, seen from both sides."""
    game = listed(5, n_points=8, n_people=7, n_answers=16, n_classifiers=100, gamma=0.1)
    multipliers = ColumnGeneration(game.problem, game.oracle).solve(tol=1e-9).multipliers
    assert multipliers.rows.sum() > 0.01
    here, step = direct_optimum(game.problem, game.errors, game.differences).value, 1e-4
    more = direct_optimum(game.problem.at(0.1 + step), game.errors, game.differences).value
    less = direct_optimum(game.problem.at(0.1 - step), game.errors, game.differences).value
    assert (here - more) / step <= multipliers.rows.sum() + 1e-5
    assert (less - here) / step >= multipliers.rows.sum() - 1e-5


class Lazy(FiniteClassOracle):
    """Finds only a part of what there is, and does not claim otherwise."""

    exact = False

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Any:  # noqa: ARG002
        known = self._everyone.predictions[:12]
        return self._everyone.take(np.argmin(known @ cost, keepdims=True))


def test_an_inexact_oracle_gives_a_feasible_answer_and_no_proof(
    listed: Callable[..., Listed], direct_optimum: Direct
) -> None:
    for seed in range(8):
        game = listed(seed, n_points=8, n_people=6, n_answers=12, n_classifiers=100, gamma=0.02)
        solution = ColumnGeneration(game.problem, Lazy(game.labels[2:])).solve()
        assert not solution.exact
        assert solution.bound <= solution.error + 1e-9
        assert solution.error >= direct_optimum(game.problem, game.errors, game.differences).value - 1e-7
        assert_keeps_the_rules(game.problem, solution)


class Stubborn(FiniteClassOracle):
    """Has one answer to everything."""

    exact = False

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Any:  # noqa: ARG002
        return self._everyone.take(np.array([2]))


class Modest(FiniteClassOracle):
    """Finds the least cost every time, and does not claim to."""

    exact = False
    cheap = False


@pytest.mark.parametrize("n_problems", [8, pytest.param(30, marks=pytest.mark.slow)])
def test_a_search_goes_on_while_its_gap_is_open(
    listed: Callable[..., Listed], direct_optimum: Direct, n_problems: int
) -> None:
    """Many iterations in a row may gain nothing: what ends a search is its gap, and its oracle here misses nothing."""
    longest = 0
    for seed in range(n_problems):
        game = listed(seed, n_points=14, n_people=12, n_answers=60, n_classifiers=2000, gamma=0.0)
        solution = ColumnGeneration(game.problem, Modest(game.labels[2:])).solve(tol=1e-6)
        optimum = direct_optimum(game.problem, game.errors, game.differences).value
        assert solution.stopped == "gap"
        assert solution.error == pytest.approx(optimum, abs=1e-5)
        assert solution.error - solution.bound <= 1e-6
        _, runs = np.unique(solution.trajectory["error"].round(6), return_counts=True)
        longest = max(longest, int(runs.max()))
    assert longest > 12  # so many equal values once ended a search


class Fickle(Modest):
    """Looks at a tenth of what there is, at others each time."""

    turn = 0

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Any:  # noqa: ARG002
        self.turn += 1
        seen = np.arange(self.turn % 10, len(self._everyone), 10)
        return self._everyone.take(seen[np.argmin(self._everyone.predictions[seen] @ cost, keepdims=True)])


def test_a_heuristic_that_long_gets_no_nearer_ends_before_its_limit(
    listed: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the error nor the gap was better in so many iterations; a search that finds all it could is not ended."""
    patience = 5
    monkeypatch.setattr(column_generation, "_PATIENCE", (patience, 40))
    ended = []
    for seed in range(12):
        game = listed(seed, n_points=14, n_people=12, n_answers=60, n_classifiers=2000, gamma=0.0)
        solution = ColumnGeneration(game.problem, Fickle(game.labels[2:])).solve(tol=1e-6)
        assert_keeps_the_rules(game.problem, solution)
        ended.append(solution.stopped)
        if solution.stopped == "stalled":
            errors, gaps = solution.trajectory["error"], solution.trajectory["gap"]
            assert errors[-1 - patience] - solution.error < 1e-7
            assert gaps[-patience:].min() >= gaps[:-patience].min()
            assert solution.error - solution.bound > 1e-6
            longer = ColumnGeneration(game.problem, Fickle(game.labels[2:])).solve(tol=1e-6, max_iter=4000)
            assert len(longer.trajectory["error"]) > len(errors), "as the certificate advises"
            assert longer.error <= solution.error + 1e-9
        assert ColumnGeneration(game.problem, game.oracle).solve(tol=1e-6).stopped == "gap"
    assert "stalled" in ended
    assert "iterations" not in ended


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"time_limit": 1e-9}], ids=["iterations", "time"])
def test_a_limit_keeps_the_best_so_far_and_says_so(listed: Callable[..., Listed], limit: dict[str, Any]) -> None:
    game = listed(3, n_points=14, n_people=12, n_answers=60, n_classifiers=2000, gamma=0.0)
    solution = ColumnGeneration(game.problem, game.oracle).solve(tol=1e-9, **limit)
    assert solution.stopped == ("iterations" if "max_iter" in limit else "time")
    assert solution.bound < solution.error - 1e-9
    assert_keeps_the_rules(game.problem, solution)


def test_even_the_worst_oracle_is_no_worse_than_the_better_constant(listed: Callable[..., Listed]) -> None:
    better = set()
    for seed in range(10):
        game = listed(seed, n_points=8, n_classifiers=1, gamma=0.0)
        solution = ColumnGeneration(game.problem, Stubborn(game.labels[2:])).solve()
        assert solution.error <= game.errors[:2].min() + 1e-9
        assert_keeps_the_rules(game.problem, solution)
        better.add(int(game.errors[:2].argmin()))
    assert better == {0, 1}


def test_seeds_are_part_of_the_mixture(listed: Callable[..., Listed], direct_optimum: Direct) -> None:
    """Whatever the oracle cannot find itself it can be given."""
    game = listed(0, n_points=8, n_people=6, n_answers=12, n_classifiers=100, gamma=0.02)
    poor = Lazy(game.labels[2:])
    alone = ColumnGeneration(game.problem, poor).solve()
    given = ColumnGeneration(game.problem, poor, seeds=game.oracle._everyone).solve()
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    assert given.error == pytest.approx(optimum, abs=1e-6)
    assert alone.error > optimum + 1e-3


def test_weights_that_are_rounding_are_left_out(listed: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch) -> None:
    game = listed(1, n_people=6, n_answers=14, n_classifiers=40, eta=0.0, gamma=0.0)
    generation = ColumnGeneration(game.problem, game.oracle)
    plain = generation.solve(tol=1e-7)

    def with_rounding(pool: Pool, problem: Problem) -> MasterSolution:
        solved = solve(pool, problem)
        others = solved.weights == 0.0
        weights = np.where(others, 1e-10 / max(others.sum(), 1), solved.weights)
        return replace(solved, weights=weights / weights.sum())

    solve = Pool.solve
    monkeypatch.setattr(Pool, "solve", with_rounding)
    solution = generation.over_pool(game.problem, plain.bound)
    assert len(generation.pool.errors) > len(plain.weights)
    assert solution.weights.min() > 1e-9
    assert solution.weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert len(solution.weights) == len(solution.classifiers) == len(plain.weights)
    assert solution.error == pytest.approx(plain.error, abs=1e-9)
    assert solution.error == solution.weights @ game.problem.evaluate(solution.classifiers)[0]
    assert_keeps_the_rules(game.problem, solution)
