"""Games about many people are the compiled ones, in which only what changes is looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fairwise.constraints.pairs import PairRows, panel_budget
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.problem import Points, Problem
from fairwise.learning.solvers import large_games, no_regret
from fairwise.learning.solvers.large_games import Edges, play_large
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


@pytest.mark.parametrize("n_pairs", [400, 3000])  # people with one edge, and with many
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("lambda_bound", [0.3, 30.0])
def test_the_same_game(game: Make, n_pairs: int, seed: int, sign: float, lambda_bound: float) -> None:
    problem, oracle = game(seed, n_pairs, gamma=0.05 * seed, sign=sign)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    both = {tuple(sorted(pair)) for pair in zip(problem.reference, problem.owed, strict=True)}
    assert len(problem) / 2 < len(both) < len(problem)  # some rows have a reverse, some have none
    guarantee = promise(len(problem), lambda_bound=lambda_bound, tau_bound=1.0, n_budgets=0, n_rounds=600)
    changes, whole = play_large(problem, terms, guarantee), _play_compiled(problem, terms, guarantee)
    for name in ("coef", "intercept", "violations", "pairs", "budgets", "slack", "labels"):
        expected = getattr(whole, name)
        assert getattr(changes, name) == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_the_same_labels_where_rounding_matters(game: Make, far: float) -> None:
    """Columns far from 0 make sums of large numbers that cancel: there everyone is asked in every round."""
    problem, oracle = game(1, 1200)
    points = replace(problem.points, rows=oracle.rows + far)
    terms = RegressionOracle(points.rows, points.multiplicity).regression_terms(replace(problem, points=points))
    assert terms is not None
    guarantee = promise(len(problem), lambda_bound=3.0, tau_bound=1.0, n_budgets=0, n_rounds=300)
    found, expected = play_large(problem, terms, guarantee), _play_compiled(problem, terms, guarantee)
    assert np.array_equal(found.labels, expected.labels)
    assert np.array_equal(found.violations, expected.violations)


def test_edges_know_their_rows() -> None:
    reference, owed = np.array([0, 2, 1, 3]), np.array([1, 1, 0, 0])
    edges = Edges.of(reference, owed, 4)
    assert edges.ends.tolist() == [[0, 1], [0, 3], [1, 2]]
    assert edges.kind.tolist() == [2, 1, 1]  # both ways; the second end is the reference in (0, 3) and in (1, 2)
    begins, touching = edges.touching(4)
    of_person = [sorted(touching[a:b].tolist()) for a, b in itertools.pairwise(begins)]
    assert of_person == [[0, 1], [0, 2], [2], [1]]


def test_too_many_rounds_for_a_table_of_places(game: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, oracle = game(0)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    monkeypatch.setattr(large_games, "_MANY", 1)
    assert large_games.is_large(problem, terms, 1000)
    assert not large_games.is_large(problem, terms, 10**7)


def test_large_games_are_played_there(game: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, oracle = game(0)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    guarantee = promise(len(problem), lambda_bound=1.0, tau_bound=1.0, n_budgets=0, n_rounds=5)
    monkeypatch.setattr(large_games, "_MANY", 1)
    monkeypatch.setattr(no_regret, "_play_compiled", None)
    assert len(play_game(problem, terms, guarantee).classifiers) == 5


@pytest.mark.parametrize("many", [1, 1 << 30])
def test_judged_people_get_what_the_mixture_gives_them(game: Make, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit: what rounds counted is added up as by the mixture."""
    monkeypatch.setattr(large_games, "_MANY", many)
    problem, oracle = game(0)
    terms = oracle.regression_terms(problem)
    assert terms is not None
    guarantee = promise(len(problem), lambda_bound=3.0, tau_bound=1.0, n_budgets=0, n_rounds=300)
    solution = play_game(problem, terms, guarantee).solution(np.zeros(300), 0.0, 0.0, "linear")
    expected = Mixture(solution.classifiers, solution.weights).probabilities(terms.judged_rows)
    assert solution.judged_probability is not None
    assert np.array_equal(solution.judged_probability, expected)
    assert len(np.unique(expected)) > 10
