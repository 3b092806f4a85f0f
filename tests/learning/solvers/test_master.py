"""The master programme against the direct one, and its multipliers against the conditions of optimality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
import pytest

from fairwise.constraints.pairs import Budget
from fairwise.errors import SolverError
from fairwise.learning.solvers import master as module
from fairwise.learning.solvers.highs import drop_rows, quiet_highs, run
from fairwise.learning.solvers.master import Master
from fairwise.learning.solvers.solution import lagrangian_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed, Optimum

    from fairwise.learning.problem import Problem
    from fairwise.learning.solvers.master import MasterSolution

    Direct = Callable[..., Optimum]

SHAPES: list[dict[str, Any]] = [
    {"eta": 0.0, "gamma": 0.0},
    {"eta": 0.0, "gamma": 0.3},
    {"eta": 0.02, "gamma": 0.0},
    {"eta": 0.1, "gamma": 0.2, "weighting": "panel"},
    {"eta": None, "judges": 0.05},
    {"eta": 0.05, "judges": 0.1, "sign": -1.0},
    {"eta": 0.2, "judges": {"u": 0.0, "v": 0.1}},
    {"eta": 0.0, "judges": 0.1},
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=[" ".join(f"{k}={v}" for k, v in s.items()) for s in SHAPES])
seeds = pytest.mark.parametrize("seed", range(6))


@pytest.fixture
def pool(listed: Callable[..., Listed]) -> Callable[..., Listed]:
    """Enough people and answers that rows, budgets and duplicates all matter."""

    def make(seed: int, **shape: Any) -> Listed:
        return listed(seed, n_points=8, n_people=7, n_answers=22, n_classifiers=25, **shape)

    return make


def solved(problem: Problem, errors: Any, differences: Any) -> MasterSolution:
    master = Master(problem)
    master.add(errors, differences)
    return master.solve(problem)


def least_slack(problem: Problem, weights: Any, differences: Any) -> Any:
    return np.maximum(weights @ differences - problem.gamma, 0.0)


def assert_feasible(problem: Problem, weights: Any, differences: Any) -> None:
    slack = least_slack(problem, weights, differences)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    for budget in problem.budgets:
        assert budget.shares @ slack[budget.rows] <= budget.limit + 1e-8


@shapes
@seeds
def test_it_is_the_direct_programme(
    pool: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any], seed: int
) -> None:
    game = pool(seed, **shape)
    found = solved(game.problem, game.errors, game.differences)
    assert found.value == pytest.approx(direct_optimum(game.problem, game.errors, game.differences).value, abs=1e-7)
    assert game.errors @ found.weights == pytest.approx(found.value, abs=1e-9)
    assert_feasible(game.problem, found.weights, game.differences)


@shapes
@seeds
def test_multipliers_satisfy_the_conditions_of_optimality(
    pool: Callable[..., Listed], shape: dict[str, Any], seed: int
) -> None:
    game = pool(seed, **shape)
    problem, found = game.problem, solved(game.problem, game.errors, game.differences)
    at = found.multipliers
    assert at.rows.min() >= 0
    assert at.budgets.min(initial=0.0) >= 0
    # Dual feasibility: no slack pays for itself, no classifier is cheaper than those in the mixture.
    slack_cost = at.slack_cost(problem)
    assert slack_cost.min() >= -1e-8
    cost = game.errors + game.differences @ at.rows
    assert cost[found.weights > 1e-9] == pytest.approx(cost.min(), abs=1e-7)
    # Complementary slackness: what has a price is used up, what is used is priced right.
    reached = found.weights @ game.differences
    slack = least_slack(problem, found.weights, game.differences)
    assert (at.rows * (reached - problem.gamma - slack)).tolist() == pytest.approx([0.0] * len(problem), abs=1e-7)
    assert slack[slack > 1e-9] * slack_cost[slack > 1e-9] == pytest.approx(0.0, abs=1e-7)
    for price, budget in zip(at.budgets, problem.soft_budgets, strict=True):
        assert price * (budget.limit - budget.shares @ slack[budget.rows]) == pytest.approx(0.0, abs=1e-7)
    # So the value is proved.
    assert lagrangian_bound(problem, at, float(cost.min())) == pytest.approx(found.value, abs=1e-7)


@shapes
@pytest.mark.parametrize("seed", range(4))
def test_large_groups_of_rows_give_the_same_value(
    monkeypatch: pytest.MonkeyPatch,
    pool: Callable[..., Listed],
    direct_optimum: Direct,
    shape: dict[str, Any],
    seed: int,
) -> None:
    game = pool(seed, **shape)
    monkeypatch.setattr(module, "_MAX_GROUPS", 3)
    monkeypatch.setattr(module, "_CUTS_AT_ONCE", 2)
    found = solved(game.problem, game.errors, game.differences)
    assert found.value == pytest.approx(direct_optimum(game.problem, game.errors, game.differences).value, abs=1e-7)
    assert_feasible(game.problem, found.weights, game.differences)
    cheapest = float((game.errors + game.differences @ found.multipliers.rows).min())
    assert lagrangian_bound(game.problem, found.multipliers, cheapest) == pytest.approx(found.value, abs=1e-7)


@pytest.mark.parametrize("shape", [{"eta": 0.0}, {"eta": 0.05}, {"eta": 0.05, "judges": 0.1}])
@pytest.mark.parametrize("max_groups", [3, 4096])
def test_another_gamma_or_limit_gives_what_a_fresh_start_gives(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Listed], shape: dict[str, Any], max_groups: int
) -> None:
    monkeypatch.setattr(module, "_MAX_GROUPS", max_groups)
    game = pool(7, **shape)
    master = Master(game.problem)
    master.add(game.errors, game.differences)
    hard = shape["eta"] == 0
    for gamma, limit in [(0.3, 0.02), (0.0, 0.3), (0.1, 0.01), (1.0, 0.01), (0.0, 0.001), (0.05, 0.1)]:
        moved = game.problem.at(gamma, None if hard else [limit] * len(game.problem.budgets))
        again, fresh = master.solve(moved), solved(moved, game.errors, game.differences)
        assert again.value == pytest.approx(fresh.value, abs=1e-7)
        assert_feasible(moved, again.weights, game.differences)


def test_columns_may_come_one_after_the_other(pool: Callable[..., Listed]) -> None:
    game = pool(3, eta=0.03, judges=0.1)
    master = Master(game.problem)
    values = []
    for number in range(len(game.errors)):
        master.add(game.errors[number : number + 1], game.differences[number : number + 1])
        values.append(master.solve(game.problem).value)
        assert len(master) == number + 1
    at_once = solved(game.problem, game.errors, game.differences)
    assert values[-1] == pytest.approx(at_once.value, abs=1e-7)
    assert np.diff(values).max() <= 1e-9  # more choice is never worse
    assert len(set(np.round(values, 6))) > 3


def test_a_budget_about_nothing_limits_nothing(pool: Callable[..., Listed], direct_optimum: Direct) -> None:
    """As the panel's is where every answer of a judge with a budget has weight 0."""
    game = pool(0, eta=None, judges=0.1)
    nothing = Budget("panel", np.empty(0, dtype=np.intp), np.empty(0), 0.1)
    problem = replace(game.problem, budgets=(nothing, *game.problem.budgets))
    found = solved(problem, game.errors, game.differences)
    assert found.value == pytest.approx(direct_optimum(problem, game.errors, game.differences).value, abs=1e-7)
    assert found.multipliers.budgets[0] == 0.0
    assert_feasible(problem, found.weights, game.differences)


