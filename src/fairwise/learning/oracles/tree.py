"""Best responses over decision trees to depth 4, proven by an exhaustive search.

A *split* is a set of points, one side of a threshold, and the splits of a column are nested (see
:class:`~fairwise.learning.oracles.tree_classifiers.Splits`). So the cost that two splits share is the
cumulative sum, along the chains of both axes, of a sparse histogram over the points' slots:

    H[s, t] = sum of cost[p] over the points p that have slots s and t                               (S, S)
    C[s, t] = sum of cost[p] over the points p in both s and t     (B' diag(cost) B, for B of zeros and ones)

With ``v = diag C`` and ``T`` the total cost, root ``s`` and second split ``t`` make leaves that cost
``C[s, t]``, ``v[s] - C[s, t]``, ``v[t] - C[s, t]`` and ``T - v[s] - v[t] + C[s, t]``. A leaf of cost ``z``
adds ``min(0, z)`` to its tree. The best ``t`` on either side of every ``s`` gives the best tree of depth 2. Of very
many splits one row of ``C`` is kept instead of the table, while the root moves along its chain; splits of one chain
share all of the smaller one. Deeper trees try every root, and the same for the points on either side of it. Moving a
root along its chain changes the cost of a tree by at most ``|cost|`` of the points that cross it, which rules out many
roots.

Of more than two labels ``cost``, ``H`` and ``C`` have a layer for each label but the first; a leaf of costs ``z`` adds
``min(0, z_1, z_2, …)``, and a point that crosses a root changes the cost by at most the spread of 0 and its costs.

A response takes O(S^depth) time: on COMPAS (2,905 points, 130 splits) about 0.1, 0.3, 9 and 600 milliseconds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, n_labels
from fairwise.learning.oracles.tree_classifiers import Grown, Splits, TreeClassifiers, midpoints
from fairwise.learning.oracles.tree_kernels import (
    Slots,
    accumulate,
    add_shared,
    one_split,
    three_splits,
    two_splits,
    two_splits_of_many,
)
from fairwise.learning.settings import MaxThresholds
from fairwise.messages import Message

MEMORY = 2 << 30
"""Bytes that the tables of shared costs may take, beyond depth 2."""

PAIRS = 1 << 30
"""Pairs of thresholds of different columns, for each label but the first, that a tree of depth 2 may be chosen from:
an answer then takes seconds."""

_TABLES = 2_048
"""Up to so many splits trees of depth 2 are searched by tables of shared costs, beyond by one row of them at a time."""

AFFORDABLE = (16_384, 1_200, 200, 150, 150)
"""Over how many thresholds of all columns together trees of depth 1, 2, … are searched by ``max_thresholds="auto"``, so
that a fit takes seconds, beyond depth 3 minutes. Fixed numbers: the same people get the same thresholds on any
machine."""

TIE = 1e-14
"""Costs as close as this, relative to the sum of all ``|cost|``, count as equal."""

MARGIN = 1e-9
"""A root is ruled out by no less than this, relative to the sum of all ``|cost|``: far more than rounding."""

_ROOTS = 32
"""How many roots are answered with: a solver that gets their trees at once asks a tenth as often."""


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
        self.hypothesis_class = _class_of(self.max_depth, used, available, len(cuts))
        _check_size([cut.size for cut in cuts], self.max_depth, self._n_labels)
        self.splits = Splits.at(self.features, cuts).deduplicated(self.features)
        self._slots = self.splits.start, self.splits.slot, self.splits.first
        held = np.repeat(np.arange(len(self.features)), np.diff(self.splits.start))
        self._held = held[np.argsort(self.splits.slot, kind="stable")]
        self._ends = np.cumsum([0, *np.bincount(self.splits.slot, minlength=len(self.splits))])
        self._base = self._checked(base_cost).copy()
        self._base_scale = float(np.abs(self._base).sum())
        self._tables = len(self.splits) <= _TABLES
        self._base_table = self._histogram(self._base) if self._tables and self.max_depth > 1 else np.zeros((0, 0, 0))

    def constants(self) -> TreeClassifiers:
        return TreeClassifiers.constants(self.max_depth, self._n_labels)

    def best_response(
        self,
        cost: FloatArray,
        warm: Classifiers | None = None,  # noqa: ARG002 - an exhaustive search needs no start
    ) -> TreeClassifiers:
        """The tree of least cost: among equals the shallowest below each node, then the first root."""
        return self._answer(cost, 0)

    def best_responses(self, cost: FloatArray, warm: Classifiers | None = None) -> TreeClassifiers:  # noqa: ARG002
        """The tree of least cost, and behind it the cheapest tree of each of the roots that cost least."""
        return self._answer(cost, _ROOTS)

    def _answer(self, cost: FloatArray, n_roots: int) -> TreeClassifiers:
        cost = self._checked(cost)
        scale = float(np.abs(cost).sum())
        values = self._values(cost, self.max_depth, scale)
        roots = np.argsort(values, kind="stable")[:n_roots]
        grown = [self._grow(cost, self.max_depth, scale, values)]
        grown += [self._rooted(int(root), cost, self.max_depth, scale) for root in roots if values[root] < np.inf]
        return self.splits.classifiers(grown, self.max_depth)

    def _grow(self, cost: FloatArray, depth: int, scale: float, values: FloatArray) -> Grown:
        """The best tree of this depth for the points whose cost ``(k - 1, P)`` is not 0, from what each root costs."""
        leaves = [0.0, *(float(column.sum()) for column in cost)]
        leaf = min(leaves)
        least = (values.min() if values.size else np.inf) + TIE * scale
        if leaf <= least:
            return next(label for label, value in enumerate(leaves) if value <= leaf + TIE * scale)
        while depth > 1 and (shallower := self._values(cost, depth - 1, scale)).min() <= least:
            depth, values = depth - 1, shallower
        return self._rooted(int(np.argmax(values <= least)), cost, depth, scale)

    def _rooted(self, root: int, cost: FloatArray, depth: int, scale: float) -> Grown:
        """The best tree of this depth with this root."""
        inside = self.splits.inside(self.features, root)
        sides = [np.where(side, cost, 0.0) for side in (inside, ~inside)]
        within, without = (self._grow(side, depth - 1, scale, self._values(side, depth - 1, scale)) for side in sides)
        return root, within, without

    def _values(self, cost: FloatArray, depth: int, scale: float) -> FloatArray:
        """The least cost of a tree with each root ``(S,)``; infinite where it cannot be the least."""
        if depth == 0 or not len(self.splits):
            return np.empty(0)
        if depth == 1:
            return one_split(self._slots, cost)
        if depth == 2 and not self._tables:
            return self._many_values(cost)
        if depth == 2:
            few = 4 * np.count_nonzero(cost != self._base) <= cost.size and self._base_scale <= 4 * scale
            table = self._histogram(cost - self._base, self._base_table) if few else self._histogram(cost)
            accumulate(table, self.splits.first, table)
            total = np.array([column.sum() for column in cost])
            two_splits(table, total, values := np.empty(len(self.splits)))
            return values
        if depth == 3:
            return three_splits(self._slots, self._held, self._ends, cost, _spread(cost), MARGIN * scale)
        return self._four_splits(cost, scale)

    def _many_values(self, cost: FloatArray) -> FloatArray:
        """The same at depth 2, where tables would be too large."""
        order, slots, last, held, ends = self._longest_first
        values = np.empty(len(self.splits))
        two_splits_of_many(slots, last, held, ends, cost, in_order := np.empty(len(values)))
        values[order] = in_order
        return values

    @cached_property
    def _longest_first(self) -> tuple[IntArray, Slots, IntArray, IntArray, IntArray]:
        """The splits in an order with longer chains first, their slots and ends of chains, and the points of each."""
        splits = self.splits
        _, sizes = np.unique(splits.first, return_counts=True)
        length = np.repeat(sizes, sizes)
        order = np.argsort(-length, kind="stable")
        rank = np.argsort(order)
        first, slot = rank[splits.first[order]], rank[splits.slot]
        point = np.repeat(np.arange(len(self.features)), np.diff(splits.start))
        slot = slot[np.lexsort((slot, point))]
        held = point[np.argsort(slot, kind="stable")]
        ends = np.cumsum([0, *np.bincount(slot, minlength=len(splits))])
        return order, (splits.start, slot, first), first + length[order], held, ends

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
        add_shared(table, self._slots, np.flatnonzero(cost.any(axis=0)), cost)
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


def _check_size(sizes: list[int], depth: int, n_labels: int = 2) -> None:
    """Refuse more than :data:`MEMORY` or :data:`PAIRS` allows, and say how many thresholds of a column would do."""
    total, room = sum(sizes), math.isqrt(MEMORY // (32 * (n_labels - 1)))
    if depth == 2 and _pairs(sizes, total) * (n_labels - 1) > PAIRS:
        fits = bisect_right(range(total), PAIRS // (n_labels - 1), key=lambda most: _pairs(sizes, most)) - 1
    elif depth > 2 and total > room:
        fits = _most_of_each(sizes, room)
    else:
        return
    raise InputError(
        f"{total} thresholds are too many for trees of depth {depth}: "
        + (f"set max_thresholds to {fits} or less" if fits else "give fewer columns")
    )


def _pairs(sizes: list[int], most: int) -> int:
    """How many pairs of thresholds of different columns there are with at most so many of each."""
    used = [min(size, most) for size in sizes]
    return (sum(used) ** 2 - sum(size**2 for size in used)) // 2


def _class_of(depth: int, used: int, available: int, columns: int) -> Message:
    """Name what is searched over."""
    if used == available:
        return Message.plural(
            "decision trees of depth {depth} over all {thresholds} thresholds of {count:,} column",
            "decision trees of depth {depth} over all {thresholds} thresholds of {count:,} columns",
            columns,
            depth=depth,
            thresholds=available,
        )
    return Message.plural(
        "decision trees of depth {depth} over {used} of {thresholds} thresholds of {count:,} column",
        "decision trees of depth {depth} over {used} of {thresholds} thresholds of {count:,} columns",
        columns,
        depth=depth,
        used=used,
        thresholds=available,
    )
