"""Small mixtures against enumeration: the fewest for an error, the best of so many, the best one for a place."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.learning.solvers import few_classifiers
from fairwise.learning.solvers.branching import PlaceSearch
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.few_classifiers import FewClassifiers
from fairwise.learning.solvers.master import keeps
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.selection import best_weights, solved_or_none

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Listed

    from fairwise.learning.problem import Problem
    from fairwise.learning.solvers.master import Master, MasterSolution

RULES: list[dict[str, Any]] = [
    {"gamma": 0.1},
    {"gamma": 0.0},
    {"gamma": 0.3, "sign": -1.0},
    {"gamma": 0.1, "eta": 0.05},
    {"gamma": 0.0, "eta": None, "judges": {"u": 0.02, "v": 0.0}},
    {"gamma": 0.05, "eta": 0.03, "judges": 0.1},
]
each_rules = pytest.mark.parametrize("rules", RULES, ids=str)
each_seed = pytest.mark.parametrize("seed", range(3))


def all_of(game: Listed) -> Pool:
    pool = Pool(game.problem, game.oracle)
    everyone = game.oracle._everyone
    pool.keep(everyone, *game.problem.evaluate(everyone))
    return pool


def excess(problem: Problem, values: Any) -> float:
    """By how much a mixture with these row values is over a limit or a budget, at most."""
    over = np.maximum(values - problem.row_limits, 0.0)
    overspent = [float(b.shares @ over[b.rows]) - b.limit for b in problem.budgets]
    return max(float(over[problem.hard].max(initial=0.0)), *overspent)


def least_error(pool: Pool, problem: Problem, size: int) -> float:
    """Of every choice of so many, one by one."""
    found = [
        best_weights(problem, pool.errors[[*some]], pool.values[[*some]])
        for some in combinations(range(len(pool)), size)
    ]
    return min((solved.value for solved in found if solved is not None), default=np.inf)


@each_seed
@each_rules
def test_no_smaller_choice_has_that_error(listed: Callable[..., Listed], seed: int, rules: dict[str, Any]) -> None:
    game = listed(seed, n_points=8, n_answers=9, n_classifiers=6, **rules)
    problem, pool = game.problem, all_of(game)
    ceiling = pool.solve(problem).value + 1e-3
    choice = FewClassifiers(problem, game.oracle, pool).fewest(ceiling)
    assert choice.weights.sum() == pytest.approx(1.0)
    assert (choice.weights > 0).all()
    assert choice.error == pytest.approx(choice.weights @ pool.errors[choice.which])
    assert choice.error <= ceiling + 1e-9
    assert excess(problem, choice.weights @ pool.values[choice.which]) <= 1e-8
    assert least_error(pool, problem, len(choice)) <= ceiling + 1e-9
    if len(choice) > 1:
        assert least_error(pool, problem, len(choice) - 1) > ceiling - 1e-9


def test_where_hardly_any_can_be_left_out_the_others_are_not_tried(
    listed: Callable[..., Listed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a programme, and mixtures under strict rules have hundreds."""
    most, tried = 3, 0

    def counted(master: Master, problem: Problem) -> MasterSolution | None:
        nonlocal tried
        tried += 1
        return solved_or_none(master, problem)

    monkeypatch.setattr(few_classifiers, "_FRUITLESS", most)
    monkeypatch.setattr(few_classifiers, "solved_or_none", counted)
    game = listed(3, n_points=14, n_people=12, n_answers=60, n_classifiers=2000, gamma=0.01)
    problem, generation = game.problem, ColumnGeneration(game.problem, game.oracle)
    generation.solve(tol=1e-6)
    vertex = generation.pool.solve(problem)
    choice = FewClassifiers(problem, game.oracle, generation.pool).fewest(vertex.value + 1e-9)
    assert choice.error <= vertex.value + 1e-8
    left_out = np.count_nonzero(vertex.weights) - len(choice)
    assert 0 < tried <= (most + 1) * (left_out + 1) < np.count_nonzero(vertex.weights)


