"""The stronger linear oracle: exact coordinate line searches on the weighted 0/1 loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.oracles.base import Oracle
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.oracles.linear_kernels import descend, single_levels
from fairwise.learning.oracles.regression import RegressionOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray

_MAX_SWEEPS = 30
_LEAST_GAIN = 1e-5  # in units of error: a sweep that gains less is the last
_STARTS = 3
_LARGE = 1_000_000  # a matrix of more numbers than this is searched from the cheapest start only
_ROUNDING = 1e-9
_KICKS = 20  # how often the search for the plain model is thrown off and started again from there


class DescentOracle(Oracle):
    """Start from the regression solution and from good known classifiers; descend from each; keep the cheapest.

    A local search: never worse than the regression it starts from, but with no proof of optimality. The cost of errors
    alone, which gives the plain model and is asked for once, is searched longer.
    """

    exact = False
    hypothesis_class = "linear thresholds, by coordinate descent on the 0/1 cost"

    def __init__(self, rows: FloatArray, multiplicity: FloatArray, error_cost: FloatArray | None = None) -> None:
        self.regression = RegressionOracle(rows, multiplicity)
        self.rows = np.ascontiguousarray(rows)
        self.columns = np.ascontiguousarray(rows.T)
        self.levels = single_levels(self.columns)
        self.cheap = rows.size <= _LARGE
        self._error_cost = error_cost

    def constants(self) -> LinearClassifiers:
        return self.regression.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        starts = self.regression.best_response(cost)
        if isinstance(warm, LinearClassifiers) and len(warm):
            cheapest = np.argsort(warm.total_costs(self.rows, cost), kind="stable")[: _STARTS - 1]
            starts = starts.joined(warm.take(cheapest))
        if not self.cheap:
            starts = starts.take(np.argmin(starts.total_costs(self.rows, cost), keepdims=True))
        best = self._descended(starts, cost)
        if self.cheap and self._error_cost is not None and np.array_equal(cost, self._error_cost):
            best = self._kicked(best, cost)
        return best

    def _descended(self, starts: LinearClassifiers, cost: FloatArray) -> LinearClassifiers:
        """The cheapest of the starts and of where descending from each leads."""
        coef, intercept = starts.coef.copy(), starts.intercept.copy()
        for t in range(len(starts)):
            intercept[t] = descend(self.columns, self.levels, cost, coef[t], intercept[t], _MAX_SWEEPS, _LEAST_GAIN)
        found = LinearClassifiers(coef, intercept).joined(starts)
        return found.take(np.argmin(found.total_costs(self.rows, cost), keepdims=True))

    def _kicked(self, best: LinearClassifiers, cost: FloatArray) -> LinearClassifiers:
        """Iterated local search: disturb the best so far by about its own size, descend, keep the cheaper."""
        random = np.random.default_rng(0)
        least = float(best.total_costs(self.rows, cost)[0])
        for _ in range(_KICKS):
            size = np.abs(best.coef).mean()
            elsewhere = LinearClassifiers(best.coef + size * random.normal(size=best.coef.shape), best.intercept)
            found = self._descended(elsewhere, cost)
            total = float(found.total_costs(self.rows, cost)[0])
            if total < least - _ROUNDING:
                best, least = found, total
        return best
