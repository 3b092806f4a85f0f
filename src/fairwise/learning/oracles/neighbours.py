"""The classifiers one step along a coordinate away from those that a search has been at.

For each of these a table (``line_kernels``) says what every such step comes to in errors, and which judged points'
labels it changes. So the cheapest of all steps from all of them, for any costs on judged points, is found in less time
than one search along a coordinate takes.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.oracles.base import FloatArray, IntArray, LabelArray
from fairwise.learning.oracles.descent_kernels import Columns
from fairwise.learning.oracles.line_kernels import cheapest, labels_after, tabulate
from fairwise.learning.oracles.linear import LinearClassifiers

_MEMORY = 1 << 26  # bytes for all tables
_ROUNDING = 2.0**-48  # relative, of one product and sum
FEWEST = 8  # there is room for so many, however large


class Neighbours:
    """Tables of steps from some classifiers, for costs that differ from those of errors on judged points alone.

    Parameters
    ----------
    columns
        Of the table of points.
    error_cost
        ``(P,)`` the costs of errors.
    judged
        The points on which other costs may be added; they may be named more than once.
    """

    def __init__(self, columns: Columns, error_cost: FloatArray, judged: IntArray) -> None:
        self._columns, self._error_cost = columns, error_cost
        self._judged = np.unique(judged)
        self._largest = np.append(1.0, np.abs(columns.values).max(axis=1))
        self._number = np.full(len(error_cost), -1, dtype=np.int64)
        self._number[self._judged] = np.arange(len(self._judged))
        rows = np.concatenate([np.ones((1, len(self._judged))), columns.values[:, self._judged]])
        self._starts = np.concatenate([[0], np.cumsum((rows != 0.0).sum(axis=1))]).astype(np.int64)
        self._negative = (rows < 0.0).astype(float)
        entries, places = int(self._starts[-1]), int(self._starts[-1]) + len(rows)
        self._most = max(FEWEST, _MEMORY // (4 * entries + 16 * places + 8 * len(error_cost) + 1))
        self._passed = np.empty((0, entries), dtype=np.int32)
        self._least, self._step = np.empty((0, places)), np.empty((0, places))
        self._labels, self._score = np.empty((0, len(self._judged)), dtype=np.int8), np.empty((0, len(error_cost)))
        self._coef, self._intercept = np.empty((0, len(rows) - 1)), np.empty(0)
        self._count = 0
        self._newest: tuple[LinearClassifiers | None, int] = None, 0
        self._used = np.empty(0, dtype=np.int64)
        self._clock = 0

    def __len__(self) -> int:
        return self._count

    def suit(self, cost: FloatArray) -> bool:
        """Whether these costs ``(P,)`` differ from those of errors on judged points alone."""
        other = cost != self._error_cost
        other[self._judged] = False
        return not other.any()

    def remember(self, one: LinearClassifiers) -> None:
        """Tabulate the steps from one more; where there are very many, that which was of no use for longest goes."""
        if self._count < self._most:
            if self._count == len(self._intercept):
                self._grow()
            t = self._count
            self._count += 1
        else:
            t = int(np.argmin(self._used))
        self._coef[t], self._intercept[t] = one.coef[0], one.intercept[0]
        self._used[t] = self._clock
        self._newest = one, t
        tabulate(
            self._columns,
            self._error_cost,
            self._coef[t],
            self._intercept[t],
            self._number,
            self._starts,
            self._passed[t],
            self._least[t],
            self._step[t],
            self._labels[t],
            self._score[t],
        )

    def known_labels(self, one: object) -> LabelArray | None:
        """Labels ``(1, P)`` of what was remembered last."""
        newest, t = self._newest
        return (self._score[t : t + 1] > 0.0).astype(np.uint8) if one is newest else None

    def cheapest(self, cost: FloatArray) -> LinearClassifiers:
        """The cheapest of all steps from all classifiers."""
        return self._after(*self._best_steps(cost, 1, np.inf))

    def best_of_each(self, cost: FloatArray, most: int, below: float) -> tuple[LinearClassifiers, LabelArray]:
        """The cheapest step from each classifier, the ``most`` best that cost less than ``below``, with all labels."""
        which, coordinate, step = self._best_steps(cost, most, below)
        found = self._after(which, coordinate, step)
        # Two sums of d + 1 products, of which one has two parts: how far apart they can be, and to spare.
        size = (
            np.abs(found.intercept) + np.abs(found.coef) @ self._largest[1:] + np.abs(step) * self._largest[coordinate]
        )
        unsure = _ROUNDING * len(self._largest) * size
        labels = np.empty((len(found), self._score.shape[1]), dtype=np.uint8)
        for t, before in enumerate(self._score[which]):
            own = coordinate[t] - 1, step[t], found.coef[t], found.intercept[t]
            labels_after(self._columns, *own, before, unsure[t], labels[t])
        return found, labels

    def _best_steps(self, cost: FloatArray, most: int, below: float) -> tuple[IntArray, IntArray, FloatArray]:
        """From which classifiers, along which coordinates, the intercept being 0, and how far."""
        extra = cost[self._judged] - self._error_cost[self._judged]
        which = np.arange(self._count)
        value, place = np.empty(len(which)), np.empty(len(which), dtype=np.int64)
        cheapest(
            which, self._starts, self._passed, self._least, self._labels, extra, self._negative @ extra, value, place
        )
        best = np.argsort(value, kind="stable")[:most]
        best = best[value[best] < below]
        self._clock += 1
        self._used[best] = self._clock
        first = self._starts[:-1] + np.arange(len(self._starts) - 1)
        coordinate = np.searchsorted(first, place[best], side="right") - 1
        return best, coordinate, self._step[best, place[best]]

    def _after(self, which: IntArray, coordinate: IntArray, step: FloatArray) -> LinearClassifiers:
        beta = np.concatenate([self._intercept[which, None], self._coef[which]], axis=1)
        beta[np.arange(len(which)), coordinate] += step
        return LinearClassifiers(beta[:, 1:].copy(), beta[:, 0].copy())

    def _grow(self) -> None:
        size = min(self._most, max(16, 2 * self._count))
        for name in ("_passed", "_least", "_step", "_labels", "_score", "_coef", "_intercept", "_used"):
            old = getattr(self, name)
            new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