def test_a_row_without_excess_is_kept_to_the_letter(pool: Callable[..., Listed]) -> None:
    for seed in range(20):
        game = pool(seed, eta=0.0, gamma=0.1)
        found = solved(game.problem, game.errors, game.differences)
        assert (found.weights @ game.differences).max() <= 0.1 + 1e-8


def test_where_nothing_is_feasible_highs_says_so(pool: Callable[..., Listed]) -> None:
    game = pool(0, eta=0.0, gamma=0.0)
    always_apart = np.ones((1, len(game.problem)), dtype=np.int8)
    master = Master(game.problem)
    master.add(np.array([0.1]), always_apart)
    with pytest.raises(SolverError, match="HiGHS reports 'Infeasible'"):
        master.solve(game.problem)


@seeds
@shapes
def test_columns_that_left_come_back_when_they_are_needed(
    monkeypatch: pytest.MonkeyPatch,
    pool: Callable[..., Listed],
    direct_optimum: Direct,
    seed: int,
    shape: dict[str, Any],
) -> None:
    """A programme of very few columns at a time gives the optimum over all of them, for one gamma after another."""
    monkeypatch.setattr(module, "_MANY_COLUMNS", 2)
    monkeypatch.setattr(module, "_PER_ROW", 0)
    game = pool(seed, **shape)
    master = Master(game.problem)
    master.add(game.errors, game.differences)
    for gamma in (0.9, 0.0, 0.4, 0.1):
        problem = game.problem.at(gamma)
        found = master.solve(problem)
        assert found.value == pytest.approx(direct_optimum(problem, game.errors, game.differences).value, abs=1e-8)
        assert len(master._inside) < len(master)
        assert_feasible(problem, found.weights, game.differences)


