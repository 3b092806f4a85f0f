"""Compiled loops over linear threshold classifiers ``h(x) = [b + x . w > 0]``.

Every loop adds in the same fixed order (``b``, then column 0, 1, …) and without fused multiply-add, so that a label
does not depend on the batch it is computed in, nor on which of these loops computes it.

The quick ones score tile by tile in single precision, and exactly where such a score is unsure. Scores are compared
with their bounds as whole numbers, by their bits: processors do that for many at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

_SPARSE = 0.25  # share of rows that are not 0, up to which a column is searched by these alone
_MANY = 2000  # of fewer rows, sorting some again takes as long as looking at all
_FEW_TO_SORT = 32


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
        """Those of a table ``(n, d)``."""
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
def _radix_pass(keys, shift, order, spare):
    """Stable counting sort of ``order`` by 11 bits of ``keys``."""
    n = len(keys)
    counts = np.zeros(2048, dtype=np.int64)
    mask = np.uint64(2047)
    for p in range(n):
        counts[(keys[p] >> shift) & mask] += 1
    if counts[(keys[0] >> shift) & mask] == n:
        return  # all keys agree in these bits
    total = 0
    for bucket in range(2048):
        here = counts[bucket]
        counts[bucket] = total
        total += here
    for q in range(n):
        bucket = (keys[order[q]] >> shift) & mask
        spare[counts[bucket]] = order[q]
        counts[bucket] += 1
    order[:n] = spare[:n]


@numba.njit(cache=True, nogil=True)
def sorted_order(values, order, spare):
    """Write the positions of ``values`` (no NaN) in increasing order to ``order``, ties in input order.

    Radix sort of the upper 31 bits, then insertion for the few pairs that differ only below, or for very few numbers
    at once; should it take many moves, radix sort of all bits. Several times faster here than a compiled ``argsort``.
    The bits of a double sort like the number itself once negative ones are inverted and the sign bit of the others is
    set.
    """
    n = len(values)
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0, its equal
    top = np.int64(-0x8000000000000000)
    keys = np.empty(n, dtype=np.uint64)
    for p in range(n):
        keys[p] = np.uint64(~bits[p] if bits[p] < 0 else bits[p] ^ top)
        order[p] = p
    if n > _FEW_TO_SORT:
        for shift in (33, 44, 55):
            _radix_pass(keys, np.uint64(shift), order, spare)
    moves = 0
    for q in range(1, n):
        here = order[q]
        r = q - 1
        while r >= 0 and keys[order[r]] > keys[here]:
            order[r + 1] = order[r]
            r -= 1
        order[r + 1] = here
        moves += q - 1 - r
        if moves > 8 * n:
            for p in range(n):
                order[p] = p
            for shift in (0, 11, 22, 33, 44, 55):
                _radix_pass(keys, np.uint64(shift), order, spare)
            return


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


@numba.njit(cache=True, nogil=True)
def descend(table, cost, coef, intercept, max_sweeps, least_gain, caution):
    """Exact coordinate line searches on ``sum_p cost[p] h(p)``, in place on ``coef`` (d,); returns the intercept.

    ``table`` is :class:`Columns`. Along coordinate ``j`` the label of a row changes only where the step passes
    ``-score / x_j``: sort these breakpoints, run the cumulative cost over them, and step to the middle of the cheapest
    interval (the widest among equals, for a margin against rounding). Of a sparse column only the rows that are not 0
    are looked at. Where another column has one level only, the breakpoints are in the order of the scores, which is
    sorted once for all such columns. A step along one of them moves some rows together, so two sorted lists are merged;
    a step of the intercept moves all alike.
    Stops when every coordinate in turn has gained nothing, or a sweep less than ``least_gain``.

    Unless ``caution`` is None, for which numba compiles a loop without it, a step costs ``caution * sqrt(sum of
    cost[p] ** 2 over the rows p whose label it changes)`` on top: that root is the standard deviation of what it gains,
    were the sign of each of their costs a coin toss.
    """
    columns, levels, starts, members = table
    d, n = columns.shape
    score = np.empty(n)
    at = np.empty(n)
    gain = np.empty(n)
    order = np.empty(n, dtype=np.int64)
    spare = np.empty(n, dtype=np.int64)
    by_score = np.empty(n, dtype=np.int64)
    scores_sorted = False
    stale = 0
    for _ in range(max_sweeps):
        gained = 0.0
        # Scores follow each step; computed anew in every sweep, so that rounding cannot add up.
        score[:] = intercept
        for i in range(d):
            if coef[i] != 0.0:
                _move(score, columns[i], coef[i], members[starts[i] : starts[i + 1]])
        scores_sorted = False
        for j in range(-1, d):
            if stale > d:
                return intercept
            own = members[:0] if j < 0 else members[starts[j] : starts[j + 1]]
            level = 1.0 if j < 0 else (levels[j] if len(own) == 0 else 0.0)
            if level != 0.0 and not scores_sorted:
                sorted_order(score, by_score, spare)
                scores_sorted = True
            count = 0
            here = 0.0  # cost now, and far to the left, of the rows that this coordinate moves
            left = 0.0
            passed = 0.0  # squared costs of the rows whose breakpoint is to the left of where we are
            for q in range(len(own) or n):
                p = q
                if len(own):
                    p = own[q]
                elif level > 0.0:
                    p = by_score[n - 1 - q]
                elif level < 0.0:
                    p = by_score[q]
                x = 1.0 if j < 0 else columns[j, p]
                if x != 0.0 and cost[p] != 0.0:
                    at[count] = -score[p] / x
                    if x > 0.0:
                        gain[count] = cost[p]
                    else:
                        gain[count] = -cost[p]
                        left += cost[p]
                    if score[p] > 0.0:
                        here += cost[p]
                    if caution is not None and (score[p] > 0.0) == (x > 0.0):
                        passed += cost[p] ** 2
                    order[count] = count
                    count += 1
            if count == 0:
                stale += 1
                continue
            if level == 0.0:
                sorted_order(at[:count], order, spare)
            best = left
            if caution is not None:
                best += caution * np.sqrt(passed)
            best_step = at[order[0]] - 1.0
            best_width = np.inf
            running = left
            for q in range(count):
                running += gain[order[q]]
                if caution is not None:
                    passed -= gain[order[q]] ** 2
                low = at[order[q]]
                if q + 1 < count:
                    high = at[order[q + 1]]
                    width = high - low
                    step = low + 0.5 * width
                    # The interval must be real in floating point, or the step would land on a breakpoint.
                    if not (low < step < high):
                        continue
                else:
                    width = np.inf
                    step = low + 1.0
                total = running
                if caution is not None and running < best + 1e-14:
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
                    _move(score, columns[j], best_step, own)
                    if level == 0.0:
                        scores_sorted = False
                    else:
                        _merge(score, columns[j], by_score, order, spare)
            else:
                stale += 1
        if gained < least_gain:
            return intercept
    return intercept


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
