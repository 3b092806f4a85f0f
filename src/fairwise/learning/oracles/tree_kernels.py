"""Compiled searches over splits for the tree oracle; ``tree`` tells what they add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from fairwise.learning.compiler import numba
from fairwise.learning.oracles.base import FloatArray, IntArray

_Function = TypeVar("_Function", bound=Callable[..., Any])
Slots = tuple["IntArray", "IntArray", "IntArray"]
"""``start``, ``slot`` and ``first``, of Splits."""

_FEW_POINTS = 4  # so few that cross a root are added one by one


def _compiled(function: _Function) -> _Function:
    return cast("_Function", numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})(function))


@_compiled
def add_shared(tables: FloatArray, slots: Slots, points: IntArray, costs: FloatArray) -> None:
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
def accumulate(tables: FloatArray, first: IntArray, out_tables: FloatArray) -> None:
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
def one_split(slots: Slots, costs: FloatArray) -> FloatArray:
    """The least cost of a tree of depth 1 with each root ``(S,)``."""
    start, slot, first = slots
    inside, outside, held = np.zeros(first.size), np.zeros(first.size), np.empty(first.size)
    for cost in costs:
        held[:] = 0.0
        for p in range(cost.size):
            if cost[p] != 0.0:
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
def two_splits(shared: FloatArray, total: FloatArray, values: FloatArray) -> float:
    """Fill ``values`` ``(S,)`` with the least cost of a tree of depth 2 with each root; return their minimum.

    ``shared`` is the upper triangle of ``C`` for each label: each pair of splits is taken both ways round at once.
    """
    others, size = len(shared), values.size
    inside, outside = np.zeros(size), np.zeros(size)
    own, row = np.empty((others, size)), np.empty((others, size))
    for label in range(others):
        for s in range(size):
            own[label, s] = shared[label, s, s]
    for s in range(size):
        if others == 1:
            best = _beside(shared[0, s, s:], own[0, s], own[0, s:], total[0], inside[s:], outside[s:])
        else:
            for label in range(others):
                for t in range(s, size):
                    row[label, t] = shared[label, s, t]
            best = _beside_of_labels(row, own, total, s, s, inside, outside)
        values[s] = min(inside[s], best[0]) + min(outside[s], best[1])
    return float(values.min())


@_compiled
def _beside(
    row: FloatArray, mine: float, own: FloatArray, total: float, inside: FloatArray, outside: FloatArray
) -> tuple[float, float]:
    """Take a root and every split behind it both ways round; return the best on either side of that root.

    ``row`` is what they share, ``mine`` and ``own`` are what the root and they cost. This is where a fit spends its
    time.
    """
    best_within = best_without = 0.0
    rest = total - mine
    for t in range(row.size):
        both = min(row[t], 0.0)
        only_s = min(mine - row[t], 0.0)
        only_t = min(own[t] - row[t], 0.0)
        neither = min(rest - (own[t] - row[t]), 0.0)
        best_within = min(best_within, both + only_s)
        best_without = min(best_without, only_t + neither)
        inside[t] = min(inside[t], both + only_t)
        outside[t] = min(outside[t], only_s + neither)
    return best_within, best_without


@_compiled
def _beside_of_labels(
    rows: FloatArray, own: FloatArray, total: FloatArray, s: int, end: int, inside: FloatArray, outside: FloatArray
) -> tuple[float, float]:
    """Do so for more than two labels, of root ``s`` and the splits from ``end`` on."""
    many = inside.size - end
    both, only_s, only_t, neither = np.zeros(many), np.zeros(many), np.zeros(many), np.zeros(many)
    for label in range(len(rows)):
        row, other, mine = rows[label, end:], own[label, end:], own[label, s]
        rest = total[label] - mine
        for t in range(many):
            both[t] = min(both[t], row[t])
            only_s[t] = min(only_s[t], mine - row[t])
            only_t[t] = min(only_t[t], other[t] - row[t])
            neither[t] = min(neither[t], rest - (other[t] - row[t]))
    within, without = inside[end:], outside[end:]
    best_within = best_without = 0.0
    for t in range(many):
        best_within = min(best_within, both[t] + only_s[t])
        best_without = min(best_without, only_t[t] + neither[t])
        within[t] = min(within[t], both[t] + only_t[t])
        without[t] = min(without[t], only_s[t] + neither[t])
    return best_within, best_without


@_compiled
def three_splits(
    slots: Slots, held: IntArray, ends: IntArray, costs: FloatArray, spread: FloatArray, gap: float
) -> FloatArray:
    """The least cost of a tree of depth 3 with each root ``(S,)``; infinite where it cannot be the least.

    ``held[ends[s]:ends[s + 1]]`` are the points with slot ``s``: they cross when the root moves to ``s``.
    """
    first, size = slots[2], slots[2].size
    shape = len(costs), size, size
    shared, table, part = np.zeros(shape), np.empty(shape), np.empty(shape)
    values, scratch = np.full(size, np.inf), np.empty(size)
    add_shared(shared, slots, np.arange(costs.shape[1]), costs)
    accumulate(shared, first, shared)
    total = np.empty(len(costs))
    for label in range(len(costs)):
        total[label] = costs[label].sum()
    bound = best = unsplit = two_splits(shared, total, scratch)
    for root in range(size):
        if first[root] == root:
            table[:] = 0.0
            bound = unsplit
        crossing = held[ends[root] : ends[root + 1]]
        add_shared(table, slots, crossing, costs)
        bound -= spread[crossing].sum()
        if bound > best + gap:
            continue
        accumulate(table, first, part)
        here = shared[:, root, root].copy()
        bound = two_splits(part, here, scratch)
        for label in range(len(costs)):
            for s in range(size):
                for t in range(s, size):
                    part[label, s, t] = shared[label, s, t] - part[label, s, t]
        bound += two_splits(part, total - here, scratch)
        values[root], best = bound, min(best, bound)
    return values


@_compiled
def two_splits_of_many(
    slots: Slots, last: IntArray, held: IntArray, ends: IntArray, costs: FloatArray, values: FloatArray
) -> None:
    """Fill ``values`` ``(S,)`` with the least cost of a tree of depth 2 with each root, without a table of ``C``.

    Chains come longest first, that of split ``s`` ends before ``last[s]``. While the root moves along its chain, one
    row of ``C`` is kept: what it shares with the splits of the chains behind it. Splits of the same chain share all of
    the smaller one, so the best pairs of those take O(S) (:func:`_within_chains`).
    """
    start, slot, first = slots
    size, others = first.size, len(costs)
    own, total = np.zeros((others, size)), np.empty(others)
    for label in range(others):
        for p in range(costs.shape[1]):
            for i in range(start[p], start[p + 1]):
                own[label, slot[i]] += costs[label, p]
        for s in range(size):
            if first[s] != s:
                own[label, s] += own[label, s - 1]
        total[label] = costs[label].sum()
    inside, outside = np.zeros(size), np.zeros(size)
    _within_chains(own, total, first, inside, outside)
    row, crossed = np.zeros((others, size)), np.zeros(size)
    for s in range(size):
        end = last[s]
        if end == size:
            break
        if first[s] == s:
            row[:] = 0.0
        points = held[ends[s] : ends[s + 1]]
        for label in range(others):
            if points.size <= _FEW_POINTS:
                _add_points(row[label], slots, last, points, end, costs[label])
            else:
                _add_crossing(row[label], slots, points, end, costs[label], crossed)
        if others == 1:
            best = _beside(row[0, end:], own[0, s], own[0, end:], total[0], inside[end:], outside[end:])
        else:
            best = _beside_of_labels(row, own, total, s, end, inside, outside)
        inside[s], outside[s] = min(inside[s], best[0]), min(outside[s], best[1])
    values[:] = inside + outside


@_compiled
def _within_chains(
    own: FloatArray, total: FloatArray, first: IntArray, inside: FloatArray, outside: FloatArray
) -> None:
    """The best second split of the root's own chain on either side of it.

    With ``own[a, s]`` the cost of label ``a`` for the points of ``s``, a split ``t`` inside ``s`` and labels ``a`` and
    ``b`` cost ``own[b, s] + (own[a, t] - own[b, t])``: the least over ``t`` is a running minimum. Outside it is, from
    the other end, ``total[b] - own[a, s] + (own[a, t] - own[b, t])``. The first label costs nothing.
    """
    size, nothing = first.size, np.zeros(first.size)
    for a in range(-1, len(own)):
        for b in range(-1, len(own)):
            one, other = own[a] if a >= 0 else nothing, own[b] if b >= 0 else nothing
            everyone = total[b] if b >= 0 else 0.0
            least = np.inf
            for s in range(size):
                least = min(np.inf if first[s] == s else least, one[s] - other[s])
                inside[s] = min(inside[s], other[s] + least)
            for s in range(size - 1, -1, -1):
                least = min(np.inf if s == size - 1 or first[s + 1] == s + 1 else least, one[s] - other[s])
                outside[s] = min(outside[s], everyone - one[s] + least)


@_compiled
def _add_points(row: FloatArray, slots: Slots, last: IntArray, points: IntArray, end: int, cost: FloatArray) -> None:
    """Add points to the row of ``C`` behind ``end``, each to every split that holds it."""
    start, slot, _ = slots
    for p in points:
        if cost[p] != 0.0:
            for i in range(start[p], start[p + 1]):
                if slot[i] >= end:
                    for t in range(slot[i], last[slot[i]]):
                        row[t] += cost[p]


@_compiled
def _add_crossing(
    row: FloatArray, slots: Slots, points: IntArray, end: int, cost: FloatArray, crossed: FloatArray
) -> None:
    """Do so for more points: sums over their slots are added along the chains."""
    start, slot, first = slots
    crossed[end:] = 0.0
    for p in points:
        if cost[p] != 0.0:
            for i in range(start[p], start[p + 1]):
                crossed[slot[i]] += cost[p]
    total = 0.0
    for t in range(end, row.size):
        total = crossed[t] + (0.0 if first[t] == t else total)
        row[t] += total
