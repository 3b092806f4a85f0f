"""The stronger linear oracle: exact coordinate line searches on the weighted 0/1 loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.oracles.linear_kernels import descend, single_levels
from fairwise.learning.oracles.regression import RegressionOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray

_MAX_SWEEPS = 30
_LEAST_GAIN = 1e-5  # in units of error: a sweep that gains less is the last
_STARTS = 3
_LARGE = 1_000_000  # a matrix of more numbers than this is searched from the cheapest start only


class DescentOracle:
    """Start from the regression solution and from good known classifiers; descend from each; keep the cheapest.

    A local search: never worse than the regression it starts from, but with no proof of optimality.
    """

    exact = False
    hypothesis_class = "linear thresholds, by coordinate descent on the 0/1 cost"

    def __init__(self, rows: FloatArray, multiplicity: FloatArray) -> None:
        self.regression = RegressionOracle(rows, multiplicity)
        self.rows = np.ascontiguousarray(rows)
        self.columns = np.ascontiguousarray(rows.T)
        self.levels = single_levels(self.columns)
        self.cheap = rows.size <= _LARGE

    def constants(self) -> LinearClassifiers:
        return self.regression.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        starts = self.regression.best_response(cost)
        if isinstance(warm, LinearClassifiers) and len(warm):
            cheapest = np.argsort(warm.total_costs(self.rows, cost), kind="stable")[: _STARTS - 1]
            starts = starts.joined(warm.take(cheapest))
        if not self.cheap:
            starts = starts.take(np.argmin(starts.total_costs(self.rows, cost), keepdims=True))
        coef, intercept = starts.coef.copy(), starts.intercept.copy()
        for t in range(len(starts)):
            intercept[t] = descend(self.columns, self.levels, cost, coef[t], intercept[t], _MAX_SWEEPS, _LEAST_GAIN)
        found = LinearClassifiers(coef, intercept).joined(starts)
        return found.take(np.argmin(found.total_costs(self.rows, cost), keepdims=True))
