"""The Lagrangian bound is a bound for any multipliers; averages of rounds, and the best reply to them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.learning.solvers.master import Master
from fairwise.learning.solvers.solution import Multipliers, RoundAverages, lagrangian_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed, Optimum


SHAPES: list[dict[str, Any]] = [
    {"eta": 0.0},
    {"eta": 0.05},
    {"eta": 0.05, "weighting": "panel", "sign": -1.0},
    {"eta": None, "judges": 0.1},
    {"eta": 0.1, "judges": {"u": 0.0, "v": 0.2}, "gamma": 0.3},
]


def dual_value(game: Listed, at: Multipliers) -> float:
    return lagrangian_bound(game.problem, at, float((game.errors + game.differences @ at.rows).min()))


@examples(25)
@given(seed=st.integers(0, 20), data=st.data())
@pytest.mark.parametrize("shape", SHAPES)
def test_no_multipliers_prove_more_than_is_true(
    listed: Callable[..., Listed],
    direct_optimum: Callable[..., Optimum],
    shape: dict[str, Any],
    seed: int,
    data: st.DataObject,
) -> None:
    game = listed(seed, **shape)
    size = data.draw(st.sampled_from([1e-3, 0.1, 1.0, 100.0]))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    mask = rng.random(len(game.problem)) < data.draw(st.sampled_from([0.2, 1.0]))
    at = Multipliers(size * mask * rng.random(len(game.problem)), size * rng.random(len(game.problem.soft_budgets)))
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    assert dual_value(game, at) <= optimum + 1e-9 * max(1.0, size)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_multipliers_prove_all_of_it(
    listed: Callable[..., Listed], direct_optimum: Callable[..., Optimum], shape: dict[str, Any], seed: int
) -> None:
    game = listed(seed, **shape)
    master = Master(game.problem)
    master.add(game.errors, game.differences)
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    assert dual_value(game, master.solve(game.problem).multipliers) == pytest.approx(optimum, abs=1e-7)


def test_multipliers_of_a_stricter_problem_prove_no_more(
    listed: Callable[..., Listed], direct_optimum: Callable[..., Optimum]
) -> None:
    """The best lambda where no excess is allowed, and nothing charged for it: slack then pays for itself."""
    apart = []
    for seed in range(8):
        game = listed(seed, eta=0.1, gamma=0.0)
        strict = game.problem.at(0.0, [0.0])
        master = Master(strict)
        master.add(game.errors, game.differences)
        solved = master.solve(strict)
        optimum = direct_optimum(game.problem, game.errors, game.differences).value
        assert dual_value(game, Multipliers(solved.multipliers.rows, np.zeros(1))) <= optimum + 1e-9
        apart.append(solved.value - optimum)
    assert max(apart) > 0.01


def test_with_no_multipliers_the_bound_is_the_unconstrained_error(listed: Callable[..., Listed]) -> None:
    game = listed(0, eta=0.1)
    assert dual_value(game, Multipliers.zero(game.problem)) == pytest.approx(game.errors.min())


def test_slack_costs_what_its_budgets_charge_less_what_its_pair_pays(listed: Callable[..., Listed]) -> None:
    problem = listed(2, eta=0.1, judges={"u": 0.0, "v": 0.2}).problem
    rng = np.random.default_rng(0)
    at = Multipliers(rng.random(len(problem)), rng.random(len(problem.soft_budgets)))
    expected = -at.rows.copy()
    for price, budget in zip(at.budgets, problem.soft_budgets, strict=True):
        for row, share in zip(budget.rows, budget.shares, strict=True):
            expected[row] += price * share
    cost = at.slack_cost(problem)
    assert cost[~problem.hard] == pytest.approx(expected[~problem.hard])
    assert problem.hard.any()
    assert np.isposinf(cost[problem.hard]).all()
    assert (at.rows >= 0).all()  # and nothing was changed on the way


def test_towards_walks_the_straight_line() -> None:
    here = Multipliers(np.array([0.0, 4.0]), np.array([1.0]))
    there = Multipliers(np.array([2.0, 0.0]), np.array([3.0]))
    quarter = here.towards(there, 0.25)
    assert quarter.rows.tolist() == [0.5, 3.0]
    assert quarter.budgets.tolist() == [1.5]
    assert here.towards(there, 0.0).rows.tolist() == here.rows.tolist()
    assert here.towards(there, 1.0).rows.tolist() == there.rows.tolist()


@pytest.fixture
def average(listed: Callable[..., Listed]) -> tuple[Listed, RoundAverages, list[tuple[float, ...]]]:
    game = listed(4, eta=0.1, judges=0.2)
    rng = np.random.default_rng(0)
    average = RoundAverages(game.problem)
    rounds = []
    for _ in range(7):
        at = Multipliers(rng.random(len(game.problem)), rng.random(len(game.problem.soft_budgets)))
        member = int(rng.integers(len(game.errors)))
        slack = rng.integers(2, size=len(game.problem)).astype(float)
        average.add(at, float(game.errors[member]), game.differences[member].astype(float), slack)
        rounds.append((*at.rows, *at.budgets, game.errors[member], *game.differences[member], *slack))
    return game, average, rounds


def test_every_round_counts_alike(average: tuple[Listed, RoundAverages, list[tuple[float, ...]]]) -> None:
    _, kept, rounds = average
    found = [*kept.multipliers.rows, *kept.multipliers.budgets, kept.error, *kept.values, *kept.slack]
    assert found == pytest.approx(np.mean(rounds, axis=0))
    assert kept.max_violation() == pytest.approx(max(0.0, kept.values.max()))


def test_the_dual_player_cannot_do_better(average: tuple[Listed, RoundAverages, list[tuple[float, ...]]]) -> None:
    """Its options are corners: one pair or none, each budget or not. The Lagrangian at each, written out."""
    game, kept, _ = average
    problem, lambda_bound, tau_bound = game.problem, 3.0, 2.0
    corners = [np.zeros(len(problem)), *(lambda_bound * np.eye(len(problem)))]
    budgets = [np.array(choice) for choice in product([0.0, tau_bound], repeat=len(problem.soft_budgets))]
    excess = kept.values - kept.slack - problem.gamma
    overspent = [b.shares @ kept.slack[b.rows] - b.limit for b in problem.soft_budgets]
    best = max(kept.error + pairs @ excess + prices @ overspent for pairs in corners for prices in budgets)
    assert kept.best_dual_value(lambda_bound, tau_bound) == pytest.approx(best)


def test_where_all_is_kept_the_dual_player_charges_nothing(listed: Callable[..., Listed]) -> None:
    problem = listed(4, eta=0.1).problem
    average = RoundAverages(problem)
    average.add(Multipliers.zero(problem), 0.25, np.full(len(problem), -1.0), np.zeros(len(problem)))
    assert average.best_dual_value(10.0, 10.0) == 0.25
    assert average.max_violation() == 0.0
