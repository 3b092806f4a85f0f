"""Compiled tables of what every step along a coordinate makes of a linear threshold ``h(x) = [b + x . w > 0]``.

Costs are those of errors, which stay, and others on a few judged points, which differ from question to question. Along
a coordinate the judged points' breakpoints cut the line into stretches on which their labels do not change: of each
stretch only the step of least error can be the best, whatever the other costs are. So a table has one step for each
stretch of each coordinate, and the cheapest of all is found by one pass over it.
"""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba
from fairwise.learning.oracles.descent_kernels import (
    breakpoints,
    empty_line,
    is_behind,
    mean_size,
    scores,
    sorted_order,
    step_between,
)

_SAME = 1e-14  # costs that differ by less are equal


@numba.njit(cache=True, nogil=True)
def tabulate(table, cost, coef, intercept, number, starts, passed, least, step, labels, score):
    """Fill the table of one classifier.

    ``table`` is ``Columns``, ``number`` (n,) which judged point each row is, -1 for none, and ``starts`` (d + 2,) where
    each coordinate's stretches begin, that of the intercept first. A coordinate that moves ``m`` judged points has
    ``m`` entries in ``passed``, ``1 + number`` of each in the order of their breakpoints, negative where the label
    falls; and ``m + 1`` entries in ``least``, the least cost in each stretch, and ``step``, where that is.
    ``labels`` are those of judged points now, ``score`` (n,) the sums of all.
    """
    columns = table.values
    d, n = columns.shape
    by_score, line = np.empty(n, dtype=np.int64), empty_line(n)
    at, gain, row = line.at, line.gain, line.row
    counted = (cost != 0.0) | (number >= 0)
    scores(table, coef, intercept, score)
    sorted_order(score, by_score, line.spare)
    here, reach = 0.0, mean_size(score)
    for p in range(n):
        if score[p] > 0.0:
            here += cost[p]
        if number[p] >= 0:
            labels[number[p]] = score[p] > 0.0
    for j in range(-1, d):
        count = breakpoints(table, j, score, by_score, cost, counted, line)
        running = here
        for q in range(count):
            if is_behind(columns, j, at[q], row[q]):
                running -= gain[q]
        entry, place = starts[j + 1], starts[j + 1] + j + 1
        least[place] = running
        step[place] = step_between(-np.inf, at[0], reach) if count else 0.0
        width = np.inf
        for q in range(count):
            p, low = row[q], at[q]
            running += gain[q]
            if number[p] >= 0:
                passed[entry] = 1 + number[p] if j < 0 or columns[j, p] > 0.0 else -1 - number[p]
                entry += 1
                place += 1
                least[place] = np.inf
                width = 0.0
            if running < least[place] + _SAME:
                high = at[q + 1] if q + 1 < count else np.inf
                middle = step_between(low, high, reach)
                # The interval must be real in floating point, or the step would land on a breakpoint.
                if low < middle < high and (running < least[place] - _SAME or high - low > width):
                    least[place] = running
                    step[place] = middle
                    width = high - low


@numba.njit(cache=True, nogil=True)
def cheapest(which, starts, passed, least, labels, extra, far_left, value, place):
    """The least cost of a step from each of some classifiers, with ``extra`` (m,) on judged points, and its place.

    ``far_left`` (d + 1,) is what the points cost that have label 1 far to the left on each coordinate.
    """
    m = len(extra)
    change, paid = np.zeros(2 * m + 1), np.zeros(2 * m + 1)
    for p in range(m):
        change[m + 1 + p], change[m - 1 - p] = extra[p], -extra[p]
    for r in range(len(which)):
        t = which[r]
        total = 0.0
        for p in range(m):
            now = extra[p] * labels[t, p]
            total += now
            paid[m + 1 + p] = paid[m - 1 - p] = now
        value[r] = np.inf
        for i in range(len(starts) - 1):
            first, low = starts[i] + i, least[t, starts[i] + i]
            where, running, moved = first, 0.0, 0.0
            for e in range(starts[i], starts[i + 1]):
                k = m + passed[t, e]
                running += change[k]
                moved += paid[k]
                if least[t, e + i + 1] + running < low:
                    low = least[t, e + i + 1] + running
                    where = e + i + 1
            low += far_left[i] + total - moved
            if low < value[r]:
                value[r] = low
                place[r] = where


@numba.njit(cache=True, nogil=True)
def labels_after(table, j, step, coef, intercept, score, unsure, labels):
    """Write the labels (n,) after a step along coordinate ``j``, the intercept if -1, that ``coef`` has taken already.

    ``score`` is from before. Only rows that the step moves can change, and their sums are known up to rounding; one
    that is no larger than ``unsure`` is added again in the order of the columns, as it is for any label.
    """
    columns, _, starts, members = table
    d, n = columns.shape
    own = members[starts[j] : starts[j + 1]] if j >= 0 else members[:0]
    for p in range(n):
        labels[p] = score[p] > 0.0
    for q in range(len(own) or n):
        p = own[q] if len(own) else q
        x = columns[j, p] if j >= 0 else 1.0
        after = score[p] + step * x
        if x != 0.0 and not abs(after) > unsure:
            after = intercept
            for i in range(d):
                after += coef[i] * columns[i, p]
        labels[p] = after > 0.0
