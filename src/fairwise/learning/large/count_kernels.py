"""The compiled part of counting labels; see ``counting``.

Products are in single precision, where additions may be fused and regrouped: ``counting`` allows for what that changes.
Where a product is within its margin, the exact sum decides.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba
from fairwise.learning.oracles.linear_kernels import exact_score

_TILE = 2048  # rows at once
_LONGEST = 1e76  # squared: no number of a row that is shorter is beyond single precision


@numba.njit(cache=True, nogil=True)
def add_counts(columns, cell, mean, inverse_spread, exact, groups, ones):
    """Add to ``ones[c, s]`` how many rows of cell ``c`` get label 1 from the classifier in slot ``s``.

    ``columns`` ``(d, n)`` are encoded rows. ``exact`` is the classifiers' ``coef`` ``(d, S)`` and ``intercept`` by
    slot; ``groups`` is ``counting.Groups``.
    """
    order, ends = _by_cell(cell, len(ones))
    width = groups[3].shape[1]
    unit, near_unit = np.zeros((width, _TILE), dtype=np.float32), np.zeros((width, _TILE), dtype=np.float32)
    product, is_near = np.empty(_TILE, dtype=np.float32), np.empty(_TILE, dtype=np.uint8)
    space = unit, near_unit, product, is_near, np.empty(_TILE, dtype=np.intp)
    start = 0
    for c in range(len(ones)):
        while start < ends[c]:
            rows = order[start : min(start + _TILE, ends[c])]
            _unit_columns(columns, rows, mean, inverse_spread, unit)
            _add_tile(columns, rows, exact, groups, space, ones[c])
            start += len(rows)


@numba.njit(cache=True, nogil=True)
def _by_cell(cell, n_cells):
    """Return the rows ordered by cell, and where each cell's rows end."""
    ends = np.zeros(n_cells, dtype=np.int64)
    for c in cell:
        ends[c] += 1
    place = np.cumsum(ends) - ends
    order = np.empty(len(cell), dtype=np.int32)
    for p in range(len(cell)):
        order[place[cell[p]]] = p
        place[cell[p]] += 1
    return order, place


@numba.njit(cache=True, nogil=True)
def _unit_columns(columns, rows, mean, inverse_spread, unit):
    """Write ``(1, (x - mean) / spread)`` of each row, divided by its length, to a column of ``unit``.

    The vector of a row that is too long for single precision is 0, so that it is asked exactly.
    """
    n = len(rows)
    squares = np.ones(n)
    for j in range(len(mean)):
        column, middle, inverse, out = columns[j], mean[j], inverse_spread[j], unit[1 + j]
        for q in range(n):
            u = (column[rows[q]] - middle) * inverse
            out[q] = u
            squares[q] += u * u
    shrink = unit[0]
    for q in range(n):
        shrink[q] = 1.0 / np.sqrt(squares[q]) if squares[q] < _LONGEST else 0.0
    for j in range(1, 1 + len(mean)):
        out = unit[j]
        for q in range(n):
            out[q] = out[q] * shrink[q] if shrink[q] > 0.0 else np.float32(0.0)


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _multiply(weights, columns, n, out):
    """Write the products of ``weights`` ``(D,)`` with the first ``n`` of ``columns``; D is a multiple of 4."""
    for q in range(n):
        out[q] = 0.0
    for j in range(0, len(weights), 4):
        w, x, y, z = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        a, b, c, d = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for q in range(n):
            out[q] += w * a[q] + x * b[q] + y * c[q] + z * d[q]


@numba.njit(cache=True, nogil=True)
def _places_near(product, n, margin, is_near, places):
    """Write where a product is within the margin, or no number, and return how many these are."""
    for q in range(n):
        is_near[q] = not abs(product[q]) > margin
    is_near[n : -(-n // 8) * 8] = 0
    words, count = is_near.view(np.uint64), 0
    for word in range(-(-n // 8)):
        if words[word]:
            for q in range(8 * word, 8 * word + 8):
                if is_near[q]:
                    places[count] = q
                    count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _add_tile(columns, rows, exact, groups, space, ones):
    """Ask the centre of each group about a tile of rows, and its members about those near the boundary."""
    centres, within, starts, members, margins, flipped = groups
    unit, near_unit, product, is_near, near = space
    n, (coef, intercept) = len(rows), exact
    for g in range(len(centres)):
        _multiply(centres[g], unit, n, product)
        above = 0
        for q in range(n):
            above += 1 if product[q] > within[g] else 0
        count = _places_near(product, n, within[g], is_near, near)
        if count and starts[g + 1] - starts[g] > 1:
            for j in range(len(unit)):
                source, out = unit[j], near_unit[j]
                for q in range(count):
                    out[q] = source[near[q]]
        for s in range(starts[g], starts[g + 1]):
            positive, settled = above, 0
            if count and starts[g + 1] - starts[g] > 1:
                _multiply(members[s], near_unit, count, product)
            else:
                product[:count] = 0.0
            margin, exactly = margins[s], 0
            for q in range(count):
                if product[q] > margin:
                    positive += 1
                elif not product[q] < -margin:
                    settled += 1
                    exactly += exact_score(columns[:, rows[near[q]]], coef, intercept, s) > 0.0
            ones[s] += exactly + (n - positive - settled if flipped[s] else positive)