SOFT = [shape for shape in SHAPES if shape["eta"] and shape.get("judges") != {"u": 0.0, "v": 0.1}]


@seeds
@pytest.mark.parametrize("shape", SOFT, ids=str)
@pytest.mark.parametrize("precision", [0.03, 1e-4])
def test_a_large_programme_is_solved_to_its_precision(
    monkeypatch: pytest.MonkeyPatch,
    pool: Callable[..., Listed],
    direct_optimum: Direct,
    seed: int,
    shape: dict[str, Any],
    precision: float,
) -> None:
    """What is returned keeps every rule, and its multipliers prove that it is near the optimum; cuts come and go."""
    monkeypatch.setattr(module, "_MAX_SINGLE_ROWS", 1)
    monkeypatch.setattr(module, "_MAX_GROUPS", 2)
    monkeypatch.setattr(module, "_MANY_CUTS", 1)
    game = pool(seed, **shape)
    constant = np.zeros((1, len(game.problem)), dtype=np.int8)  # keeps every pair
    errors, values = np.append(game.errors, 0.6), np.concatenate([game.differences, constant])
    master = Master(game.problem)
    master.add(errors, values)
    for gamma in (0.9, 0.0, 0.4, 0.1):
        problem = game.problem.at(gamma)
        found = master.solve(problem, precision)
        optimum = direct_optimum(problem, errors, values).value
        assert optimum - 1e-8 <= found.value <= optimum + precision + 1e-8
        assert found.value == pytest.approx(found.weights @ errors, abs=1e-9)
        assert_feasible(problem, found.weights, values)
        proved = lagrangian_bound(problem, found.multipliers, float((errors + values @ found.multipliers.rows).min()))
        assert found.value - precision - 1e-8 <= proved <= optimum + 1e-8


