"""Decision trees kept together as arrays, and the splits that they are grown from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.learning.oracles.base import ArrayClassifiers, FloatArray, IntArray, LabelArray, Rows

Grown = int | tuple[int, "Grown", "Grown"]
"""A tree over :class:`Splits`: a label (0, 1 …); or a split, the tree for its points and the tree for the others."""

_SCRATCH = 1 << 24
"""Bytes of temporary memory that labelling a block of rows may take, about."""


@dataclass(frozen=True, eq=False, slots=True)
class TreeClassifiers(ArrayClassifiers):
    """``k`` complete binary trees of depth ``D``; the children of node ``i`` are ``2i + 1`` and ``2i + 2``.

    A row goes left at a node where ``row[feature] <= threshold``. A node with an infinite threshold does not
    split: the leaves below it are all the same.

    Parameters
    ----------
    feature
        ``(k, 2^D - 1)``: the column each node looks at.
    threshold
        ``(k, 2^D - 1)``: its threshold.
    leaf
        ``(k, 2^D)``: the label of each leaf, from left to right.
    """

    feature: IntArray
    threshold: FloatArray
    leaf: LabelArray

    def __post_init__(self) -> None:
        feature, threshold, leaf = map(np.asarray, (self.feature, self.threshold, self.leaf))
        k, leaves = leaf.shape if leaf.ndim == 2 else (0, 0)
        if leaves < 2 or leaves & (leaves - 1) or {feature.shape, threshold.shape} != {(k, leaves - 1)}:
            raise InputError(
                f"trees have nodes (k, 2^D - 1) and leaves (k, 2^D) with D >= 1, not features "
                f"{feature.shape}, thresholds {threshold.shape} and leaves {leaf.shape}"
            )
        if np.isnan(threshold).any() or (feature < 0).any() or (leaf != leaf.astype(np.uint8)).any():
            raise InputError("a tree's columns and labels count from 0, its thresholds are numbers")
        object.__setattr__(self, "feature", feature.astype(np.intp))
        object.__setattr__(self, "threshold", threshold.astype(np.float64))
        object.__setattr__(self, "leaf", leaf.astype(np.uint8))

    @classmethod
    def constants(cls, depth: int, n_labels: int = 2) -> Self:
        """The trees "always 0", "always 1" and so on."""
        nodes, leaf = (n_labels, 2**depth - 1), np.arange(n_labels)[:, None]
        return cls(np.zeros(nodes, np.intp), np.full(nodes, np.inf), np.repeat(leaf, 2**depth, axis=1))

    @property
    def depth(self) -> int:
        return int(self.leaf.shape[1]).bit_length() - 1

    def labels(self, rows: Rows) -> LabelArray:
        """Labels ``(k, n)`` of an encoded matrix ``(n, d)``.

        Each distinct split is asked once, for eight rows to a byte. A node's labels are then
        ``right ^ (goes_left & (left ^ right))`` of its children's, from the leaves up to the root; of more than two
        labels that is done for each bit of their numbers.
        """
        rows = np.asarray(rows, dtype=np.float64)
        needed = int(self.feature.max(initial=0)) + 1
        if rows.ndim != 2 or rows.shape[1] < needed:
            raise InputError(f"these trees label a matrix of at least {needed} columns, not one of shape {rows.shape}")
        out = np.empty((len(self), len(rows)), np.uint8)
        if not out.size:
            return out
        nodes = np.stack([self.feature.ravel(), self.threshold.ravel()])
        (column, threshold), which = np.unique(nodes, axis=1, return_inverse=True)
        which = which.reshape(self.feature.shape)
        columns, begins = np.unique(column.astype(np.intp), return_index=True)
        cuts = [cut[:, None] for cut in np.split(threshold, begins[1:])]
        bits = range(max(1, int(self.leaf.max()).bit_length()))
        leaves = [(255 * ((self.leaf >> bit) & 1).astype(np.uint8))[:, :, None] for bit in bits]
        step = max(64, _SCRATCH // (column.size + self.leaf.size // 4))
        for begin in range(0, len(rows), step):
            block = np.ascontiguousarray(rows[begin : begin + step, columns].T)
            asked = [np.packbits(values <= cut, axis=1) for values, cut in zip(block, cuts, strict=True)]
            goes_left = np.concatenate(asked)
            for bit in bits:
                value = leaves[bit]
                for level in reversed(range(self.depth)):
                    left, right = value[:, ::2], value[:, 1::2]
                    value = right ^ (goes_left[which[:, 2**level - 1 : 2 ** (level + 1) - 1]] & (left ^ right))
                told = np.unpackbits(value[:, 0], axis=1, count=block.shape[1])
                out[:, begin : begin + step] = told if bit == 0 else out[:, begin : begin + step] | (told << bit)
        return out

    @property
    def columns(self) -> IntArray:
        """Columns that the trees look at, ascending; the first where there is none, as a matrix needs one."""
        looked_at = self.feature[self.threshold < np.inf]
        return np.unique(looked_at) if looked_at.size else np.zeros(1, dtype=np.intp)

    def over(self, columns: IntArray) -> Self:
        """Return the trees for matrices that have only these columns, theirs among them."""
        feature = np.where(self.threshold < np.inf, np.searchsorted(columns, self.feature), 0)
        return type(self)(feature, self.threshold, self.leaf)

    def placed(self, columns: IntArray, n_columns: int) -> Self:  # noqa: ARG002 - a tree names its columns
        """Return the same trees for matrices of ``n_columns``, of which theirs are these."""
        return type(self)(columns[self.feature], self.threshold, self.leaf)

    def votes(self, rows: FloatArray, weights: FloatArray) -> FloatArray:
        """``weights @ labels(rows)`` ``(n,)`` of trees of depth 1 or 2, added tree by tree: the same in any batch."""
        from fairwise.learning.row_kernels import add_votes  # numba is slow to load

        trees, columns = self._lift(2), self.columns
        out = np.zeros(len(rows))
        add_votes(rows, columns, trees.over(columns).feature, trees.threshold, weights[:, None] * trees.leaf, out)
        return out

    def joined(self, other: Self) -> Self:
        """These trees followed by ``other``, at the depth of the deeper."""
        depth = max(self.depth, other.depth)
        return super(TreeClassifiers, self._lift(depth)).joined(other._lift(depth))

    def describe(self, which: int, names: Sequence[str] | None = None) -> str:
        """One tree as nested ``if`` lines, leaving out splits that change nothing."""
        feature, threshold, leaf = self.feature[which], self.threshold[which], self.leaf[which]

        def lines(node: int) -> list[str]:
            if node >= feature.size:
                return [f"predict {leaf[node - feature.size]}"]
            left, right = lines(2 * node + 1), lines(2 * node + 2)
            if left == right or threshold[node] == np.inf:
                return left
            name = f"column {feature[node]}" if names is None else names[feature[node]]
            indent = "    ".__add__
            head = f"if {name} <= {float(threshold[node])!r}:"
            return [head, *map(indent, left), "else:", *map(indent, right)]

        return "\n".join(lines(0))

    def _lift(self, depth: int) -> Self:
        """Return the trees, made deeper by levels that do not split."""
        levels = [self.leaf.repeat(2**level, axis=1) for level in range(depth - self.depth + 1)]
        feature = np.concatenate([self.feature, *(np.zeros_like(leaf, np.intp) for leaf in levels[:-1])], axis=1)
        threshold = np.concatenate([self.threshold, *(np.full(leaf.shape, np.inf) for leaf in levels[:-1])], axis=1)
        return type(self)(feature, threshold, levels[-1])


@dataclass(frozen=True, eq=False, slots=True)
class Splits:
    """Ways to cut ``P`` points in two at a threshold of one column.

    Split ``s`` is the set of points with ``x[column[s]] > threshold[s]`` if ``above[s]``, else ``<=``. The
    splits of a column are a *chain* of growing sets that starts at ``first[s]``, in the direction that leaves
    more points out of all of them: one-hot columns and rare counts then cost next to nothing. The smallest
    split of each chain that holds point ``p`` is one of its *slots* ``slot[start[p]:start[p + 1]]``.
    """

    column: IntArray
    threshold: FloatArray
    above: NDArray[np.bool_]
    first: IntArray
    start: IntArray
    slot: IntArray

    @classmethod
    def at(cls, features: FloatArray, thresholds: Sequence[FloatArray]) -> Self:
        """The splits at these ascending thresholds of each column of ``features`` ``(P, d)``."""
        sizes = [cut.size for cut in thresholds]
        begins = np.cumsum([0, *sizes])[:-1]
        point, slot, threshold, above = [], [], [], []
        for values, cut, begin in zip(features.T, thresholds, begins, strict=True):
            below = np.searchsorted(cut, values)
            flip = bool(np.sum(below == 0) > np.sum(below == cut.size))
            place = cut.size - below if flip else below
            held = np.flatnonzero(place < cut.size)
            point.append(held)
            slot.append(begin + place[held])
            threshold.append(cut[::-1] if flip else cut)
            above.append(flip)
        points = np.concatenate(point)
        return cls(
            column=np.repeat(np.arange(len(sizes)), sizes),
            threshold=np.concatenate(threshold),
            above=np.repeat(above, sizes),
            first=np.repeat(begins, sizes),
            start=np.concatenate([[0], np.cumsum(np.bincount(points, minlength=len(features)))]),
            slot=np.concatenate(slot)[np.argsort(points, kind="stable")],
        )

    def __len__(self) -> int:
        return self.column.size

    def inside(self, features: FloatArray, which: int | slice = slice(None)) -> NDArray[np.bool_]:
        """Whether points ``(P, d)`` are in one split ``(P,)`` or in several ``(P, S)``."""
        return np.equal(features[:, self.column[which]] > self.threshold[which], self.above[which])

    def deduplicated(self, features: FloatArray) -> Self:
        """The first of all splits that cut these points alike, whichever side each of them holds.

        A split is known by the sum of random 128-bit keys of its points: O(P + S), and two different ones are
        mistaken for each other about once in 2^100 times.
        """
        keys = np.random.default_rng(0).integers(2**64, size=(self.start.size - 1, 2), dtype=np.uint64)
        sums = np.zeros((len(self), 2), np.uint64)
        np.add.at(sums, self.slot, np.repeat(keys, np.diff(self.start), axis=0))
        for chain in np.split(np.arange(len(self)), np.unique(self.first)[1:]):
            sums[chain] = np.cumsum(sums[chain], axis=0)
        others = keys.sum(axis=0) - sums
        sums = np.where(others[:, :1] < sums[:, :1], others, sums)
        kept = np.unique(sums, axis=0, return_index=True)[1]
        cuts = [self.threshold[kept[self.column[kept] == column]] for column in range(features.shape[1])]
        return self.at(features, [np.sort(cut) for cut in cuts])

    def classifiers(self, grown: Sequence[Grown], depth: int) -> TreeClassifiers:
        """Grown trees as arrays of this depth."""
        nodes = len(grown), 2**depth - 1
        feature, threshold = np.zeros(nodes, np.intp), np.full(nodes, np.inf)
        leaf = np.empty((len(grown), 2**depth), np.uint8)

        def place(tree: Grown, which: int, node: int, leaves: slice) -> None:
            if isinstance(tree, int):
                leaf[which, leaves] = tree
                return
            split, inside, outside = tree
            feature[which, node], threshold[which, node] = self.column[split], self.threshold[split]
            left, right = (outside, inside) if self.above[split] else (inside, outside)
            middle = (leaves.start + leaves.stop) // 2
            place(left, which, 2 * node + 1, slice(leaves.start, middle))
            place(right, which, 2 * node + 2, slice(middle, leaves.stop))

        for which, tree in enumerate(grown):
            place(tree, which, 0, slice(0, 2**depth))
        return TreeClassifiers(feature, threshold, leaf)


def midpoints(column: FloatArray, most: int | None = None) -> FloatArray:
    """Thresholds between consecutive distinct values, or ``most`` of them, spread evenly over the points.

    The threshold between ``low < high`` is at least ``low`` and below ``high``, however close they are.
    """
    values, counts = np.unique(column, return_counts=True)
    low, high = values[:-1], values[1:]
    middle = low / 2 + high / 2
    middle = np.where((low <= middle) & (middle < high), middle, low)
    if most is None or middle.size <= most:
        return middle
    rank = np.arange(most)
    near = np.searchsorted(np.cumsum(counts)[:-1], column.size * (rank + 1) / (most + 1))
    near = np.maximum.accumulate(near - rank) + rank
    return middle[np.minimum(near, middle.size - most + rank)]
