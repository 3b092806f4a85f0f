"""Compiled coordinate descent on the weighted 0/1 cost of a linear threshold ``h(x) = [b + x . w > 0]``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.compiler import numba

_SPARSE = 0.25  # share of rows that are not 0, up to which a column is searched by these alone
_MANY = 2000  # of fewer rows, sorting some again takes as long as looking at all
_FEW_TO_SORT = 32
_APART = 1e-9  # relative: a step this far from a breakpoint is beyond it


class Columns(NamedTuple):
    """The columns of a table, and what :func:`descend` wants to know of them."""

    values: NDArray[np.float64]
    """``(d, n)``"""

    levels: NDArray[np.float64]
    """``(d,)`` from :func:`single_levels`."""

    starts: NDArray[np.int64]
    """``(d + 1,)`` where each column begins in ``members``; one that is not sparse has none there."""

    members: NDArray[np.int64]
    """The rows that are not 0 in a sparse column."""

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Columns:
        """Build the columns of a table ``(n, d)``."""
        values = np.ascontiguousarray(rows.T)
        members = [np.flatnonzero(column) for column in values]
        most = _SPARSE * len(rows) if len(rows) >= _MANY else 0.0
        members = [own if len(own) <= most else own[:0] for own in members]
        starts = np.cumsum([0, *map(len, members)])
        together = np.concatenate(members) if members else np.empty(0, dtype=np.int64)
        return cls(values, single_levels(values), starts.astype(np.int64), together.astype(np.int64))

    def with_one_more(self, column: NDArray[np.float64]) -> Columns:
        """And another ``(n,)`` behind them, taken as neither sparse nor of one level."""
        values, levels = np.concatenate([self.values, column[None]]), np.append(self.levels, 0.0)
        return Columns(values, levels, np.append(self.starts, self.starts[-1]), self.members)


@numba.njit(cache=True, nogil=True)
def sorted_order(values, order, spare):
    """Write the positions of ``values`` (no NaN) in increasing order to ``order``, ties in input order.

    Radix sort of the upper 32 bits, each with its position in the lower ones, then insertion for the few pairs that
    differ only below, or for very few numbers at once; should it take many moves, merge sort. Several times faster
    here than a compiled ``argsort``. The bits of a double sort like the number itself once negative ones are inverted
    and the sign bit of the others is set. ``spare`` is ``(2, n)`` or longer, of whole numbers without a sign.
    """
    n = len(values)
    if n > _FEW_TO_SORT:
        _radix_sort(values, order, spare[0], spare[1])
    else:
        for p in range(n):
            order[p] = p
    moves = 0
    for q in range(1, n):
        here = order[q]
        value = values[here]
        r = q - 1
        while r >= 0 and values[order[r]] > value:
            order[r + 1] = order[r]
            r -= 1
        order[r + 1] = here
        moves += q - 1 - r
        if moves > 8 * n:
            merged = np.argsort(values, kind="mergesort")
            for p in range(n):
                order[p] = merged[p]
            return


@numba.njit(cache=True, nogil=True)
def _radix_sort(values, order, packed, other):
    n = len(values)
    bits = values.view(np.int64)
    counts = np.zeros((3, 2048), dtype=np.int32)
    top = np.int64(-0x8000000000000000)
    low, digit = np.uint64(0xFFFFFFFF), np.uint64(2047)
    for p in range(n):
        own = bits[p] if values[p] != 0.0 else 0  # -0.0 is 0.0's equal
        key = np.uint64(own ^ ((own >> 63) | top))
        packed[p] = (key & ~low) | np.uint64(p)
        counts[0, (key >> np.uint64(32)) & digit] += 1
        counts[1, (key >> np.uint64(43)) & digit] += 1
        counts[2, (key >> np.uint64(54))] += 1
    for k in range(3):
        shift = np.uint64(32 + 11 * k)
        first = counts[k]
        if first[(packed[0] >> shift) & digit] == n:
            continue  # all agree in these bits
        total = 0
        for bucket in range(2048):
            here = first[bucket]
            first[bucket] = total
            total += here
        for p in range(n):
            own = packed[p]
            bucket = (own >> shift) & digit
            other[first[bucket]] = own
            first[bucket] += 1
        packed, other = other, packed
    for p in range(n):
        order[p] = np.int64(packed[p] & low)


@numba.njit(cache=True, nogil=True)
def single_levels(columns):
    """The one value that a column ``(d, n)`` has besides 0, as 0/1 columns do; 0 where it has several."""
    d, n = columns.shape
    levels = np.zeros(d)
    for j in range(d):
        for p in range(n):
            x = columns[j, p]
            if x != 0.0:
                if levels[j] == 0.0:
                    levels[j] = x
                elif x != levels[j]:
                    levels[j] = 0.0
                    break
    return levels


@numba.njit(cache=True, nogil=True)
def _merge(score, column, by_score, moved, others):
    """Order ``by_score`` again after the rows where ``column`` is not 0 have all moved by the same step."""
    n_moved, n_others = 0, 0
    for p in by_score:
        if column[p] != 0.0:
            moved[n_moved] = p
            n_moved += 1
        else:
            others[n_others] = p
            n_others += 1
    a, b = 0, 0
    for q in range(len(by_score)):
        if b == n_others or (a < n_moved and score[moved[a]] < score[others[b]]):
            by_score[q] = moved[a]
            a += 1
        else:
            by_score[q] = others[b]
            b += 1


@numba.njit(cache=True, nogil=True)
def _move(score, column, step, members):
    """Add ``step`` times a column to the scores; ``members`` are its rows that are not 0, if it is sparse."""
    if len(members):
        for p in members:
            score[p] += step * column[p]
    else:
        for p in range(len(score)):
            score[p] += step * column[p]


class Line(NamedTuple):
    """The breakpoints of a line, ``(n,)`` of which the first are filled, and room to find them."""

    at: NDArray[np.float64]
    gain: NDArray[np.float64]
    """Increase of the cost beyond each."""

    row: NDArray[np.int64]
    unsorted: NDArray[np.float64]
    rows: NDArray[np.int64]
    spare: NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
def empty_line(n):
    whole, spare = np.empty((2, n), dtype=np.int64), np.empty((2, n), dtype=np.uint64)
    return Line(np.empty(n), np.empty(n), whole[0], np.empty((2, n)), whole[1], spare)


@numba.njit(cache=True, nogil=True)
def scores(table, coef, intercept, score):
    """Write the score of every row."""
    columns, _, starts, members = table
    score[:] = intercept
    for i in range(len(columns)):
        if coef[i] != 0.0:
            _move(score, columns[i], coef[i], members[starts[i] : starts[i + 1]])


@numba.njit(cache=True, nogil=True)
def total_costs(table, cost, coef, intercept):
    """``sum_p cost[p] h_t(p)`` of classifiers ``(k, d)``, ``(k,)``: the numbers of ``linear_kernels.exact``.

    Sums are added in the same order, but column by column, of which sparse ones have few rows.
    """
    score, totals = np.empty(len(cost)), np.zeros(len(intercept))
    for t in range(len(intercept)):
        scores(table, coef[t], intercept[t], score)
        for p in range(len(cost)):
            totals[t] += cost[p] if score[p] > 0.0 else 0.0
    return totals


@numba.njit(cache=True, nogil=True)
def moves_alike(table, j):
    """Whether a step along coordinate ``j``, the intercept if -1, moves all rows alike that it moves: see below."""
    return j < 0 or (table.levels[j] != 0.0 and table.starts[j] == table.starts[j + 1])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def breakpoints(table, j, score, by_score, cost, counted, line):
    """Fill ``line`` with where labels change along coordinate ``j``, sorted; returns how many there are.

    Of a sparse column only the rows that are not 0 are looked at. Where another column has one level only, the
    breakpoints are in the order of the scores, ``by_score``, which is sorted once for all such columns. Only rows that
    are ``counted`` (n,) enter.
    """
    columns, levels, starts, members = table
    n = columns.shape[1]
    at, gain, row, unsorted, rows, spare = line
    count = 0
    if moves_alike(table, j):
        rises = j < 0 or levels[j] > 0.0
        scale = -1.0 if j < 0 else -1.0 / levels[j]
        column = columns[max(j, 0)]
        for q in range(n):
            p = by_score[n - 1 - q] if rises else by_score[q]
            at[count] = score[p] * scale
            gain[count] = cost[p] if rises else -cost[p]
            row[count] = p
            count += counted[p] & ((j < 0) | (column[p] != 0.0))
        return count
    column, members = columns[j], members[starts[j] : starts[j + 1]]
    if len(members):
        for p in members:
            unsorted[0, count] = -score[p] / column[p]
            rows[count] = p
            count += counted[p]
    else:
        for p in range(n):
            unsorted[1, p] = -score[p] / column[p]
        for p in range(n):
            unsorted[0, count] = unsorted[1, p]
            rows[count] = p
            count += counted[p] & (column[p] != 0.0)
    sorted_order(unsorted[0, :count], row, spare)
    for q in range(count):
        at[q] = unsorted[0, row[q]]
        p = rows[row[q]]
        row[q] = p
        gain[q] = cost[p] if column[p] > 0.0 else -cost[p]
    return count


@numba.njit(cache=True, nogil=True)
def is_behind(columns, j, at, p):
    """Whether row ``p``, whose label changes at ``at``, has now the label that it has beyond; that of score 0 is 0."""
    return at < 0.0 or (at == 0.0 and j >= 0 and columns[j, p] < 0.0)


@numba.njit(cache=True, nogil=True)
def mean_size(score):
    """The mean absolute score, the unit in which steps are measured."""
    total = 0.0
    for value in score:
        total += abs(value)
    return total / len(score) if total > 0.0 else 1.0


@numba.njit(cache=True, nogil=True)
def step_between(low, high, reach):
    """A step to the middle of an interval; in a wide one to ``reach`` behind its nearer end, so that scores stay small.

    Scores of very different sizes would lose digits, and leave the steps after this one little to choose from.
    """
    from_high = high < 0.0 or low == -np.inf
    near = high if from_high else low
    far = min(0.5 * (high - low), max(reach, _APART * abs(near)))
    return near - far if from_high else near + far


@numba.njit(cache=True, nogil=True)
def descend(table, cost, coef, intercept, max_sweeps, least_gain, caution):
    """Exact coordinate line searches on ``sum_p cost[p] h(p)``, in place on ``coef`` (d,); returns the intercept.

    ``table`` is :class:`Columns`. Along coordinate ``j`` the label of a row changes only where the step passes
    ``-score / x_j``: sort these breakpoints, run the cumulative cost over them, and step into the cheapest interval
    (the widest among equals, for a margin against rounding; see :func:`step_between`). A step along a column of one
    level moves some rows together, so that two sorted lists of scores are merged; a step of the intercept moves all
    alike.
    Stops when every coordinate in turn has gained nothing, or a sweep less than ``least_gain``.

    Unless ``caution`` is None, for which numba compiles a loop without it, a step costs ``caution * sqrt(sum of
    cost[p] ** 2 over the rows p whose label it changes)`` on top: that root is the standard deviation of what it gains,
    were the sign of each of their costs a coin toss.
    """
    columns, _, starts, members = table
    d, n = columns.shape
    score, by_score, line, counted = np.empty(n), np.empty(n, dtype=np.int64), empty_line(n), cost != 0.0
    at, gain, row = line.at, line.gain, line.row
    stale = 0
    for _ in range(max_sweeps):
        gained = 0.0
        # Scores follow each step; computed anew in every sweep, so that rounding cannot add up.
        scores(table, coef, intercept, score)
        scores_sorted = False
        reach = mean_size(score)
        for j in range(-1, d):
            if stale > d:
                return intercept
            alike = moves_alike(table, j)
            if alike and not scores_sorted:
                sorted_order(score, by_score, line.spare)
                scores_sorted = True
            count = breakpoints(table, j, score, by_score, cost, counted, line)
            if count == 0:
                stale += 1
                continue
            best = 0.0  # costs are above that far to the left
            passed = 0.0  # squared costs of the rows whose breakpoint is between here and there
            if caution is not None:
                for q in range(count):
                    if is_behind(columns, j, at[q], row[q]):
                        passed += gain[q] ** 2
                best = caution * np.sqrt(passed)
            best_step = step_between(-np.inf, at[0], reach)
            best_width = np.inf
            here = running = 0.0
            for q in range(count):
                low = at[q]
                running += gain[q]
                if is_behind(columns, j, low, row[q]):
                    here += gain[q]
                if caution is not None:
                    passed -= gain[q] ** 2
                if running < best + 1e-14:
                    high = at[q + 1] if q + 1 < count else np.inf
                    width = high - low
                    step = step_between(low, high, reach)
                    # The interval must be real in floating point, or the step would land on a breakpoint.
                    if not (low < step < high):
                        continue
                    total = running
                    if caution is not None:
                        total += caution * np.sqrt(abs(passed))
                    if total < best - 1e-14 or (total < best + 1e-14 and width > best_width):
                        best = total
                        best_step = step
                        best_width = width
            if best < here - 1e-12:
                stale = 0
                gained += here - best
                if j < 0:
                    intercept += best_step
                    score += best_step
                else:
                    coef[j] += best_step
                    _move(score, columns[j], best_step, members[starts[j] : starts[j + 1]])
                    if alike:
                        _merge(score, columns[j], by_score, line.row, line.rows)
                    else:
                        scores_sorted = False
            else:
                stale += 1
        if gained < least_gain:
            return intercept
    return intercept
