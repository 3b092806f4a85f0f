"""Multipliers of a proximal programme: where they may be, what they promise, and searches that ask there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.finite_oracle import SlowOracle

from fairwise.learning.solvers import column_generation, master
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.master import Master
from fairwise.learning.solvers.proximal import ProximalMultipliers, best_scale
from fairwise.learning.solvers.proximal_kernels import charge, curvature, descend_simplex, weigh
from fairwise.learning.solvers.solution import lagrangian_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed, Optimum

    Direct = Callable[..., Optimum]

BUDGETS: list[dict[str, Any]] = [
    {"eta": 0.02, "gamma": 0.0},
    {"eta": 0.05, "gamma": 0.1, "weighting": "panel", "sign": -1.0},
    {"eta": 0.3, "gamma": 0.0},
]
budgets = pytest.mark.parametrize("shape", BUDGETS, ids=lambda shape: f"eta={shape['eta']} gamma={shape['gamma']}")


@pytest.fixture
def few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows share excess variables, as where there are very many of them."""
    monkeypatch.setattr(master, "_MAX_SINGLE_ROWS", 1)
    monkeypatch.setattr(master, "_MAX_GROUPS", 3)


@pytest.mark.usefixtures("few_groups")
@budgets
@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_asks_there_proves_the_optimum(
    listed: Callable[..., Listed], direct_optimum: Direct, shape: dict[str, Any], seed: int
) -> None:
    game = listed(seed, n_points=10, n_people=8, n_answers=24, n_classifiers=300, **shape)
    search = ColumnGeneration(game.problem, SlowOracle(game.labels[2:]))
    solution = search.solve(tol=1e-5)
    optimum = direct_optimum(game.problem, game.errors, game.differences).value
    assert search._proximal is not None
    assert solution.stopped == "gap"
    assert solution.error == pytest.approx(optimum, abs=2e-5)
    assert solution.bound <= optimum + 1e-9
    assert solution.error - solution.bound <= 1e-5 + 1e-9
    _, differences = game.problem.evaluate(solution.classifiers)
    excess = np.maximum(solution.weights @ differences - game.problem.gamma, 0.0)
    (budget,) = game.problem.budgets
    assert budget.shares @ excess[budget.rows] <= budget.limit + 1e-6


@budgets
@pytest.mark.parametrize("seed", range(4))
def test_it_promises_no_more_than_the_programme_over_what_is_known(
    listed: Callable[..., Listed], shape: dict[str, Any], seed: int
) -> None:
    game = listed(seed, n_points=10, n_people=8, n_answers=24, n_classifiers=60, **shape)
    known = Master(game.problem)
    known.add(game.errors, game.differences)
    value = known.solve(game.problem).value
    proximal, best, tau = ProximalMultipliers(game.problem), -np.inf, 1.0
    (budget,) = game.problem.budgets
    for _ in range(20):
        at, promised = proximal.propose(game.problem, known, tau, 1e-7)
        tau = float(at.budgets[0])
        assert at.rows.min() >= 0.0
        assert (at.rows[budget.rows] <= tau * budget.shares + 1e-12).all()
        cheapest = float((game.errors + game.differences @ at.rows).min())
        assert promised == pytest.approx(lagrangian_bound(game.problem, at, cheapest), abs=1e-10)
        assert promised <= value + 1e-9
        proximal.learn(promised, best, promised)
        best = max(best, promised)
    assert best >= value - 0.03


@pytest.mark.usefixtures("few_groups")
def test_a_cheap_oracle_is_asked_at_the_programmes_duals(listed: Callable[..., Listed]) -> None:
    game = listed(0, eta=0.1)
    assert ColumnGeneration(game.problem, game.oracle)._proximal is None
    assert ColumnGeneration(game.problem, SlowOracle(game.labels[2:]))._proximal is not None


def test_only_one_soft_budget_alone_suits(listed: Callable[..., Listed]) -> None:
    assert ProximalMultipliers.suit(listed(0, eta=0.1).problem)
    assert not ProximalMultipliers.suit(listed(0, eta=0.0).problem)
    assert not ProximalMultipliers.suit(listed(0, eta=0.1, judges=0.1).problem)


class Modest(SlowOracle):
    """Does not claim to."""

    exact = False


@pytest.mark.usefixtures("few_groups")
def test_a_heuristic_that_long_gains_nothing_says_so(
    listed: Callable[..., Listed], direct_optimum: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where its gap is small, and never where a proof can be had."""
    monkeypatch.setattr(column_generation, "_PATIENCE_MANY_ROWS", (2, 200))
    ended = set()
    for seed in range(12):
        game = listed(seed, n_points=14, n_people=12, n_answers=60, n_classifiers=2000, gamma=0.0, eta=0.02)
        solution = ColumnGeneration(game.problem, Modest(game.labels[2:])).solve(tol=1e-4)
        ended.add(solution.stopped)
        gap = solution.error - solution.bound
        assert gap <= (50e-4 if solution.stopped == "stalled" else 1e-4) + 1e-9
        assert solution.error <= direct_optimum(game.problem, game.errors, game.differences).value + gap + 1e-9
        assert ColumnGeneration(game.problem, SlowOracle(game.labels[2:])).solve(tol=1e-4).stopped == "gap"
    assert "stalled" in ended
    assert ended <= {"stalled", "gap"}


@pytest.mark.parametrize("n_rows", [3, 8, 1029])
def test_sums_over_rows_are_those_of_numpy(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    values = rng.integers(-1, 2, (5, n_rows)).astype(np.int8)
    shares, centre, over = rng.random(n_rows), rng.random(n_rows), rng.normal(size=n_rows)
    assert weigh(values, shares) == pytest.approx(values @ shares)

    charged = np.empty(n_rows)
    total = charge(over, shares, centre, 0.5, charged)
    for other in (0.0, 0.3, 1.0, centre):  # charged is what makes it largest
        assert shares @ (other * over - 0.25 * (other - centre) ** 2) <= total + 1e-12
    assert total == pytest.approx(shares @ (charged * over - 0.25 * (charged - centre) ** 2))
    assert charged.min() >= 0.0
    assert charged.max() <= 1.0

    which, inside = np.array([0, 3, 4]), (charged > 0) & (charged < 1)
    some = values[which][:, inside].astype(float)
    assert curvature(values, which, shares, charged) == pytest.approx((some * shares[inside]) @ some.T)


@pytest.mark.parametrize("rank", [0, 2, 6])
def test_descent_over_the_simplex_ends_where_no_exchange_helps(rank: int) -> None:
    rng = np.random.default_rng(rank)
    root = rng.normal(size=(6, rank))
    slope, curve, weights = rng.normal(size=6), root @ root.T, np.full(6, 1 / 6)
    descend_simplex(slope, curve, weights, 1e-9, 10_000)
    gradient = slope + curve @ weights
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    assert gradient[weights > 0].max() - gradient.min() <= 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_the_best_scale_is_where_the_least_line_is_highest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    errors, slopes = rng.random(30), rng.normal(size=30) + rng.choice([-0.5, 0.0, 1.0])
    slopes[0] = min(slopes[0], -0.1)
    at = best_scale(errors, slopes)
    assert at >= 0.0
    tried = np.append(np.linspace(0.0, 2 * at + 1.0, 2001), [at * (1 - 1e-6), at * (1 + 1e-6)])
    assert (errors + tried[:, None] * slopes).min(axis=1).max() <= (errors + at * slopes).min() + 1e-12