@pytest.mark.parametrize("shape", [{"eta": 0.0}, {"eta": 0.05}, {"eta": 0.0, "judges": 0.1}])
def test_cuts_that_left_come_back_when_they_are_needed(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any]
) -> None:
    left: list[int] = []

    def counted(lp: Any, which: Any) -> None:
        left.append(len(which))
        drop_rows(lp, which)

    monkeypatch.setattr(module, "drop_rows", counted)
    monkeypatch.setattr(module, "_CUTS_KEPT", (0, 0))
    for seed in range(3):
        game = pool(seed, **shape)
        master = Master(game.problem)
        for column in range(len(game.errors)):
            master.add(game.errors[column : column + 1], game.differences[column : column + 1])
            for gamma in (0.0, 0.9, 0.1):
                problem, known = game.problem.at(gamma), slice(column + 1)
                try:
                    found = master.solve(problem)
                except SolverError:
                    continue  # too few columns to keep the rules
                optimum = direct_optimum(problem, game.errors[known], game.differences[known])
                assert found.value == pytest.approx(optimum.value, abs=1e-7)
                assert_feasible(problem, found.weights, game.differences[known])
    assert sum(left)


def test_a_large_programme_needs_fewer_cuts_where_less_precision_will_do(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Listed]
) -> None:
    monkeypatch.setattr(module, "_MAX_SINGLE_ROWS", 1)
    monkeypatch.setattr(module, "_MAX_GROUPS", 2)
    cuts = []
    for precision in (0.0, 0.05):
        game = pool(0, eta=0.02, gamma=0.0)
        master = Master(game.problem)
        master.add(np.append(game.errors, 0.6), np.concatenate([game.differences, 0 * game.differences[:1]]))
        master.solve(game.problem, precision)
        cuts.append(len(master._cuts))
    assert cuts[1] < cuts[0]


def test_a_programme_that_highs_gives_up_on_is_an_error(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Listed]
) -> None:
    quiet = quiet_highs

    def impatient() -> Any:
        lp = quiet()
        lp.setOptionValue("simplex_iteration_limit", 0)
        return lp

    monkeypatch.setattr(module, "quiet_highs", impatient)
    game = pool(0, eta=0.05)
    with pytest.raises(SolverError, match=r"could not be solved: HiGHS reports .*[Ii]teration limit"):
        solved(game.problem, game.errors, game.differences)


def test_a_failed_warm_start_gets_one_cold_one() -> None:
    class Stumbling:
        def __init__(self, failures: int) -> None:
            self.failures, self.cold_starts = failures, 0

        def run(self) -> None:
            self.failures -= 1

        def getModelStatus(self) -> Any:  # noqa: N802
            status = highspy.HighsModelStatus
            return status.kOptimal if self.failures < 0 else status.kSolveError

        def clearSolver(self) -> None:  # noqa: N802
            self.cold_starts += 1

        def modelStatusToString(self, status: Any) -> str:  # noqa: N802
            return str(status)

        def getSolution(self) -> Any:  # noqa: N802
            return highspy.HighsSolution()

    once, twice = Stumbling(1), Stumbling(2)
    run(once)  # type: ignore[arg-type]
    assert once.cold_starts == 1
    with pytest.raises(SolverError):
        run(twice)  # type: ignore[arg-type]


def test_once_time_is_over_the_best_mixture_that_keeps_the_rules_is_enough(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Listed], direct_optimum: Direct
) -> None:
    monkeypatch.setattr(module, "_MAX_SINGLE_ROWS", 1)
    monkeypatch.setattr(module, "_MAX_GROUPS", 3)
    runs: list[Any] = []

    def counted(lp: highspy.Highs) -> Any:
        runs.append(lp)
        return run(lp)

    monkeypatch.setattr(module, "run", counted)
    longest = 0
    for seed in range(6):
        game = pool(seed, eta=0.02, gamma=0.0)
        optimum = direct_optimum(game.problem, game.errors, game.differences).value
        for deadline in (0.0, np.inf):
            runs.clear()
            master = Master(game.problem)
            master.add(game.errors, game.differences)
            found = master.solve(game.problem, 1e-9, deadline)
            assert_feasible(game.problem, found.weights, game.differences)
            assert found.value >= optimum - 1e-7
            longest = max(longest, len(runs))
            assert len(runs) == 1 or deadline
    assert longest > 1
