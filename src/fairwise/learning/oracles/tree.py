"""Best responses over decision trees to depth 4, proven by an exhaustive search; ``deep_tree`` goes beyond.

A *split* is a set of points, one side of a threshold, and the splits of a column are nested (see
:class:`~fairwise.learning.oracles.tree_classifiers.Splits`). So the cost that two splits share is the
cumulative sum, along the chains of both axes, of a sparse histogram over the points' slots:

    H[s, t] = sum of cost[p] over the points p that have slots s and t                               (S, S)
    C[s, t] = sum of cost[p] over the points p in both s and t     (B' diag(cost) B, for B of zeros and ones)

With ``v = diag C`` and ``T`` the total cost, root ``s`` and second split ``t`` make leaves that cost
``C[s, t]``, ``v[s] - C[s, t]``, ``v[t] - C[s, t]`` and ``T - v[s] - v[t] + C[s, t]``. A leaf of cost ``z``
adds ``min(0, z)`` to its tree. The best ``t`` on either side of every ``s`` gives the best tree of depth 2.
Deeper trees try every root, and the same for the points on either side of it. Moving a root along its chain
changes the cost of a tree by at most ``|cost|`` of the points that cross it, which rules out many roots.

Of more than two labels ``cost``, ``H`` and ``C`` have a layer for each label but the first; a leaf of costs ``z`` adds
``min(0, z_1, z_2, …)``, and a point that crosses a root changes the cost by at most the spread of 0 and its costs.

A response takes O(S^depth) time: on COMPAS (2,905 points, 130 splits) about 0.1, 0.3, 9 and 600 milliseconds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from fairwise.errors import InputError
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, n_labels
from fairwise.learning.oracles.tree_classifiers import Grown, Splits, TreeClassifiers, midpoints
from fairwise.learning.settings import MaxThresholds
from fairwise.numbers import counted

MEMORY = 2 << 30
"""Bytes that the tables of shared costs may take."""

AFFORDABLE = (16_384, 1_200, 200, 150, 150)
"""Over how many thresholds of all columns together trees of depth 1, 2, … are searched by ``max_thresholds="auto"``, so
that a fit takes seconds, beyond depth 3 minutes. Fixed numbers: the same people get the same thresholds on any
machine."""

TIE = 1e-14
"""Costs as close as this, relative to the sum of all ``|cost|``, count as equal."""

MARGIN = 1e-9
"""A root is ruled out by no less than this, relative to the sum of all ``|cost|``: far more than rounding."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Slots = tuple["IntArray", "IntArray", "IntArray"]  # start, slot and first, of Splits


def _compiled(function: _Function) -> _Function:
    return cast("_Function", njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})(function))


@_compiled
def _add_shared(tables: FloatArray, slots: _Slots, points: IntArray, costs: FloatArray) -> None:
    """Add ``cost[p]`` of these points to the upper triangle of ``H``, for each label but the first."""
    start, slot, _ = slots
    for label in range(len(costs)):
        table, cost = tables[label], costs[label]
        for p in points:
            if cost[p] != 0.0:
                for i in range(start[p], start[p + 1]):
                    for j in range(i, start[p + 1]):
                        table[slot[i], slot[j]] += cost[p]


@_compiled
def _accumulate(tables: FloatArray, first: IntArray, out_tables: FloatArray) -> None:
    """Turn the upper triangle of ``H`` into that of ``C``; the latter may be in the same place."""
    for label in range(len(tables)):
        table, out = tables[label], out_tables[label]
        for s in range(first.size):
            total = 0.0
            for t in range(s, first.size):
                total = table[s, t] + (0.0 if first[t] == t else total)
                out[s, t] = total
            if first[s] != s:
                for t in range(s, first.size):
                    out[s, t] += out[s - 1, t]


@_compiled
def _one_split(slots: _Slots, costs: FloatArray) -> FloatArray:
    """The least cost of a tree of depth 1 with each root ``(S,)``."""
    start, slot, first = slots
    inside, outside, held = np.zeros(first.size), np.zeros(first.size), np.empty(first.size)
    for cost in costs:
        held[:] = 0.0
        for p in range(cost.size):
            for i in range(start[p], start[p + 1]):
                held[slot[i]] += cost[p]
        total = cost.sum()
        for s in range(first.size):
            if first[s] != s:
                held[s] += held[s - 1]
            inside[s] = min(inside[s], held[s])
            outside[s] = min(outside[s], total - held[s])
    return inside + outside


