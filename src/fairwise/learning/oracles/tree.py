"""Exact best responses over decision trees of depth 1 to 4.

A *split* is a set of points, one side of a threshold, and the splits of a column are nested (see
:class:`~fairwise.learning.oracles.tree_classifiers.Splits`). So the cost that two splits share is a cumulative
sum, along the chains of both axes, of a sparse histogram over the points' slots:

    H[s, t] = sum of cost[p] over the points p that have slots s and t                                   (S, S)
    C[s, t] = sum of cost[p] over the points p in both s and t      (that is, B' diag(cost) B for B of 0 and 1)

With ``v = diag C`` and ``T`` the total cost, root ``s`` and second split ``t`` make leaves that cost
``C[s, t]``, ``v[s] - C[s, t]``, ``v[t] - C[s, t]`` and ``T - v[s] - v[t] + C[s, t]``, and a leaf of cost ``z`` adds
``min(0, z)`` to its tree. The best ``t`` on either side of every ``s`` gives the best tree of depth 2. Deeper trees
try every root, and the same for the points on either side of it. Moving a root along its chain changes the cost of
a tree by at most ``|cost|`` of the points that cross it, which rules out many roots without a search.

A best response takes time in O(S^depth): on COMPAS (2,905 points, 130 splits) about 0.1 ms, 0.2 ms, 8 ms and 1 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import njit

from fairwise.errors import InputError
from fairwise.learning.oracles.tree_classifiers import Grown, Splits, TreeClassifiers, midpoints

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray

MEMORY = 2 << 30
"""Bytes that the tables of shared costs may take."""

TIE = 1e-14
"""Costs closer than this, relative to the sum of all ``|cost|``, count as equal: the simpler tree, then the first."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    return cast("_Function", njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})(function))


@_compiled
def _add_shared(table: FloatArray, start: IntArray, slot: IntArray, points: IntArray, cost: FloatArray) -> None:
    """Add ``cost[p]`` of these points to the upper triangle of ``H``."""
    for p in points:
        if cost[p] != 0.0:
            for i in range(start[p], start[p + 1]):
                for j in range(i, start[p + 1]):
                    table[slot[i], slot[j]] += cost[p]


@_compiled
def _accumulate(table: FloatArray, first: IntArray, out: FloatArray) -> None:
    """Turn the upper triangle of ``H`` into that of ``C``; ``out`` may be ``table``."""
    for s in range(first.size):
        total = 0.0
        for t in range(s, first.size):
            total = table[s, t] + (0.0 if first[t] == t else total)
            out[s, t] = total
        if first[s] != s:
            for t in range(s, first.size):
                out[s, t] += out[s - 1, t]


@_compiled
def _one_split(start: IntArray, slot: IntArray, first: IntArray, cost: FloatArray) -> FloatArray:
    """The least cost of a tree of depth 1 with each root: ``(S,)``."""
    shared = np.zeros(first.size)
    for p in range(cost.size):
        for i in range(start[p], start[p + 1]):
            shared[slot[i]] += cost[p]
    total = cost.sum()
    for s in range(first.size):
        if first[s] != s:
            shared[s] += shared[s - 1]
    for s in range(first.size):
        shared[s] = min(shared[s], 0.0) + min(total - shared[s], 0.0)
    return shared


@_compiled
def _two_splits(shared: FloatArray, total: float, inside: FloatArray, outside: FloatArray) -> None:
    """Fill ``inside + outside`` ``(S,)`` with the least cost of a tree of depth 2 with each root, by side.

    ``shared`` is ``C``, upper triangle. Each pair is visited once, as root and second split and the other way round.
    """
    size = inside.size
    inside[:] = 0.0
    outside[:] = 0.0
    own = np.diag(shared).copy()
    for s in range(size):
        row, other, within, without = shared[s, s:], own[s:], inside[s:], outside[s:]
        rest = total - own[s]
        best_within = best_without = 0.0
        for t in range(size - s):
            both = row[t]
            first_only = min(own[s] - both, 0.0)
            neither = min(rest - (other[t] - both), 0.0)
            second_only = min(other[t] - both, 0.0)
            both = min(both, 0.0)
            best_within = min(best_within, both + first_only)
            best_without = min(best_without, second_only + neither)
            within[t] = min(within[t], both + second_only)
            without[t] = min(without[t], first_only + neither)
        inside[s] = min(inside[s], best_within)
        outside[s] = min(outside[s], best_without)


@_compiled
def _three_splits(
    start: IntArray, slot: IntArray, first: IntArray, held: IntArray, holds: IntArray, cost: FloatArray, tie: float
) -> FloatArray:
    """The least cost of a tree of depth 3 with each root ``(S,)``; infinite where it cannot be the least.

    ``held[holds[s]:holds[s + 1]]`` are the points with slot ``s``: those that join when the root moves on to ``s``.
    """
    size = first.size
    shared, part, table = np.zeros((size, size)), np.empty((size, size)), np.empty((size, size))
    inside, outside, values = np.empty(size), np.empty(size), np.full(size, np.inf)
    _add_shared(shared, start, slot, np.arange(cost.size), cost)
    _accumulate(shared, first, shared)
    total = cost.sum()
    _two_splits(shared, total, inside, outside)
    flat = best = (inside + outside).min()
    bound = flat
    for root in range(size):
        if first[root] == root:
            table[:] = 0.0
            bound = flat
        joining = held[holds[root] : holds[root + 1]]
        _add_shared(table, start, slot, joining, cost)
        for p in joining:
            bound -= abs(cost[p])
        if bound > best + tie:
            continue
        _accumulate(table, first, part)
        _two_splits(part, shared[root, root], inside, outside)
        bound = (inside + outside).min()
        for s in range(size):
            for t in range(s, size):
                part[s, t] = shared[s, t] - part[s, t]
        _two_splits(part, total - shared[root, root], inside, outside)
        bound += (inside + outside).min()
        values[root] = bound
        best = min(best, bound)
    return values


