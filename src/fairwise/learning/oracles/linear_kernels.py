"""Compiled loops over linear threshold classifiers ``h(x) = [b + x . w > 0]``.

Every loop adds in the same fixed order (``b``, then column 0, 1, …) and without fused multiply-add, so that a label
does not depend on the batch it is computed in, nor on which of these loops computes it.

The quick ones score tile by tile in single precision, and exactly where such a score is unsure. Scores are compared
with their bounds as whole numbers, by their bits: processors do that for many at once.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba


@numba.njit(cache=True, nogil=True)
def exact(rows, coef_by_column, intercept, cost, out):
    """Add ``sum_p cost[p] h_t(p)`` to ``out`` ``(1, k)`` for rows ``(n, d)`` and classifiers ``(d, k)``, ``(k,)``.

    Where ``cost`` is None, for which numba compiles a loop of its own, write the labels to ``out`` ``(n, k)`` instead.
    """
    n, d = rows.shape
    k = len(intercept)
    score = np.empty(k)
    for p in range(n):
        score[:] = intercept
        for j in range(d):
            x = rows[p, j]
            if x != 0.0:
                for t in range(k):
                    score[t] += x * coef_by_column[j, t]
        if cost is None:
            for t in range(k):
                out[p, t] = score[t] > 0.0
        else:
            c = cost[p]
            for t in range(k):
                out[0, t] += c if score[t] > 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def in_single_precision(rows, most, unit, largest, smallest):
    """Rows ``(n, d + 1)`` with a 1 in front, and how far any score of each can be from the exact one.

    ``most`` (d + 1,) is the largest weight of each column. A row with an entry beyond ``largest`` has no bound.
    """
    n, d = rows.shape
    single = np.empty((n, d + 1), dtype=np.float32)
    bound = np.empty(n, dtype=np.float32)
    for p in range(n):
        size = most[0]
        in_range = True
        single[p, 0] = 1.0
        for j in range(d):
            x = np.abs(rows[p, j])
            size += x * most[1 + j]
            in_range = in_range and x <= largest
            single[p, 1 + j] = rows[p, j] if x <= largest else 0.0
        bound[p] = unit * size + smallest if in_range else np.inf
    return single, bound


@numba.njit(cache=True, nogil=True)
def quick(rows, coef_by_column, intercept, single, weights, bound, tile, cell, value, out):
    """Add ``value[p]`` to ``out[cell[p], t]`` for every row ``p`` and classifier ``t`` whose label there is 1.

    Where ``cell`` is None, for which numba compiles a loop of its own, write the labels to ``out`` ``(n, k)`` instead.
    ``single`` (n, d + 1) and ``weights`` (d + 1, k) are rows and classifiers in single precision, ``tile`` how many
    rows are scored together. ``bound`` (n,) says how far a quick score can be from the exact one.
    """
    n = len(rows)
    k = len(intercept)
    spare = np.empty((tile, k), dtype=np.float32)
    limits = bound.view(np.uint32)
    if cell is not None:
        nothing = value[0] - value[0]
    for start in range(0, n, tile):
        count = min(tile, n - start)
        scores = spare[:count]
        np.dot(single[start : start + count], weights, scores)
        bits = scores.view(np.uint32)
        for q in range(count):
            p = start + q
            limit = limits[p]
            score = bits[q]
            nearest = np.uint32(0xFFFFFFFF)
            if cell is None:
                label = out[p]
                for t in range(k):
                    label[t] = np.int32(score[t]) > np.int32(limit)
                    nearest = min(nearest, _size(score[t]))
            else:
                total = out[cell[p]]
                v = value[p]
                for t in range(k):
                    total[t] += v if np.int32(score[t]) > np.int32(limit) else nothing
                    nearest = min(nearest, _size(score[t]))
            if nearest <= _size(limit):
                for t in range(k):
                    near = _size(score[t]) <= _size(limit)
                    if near and exact_score(rows[p], coef_by_column, intercept, t) > 0.0:
                        if cell is None:
                            out[p, t] = 1
                        else:
                            out[cell[p], t] += value[p]


@numba.njit(cache=True, nogil=True)
def _size(bits):
    """The bits of a score without its sign: as whole numbers they compare as the scores' absolute values do."""
    return np.uint32(bits << np.uint32(1))


@numba.njit(cache=True, nogil=True)
def exact_score(row, coef_by_column, intercept, t):
    """The score as :func:`exact` adds it."""
    score = intercept[t]
    for j in range(len(row)):
        if row[j] != 0.0:
            score += row[j] * coef_by_column[j, t]
    return score
