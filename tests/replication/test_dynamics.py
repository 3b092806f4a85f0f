"""Games of the dynamics measured: the two regrets make up the gap, and only an inexact oracle leaves one behind."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from replication.dynamics import Recorder, play_and_measure, replay
from scipy.optimize import linprog
from tests.support.finite_oracle import FiniteClassOracle, ListedClassifiers

from fairwise.constraints.pairs import PairRows, panel_budget
from fairwise.judgments import Judgments
from fairwise.learning.oracles.base import Oracle
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.problem import Points, Problem
from fairwise.learning.solvers.no_regret import guarantee_of, solve_no_regret

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray

N_PROBLEMS = 60
_ROUNDS = 80


class _Careless(Oracle):
    """An oracle that knows the cheapest of a list and answers with the one behind it."""

    exact = False
    cheap = True
    hypothesis_class = "a list, carelessly searched"

    def __init__(self, predictions: np.ndarray[Any, Any]) -> None:
        self._listed = FiniteClassOracle(predictions)
        self._everyone = ListedClassifiers(predictions)

    def constants(self) -> Classifiers:
        return self._listed.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:  # noqa: ARG002
        return self._everyone.take(np.argsort(self._everyone.predictions @ cost, kind="stable")[1:2])


def _problem(seed: int, *, by_number: bool) -> tuple[Problem, np.ndarray[Any, Any]]:
    """Twelve people, some "same" pairs, any gamma; a list of classifiers of which nobody has the same costs."""
    rng = np.random.default_rng(seed)
    n = 12
    table = rng.normal(size=(n, 2))
    y = (table[:, 0] + rng.normal(size=n) > 0).astype(int)
    weight = rng.uniform(0.5, 1.5, n)
    weight /= weight.sum()
    pairs = rng.permutation(list(combinations(range(n), 2)))[:5]
    rows = PairRows.from_judgments(Judgments([{"judge": "u", "a": a, "b": b, "answer": "same"} for a, b in pairs]))
    points = Points(
        rows=np.arange(n) if by_number else table,
        error_cost=weight * (1 - 2 * y),
        error_offset=float(weight @ y),
        multiplicity=weight * n,
    )
    gamma, sign = float(rng.choice([0.0, 0.1, 0.3])), float(rng.choice([-1.0, 1.0]))
    judged = np.array([int(person) for person in rows.people])
    budget = panel_budget(rows, 0.0, "answers")
    problem = Problem.build(points, judged, rows, [budget], sign=sign, gamma=gamma)
    return problem, rng.integers(0, 2, size=(9, n)).astype(np.uint8)


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_an_exact_oracle_leaves_no_regret_and_its_gap_is_what_was_promised(seed: int) -> None:
    problem, listed = _problem(seed, by_number=True)
    oracle = FiniteClassOracle(listed)
    game = play_and_measure(problem, oracle, oracle, n_rounds=_ROUNDS, lambda_bound=2.0)
    assert 0.0 <= game.oracle_regret <= 1e-12
    assert game.primal_regret <= 1e-9
    assert -1e-9 <= game.gap <= game.promised + 1e-9
    assert game.gap == pytest.approx(game.dual_regret + game.primal_regret, abs=1e-12)
    solution = solve_no_regret(problem, oracle, n_rounds=_ROUNDS, lambda_bound=2.0)
    assert game.gap == pytest.approx(solution.trajectory["gap"][-1], abs=1e-9)


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_the_regret_of_a_careless_oracle_is_found_to_the_digit(seed: int) -> None:
    problem, listed = _problem(seed, by_number=True)
    careless, exact = _Careless(listed), FiniteClassOracle(listed)
    game = play_and_measure(problem, careless, exact, n_rounds=_ROUNDS, lambda_bound=1.0)
    recorder = Recorder(careless)
    solution = solve_no_regret(problem, recorder, n_rounds=_ROUNDS, lambda_bound=1.0)

    def costs(multipliers: FloatArray, classifiers: Classifiers) -> FloatArray:
        errors, values = problem.evaluate(classifiers)
        return np.asarray(errors + values @ multipliers)

    average = solution.multipliers.rows
    everyone = exact.constants().joined(ListedClassifiers(listed))
    answer = careless.best_response(problem.cost(average))
    assert game.oracle_regret == pytest.approx(
        float(costs(average, answer)[0] - costs(average, everyone).min()), abs=1e-9
    )
    assert game.oracle_regret >= 0.0

    # Round by round, with the multipliers of each round computed from all before it.
    step = guarantee_of(problem, _ROUNDS, None, 1.0, 0.0).pair_step
    theta, paid = np.zeros(len(problem)), 0.0
    for response in recorder.answers[:_ROUNDS]:
        multipliers = np.exp(theta) / (1 + np.exp(theta).sum())
        error, values, _ = problem.observe(response)
        paid += (error + multipliers @ (values - problem.gamma)) / _ROUNDS
        theta = theta + step * (values - problem.gamma)
    least = float(costs(average, everyone).min()) - problem.gamma * float(average.sum())
    assert game.primal_regret == pytest.approx(paid - least, abs=1e-9)


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_the_papers_heuristic_has_both_regrets_and_its_classifiers_allow_more(seed: int) -> None:
    problem, _ = _problem(seed, by_number=False)
    points = problem.points
    oracle = RegressionOracle(points.rows, points.multiplicity)
    search = DescentOracle(points.rows, points.multiplicity, points.error_cost)
    game = play_and_measure(problem, oracle, search, n_rounds=_ROUNDS, lambda_bound=1.0)
    assert game.gap == pytest.approx(game.dual_regret + game.primal_regret, abs=1e-12)
    assert game.dual_regret <= game.promised + 1e-9
    assert game.oracle_regret >= 0.0

    solution = solve_no_regret(problem, oracle, n_rounds=_ROUNDS)
    errors, values = problem.evaluate(solution.classifiers)
    average, _ = replay(errors, values, problem.gamma, guarantee_of(problem, _ROUNDS, None, 1.0, 0.0).pair_step, 1.0)
    assert average == pytest.approx(solution.multipliers.rows, abs=1e-9)
    assert game.error == pytest.approx(float(errors.mean()))
    best = linprog(
        errors,
        A_ub=values.T,
        b_ub=np.full(len(problem), game.max_violation),
        A_eq=np.ones((1, _ROUNDS)),
        b_eq=[1.0],
    )
    assert game.same_classifiers == pytest.approx(best.fun, abs=1e-7)
    assert game.same_classifiers <= game.error


def test_rounds_may_be_replayed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    errors, values = rng.random(101), rng.integers(-1, 2, size=(101, 6))
    whole = replay(errors, values, 0.1, 0.3, 2.0)
    monkeypatch.setattr("replication.dynamics._AT_ONCE", 60)
    average, payoff = replay(errors, values, 0.1, 0.3, 2.0)
    assert average == pytest.approx(whole[0])
    assert payoff == pytest.approx(whole[1])
