"""Column generation: a linear programme over the classifiers found so far, whose duals price the next oracle call.

The programme's own duals jump about, which stalls a heuristic oracle and delays the bound of an exact one. So the
oracle is asked at a point between them and the best multipliers so far (Wentges smoothing), and at the duals
themselves only where that finds nothing new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.master import Master
from fairwise.learning.multipliers import lagrangian_bound
from fairwise.learning.result import Solution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.learning.master import MasterSolution
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle
    from fairwise.learning.problem import Problem

_SMOOTHING = (0.7, 0.3, 0.0)  # share of the best multipliers so far, tried in this order until a column improves
_IMPROVES = 1e-9
_WARM = 8


class ColumnGeneration:
    """The classifiers found so far for one set of judgments, reused for every gamma and limit asked for.

    Both constants and the unconstrained solution are in from the start: no answer is ever worse than a constant.
    """

    def __init__(self, problem: Problem, oracle: Oracle, seeds: Classifiers | None = None) -> None:
        self._problem = problem
        self._oracle = oracle
        self._master = Master(problem)
        self._best_error: dict[bytes, float] = {}
        self._errors = np.empty(0)
        self.oracle_calls = 1
        self._pool = oracle.constants()
        self._extend(self._pool, everything=True)
        self._extend(oracle.best_response(problem.points.error_cost))
        if seeds is not None:
            self._extend(seeds)

    def solve(self, problem: Problem | None = None, *, tol: float = 1e-4, max_iterations: int = 1000) -> Solution:
        """Solve for this problem's gamma and limits (its people and pairs must be those of the constructor)."""
        problem = problem or self._problem
        center: Multipliers | None = None
        bound = -np.inf
        trajectory: dict[str, list[float]] = {"error": [], "max_violation": [], "gap": []}
        for _ in range(max_iterations):
            master = self._master.solve(problem)
            trajectory["error"].append(master.value)
            trajectory["max_violation"].append(self._max_violation(master))
            improved = False
            for smoothing in _SMOOTHING if center is not None else (0.0,):
                at = master.multipliers if center is None else master.multipliers.towards(center, smoothing)
                found, value = self._price(problem, at, master)
                if value > bound:
                    bound, center = value, at
                improved = self._extend(found, improving=(master, problem)) > 0
                if improved or master.value - bound <= tol:
                    break
            trajectory["gap"].append(master.value - bound)
            if not improved or master.value - bound <= tol:
                break
        support = np.flatnonzero(master.weights > 0)
        return Solution(
            classifiers=self._pool.take(support),
            weights=master.weights[support],
            multipliers=master.multipliers,
            bound=bound,
            exact=self._oracle.exact,
            hypothesis_class=self._oracle.hypothesis_class,
            oracle_calls=self.oracle_calls,
            trajectory={name: np.array(values) for name, values in trajectory.items()},
        )
