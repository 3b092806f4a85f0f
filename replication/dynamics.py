"""One game of the paper's dynamics: how far both players were from their best, and what its classifiers allow.

With ``L`` the Lagrangian, which is linear in each player, over ``T`` rounds ``t``::

    gap            =  max L(mean_t D_t, .)  -  min L(., mean_t lambda_t)  =  dual_regret + primal_regret
    dual_regret    =  max over lambda of mean_t L(D_t, lambda)  -  mean_t L(D_t, lambda_t)
    primal_regret  =  mean_t L(D_t, lambda_t)  -  min over D of mean_t L(D, lambda_t)

The paper's letters for the two are xi_psi and xi_rho. The first goes to 0 with the rounds, whatever the oracle. The
second is at most 0 with an exact oracle; that of a heuristic adds to everything the theorem promises. A single question
shows the same: ``oracle_regret`` is the cost of the oracle's own answer to the average multipliers, less the least cost
known there; 0 for an exact oracle. Least costs are those of classifiers that were found, so that the gap, the primal
regret and the oracle's are at least what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle, RowValues
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.no_regret import guarantee_of, join, solve_no_regret
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.solution import Multipliers, lagrangian_bound

_WARM = 8  # good known classifiers that the search for the least cost starts from
_AT_ONCE = 1 << 21  # entries of a table of rounds and pairs


@dataclass(frozen=True)
class GameMeasures:
    """What came of one game; all in units of error but ``max_violation``.

    ``same_classifiers`` is the least error of any weights on the classifiers played that has no larger violation.
    ``promised`` is what the theorem allows the dual regret to be.
    """

    error: float
    max_violation: float
    same_classifiers: float
    gap: float
    dual_regret: float
    primal_regret: float
    oracle_regret: float
    promised: float


class Recorder:
    """An oracle that remembers its answers in order."""

    is_regression = False  # it is to be asked, round by round

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.answers: list[Classifiers] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        self.answers.append(self._oracle.best_response(cost, warm))
        return self.answers[-1]

    def best_responses(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        return self.best_response(cost, warm)


def play_and_measure(
    problem: Problem, oracle: Oracle, search: Oracle, *, n_rounds: int, lambda_bound: float
) -> GameMeasures:
    """Play a game without slack (eta = 0); ``search`` looks for the least cost at the average multipliers."""
    asked = oracle if oracle.is_regression else Recorder(oracle)
    solution = solve_no_regret(problem, asked, n_rounds=n_rounds, lambda_bound=lambda_bound)
    # The compiled games keep every round's classifier; the others are asked once more at the end.
    classifiers = join(asked.answers[:n_rounds]) if isinstance(asked, Recorder) else solution.classifiers
    errors = np.diff(solution.trajectory["error"] * np.arange(1, n_rounds + 1), prepend=0.0)
    values = problem.differences(classifiers.labels(problem.points.rows[problem.judged]))
    pool = Pool(problem, oracle)
    pool.keep(classifiers, errors, values)

    guarantee = guarantee_of(problem, n_rounds, None, lambda_bound, 0.0)
    reached = values.mean(axis=0)
    violation = float(reached.max(initial=0.0))
    average, payoff = replay(errors, values, problem.gamma, guarantee.pair_step, lambda_bound)
    at = Multipliers(average, np.zeros(0))
    answer = _cost(problem, oracle.best_response(problem.cost(average)), average)
    least = min(answer, least_known_cost(problem, search, at, pool))
    best_dual = float(errors.mean()) + lambda_bound * max(violation - problem.gamma, 0.0)
    best_primal = lagrangian_bound(problem, at, least)
    return GameMeasures(
        error=solution.error,
        max_violation=violation,
        same_classifiers=min(solution.error, pool.solve(problem.at(violation)).value),
        gap=best_dual - best_primal,
        dual_regret=best_dual - payoff,
        primal_regret=payoff - best_primal,
        oracle_regret=answer - least,
        promised=guarantee.nu,
    )


def replay(
    errors: FloatArray, values: RowValues, gamma: float, step: float, lambda_bound: float
) -> tuple[FloatArray, float]:
    """Average multipliers ``(K,)`` and mean payoff ``mean_t L(h_t, lambda_t)`` of rounds with these errors and values.

    ``lambda_t = C exp(theta_t) / (1 + sum exp(theta_t))``, ``theta_t = step * sum over s < t of (values_s - gamma)``;
    errors are ``(T,)``, values ``(T, K)``.
    """
    n_rounds, n_pairs = values.shape
    theta, total, payoff = np.zeros(n_pairs), np.zeros(n_pairs), float(errors.sum())
    at_once = max(1, _AT_ONCE // max(n_pairs, 1))
    for start in range(0, n_rounds, at_once):
        gains = values[start : start + at_once] - gamma
        sums = theta + step * np.cumsum(gains, axis=0)
        before = np.concatenate([theta[None], sums[:-1]])
        top = np.maximum(before.max(axis=1, initial=0.0), 0.0)[:, None]
        powers = np.exp(before - top)
        multipliers = lambda_bound * powers / (np.exp(-top) + powers.sum(axis=1, keepdims=True))
        total += multipliers.sum(axis=0)
        payoff += float((multipliers * gains).sum())
        theta = sums[-1]
    return total / n_rounds, payoff / n_rounds


def least_known_cost(problem: Problem, search: Oracle, at: Multipliers, pool: Pool) -> float:
    """Of the pool, of both constants, and of what ``search`` finds from there: ``err(h) + lambda @ values(h)``."""
    known = pool.costs(at)
    warm = pool.classifiers.take(np.argsort(known, kind="stable")[:_WARM])
    response = search.best_response(problem.cost(at.rows), warm)
    constants = [_cost(problem, search.constants().take(np.array([which])), at.rows) for which in (0, 1)]
    return min(float(known.min()), _cost(problem, response, at.rows), *constants)


def _cost(problem: Problem, classifier: Classifiers, multipliers: FloatArray) -> float:
    error, values, _ = problem.observe(classifier)
    return error + float(values @ multipliers)
