"""Compiled searches over splits for the tree oracle; ``tree`` tells what they add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from fairwise.learning.oracles.base import FloatArray, IntArray

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Slots = tuple["IntArray", "IntArray", "IntArray"]  # start, slot and first, of Splits


def _compiled(function: _Function) -> _Function:
    return cast("_Function", njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})(function))


@_compiled
def add_shared(tables: FloatArray, slots: _Slots, points: IntArray, costs: FloatArray) -> None:
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
def one_split(slots: _Slots, costs: FloatArray) -> FloatArray:
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
def three_splits(
    slots: _Slots, held: IntArray, ends: IntArray, costs: FloatArray, spread: FloatArray, gap: float
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