class TreeOracle:
    """The cheapest decision tree over thresholds of the columns, proved by an exhaustive search.

    Parameters
    ----------
    features
        ``(P, d)``: the distinct points.
    base_cost
        ``(P,)``: the costs that most calls share; a call whose costs differ at few points is cheaper.
    max_depth
        1 to 4.
    max_thresholds
        At most so many thresholds of a column, spread over the points; all of them if None.
    feature_names
        What to call the columns in messages.
    """

    exact = True

    def __init__(
        self,
        features: FloatArray,
        base_cost: FloatArray,
        max_depth: int = 2,
        max_thresholds: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(max_depth, bool) or max_depth not in (1, 2, 3, 4):
            raise InputError(f"max_depth is 1, 2, 3 or 4, not {max_depth!r}")
        if max_thresholds is not None and max_thresholds < 1:
            raise InputError(f"max_thresholds is None or at least 1, not {max_thresholds!r}")
        self.features = _checked_features(features, feature_names)
        self.max_depth = int(max_depth)
        found = [midpoints(column) for column in self.features.T]
        cuts = [midpoints(column, max_thresholds) for column in self.features.T]
        self.splits = Splits.at(self.features, cuts).folded(self.features)
        self.hypothesis_class = _words(max_depth, found, cuts)
        self._check_memory([cut.size for cut in cuts])

        self._held = np.repeat(np.arange(len(self.features)), np.diff(self.splits.start))
        self._held = self._held[np.argsort(self.splits.slot, kind="stable")]
        self._holds = np.concatenate([[0], np.cumsum(np.bincount(self.splits.slot, minlength=len(self.splits)))])
        self._base = self._checked(base_cost)
        self._base_table = self._histogram(self._base) if self.max_depth > 1 else None

    def constants(self) -> TreeClassifiers:
        return TreeClassifiers.constants(self.max_depth)

    def best_response(
        self,
        cost: FloatArray,
        warm: Classifiers | None = None,  # noqa: ARG002 - an exhaustive search needs no start
    ) -> TreeClassifiers:
        """The tree of least cost; among equals one that splits no more than it needs to, then the first."""
        cost = self._checked(cost)
        tie = TIE * float(np.abs(cost).sum())
        return self.splits.classifier(self._grow(cost, self.max_depth, tie), self.max_depth)

    def _grow(self, cost: FloatArray, depth: int, tie: float) -> Grown:
        """The best tree of this depth for the points whose cost is not 0."""
        leaf = min(0.0, float(cost.sum()))
        values = self._values(cost, depth, tie) if depth and len(self.splits) else np.zeros(1)
        least = values.min()
        if leaf <= least + tie:
            return int(leaf < -tie)
        root = int(np.argmax(values <= least + tie))
        inside = (self.features[:, self.splits.column[root]] > self.splits.threshold[root]) == self.splits.above[root]
        sides = np.where(inside, cost, 0.0), np.where(inside, 0.0, cost)
        return root, self._grow(sides[0], depth - 1, tie), self._grow(sides[1], depth - 1, tie)

    def _values(self, cost: FloatArray, depth: int, tie: float) -> FloatArray:
        """The least cost of a tree with each root ``(S,)``; infinite where it cannot be the least."""
        points = self.splits.start, self.splits.slot
        if depth == 1:
            return _one_split(*points, self.splits.first, cost)
        if depth == 2:  # noqa: PLR2004 - as counted
            table = self._histogram(cost)
            _accumulate(table, self.splits.first, table)
            inside, outside = np.empty((2, len(self.splits)))
            _two_splits(table, float(cost.sum()), inside, outside)
            return inside + outside
        if depth == 3:  # noqa: PLR2004
            return _three_splits(*points, self.splits.first, self._held, self._holds, cost, tie)
        return self._four_splits(cost, tie)

    def _four_splits(self, cost: FloatArray, tie: float) -> FloatArray:
        values = np.full(len(self.splits), np.inf)
        flat = best = float(self._values(cost, 3, tie).min())
        for root, first in enumerate(self.splits.first):
            if first == root:
                bound, inside = flat, np.zeros_like(cost)
            joining = self._held[self._holds[root] : self._holds[root + 1]]
            inside[joining] = cost[joining]
            bound -= float(np.abs(cost[joining]).sum())
            if bound <= best + tie:
                bound = float(self._values(inside, 3, tie).min() + self._values(cost - inside, 3, tie).min())
                values[root], best = bound, min(best, bound)
        return values

    def _histogram(self, cost: FloatArray) -> FloatArray:
        """``H`` for these costs: that of the base and of what changed, where this is little; else from the start."""