@_compiled
def _two_splits(shared: FloatArray, total: FloatArray, values: FloatArray) -> float:
    """Fill ``values`` ``(S,)`` with the least cost of a tree of depth 2 with each root; return their minimum.

    ``shared`` is the upper triangle of ``C`` for each label: each pair of splits is taken both ways round at once.
    """
    if len(shared) == 1:
        return _two_splits_two_labels(shared[0], total[0], values)
    size = values.size
    inside, outside = np.zeros(size), np.zeros(size)
    both, only_s, only_t, neither = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    own = np.empty((len(shared), size))
    for label in range(len(shared)):
        for s in range(size):
            own[label, s] = shared[label, s, s]
    for s in range(size):
        many = size - s
        both[:many] = 0.0
        only_s[:many] = 0.0
        only_t[:many] = 0.0
        neither[:many] = 0.0
        for label in range(len(shared)):
            row, other, mine = shared[label, s, s:], own[label, s:], own[label, s]
            rest = total[label] - mine
            for t in range(many):
                both[t] = min(both[t], row[t])
                only_s[t] = min(only_s[t], mine - row[t])
                only_t[t] = min(only_t[t], other[t] - row[t])
                neither[t] = min(neither[t], rest - (other[t] - row[t]))
        within, without = inside[s:], outside[s:]
        best_within = best_without = 0.0
        for t in range(many):
            best_within = min(best_within, both[t] + only_s[t])
            best_without = min(best_without, only_t[t] + neither[t])
            within[t] = min(within[t], both[t] + only_t[t])
            without[t] = min(without[t], only_s[t] + neither[t])
        values[s] = min(inside[s], best_within) + min(outside[s], best_without)
    return float(values.min())


@_compiled
def _two_splits_two_labels(shared: FloatArray, total: float, values: FloatArray) -> float:
    """The same for two labels, without a loop over labels: this is where a fit spends its time."""
    size = values.size
    own = np.diag(shared).copy()
    inside, outside = np.zeros(size), np.zeros(size)
    for s in range(size):
        row, other, within, without = shared[s, s:], own[s:], inside[s:], outside[s:]
        rest = total - own[s]
        best_within = best_without = 0.0
        for t in range(size - s):
            both = min(row[t], 0.0)
            only_s = min(own[s] - row[t], 0.0)
            only_t = min(other[t] - row[t], 0.0)
            neither = min(rest - (other[t] - row[t]), 0.0)
            best_within = min(best_within, both + only_s)
            best_without = min(best_without, only_t + neither)
            within[t] = min(within[t], both + only_t)
            without[t] = min(without[t], only_s + neither)
        values[s] = min(inside[s], best_within) + min(outside[s], best_without)
    return float(values.min())


@_compiled
def _three_splits(
    slots: _Slots, held: IntArray, ends: IntArray, costs: FloatArray, spread: FloatArray, gap: float
) -> FloatArray:
    """The least cost of a tree of depth 3 with each root ``(S,)``; infinite where it cannot be the least.

    ``held[ends[s]:ends[s + 1]]`` are the points with slot ``s``: they cross when the root moves to ``s``.
    """
    first, size = slots[2], slots[2].size
    shape = len(costs), size, size
    shared, table, part = np.zeros(shape), np.empty(shape), np.empty(shape)
    values, scratch = np.full(size, np.inf), np.empty(size)
    _add_shared(shared, slots, np.arange(costs.shape[1]), costs)
    _accumulate(shared, first, shared)
    total = np.empty(len(costs))
    for label in range(len(costs)):
        total[label] = costs[label].sum()
    bound = best = unsplit = _two_splits(shared, total, scratch)
    for root in range(size):
        if first[root] == root:
            table[:] = 0.0
            bound = unsplit
        crossing = held[ends[root] : ends[root + 1]]
        _add_shared(table, slots, crossing, costs)
        bound -= spread[crossing].sum()
        if bound > best + gap:
            continue
        _accumulate(table, first, part)
        here = shared[:, root, root].copy()
        bound = _two_splits(part, here, scratch)
        for label in range(len(costs)):
            for s in range(size):
                for t in range(s, size):
                    part[label, s, t] = shared[label, s, t] - part[label, s, t]
        bound += _two_splits(part, total - here, scratch)
        values[root], best = bound, min(best, bound)
    return values


