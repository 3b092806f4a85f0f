"""The linear oracles on a table that is read in blocks; costs are those of a :class:`LargeProblem`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.oracles.base import Oracle
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.oracles.regression import RegressionOracle, inverted
from fairwise.learning.regression_dynamics import Ground

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.learning.blocks.breakpoints import Histogram
    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.oracles.base import Classifiers, FloatArray

_MAX_STEPS = 40
_LEAST_GAIN = 1e-4  # in units of error: a step that gains less is not worth another pass
_EDGES = 128  # steps tried along each coordinate, from the breakpoints of the first block
_JUDGED_EDGES = 64  # and from those of judged people


class LargeRegressionOracle(Oracle):
    """The regression needs no pass: costs are the same within a cell, and the mean row of each cell is known."""

    exact = False
    cheap = False
    hypothesis_class = RegressionOracle.hypothesis_class

    def __init__(self, learned: Learned, judged_rows: FloatArray) -> None:
        inverse = inverted(learned.gram)
        self.ground = Ground(np.ascontiguousarray(judged_rows), inverse, inverse @ learned.moments)
        self._rows = np.concatenate([learned.cell_means, np.column_stack([np.ones(len(judged_rows)), judged_rows])])

    def constants(self) -> LinearClassifiers:
        return LinearClassifiers.constants(self._rows.shape[1] - 1)

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:  # noqa: ARG002
        beta = self.ground.inverse_gram @ (cost @ self._rows)
        return LinearClassifiers(-beta[None, 1:], -beta[:1])


class LargeDescentOracle(Oracle):
    """Coordinate searches on the 0/1 cost as in memory, but every step is one pass and one histogram.

    A pass finds, along every coordinate at once, what each of some steps would cost, exactly; the best one is taken.
    Which steps are tried is learned from the breakpoints of the first block and of judged people.
    """

    exact = False
    cheap = False
    hypothesis_class = DescentOracle.hypothesis_class

    def __init__(
        self,
        learned: Learned,
        judged_rows: FloatArray,
        pass_over: Callable[[LinearClassifiers, FloatArray], Histogram],
        cost_of: Callable[[LinearClassifiers, FloatArray], FloatArray],
    ) -> None:
        self.regression = LargeRegressionOracle(learned, judged_rows)
        self._people = learned.cell_people
        self._sample, self._judged = _with_one(learned.sample), _with_one(judged_rows)
        self._pass_over, self._cost_of = pass_over, cost_of

    def constants(self) -> LinearClassifiers:
        return self.regression.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        best = self.regression.best_response(cost)
        if isinstance(warm, LinearClassifiers) and len(warm):
            starts = best.joined(warm.take(np.arange(1)))  # the cheapest known
            best = starts.take(np.argmin(self._cost_of(starts, cost), keepdims=True))
        n_cells = len(self._people)
        a_person = cost[:n_cells] / np.maximum(self._people, 1.0)
        for _ in range(_MAX_STEPS):
            edges = self._edges(best)
            found = self._pass_over(best, edges)
            total = found.costs(a_person) + self._on_judged(best, edges, cost[n_cells:])
            here = total[np.arange(len(edges)), np.argmax(edges == 0.0, axis=1)]
            gain = np.where(np.isfinite(edges), here[:, None] - total, -np.inf)
            coordinate, step = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[coordinate, step] < _LEAST_GAIN:
                break
            beta = np.append(best.intercept, best.coef)
            beta[coordinate] += edges[coordinate, step]
            best = LinearClassifiers(beta[None, 1:], beta[:1])
        return best

    def _edges(self, classifier: LinearClassifiers) -> FloatArray:
        """Steps to try along each coordinate ``(1 + d, steps)``, sorted, 0 among them, infinite ones behind."""
        lines = []
        for rows, number in ((self._sample, _EDGES), (self._judged, _JUDGED_EDGES)):
            if len(rows):
                lines.append(_quantiles(breakpoints(classifier, rows), number))
        edges = np.concatenate([*lines, np.zeros((self._sample.shape[1], 1))], axis=1)
        return np.sort(np.where(np.isnan(edges), np.inf, edges), axis=1)

    def _on_judged(self, classifier: LinearClassifiers, edges: FloatArray, cost: FloatArray) -> FloatArray:
        """What judged people cost on top at each step ``(1 + d, steps)``."""
        total = np.zeros(edges.shape)
        if not len(cost):
            return total
        at = breakpoints(classifier, self._judged)
        for j, own in enumerate(edges):
            can_change = self._judged[:, j] > 0.0
            place = np.searchsorted(own, at[can_change, j], side="right")
            total[j] = np.cumsum(np.bincount(place, cost[can_change], minlength=len(own) + 1))[:-1]
        return total


def breakpoints(classifier: LinearClassifiers, rows: FloatArray) -> FloatArray:
    """The step along each coordinate at which each row's label changes ``(n, 1 + d)``; NaN where it never does."""
    score = rows @ np.append(classifier.intercept, classifier.coef)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(rows != 0.0, -score[:, None] / rows, np.nan))


def _quantiles(values: FloatArray, number: int) -> FloatArray:
    """``(columns, number)`` of those that are there; NaN in a column of none."""
    levels = (np.arange(number) + 0.5) / number
    found = np.full((values.shape[1], number), np.nan)
    for j, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        if len(known):
            found[j] = np.quantile(known, levels)
    return found


def _with_one(rows: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(rows)), rows])
