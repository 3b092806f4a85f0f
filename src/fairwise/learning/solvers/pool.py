"""The classifiers that a search has found, with the programme over them."""

from __future__ import annotations

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, RowValues
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.master import Master, MasterSolution

_BETTER = 1e-9  # smaller gains in error are rounding
_PRECISION = 1e-5


class Pool(Master):
    """The classifiers found so far and the programme over them.

    It grows only: a classifier found for one gamma is as good for any other.
    """

    def __init__(self, problem: Problem, oracle: Oracle) -> None:
        super().__init__(problem)
        self.classifiers = oracle.constants().take(np.empty(0, dtype=np.intp))
        self._least_error: dict[bytes, float] = {}

    def solve(self, problem: Problem, precision: float = _PRECISION, deadline: float = np.inf) -> MasterSolution:
        """As :meth:`Master.solve`, by default to a tenth of the estimator's usual ``tol``."""
        return super().solve(problem, precision, deadline)

    def keep(self, found: Classifiers, errors: FloatArray, values: RowValues) -> int:
        """Add those that no known classifier with the same row values matches in error; returns how many."""
        kept = []
        for position in np.argsort(errors, kind="stable"):
            key = values[position].tobytes()
            if errors[position] < self._least_error.get(key, np.inf) - _BETTER:
                self._least_error[key] = float(errors[position])
                kept.append(position)
        which: IntArray = np.array(sorted(kept), dtype=np.intp)
        if len(which):
            self.classifiers = self.classifiers.joined(found.take(which))
            self.add(errors[which], values[which])
        return len(which)

    def rebuilt(self, problem: Problem, oracle: Oracle) -> Pool:
        """The same classifiers in a programme made anew: an interruption may have left this one half changed."""
        known = np.arange(min(len(self.classifiers), len(self.errors), len(self.values)))
        pool = Pool(problem, oracle)
        pool.classifiers = self.classifiers.take(known)
        pool.add(self.errors[known], self.values[known])
        pool._least_error = self._least_error
        return pool
