"""The compiled part of counting labels; see ``counting``.

Scores are of rounded numbers, and in single precision additions may be fused and regrouped: what that can change is
within the margins that ``counting`` allows for. Where a score is within its margin, the exact sum decides.

A group's centre is asked about many rows side by side. The few about whom the group is not certain are taken one by
one, and its members are asked side by side: nothing has to be copied.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba
from fairwise.learning.large.lanes import LANES, ask_everyone, ask_side_by_side, lowest_bit
from fairwise.learning.oracles.linear_kernels import exact_score

_WORD = 64  # bits
LARGEST = np.float32(32767)  # parts of 1, in which pairs are given
_BEYOND, _NOTHING = np.float32(1.00001), np.float32(0.0)
_LONGEST = 1e76  # squared: no number of a row that is shorter is beyond single precision


@numba.njit(cache=True, nogil=True)
def add_counts(columns, cell, mean, inverse_spread, exact, groups, space, given):
    """Add to ``given[c, s]`` how many rows of cell ``c`` get label 1 from the classifier in slot ``s``.

    ``columns`` ``(d, n)`` are encoded rows. ``exact`` is the classifiers' ``coef`` ``(d, S)`` and ``intercept``;
    ``groups`` is ``counting.Groups``, and ``space`` arrays of zeros to work in, for tiles of ``n`` rows: ``(2 P, n)``
    and ``(n, D)`` in single precision, and ``(P, n)`` of pairs.
    """
    tile, n_slots = len(space[1]), given.shape[1]
    unsure = np.zeros(-(-tile // _WORD), dtype=np.int64)
    order, ends = _by_cell(cell, len(given))
    start = 0
    for c in range(len(ends)):
        n = ends[c] - start
        above = np.zeros(len(groups[0]), dtype=np.int64)  # rows about which a group is certain, and says 1
        positive = np.zeros((n_slots // LANES, LANES), dtype=np.int32)  # others about whom a member is, and says 1
        settled = np.zeros((2, n_slots), dtype=np.int64)  # rows that the exact sum decides, and those it gives 1
        while start < ends[c]:
            rows = order[start : min(start + tile, ends[c])]
            _unit_rows(columns, rows, mean, inverse_spread, space)
            _ask(columns, rows, exact, groups, space, unsure, above, positive, settled)
            start += len(rows)
        _add_up(n, groups, above, positive.reshape(-1), settled, given[c])


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
def _unit_rows(columns, rows, mean, inverse_spread, space):
    """Write ``(1, (x - mean) / spread)`` of each row, divided by its length.

    That is a column of the first array, a row of the second, and as pairs of whole numbers a column of the third, where
    zeros are behind the last.
    """
    single, people, unit = space
    n = len(rows)
    squares = np.ones(n)
    for j in range(len(mean)):
        column, middle, inverse, out = columns[j], mean[j], inverse_spread[j], single[1 + j]
        for q in range(n):
            u = (column[rows[q]] - middle) * inverse
            out[q] = u
            squares[q] += u * u
    shrink = single[0]
    for q in range(n):
        shrink[q] = 1.0 / np.sqrt(squares[q]) if squares[q] < _LONGEST else 0.0
    for j in range(1, 1 + len(mean)):
        out = single[j]
        for q in range(n):
            out[q] *= shrink[q]
    for pair in range(len(unit)):
        low, high, out = single[2 * pair], single[2 * pair + 1], unit[pair]
        for q in range(n):
            out[q] = (_whole(high[q]) << 16) | (_whole(low[q]) & 0xFFFF)
    unit[:, n:] = 0
    for q in range(n):
        for j in range(1 + len(mean)):
            people[q, j] = single[j, q]


@numba.njit(cache=True, nogil=True, inline="always")
def _whole(part):
    """Rounded; 0 where it is no number, in a row too long to be measured: all others are 0, so it is asked exactly."""
    return np.int32(np.rint(LARGEST * part if abs(part) < _BEYOND else _NOTHING))


@numba.njit(cache=True, nogil=True)
def _ask(columns, rows, exact, groups, space, unsure, above, positive, settled):
    """Ask each group about a tile of rows: its centre, and its members about those near the boundary."""
    centres, within, starts, members, margins, _ = groups
    _, people, unit = space
    n_large = len(starts) - 1
    for g in range(len(centres)):
        above[g] += ask_everyone(centres, g, unit, within[g], unsure)
        for word in range(len(unsure)):
            near = unsure[word]
            while near:
                q = word * _WORD + lowest_bit(near)
                near &= near - 1
                if q >= len(rows):
                    break  # there are only zeros
                if g >= n_large:
                    _settle(columns, rows[q], exact, LANES * starts[n_large] + g - n_large, settled)
                    continue
                for block in range(starts[g], starts[g + 1]):
                    tied = ask_side_by_side(people[q], members, block, margins, positive)
                    while tied:
                        _settle(columns, rows[q], exact, LANES * block + lowest_bit(tied), settled)
                        tied &= tied - 1


@numba.njit(cache=True, nogil=True)
def _settle(columns, row, exact, s, settled):
    """Have the exact sum decide which label the classifier in slot ``s`` gives to this row."""
    coef, intercept = exact
    settled[0, s] += 1
    settled[1, s] += exact_score(columns[:, row], coef, intercept, s) > 0.0


@numba.njit(cache=True, nogil=True)
def _add_up(n, groups, above, positive, settled, given):
    """Add how many of ``n`` rows get label 1: who is in a slot may be the opposite of the classifier."""
    starts, flipped = groups[2], groups[5]
    n_large = len(starts) - 1
    n_members = LANES * starts[n_large]
    for g in range(len(above)):
        alone = g >= n_large
        first = n_members + g - n_large if alone else LANES * starts[g]
        last = first + 1 if alone else LANES * starts[g + 1]
        for s in range(first, last):
            ones = above[g] if alone else above[g] + positive[s]
            given[s] += settled[1, s] + (n - ones - settled[0, s] if flipped[s] else ones)
