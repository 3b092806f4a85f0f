"""Column generation: a linear programme over the classifiers found so far, whose duals price the next oracle call.

The programme's own duals jump about, which stalls a heuristic oracle and delays the bound of an exact one. So the
oracle is asked at a point between them and the best multipliers so far (Wentges smoothing), and at the duals
themselves where that finds nothing new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.averages import budget_limits
from fairwise.learning.master import Master
from fairwise.learning.multipliers import lagrangian_bound
from fairwise.learning.no_regret import solve_no_regret
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.result import Solution

if TYPE_CHECKING:
    from fairwise.learning.master import MasterSolution
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle
    from fairwise.learning.problem import Problem

_SMOOTHING = (
    0.7,
    0.3,
    0.0,
)  # share of the best multipliers so far, tried in this order until a column improves
_IMPROVES = 1e-9  # reduced costs above -1e-9 are rounding
_WARM = 8  # how many good known classifiers an oracle may start from
_APPROACH = (
    0.25,
    0.1,
    0.03,
)  # a small gamma is approached from above: near 0 the duals mislead a heuristic oracle
_EXPLORING_ROUNDS = (60, 300)
_STALL = 12  # a heuristic oracle is given up when this many iterations together gain less than tol


class ColumnGeneration:
    """The classifiers found so far for one set of judgments, reused for every gamma and limit asked for.

    Both constants and the unconstrained solution are in from the start: with pairwise rules a constant is feasible,
    so no answer is ever worse than one.
    """

    def __init__(self, problem: Problem, oracle: Oracle, seeds: Classifiers | None = None) -> None:
        self._problem = problem
        self._oracle = oracle
        self._master = Master(problem)
        self._errors = np.empty(0)
        self._differences = np.empty((0, len(problem)), dtype=np.int8)
        self._cheapest_alike: dict[bytes, float] = {}
        self.classifiers = oracle.constants().take(np.empty(0, dtype=np.intp))
        for start in (oracle.constants(), oracle.best_response(problem.points.error_cost), seeds):
            if start is not None:
                self._add(start, *problem.evaluate(start))
        self._oracle_calls = 1
        self._smallest_gamma = np.inf
        self._may_explore = isinstance(oracle, DescentOracle) and len(problem) > 0

    def solve(self, problem: Problem | None = None, *, tol: float = 1e-4, max_iterations: int = 2000) -> Solution:
        """Solve for this problem's gamma and limits; its people, pairs and hard rows must be the constructor's."""
        problem = problem or self._problem
        if not self._oracle.exact:
            for gamma in _APPROACH:
                if problem.gamma < gamma < self._smallest_gamma:
                    self._descend(problem.at(gamma), 10 * tol, max_iterations)
            self._smallest_gamma = min(self._smallest_gamma, problem.gamma)
        solution = self._descend(problem, tol, max_iterations)
        if self._may_explore:
            self._may_explore = False
            self._explore(problem, solution.multipliers)
            solution = self._descend(problem, tol, max_iterations)
        return solution

    def _descend(self, problem: Problem, tol: float, max_iterations: int) -> Solution:
        """Ask, add, solve again, until the bound meets the value or the oracle finds nothing new."""
        best: Multipliers | None = None
        bound = -np.inf
        values: list[float] = []
        violations: list[float] = []
        gaps: list[float] = []
        for _ in range(max_iterations):
            master = self._master.solve(problem)
            improved = False
            for smoothing in _SMOOTHING:
                at = master.multipliers if best is None else master.multipliers.towards(best, smoothing)
                found, errors, differences, cheapest = self._ask(problem, at)
                candidate = lagrangian_bound(problem, at, cheapest)
                if candidate > bound:
                    bound, best = candidate, at
                if _reduced_cost(problem, master, errors, differences) < -_IMPROVES:
                    improved = self._add(found, errors, differences) > 0
                if improved or (self._oracle.exact and master.value - bound <= tol):
                    break
            values.append(master.value)
            violations.append(float((master.weights @ self._differences[: len(master.weights)]).max(initial=0.0)))
            gaps.append(master.value - bound)
            stalled = len(values) > _STALL and values[-1 - _STALL] - values[-1] < tol
            if not improved or (gaps[-1] <= tol if self._oracle.exact else stalled):
                break
        support = np.flatnonzero(master.weights > 0)
        return Solution(
            classifiers=self.classifiers.take(support),
            weights=master.weights[support],
            error=float(master.weights[support] @ self._errors[support]),
            multipliers=master.multipliers,
            bound=bound if self._oracle.exact else min(bound, master.value),
            exact=self._oracle.exact,
            hypothesis_class=self._oracle.hypothesis_class,
            oracle_calls=self._oracle_calls,
            trajectory={
                "error": np.array(values),
                "max_violation": np.array(violations),
                "gap": np.array(gaps),
            },
        )

    def _explore(self, problem: Problem, at: Multipliers) -> None:
        """Once, where the oracle is quick: play the dynamics at the scale of the multipliers reached.

        With many pairs a better mixture can need many new classifiers at once, and none alone improves. The dynamics
        spread the multipliers over all pairs and find such families.
        """
        n_rounds = int(np.clip(len(problem) // 8, *_EXPLORING_ROUNDS))
        bounds = (max(float(at.pairs.sum()), 0.1), max(float(at.budgets.sum()), 0.1))
        played = solve_no_regret(problem, self._oracle, n_rounds=n_rounds, lambda_bound=bounds[0], tau_bound=bounds[1])
        self._oracle_calls += played.oracle_calls
        self._add(played.classifiers, *problem.evaluate(played.classifiers))

    def _ask(
        self, problem: Problem, at: Multipliers
    ) -> tuple[Classifiers, FloatArray, np.ndarray[tuple[int, int], np.dtype[np.int8]], float]:
        """The oracle's answer at these multipliers, evaluated, and the least cost of anything known there."""
        known = self._errors + self._differences @ at.pairs
        warm: IntArray = np.argsort(known, kind="stable")[:_WARM]
        found = self._oracle.best_response(problem.cost(at.pairs), self.classifiers.take(warm))
        self._oracle_calls += 1
        errors, differences = problem.evaluate(found)
        answered = float((errors + differences @ at.pairs).min())
        return found, errors, differences, min(answered, float(known.min()))

    def _add(
        self,
        found: Classifiers,
        errors: FloatArray,
        differences: np.ndarray[tuple[int, int], np.dtype[np.int8]],
    ) -> int:
        """Keep those that no known classifier with the same pair differences matches in error; how many."""
        kept = []
        for position in np.argsort(errors, kind="stable"):
            key = differences[position].tobytes()
            if errors[position] < self._cheapest_alike.get(key, np.inf) - _IMPROVES:
                self._cheapest_alike[key] = float(errors[position])
                kept.append(position)
        which = np.array(sorted(kept), dtype=np.intp)
        if len(which):
            self.classifiers = self.classifiers.joined(found.take(which))
            self._errors = np.concatenate([self._errors, errors[which]])
            self._differences = np.concatenate([self._differences, differences[which]])
            self._master.add(errors[which], differences[which])
        return len(which)


def _reduced_cost(
    problem: Problem,
    master: MasterSolution,
    errors: FloatArray,
    differences: np.ndarray[tuple[int, int], np.dtype[np.int8]],
) -> float:
    """Least of ``err(h) + lambda @ differences(h) - sigma``, with sigma the dual of ``sum p = 1``.

    By strong duality ``sigma = value + gamma sum(lambda) + sum_b tau_b limit_b``.
    """
    at = master.multipliers
    sigma = master.value + problem.gamma * at.pairs.sum() + at.budgets @ budget_limits(problem)
    return float((errors + differences @ at.pairs).min() - sigma)