@each_seed
@each_rules
def test_the_best_of_so_many_is_that_of_an_enumeration(
    listed: Callable[..., Listed], seed: int, rules: dict[str, Any]
) -> None:
    """And one more is never worse."""
    game = listed(seed, n_points=8, n_answers=9, n_classifiers=6, **rules)
    problem, pool = game.problem, all_of(game)
    errors = []
    for most in (1, 2, 3):
        choice = FewClassifiers(problem, game.oracle, pool).at_most(most, 0.0)
        assert choice is not None
        assert len(choice) <= most
        assert excess(problem, choice.weights @ pool.values[choice.which]) <= 1e-8
        assert choice.error == pytest.approx(
            min(least_error(pool, problem, size) for size in range(1, most + 1)), abs=1e-7
        )
        errors.append(choice.error)
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(6))
def test_one_alone_is_the_best_of_the_whole_class_also_of_those_never_asked_for(
    listed: Callable[..., Listed], seed: int, sign: float
) -> None:
    game = listed(seed, n_points=7, n_answers=6, n_classifiers=None, gamma=0.2, sign=sign)
    search = ColumnGeneration(game.problem, game.oracle)
    search.solve()
    before = len(search.pool)
    choice = FewClassifiers(game.problem, game.oracle, search.pool).at_most(1, 0.0)
    possible = [
        error for error, values in zip(game.errors, game.differences, strict=True) if keeps(game.problem, values)
    ]
    assert choice is not None
    assert choice.error == pytest.approx(min(possible))
    assert before < len(game.labels)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_for_a_place_is_that_of_an_enumeration(listed: Callable[..., Listed], seed: int, sign: float) -> None:
    """Pairs that allow everything, equal treatment, or one order alone."""
    game = listed(seed, n_points=8, n_answers=9, n_classifiers=40, sign=sign)
    rng = np.random.default_rng(seed)
    room = rng.choice([-0.5, 0.0, 0.4, 1.0, 2.0], p=[0.05, 0.3, 0.3, 0.3, 0.05], size=game.problem.n_pairs)
    kept = (game.differences <= room).all(axis=1)
    best = game.errors[kept].min(initial=np.inf)
    search = PlaceSearch(game.problem, game.oracle, room)
    found = search.run(np.inf, 1000)
    if not kept.any():
        assert found is None
        return
    assert found is not None
    error, values, _ = game.problem.observe(found)
    assert error == pytest.approx(best)
    assert (values <= room).all()
    assert PlaceSearch(game.problem, game.oracle, room).run(best - 1e-9, 1000) is None  # nothing is below it


def test_a_place_that_nothing_suits_is_left(listed: Callable[..., Listed]) -> None:
    game = listed(0)
    assert PlaceSearch(game.problem, game.oracle, np.full(game.problem.n_pairs, -1.5)).run(np.inf, 100) is None


@each_seed
def test_new_classifiers_are_found_where_the_pool_has_too_few(listed: Callable[..., Listed], seed: int) -> None:
    """From nothing but the constants, what the whole class can do with two."""
    game = listed(seed, n_points=6, n_answers=5, n_classifiers=12, gamma=0.2)
    pool, everyone = Pool(game.problem, game.oracle), all_of(game)
    pool.keep(game.oracle.constants(), *game.problem.evaluate(game.oracle.constants()))
    choice = FewClassifiers(game.problem, game.oracle, pool).at_most(2, 0.0)
    constant = game.problem.points.constant_error
    assert choice is not None
    best = min(least_error(everyone, game.problem, size) for size in (1, 2))
    assert best - 1e-9 <= choice.error
    assert choice.error < constant or best == pytest.approx(constant)


@each_seed
def test_what_a_model_breaks_is_broken_no_more(listed: Callable[..., Listed], seed: int) -> None:
    """The problem of a mixture that breaks rules allows that mixture, and not more than it takes."""
    game = listed(seed, gamma=0.05, eta=0.01, judges={"u": 0.0})
    problem = game.problem
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.ones(len(game.labels))) @ game.differences
    loosened = problem.loosened_to(values)
    assert excess(loosened, values) <= 1e-12
    assert (loosened.row_limits[~problem.hard] == problem.row_limits[~problem.hard]).all()
    over = np.maximum(values - problem.row_limits, 0.0)
    assert loosened.row_limits[problem.hard] == pytest.approx((problem.row_limits + over)[problem.hard])
    for before, after in zip(problem.budgets, loosened.budgets, strict=True):
        assert after.limit == pytest.approx(
            max(before.limit, before.shares @ over[before.rows]) if before.limit else 0.0
        )
