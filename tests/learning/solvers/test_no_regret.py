"""The paper's dynamics keep their promise on a class that can be listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.finite_oracle import FiniteClassOracle, ListedClassifiers

from fairwise.learning.solvers.no_regret import _softmax_with_zero, join, solve_no_regret
from fairwise.learning.solvers.regret_bound import promise
from fairwise.learning.solvers.solution import lagrangian_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed, Optimum

    from fairwise.learning.oracles.base import Classifiers, FloatArray

    Direct = Callable[..., Optimum]

SHAPES: list[dict[str, Any]] = [
    {"eta": 0.0, "gamma": 0.0},
    {"eta": 0.0, "gamma": 0.2, "sign": -1.0},
    {"eta": 0.05, "gamma": 0.0},
    {"eta": None, "judges": 0.1},
    {"eta": 0.05, "judges": {"u": 0.0, "v": 0.1}},
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=[" ".join(f"{k}={v}" for k, v in s.items()) for s in SHAPES])


@shapes
@pytest.mark.parametrize("seed", range(3))
def test_the_theorem_holds(
    listed: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any], seed: int
) -> None:
    """As many rounds as ``nu`` asks for: error at most OPT + nu, pairs and budgets within what is promised."""
    game = listed(seed, n_people=4, n_answers=4, **shape)
    problem, soft = game.problem, len(game.problem.soft_budgets)
    promised = promise(len(problem), lambda_bound=4.0, tau_bound=2.0, n_budgets=soft, nu=0.4)
    solution = solve_no_regret(problem, game.oracle, n_rounds=promised.n_rounds, lambda_bound=4.0, tau_bound=2.0)
    assert len(solution.trajectory["error"]) == promised.n_rounds

    optimum = direct_optimum(problem, game.errors, game.differences).value
    assert solution.error <= optimum + promised.error_excess + 1e-9
    errors, differences = problem.evaluate(solution.classifiers)
    assert solution.weights @ errors == pytest.approx(solution.error)
    over = np.maximum(solution.weights @ differences - problem.gamma - promised.pair_excess, 0.0)
    assert over[problem.hard].max(initial=0.0) <= 1e-9
    for budget in problem.soft_budgets:
        assert budget.shares @ over[budget.rows] <= budget.limit + promised.budget_excess + 1e-9


@shapes
@pytest.mark.parametrize("lambda_bound", [0.5, 3.0, 20.0])
def test_dynamics_stay_inside_their_regret_bound(
    listed: Callable[..., Listed], shape: dict[str, Any], lambda_bound: float
) -> None:
    """With exact best responses the gap of the averages is at most the dual player's regret per round."""
    for seed in range(3):
        for n_rounds in (1, 10, 150):
            problem = listed(seed, **shape).problem
            oracle = listed(seed, **shape).oracle
            solution = solve_no_regret(
                problem, oracle, n_rounds=n_rounds, lambda_bound=lambda_bound, tau_bound=lambda_bound
            )
            allowed = promise(
                len(problem),
                lambda_bound=lambda_bound,
                tau_bound=lambda_bound,
                n_budgets=len(problem.soft_budgets),
                n_rounds=n_rounds,
            ).nu
            assert -1e-9 <= solution.trajectory["gap"][-1] <= allowed + 1e-9


@pytest.mark.parametrize("lambda_bound", [1.0, 10.0])
def test_the_gap_is_what_both_best_responses_say(listed: Callable[..., Listed], lambda_bound: float) -> None:
    """Computed once more from the mixture and its multipliers alone (there is no slack at eta = 0)."""
    game = listed(1, gamma=0.1)
    solution = solve_no_regret(game.problem, game.oracle, n_rounds=200, lambda_bound=lambda_bound)
    _, differences = game.problem.evaluate(solution.classifiers)
    excess = float((solution.weights @ differences - 0.1).max())
    pairs = solution.multipliers.rows
    best_reply = float((game.errors + game.differences @ pairs).min()) - 0.1 * float(pairs.sum())
    assert solution.bound == pytest.approx(best_reply)
    expected = solution.error + lambda_bound * max(0.0, excess) - best_reply
    assert solution.trajectory["gap"][-1] == pytest.approx(expected)
    assert pairs.sum() <= lambda_bound + 1e-9


@shapes
def test_the_bound_is_one(listed: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any]) -> None:
    for seed in range(4):
        game = listed(seed, **shape)
        solution = solve_no_regret(game.problem, game.oracle, n_rounds=60, lambda_bound=2.0, tau_bound=2.0)
        assert solution.exact
        assert solution.bound <= direct_optimum(game.problem, game.errors, game.differences).value + 1e-9
        cheapest = float((game.errors + game.differences @ solution.multipliers.rows).min())
        assert solution.bound == pytest.approx(lagrangian_bound(game.problem, solution.multipliers, cheapest))


