"""Column generation: a linear programme over the classifiers found so far, whose duals price the next oracle call.

The programme's own duals jump about, which stalls a heuristic oracle and delays the bound of an exact one. So the
oracle is asked at a point between them and the best multipliers so far (Wentges smoothing), and at the duals
themselves where that finds nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.averages import budget_limits
from fairwise.learning.multipliers import lagrangian_bound
from fairwise.learning.no_regret import solve_no_regret
from fairwise.learning.pool import Pool
from fairwise.learning.result import Solution

if TYPE_CHECKING:
    from fairwise.learning.master import MasterSolution
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle
    from fairwise.learning.problem import Problem

# Share of the best multipliers so far, tried in this order until a column improves. Duals of many pairs jump about;
# those of a few statistical rules do not, and an expensive oracle is not asked three times for nothing.
_SMOOTHING = (0.7, 0.3, 0.0)
_SMOOTHING_EXPENSIVE = (0.3, 0.0)
_IMPROVES = 1e-9  # reduced costs above -1e-9 are rounding
_WARM = 8  # how many good known classifiers an oracle may start from
_APPROACH = (0.25, 0.1, 0.03)  # a small gamma is approached from above: near 0 the duals mislead a heuristic oracle
_STALL = 12  # a heuristic is given up when this many iterations together gain less than tol
_EXPLORING_ROUNDS = (60, 300)
_EXPLORING_WORK = 3e7  # rounds times points times columns


class ColumnGeneration:
    """The classifiers found so far for one set of rules, reused for every gamma and limit asked for.

    Both constants and the unconstrained solution are in from the start. A constant keeps every pairwise rule, so no
    answer is ever worse than one; and half of each gives every group the error 1/2, so every rule can be kept.
    """

    def __init__(self, problem: Problem, oracle: Oracle, seeds: Classifiers | None = None) -> None:
        self._problem = problem
        self._oracle = oracle
        self.pool = Pool(problem, oracle)
        for start in (oracle.constants(), oracle.best_response(problem.points.error_cost), seeds):
            self.add(start)
        self._oracle_calls = 1
        self._smallest_gamma = np.inf
        expensive = _SMOOTHING_EXPENSIVE if problem.n_pairs else (0.0,)
        self._smoothing = _SMOOTHING if oracle.cheap else expensive
        self._explored = not oracle.cheap or oracle.exact

    def add(self, classifiers: Classifiers | None) -> None:
        """Classifiers known from elsewhere."""
        if classifiers is not None:
            self.pool.add(classifiers, *self._problem.evaluate(classifiers))

    def over_pool(self, problem: Problem, bound: float) -> Solution:
        """The best mixture of what is known, without another question; ``bound`` is what was proved before."""
        master = self.pool.best_mixture(problem)
        return self._solution(master, bound, errors=[], violations=[], gaps=[])

    def solve(self, problem: Problem | None = None, *, tol: float = 1e-4, max_iterations: int = 2000) -> Solution:
        """Solve for this problem's gamma and limits; its people, pairs and hard rows must be the constructor's."""
        problem = problem or self._problem
        if self._oracle.cheap and not self._oracle.exact:
            for gamma in _APPROACH:
                if problem.gamma < gamma < self._smallest_gamma:
                    self._descend(problem.at(gamma), 10 * tol, max_iterations)
            self._smallest_gamma = min(self._smallest_gamma, problem.gamma)
        solution = self._descend(problem, tol, max_iterations)
        if not self._explored:
            self._explored = True
            if self._explore(problem, solution.multipliers):
                solution = self._descend(problem, tol, max_iterations)
        return solution

    def _descend(self, problem: Problem, tol: float, max_iterations: int) -> Solution:
        """Ask, add, solve again, until the bound meets the value or the oracle finds nothing new."""
        best: Multipliers | None = None
        bound, best_cost = -np.inf, np.inf
        errors: list[float] = []
        violations: list[float] = []
        gaps: list[float] = []
        patient = self._oracle.cheap and not self._oracle.exact  # its bound is no proof, and asking on costs little
        for _ in range(max_iterations):
            master = self.pool.best_mixture(problem)
            if best is not None and not self._oracle.exact:
                # What was found since may be cheaper there than what the oracle found then.
                best_cost = min(best_cost, float(self.pool.costs(best).min()))
                bound = lagrangian_bound(problem, best, best_cost)
            improved = False
            for smoothing in self._smoothing if best is not None else (0.0,):
                at = master.multipliers if best is None else master.multipliers.towards(best, smoothing)
                answer, cost = self._ask(problem, at)
                candidate = lagrangian_bound(problem, at, cost)
                if candidate > bound:
                    bound, best, best_cost = candidate, at, cost
                if answer.cost(master.multipliers) < _convexity_dual(problem, master) - _IMPROVES:
                    improved = self.pool.add(answer.classifier, answer.errors, answer.values) > 0
                if improved or (self._oracle.exact and master.value - bound <= tol):
                    break
            errors.append(master.value)
            violations.append(float(self.pool.reached(master.weights)[: problem.n_pairs].max(initial=0.0)))
            gaps.append(master.value - bound)
            stalled = len(errors) > _STALL and errors[-1 - _STALL] - errors[-1] < tol
            if not improved or (stalled and not self._oracle.exact) or (gaps[-1] <= tol and not patient):
                break
        return self._solution(master, bound, errors, violations, gaps)

    def _solution(
        self,
        master: MasterSolution,
        bound: float,
        errors: list[float],
        violations: list[float],
        gaps: list[float],
    ) -> Solution:
        support = np.flatnonzero(master.weights > 0)
        return Solution(
            classifiers=self.pool.classifiers.take(support),
            weights=master.weights[support],
            error=float(master.weights[support] @ self.pool.errors[support]),
            multipliers=master.multipliers,
            bound=bound if self._oracle.exact else min(bound, master.value),
            exact=self._oracle.exact,
            hypothesis_class=self._oracle.hypothesis_class,
            oracle_calls=self._oracle_calls,
            trajectory={"error": np.array(errors), "max_violation": np.array(violations), "gap": np.array(gaps)},
            pool=self.pool.classifiers,
        )

    def _ask(self, problem: Problem, at: Multipliers) -> tuple[_Answer, float]:
        """The oracle's answer at these multipliers, and the least cost there of it and everything known."""
        known = self.pool.costs(at)
        warm = np.argsort(known, kind="stable")[:_WARM]
        found = self._oracle.best_response(problem.cost(at.rows), self.pool.classifiers.take(warm))
        self._oracle_calls += 1
        answer = _Answer(found, *problem.evaluate(found))
        return answer, min(answer.cost(at), float(known.min()))

    def _explore(self, problem: Problem, at: Multipliers) -> bool:
        """Once, where the oracle is cheap: play the dynamics at the scale of the multipliers reached.

        With many pairs a better mixture can need many new classifiers at once, and none alone improves. The dynamics
        spread the multipliers over all pairs and find such families.
        """
        n_rounds = int(np.clip(len(problem) // 8, *_EXPLORING_ROUNDS))
        if n_rounds * problem.points.rows.size > _EXPLORING_WORK:
            return False
        bounds = (max(float(at.rows.sum()), 0.1), max(float(at.budgets.sum()), 0.1))
        played = solve_no_regret(problem, self._oracle, n_rounds=n_rounds, lambda_bound=bounds[0], tau_bound=bounds[1])
        self._oracle_calls += played.oracle_calls
        return self.pool.add(played.classifiers, *problem.evaluate(played.classifiers)) > 0


@dataclass(frozen=True, eq=False)
class _Answer:
    """One classifier with its error ``(1,)`` and row values ``(1, n_rows)``."""

    classifier: Classifiers
    errors: FloatArray
    values: np.ndarray[Any, Any]

    def cost(self, at: Multipliers) -> float:
        """``err(h) + lambda @ values(h)``."""
        return float((self.errors + self.values @ at.rows)[0])


def _convexity_dual(problem: Problem, master: MasterSolution) -> float:
    """The dual of ``sum p = 1``: a column improves the programme if its cost at the duals is below it.

    By strong duality it is ``value + sum_k lambda_k limit_k + sum_b tau_b limit_b``.
    """
    at = master.multipliers
    return float(master.value + at.rows @ problem.row_limits + at.budgets @ budget_limits(problem))
