"""The classifiers found so far, with the error and the row values of each, and the programme over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.master import Master
from fairwise.learning.row_kernels import combined, mixed

if TYPE_CHECKING:
    from fairwise.learning.master import MasterSolution
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle
    from fairwise.learning.problem import Problem

_BETTER = 1e-9  # smaller gains are rounding


class Pool:
    """Grows only: a classifier found for one gamma is as good for any other."""

    def __init__(self, problem: Problem, oracle: Oracle) -> None:
        self.classifiers = oracle.constants().take(np.empty(0, dtype=np.intp))
        self.errors = np.empty(0)
        self._values = np.empty((0, len(problem)), dtype=np.int8)
        self._least_error: dict[bytes, float] = {}
        self._master = Master(problem)

    def __len__(self) -> int:
        return len(self.errors)

    def add(self, found: Classifiers, errors: FloatArray, values: np.ndarray[Any, Any]) -> int:
        """Keep those that no known classifier with the same row values matches in error; returns how many."""
        kept = []
        for position in np.argsort(errors, kind="stable"):
            key = values[position].tobytes()
            if errors[position] < self._least_error.get(key, np.inf) - _BETTER:
                self._least_error[key] = float(errors[position])
                kept.append(position)
        which: IntArray = np.array(sorted(kept), dtype=np.intp)
        if len(which):
            self.classifiers = self.classifiers.joined(found.take(which))
            self.errors = np.concatenate([self.errors, errors[which]])
            self._values = np.concatenate([self._values, values[which]])
            self._master.add(errors[which], values[which])
        return len(which)

    def costs(self, at: Multipliers) -> FloatArray:
        """``err(h) + lambda @ values(h)`` of every classifier."""
        charged = np.flatnonzero(at.rows)
        whole = np.array([0, len(charged)])
        return np.asarray(self.errors + combined(self._values, whole, charged, at.rows[charged])[0])

    def best_mixture(self, problem: Problem) -> MasterSolution:
        return self._master.solve(problem)

    def reached(self, weights: FloatArray) -> FloatArray:
        """The value of every row under a mixture."""
        return np.asarray(mixed(self._values, weights))