@shapes
def test_the_stopping_rule_stops_early_and_within_nu(
    listed: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any]
) -> None:
    game = listed(2, **shape)
    solution = solve_no_regret(game.problem, game.oracle, nu=0.3, lambda_bound=2.0, tau_bound=2.0)
    gap = solution.trajectory["gap"]
    planned = promise(
        len(game.problem), lambda_bound=2.0, tau_bound=2.0, n_budgets=len(game.problem.soft_budgets), nu=0.3
    )
    assert len(gap) < planned.n_rounds
    assert gap[-1] <= 0.3
    looked = gap[~np.isnan(gap)]
    assert (looked[:-1] > 0.3).all()  # and not a look later
    assert solution.oracle_calls == len(gap) + len(looked)
    assert solution.error <= direct_optimum(game.problem, game.errors, game.differences).value + 0.3 + 1e-9


def test_without_nu_the_gap_is_looked_at_once(listed: Callable[..., Listed]) -> None:
    game = listed(0)
    gap = solve_no_regret(game.problem, game.oracle, n_rounds=50).trajectory["gap"]
    assert np.isnan(gap[:-1]).all()
    assert not np.isnan(gap[-1])


def test_at_eta_zero_slack_is_not_in_the_game(listed: Callable[..., Listed]) -> None:
    """With slack in play every pair could be excused; without it the violation falls as the theorem says."""
    game = listed(6, n_people=4, n_answers=5, gamma=0.0, eta=0.0)
    unconstrained = game.differences[game.errors.argmin()].max()
    assert unconstrained == 1  # there is something to give up
    solution = solve_no_regret(game.problem, game.oracle, n_rounds=3000, lambda_bound=10.0, tau_bound=1.0)
    assert len(solution.multipliers.budgets) == 0
    assert solution.trajectory["max_violation"][-1] < 0.2


def test_the_trajectory_is_the_running_average(listed: Callable[..., Listed]) -> None:
    game = listed(3, eta=0.05)
    whole = solve_no_regret(game.problem, game.oracle, n_rounds=40, lambda_bound=5.0)
    _, differences = game.problem.evaluate(whole.classifiers)
    assert whole.trajectory["error"][-1] == pytest.approx(whole.error)
    expected = max(0.0, float((whole.weights @ differences).max()))
    assert whole.trajectory["max_violation"][-1] == pytest.approx(expected)
    assert len(whole.weights) < 40  # equal classifiers are counted, not kept
    assert whole.weights * 40 == pytest.approx(np.round(whole.weights * 40))


class Recorder(FiniteClassOracle):
    """Remembers which costs it was asked about."""

    def __init__(self, labels: Any) -> None:
        super().__init__(labels)
        self.asked: list[FloatArray] = []

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> ListedClassifiers:
        self.asked.append(cost.copy())
        return super().best_response(cost, warm)


def test_the_first_round_charges_every_pair_alike_and_no_budget(listed: Callable[..., Listed]) -> None:
    """theta starts at 0: C_lambda / (K + 1) on each pair. tau starts at 0 (the paper's alpha^0 is undefined)."""
    game = listed(1, eta=0.05)
    oracle = Recorder(game.labels[2:])
    solve_no_regret(game.problem, oracle, n_rounds=1, lambda_bound=6.0)
    even = np.full(len(game.problem), 6.0 / (len(game.problem) + 1))
    assert oracle.asked[0] == pytest.approx(game.problem.cost(even))


def test_multipliers_grow_on_what_is_violated(listed: Callable[..., Listed]) -> None:
    game = listed(6, n_people=4, n_answers=5)
    solution = solve_no_regret(game.problem, game.oracle, n_rounds=400, lambda_bound=3.0)
    reached = solution.weights @ game.problem.evaluate(solution.classifiers)[1]
    assert solution.multipliers.rows[reached.argmax()] > solution.multipliers.rows[reached.argmin()]


def test_softmax_is_safe_for_large_numbers_and_has_the_option_of_nothing() -> None:
    assert _softmax_with_zero(np.zeros(3)) == pytest.approx([0.25] * 3)
    assert _softmax_with_zero(np.array([1e4, 1e4])) == pytest.approx([0.5, 0.5])
    assert _softmax_with_zero(np.array([-1e4, -1e4])) == pytest.approx([0.0, 0.0])
    assert _softmax_with_zero(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_joined_members_keep_their_order(count: int) -> None:
    members: list[Classifiers] = [ListedClassifiers(np.array([[number]], dtype=np.uint8)) for number in range(count)]
    assert join(members).labels(np.array([0])).ravel().tolist() == list(range(count))
