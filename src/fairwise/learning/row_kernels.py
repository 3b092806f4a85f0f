"""Compiled passes over rows, always in their order.

Sums over many classifiers' values, kept as bytes; the encoding of a large column; and the sums over a block of a table
that is read in passes.
"""

from __future__ import annotations

import numba
import numpy as np

_LANES = 8
WIDTH = 8


@numba.njit(cache=True, nogil=True)
def mix(values, weights):
    """``weights @ values`` for values ``(k, K)``, without a float copy of them; the last may have no weight yet."""
    n_rows = values.shape[1]
    out = np.zeros(n_rows)
    for t in range(min(len(weights), len(values))):
        w = weights[t]
        if w != 0.0:
            for r in range(n_rows):
                out[r] += w * values[t, r]
    return out


@numba.njit(cache=True, nogil=True)
def combine(values, starts, rows, coefficients):
    """Sums ``sum_e coefficients[e] values[t, rows[e]]`` over each stretch of entries, ``(stretches, k)``."""
    k = len(values)
    n = len(starts) - 1
    out = np.zeros((n, k))
    for t in range(k):
        for c in range(n):
            total = 0.0
            for e in range(starts[c], starts[c + 1]):
                total += coefficients[e] * values[t, rows[e]]
            out[c, t] = total
    return out


@numba.njit(cache=True, nogil=True)
def total_excess(values, limits, rows, shares):
    """``sum_e shares[e] max(0, values[rows[e]] - limits[rows[e]])``."""
    total = 0.0
    for e in range(len(rows)):
        total += shares[e] * max(values[rows[e]] - limits[rows[e]], 0.0)
    return total


@numba.njit(cache=True, nogil=True)
def add_labels(rows, coef, intercept, cell, value, out):
    """Add ``value[p, l - 1]`` to ``out[cell[p], l - 1, t]`` where classifier ``t`` gives row ``p`` label ``l > 0``.

    ``coef`` is ``(d, labels - 1, T)``. Sums are added in the order of the columns and the first of equal ones wins, as
    in ``label_scores``; a column that is 0 adds nothing.
    """
    d, n_others, n_classifiers = coef.shape
    scores = np.empty((n_others, n_classifiers))
    best = np.empty(n_classifiers)
    label = np.empty(n_classifiers, dtype=np.intp)
    for p in range(len(rows)):
        scores[:] = intercept
        for j in range(d):
            x = rows[p, j]
            if x != 0.0:
                for k in range(n_others):
                    for t in range(n_classifiers):
                        scores[k, t] += coef[j, k, t] * x
        best[:] = 0.0
        label[:] = -1
        for k in range(n_others):
            for t in range(n_classifiers):
                if scores[k, t] > best[t]:
                    best[t] = scores[k, t]
                    label[t] = k
        for t in range(n_classifiers):
            if label[t] >= 0:
                out[cell[p], label[t], t] += value[p, label[t]]


@numba.njit(cache=True, nogil=True)
def scaled(values, fill, shift, scale, out):
    """Write ``(value - shift) / scale``, missing ones as ``fill``, and whether they are missing if ``out`` has room."""
    marks = out.shape[1] > 1
    for p in range(len(values)):
        missing = np.isnan(values[p])
        out[p, 0] = ((fill if missing else values[p]) - shift) / scale
        if marks:
            out[p, 1] = missing


@numba.njit(cache=True, nogil=True)
def column_sums(values):
    """How many values are missing; the least, the greatest and the sum of the others, the sum as two numbers.

    Together they are exact to 100 bits and more: the same in any order of rows, once rounded.
    Eight running sums keep what each addition rounds away (Knuth's two-sum).
    """
    n = len(values)
    high = np.zeros(_LANES)
    low = np.zeros(_LANES)
    n_missing = 0
    least, greatest = np.inf, -np.inf
    for start in range(0, n, _LANES):
        for lane in range(min(_LANES, n - start)):
            x = values[start + lane]
            if np.isnan(x):
                n_missing += 1
                x = 0.0
            else:
                least = min(least, x)
                greatest = max(greatest, x)
            total = high[lane] + x
            part = total - high[lane]
            low[lane] += (high[lane] - (total - part)) + (x - part)
            high[lane] = total
    sum_high, sum_low = 0.0, 0.0
    for lane in range(_LANES):
        sum_high, sum_low = add_pairs(sum_high, sum_low, high[lane], low[lane])
    return n_missing, least, greatest, sum_high, sum_low


@numba.njit(cache=True, nogil=True)
def add_pairs(high, low, other_high, other_low):
    """The sum of two numbers that are each given as a rounded one and the rest."""
    total = high + other_high
    part = total - high
    rest = (high - (total - part)) + (other_high - part) + low + other_low
    rounded = total + rest
    return rounded, rest - (rounded - total)


@numba.njit(cache=True, nogil=True)
def fill_number(values, centre, matrix, column):
    """Write ``values - centre``, and 0 for missing ones."""
    for p in range(len(values)):
        matrix[p, column] = 0.0 if np.isnan(values[p]) else values[p] - centre


@numba.njit(cache=True, nogil=True)
def add_products(matrix, k, cell, gram, by_cell):
    """Add ``Z.T Z`` to ``gram`` (k, k) and each row to its cell's in ``by_cell``, where Z is the first k columns.

    Both are as wide as ``matrix``, whose columns of zeros up to a multiple of :data:`WIDTH` let the inner loop run
    without a remainder.
    """
    n, width = matrix.shape
    for p in range(n):
        for i in range(k):
            x = matrix[p, i]
            if x != 0.0:
                for j in range(width):
                    gram[i, j] += x * matrix[p, j]
        for j in range(width):
            by_cell[cell[p], j] += matrix[p, j]


@numba.njit(cache=True, nogil=True)
def add_breakpoints(rows, cell, coef, intercept, edges, people):
    """Count each row where its label changes along each coordinate; see ``large.problem.histogram``."""
    n, d = rows.shape
    n_edges = edges.shape[1]
    for p in range(n):
        score = intercept
        for j in range(d):
            score += rows[p, j] * coef[j]
        for i in range(1 + d):
            x = 1.0 if i == 0 else rows[p, i - 1]
            if x == 0.0:
                continue  # no step along this coordinate changes anything
            at = -score / x
            low, high = 0, n_edges  # how many edges are not beyond it
            while low < high:
                middle = (low + high) // 2
                if edges[i, middle] <= at:
                    low = middle + 1
                else:
                    high = middle
            people[i, cell[p], low] += 1
