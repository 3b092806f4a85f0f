"""Games about many people are the compiled ones, played in halves."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from fairwise.constraints.budgets import panel_budget
from fairwise.constraints.pairs import PairRows
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.problem import Points, Problem
from fairwise.learning.solvers import large_games, no_regret
from fairwise.learning.solvers.large_game_kernels import CHUNK
from fairwise.learning.solvers.large_games import Layout, play_large
from fairwise.learning.solvers.no_regret import _play_compiled, play_game
from fairwise.learning.solvers.regret_bound import promise

Make = Callable[..., tuple[Problem, RegressionOracle]]


@pytest.fixture
def game(random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]) -> Make:
    def make(
        seed: int, n_pairs: int = 400, *, gamma: float = 0.05, sign: float = 1.0
    ) -> tuple[Problem, RegressionOracle]:
        rng = np.random.default_rng(seed)
        points = random_points(rng, 900, rng.normal(size=(900, 3)))
        pairs = random_pairs(rng, 2000, n_pairs)
        judged = rng.choice(900, size=len(pairs.people), replace=True).astype(np.intp)
        problem = Problem.build(points, judged, pairs, [panel_budget(pairs, 0.0, "answers")], sign=sign, gamma=gamma)
        return problem, RegressionOracle(points.rows, points.multiplicity)

    return make


@pytest.mark.parametrize("n_pairs", [400, 1200, 3000])  # edges that join few people, some and nearly all
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("lambda_bound", [0.3, 30.0])
def test_the_same_game(game: Make, n_pairs: int, seed: int, sign: float, lambda_bound: float) -> None:
    problem, oracle = game(seed, n_pairs, gamma=0.05 * seed, sign=sign)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    both = {tuple(sorted(pair)) for pair in zip(problem.reference, problem.owed, strict=True)}
    assert len(problem) / 2 < len(both) < len(problem)  # some rows have a reverse, some have none
    guarantee = promise(len(problem), lambda_bound=lambda_bound, tau_bound=1.0, n_budgets=0, n_rounds=200)
    halves, whole = play_large(problem, terms, guarantee), _play_compiled(problem, terms, guarantee)
    for name in ("coef", "intercept", "violations", "pairs", "budgets", "slack", "labels"):
        expected = getattr(whole, name)
        assert getattr(halves, name) == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("n_edges", [1, 800, 1500, 4000])
def test_no_edge_leaves_its_chunk(n_edges: int) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(3000, size=(n_edges, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    layout = Layout.of(ends, 3000)
    assert len(set(layout.place)) == 3000
    assert sorted(layout.order) == list(range(len(ends)))
    chunks = layout.place[ends[layout.order]] // CHUNK
    for c, (start, end) in enumerate(itertools.pairwise(layout.starts)):
        assert (chunks[start:end] == c).all()
    assert (chunks[layout.starts[-1] :] >= len(layout.starts) - 1).all()
    assert (n_edges < 4000) == (layout.starts[-1] > len(ends) / 8)


def test_large_games_are_played_there(game: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, oracle = game(0)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    guarantee = promise(len(problem), lambda_bound=1.0, tau_bound=1.0, n_budgets=0, n_rounds=5)
    monkeypatch.setattr(large_games, "_MANY", 1)
    monkeypatch.setattr(no_regret, "_play_compiled", None)
    assert len(play_game(problem, terms, guarantee).classifiers) == 5
