"""The compiled part of counting labels; see ``counting``.

Scores are in single precision, many rows side by side, so additions may be fused and regrouped: what that can change is
within the margins that ``counting`` allows for. Where a score is within its margin, the exact sum decides.
"""

from __future__ import annotations

import numba
import numpy as np

from fairwise.learning.oracles.linear_kernels import exact_score

TILES = 8  # of rows; those near a group's boundary are gathered before its members are asked
AT_ONCE = 64  # groups for which they are
UNROLLED = 8  # columns added at once; widths are multiples of it
_LOOSE = {"contract", "reassoc"}


@numba.njit(cache=True, nogil=True)
def add_counts(columns, cell, mean, inverse_spread, exact, groups, space, given):
    """Add to ``given[c, t]`` how many rows of cell ``c`` get label 1 from classifier ``t``.

    ``columns`` ``(d, n)`` are encoded rows. ``exact`` is the classifiers' ``coef`` ``(d, T)`` and ``intercept``;
    ``groups`` is ``counting.Groups``, and ``space`` three arrays to work in: zeros ``(TILES, D, n)``, ``(D, n)`` and
    ``(n,)`` for tiles of ``n`` rows.
    """
    tile = len(space[2])
    order, ends = _by_cell(cell, len(given))
    which = np.empty((AT_ONCE, TILES * tile), dtype=np.int32)
    found = np.empty(AT_ONCE, dtype=np.int64)
    n_groups = len(groups[0])
    start = 0
    for c in range(len(ends)):
        while start < ends[c]:
            rows = order[start : min(start + TILES * tile, ends[c])]
            for number in range(-(-len(rows) // tile)):
                own = rows[number * tile : (number + 1) * tile]
                _unit_rows(columns, own, mean, inverse_spread, space[0][number])
            for first in range(0, n_groups, AT_ONCE):
                last = min(first + AT_ONCE, n_groups)
                _ask_centres(columns, rows, exact, groups, first, last, space, which, found, given[c])
                for g in range(first, last):
                    near = which[g - first, : found[g - first]]
                    if len(near):
                        _ask_members(columns, rows, exact, groups, g, near, space, given[c])
            start += len(rows)


@numba.njit(cache=True, nogil=True)
def _by_cell(cell, n_cells):
    """Rows by cell, each cell's in their order, and where each cell's end."""
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
def _unit_rows(columns, rows, mean, inverse_spread, unit):
    """Write ``(1, (x - mean) / spread)`` of each row, divided by its length, to a column of ``unit``."""
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
        shrink[q] = 1.0 / np.sqrt(squares[q])
    for j in range(1, 1 + len(mean)):
        out = unit[j]
        for q in range(n):
            out[q] *= shrink[q]


@numba.njit(cache=True, nogil=True, fastmath=_LOOSE)
def _ask_centres(columns, rows, exact, groups, first, last, space, which, found, given):
    """Count the rows about which each group is certain, and list the others; a classifier alone is asked at once."""
    centres, within, starts, _, _, flipped = groups
    units, _, score = space
    tile = len(score)
    found[:] = 0
    for number in range(-(-len(rows) // tile)):
        at = number * tile
        n = min(tile, len(rows) - at)
        for g in range(first, last):
            limit = within[g]
            _score(centres[g], units[number], n, score)
            above, below = _beyond(score, n, limit)
            for t in range(starts[g], starts[g + 1]):
                given[t] += below if flipped[t] else above
            if above + below == n:
                continue
            own, count = which[g - first], found[g - first]
            for q in range(n):
                own[count] = at + q
                count += not (score[q] > limit or score[q] < -limit)
            if starts[g + 1] - starts[g] == 1:
                given[starts[g]] += _exactly(columns, rows, own[:count], exact, starts[g])
            else:
                found[g - first] = count


@numba.njit(cache=True, nogil=True, fastmath=_LOOSE)
def _ask_members(columns, rows, exact, groups, g, near, space, given):
    """Count what each member of a group says about the rows near its boundary."""
    _, _, starts, members, margins, flipped = groups
    units, gathered, score = space
    tile = len(score)
    flat = units.reshape(-1)
    width = units.shape[1]
    place = np.empty(tile, dtype=np.uint32)
    for at in range(0, len(near), tile):
        here = near[at : at + tile]
        n = len(here)
        for i in range(n):
            place[i] = (here[i] // tile) * (width - 1) * tile + here[i]
        for j in range(width):
            own, out = flat[j * tile :], gathered[j]
            for i in range(n):
                out[i] = own[place[i]]
        for t in range(starts[g], starts[g + 1]):
            limit = margins[t]
            _score(members[t], gathered, n, score)
            above, below = _beyond(score, n, limit)
            given[t] += below if flipped[t] else above
            if above + below < n:
                for i in range(n):
                    if not (score[i] > limit or score[i] < -limit):
                        given[t] += _exactly(columns, rows, here[i : i + 1], exact, t)


@numba.njit(cache=True, nogil=True, fastmath=False)  # said aloud, or numba takes it over from whoever calls
def _exactly(columns, rows, which, exact, t):
    """How many of these rows get label 1 from classifier ``t``."""
    coef, intercept = exact
    count = 0
    for i in which:
        count += exact_score(columns[:, rows[i]], coef, intercept, t) > 0.0
    return count


@numba.njit(cache=True, nogil=True, fastmath=_LOOSE)
def _score(weights, unit, n, score):
    """Write ``weights @ unit`` of the first ``n`` columns."""
    score[:n] = 0.0
    for i in range(0, len(weights), UNROLLED):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        e, f, g, h = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        s, t, u, v = unit[i], unit[i + 1], unit[i + 2], unit[i + 3]
        w, x, y, z = unit[i + 4], unit[i + 5], unit[i + 6], unit[i + 7]
        for q in range(n):
            score[q] += (a * s[q] + b * t[q] + c * u[q] + d * v[q]) + (e * w[q] + f * x[q] + g * y[q] + h * z[q])


@numba.njit(cache=True, nogil=True, fastmath=_LOOSE)
def _beyond(score, n, limit):
    """How many scores are above the limit, and how many below its negative; as floats, whose lanes are as wide."""
    above, below = np.float32(0.0), np.float32(0.0)
    one, nothing = np.float32(1.0), np.float32(0.0)
    for q in range(n):
        above += one if score[q] > limit else nothing
        below += one if score[q] < -limit else nothing
    return int(above), int(below)
