"""Averages of the rounds, and the dual player's best reply to them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairwise.learning.averages import Averages
from fairwise.learning.multipliers import Multipliers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed


@pytest.fixture
def average(listed: Callable[..., Listed]) -> tuple[Listed, Averages, list[tuple[float, ...]]]:
    game = listed(4, eta=0.1, judges=0.2)
    rng = np.random.default_rng(0)
    average = Averages(game.problem)
    rounds = []
    for _ in range(7):
        at = Multipliers(rng.random(len(game.problem)), rng.random(len(game.problem.soft_budgets)))
        member = int(rng.integers(len(game.errors)))
        slack = rng.integers(2, size=len(game.problem)).astype(float)
        average.add(at, float(game.errors[member]), game.differences[member].astype(float), slack)
        rounds.append((*at.rows, *at.budgets, game.errors[member], *game.differences[member], *slack))
    return game, average, rounds


def test_every_round_counts_alike(average: tuple[Listed, Averages, list[tuple[float, ...]]]) -> None:
    _, kept, rounds = average
    found = [*kept.multipliers.rows, *kept.multipliers.budgets, kept.error, *kept.values, *kept.slack]
    assert found == pytest.approx(np.mean(rounds, axis=0))
    assert kept.max_violation() == pytest.approx(max(0.0, kept.values.max()))


def test_the_dual_player_cannot_do_better(average: tuple[Listed, Averages, list[tuple[float, ...]]]) -> None:
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
    average = Averages(problem)
    average.add(Multipliers.zero(problem), 0.25, np.full(len(problem), -1.0), np.zeros(len(problem)))
    assert average.best_dual_value(10.0, 10.0) == 0.25
    assert average.max_violation() == 0.0