class TreeOracle(Oracle):
    """The decision tree of least cost over thresholds of the columns, proved by an exhaustive search.

    Parameters
    ----------
    features
        ``(P, d)``: the distinct points.
    base_cost
        ``(P,)``, or ``(P, k - 1)``: costs that most calls share; at depth 2, a change at few points is cheaper than
        new costs.
    max_depth
        1 to 4.
    max_thresholds
        At most so many thresholds of each column, spread over the points; all of them if None; ``"auto"``: all where
        they are affordable, otherwise as many as are.
    feature_names
        What messages call the columns.
    """

    exact = True
    cheap = True

    def __init__(
        self,
        features: FloatArray,
        base_cost: FloatArray,
        max_depth: int = 2,
        max_thresholds: MaxThresholds = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.max_depth = whole_number("max_depth", max_depth, 4)
        self.features = _check_features(features, feature_names)
        self._n_labels = n_labels(base_cost)
        if max_thresholds == "auto":
            max_thresholds = affordable(self.features, self.max_depth, self._n_labels)
        most = None if max_thresholds is None else whole_number("max_thresholds", max_thresholds)
        cuts = [midpoints(column, most) for column in self.features.T]
        used = sum(cut.size for cut in cuts)
        available = used if most is None else sum(midpoints(column).size for column in self.features.T)
        self.hypothesis_class = (
            f"decision trees of depth {max_depth} over {'all' if used == available else f'{used} of'} {available} "
            f"thresholds of {counted(len(cuts), 'column')}"
        )
        _check_memory([cut.size for cut in cuts], self.max_depth, self._n_labels)
        self.splits = Splits.at(self.features, cuts).deduplicated(self.features)
        self._slots = self.splits.start, self.splits.slot, self.splits.first
        held = np.repeat(np.arange(len(self.features)), np.diff(self.splits.start))
        self._held = held[np.argsort(self.splits.slot, kind="stable")]
        self._ends = np.cumsum([0, *np.bincount(self.splits.slot, minlength=len(self.splits))])
        self._base = self._checked(base_cost).copy()
        self._base_scale = float(np.abs(self._base).sum())
        self._base_table = self._histogram(self._base) if self.max_depth > 1 else np.zeros((0, 0, 0))

    def constants(self) -> TreeClassifiers:
        return TreeClassifiers.constants(self.max_depth, self._n_labels)

    def best_response(
        self,
        cost: FloatArray,
        warm: Classifiers | None = None,  # noqa: ARG002 - an exhaustive search needs no start
    ) -> TreeClassifiers:
        """The tree of least cost: among equals the shallowest below each node, then the first root."""
        cost = self._checked(cost)
        grown = self._grow(cost, self.max_depth, float(np.abs(cost).sum()))
        return self.splits.classifier(grown, self.max_depth)

    def _grow(self, cost: FloatArray, depth: int, scale: float) -> Grown:
        """The best tree of this depth for the points whose cost ``(k - 1, P)`` is not 0."""
        leaves = np.append(0.0, [column.sum() for column in cost])
        leaf = leaves.min()
        values = self._values(cost, depth, scale) if depth and len(self.splits) else np.full(1, np.inf)
        least = values.min() + TIE * scale
        if leaf <= least:
            return int(np.argmax(leaves <= leaf + TIE * scale))
        while depth > 1 and (shallower := self._values(cost, depth - 1, scale)).min() <= least:
            depth, values = depth - 1, shallower
        root = int(np.argmax(values <= least))
        inside = self.splits.inside(self.features, root)
        within, without = (self._grow(np.where(side, cost, 0.0), depth - 1, scale) for side in (inside, ~inside))
        return root, within, without

    def _values(self, cost: FloatArray, depth: int, scale: float) -> FloatArray:
        """The least cost of a tree with each root ``(S,)``; infinite where it cannot be the least."""
        if depth == 1:
            return _one_split(self._slots, cost)
        if depth == 2:
            few = 4 * np.count_nonzero(cost != self._base) <= cost.size and self._base_scale <= 4 * scale
            table = self._histogram(cost - self._base, self._base_table) if few else self._histogram(cost)
            _accumulate(table, self.splits.first, table)
            total = np.array([column.sum() for column in cost])
            _two_splits(table, total, values := np.empty(len(self.splits)))
            return values
        if depth == 3:
            return _three_splits(self._slots, self._held, self._ends, cost, _spread(cost), MARGIN * scale)
        return self._four_splits(cost, scale)

    def _four_splits(self, cost: FloatArray, scale: float) -> FloatArray:
        values = np.full(len(self.splits), np.inf)
        bound = best = unsplit = self._values(cost, 3, scale).min()
        inside, spread = np.zeros_like(cost), _spread(cost)
        for root in range(len(self.splits)):
            if self.splits.first[root] == root:
                inside[:], bound = 0.0, unsplit
            crossing = self._held[self._ends[root] : self._ends[root + 1]]
            inside[:, crossing] = cost[:, crossing]
            bound -= spread[crossing].sum()
            if bound <= best + MARGIN * scale:
                bound = self._values(inside, 3, scale).min() + self._values(cost - inside, 3, scale).min()
                values[root], best = bound, min(best, bound)
        return values

    def _histogram(self, cost: FloatArray, before: FloatArray | None = None) -> FloatArray:
        """The upper triangle of ``H``, added to another one if there is one."""
        size = len(self.splits)
        table = np.zeros((len(cost), size, size)) if before is None else before.copy()
        _add_shared(table, self._slots, np.flatnonzero(cost.any(axis=0)), cost)
        return table

    def _checked(self, cost: FloatArray) -> FloatArray:
        """Costs ``(k - 1, P)``, a row for each label but the first."""
        cost = np.asarray(cost, dtype=np.float64)
        by_point = cost[:, None] if cost.ndim == 1 else cost
        if by_point.shape != (len(self.features), self._n_labels - 1) or not np.isfinite(np.abs(cost).sum()):
            raise InputError(f"costs are finite numbers, one for each of the {len(self.features)} points")
        return np.ascontiguousarray(by_point.T)


def _spread(cost: FloatArray) -> FloatArray:
    """By how much the label of each point can change a cost at most ``(P,)``."""
    return np.asarray(np.maximum(cost.max(axis=0), 0.0) - np.minimum(cost.min(axis=0), 0.0))


def whole_number(name: str, value: object, most: float = math.inf) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{name} is a whole number from 1{f' to {most}' if most < math.inf else ''}, not {value!r}")
    return int(value)


def _check_features(features: FloatArray, names: Sequence[str] | None) -> FloatArray:
    features = np.ascontiguousarray(features, dtype=np.float64)
    if features.ndim != 2 or 0 in features.shape:
        raise InputError(f"features need at least one point and one column, not shape {features.shape}")
    if names is not None and len(names) != features.shape[1]:
        raise InputError(f"{len(names)} feature_names for {features.shape[1]} columns")
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    if bad.size:
        raise InputError(f"column {bad[0] if names is None else names[bad[0]]} holds a value that is not finite")
    return features


def affordable(features: FloatArray, depth: int, n_labels: int = 2) -> int | None:
    """The most thresholds of each column with which all together are :data:`AFFORDABLE`; None where all are.

    Work and memory grow with their square, times the labels but the first.
    """
    sizes = [midpoints(column).size for column in features.T]
    room = int(AFFORDABLE[min(depth, len(AFFORDABLE)) - 1] / math.sqrt(n_labels - 1))
    return None if sum(sizes) <= room else max(1, _most_of_each(sizes, room))


def _most_of_each(sizes: list[int], room: int) -> int:
    """How many thresholds of each column fit into this room, where not all do."""
    return bisect_right(range(max(sizes)), room, key=lambda most: sum(min(size, most) for size in sizes)) - 1


def _check_memory(sizes: list[int], depth: int, n_labels: int = 2) -> None:
    """Refuse tables of more than :data:`MEMORY` bytes, and say how many thresholds of a column would fit."""
    total, tables = sum(sizes), (0, 3, 4, 4)[depth - 1] * (n_labels - 1)
    if 8 * tables * total**2 <= MEMORY:
        return
    room = math.isqrt(MEMORY // (8 * tables))
    fits = _most_of_each(sizes, room)
    raise InputError(
        f"{total} thresholds are too many for trees of depth {depth}, there is room for {room}: "
        + (f"set max_thresholds to {fits} or less" if fits else "give fewer columns")
    )
