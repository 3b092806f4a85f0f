"""Compiled loops over linear threshold classifiers ``h(x) = [b + x . w > 0]``.

Every loop adds in the same fixed order (``b``, then column 0, 1, …) and without fused multiply-add, so that a label
does not depend on the batch it is computed in, nor on which of these loops computes it.
"""

from __future__ import annotations

import numba
import numpy as np

_BLOCK = 128  # classifiers scored together: their running scores stay in the first-level cache


@numba.njit(cache=True, nogil=True)
def labels(rows, coef_by_column, intercept):
    """Labels ``(n, k)`` of rows ``(n, d)`` under classifiers ``(d, k)``, ``(k,)``."""
    n, d = rows.shape
    k = len(intercept)
    out = np.empty((n, k), dtype=np.uint8)
    score = np.empty(k)
    for p in range(n):
        score[:] = intercept
        for j in range(d):
            x = rows[p, j]
            if x != 0.0:
                for t in range(k):
                    score[t] += x * coef_by_column[j, t]
        for t in range(k):
            out[p, t] = score[t] > 0.0
    return out


@numba.njit(cache=True, nogil=True)
def total_costs(rows, cost, coef_by_column, intercept):
    """``sum_p cost[p] h_t(p)`` for ``k`` classifiers in one pass; ``coef_by_column`` is ``(d, k)``.

    Product, sign and sum are fused; the inner loop runs over classifiers, so that it vectorises.
    """
    n, d = rows.shape
    k = len(intercept)
    out = np.zeros(k)
    score = np.empty(_BLOCK)
    for start in range(0, k, _BLOCK):
        width = min(_BLOCK, k - start)
        for p in range(n):
            for t in range(width):
                score[t] = intercept[start + t]
            for j in range(d):
                x = rows[p, j]
                if x != 0.0:
                    for t in range(width):
                        score[t] += x * coef_by_column[j, start + t]
            c = cost[p]
            for t in range(width):
                out[start + t] += c if score[t] > 0.0 else 0.0
    return out


@numba.njit(cache=True, nogil=True)
def sorted_order(values, order, spare):
    """Write the positions of ``values`` (no NaN) in increasing order to ``order``, ties in input order.

    Radix sort of the bits, 11 at a time: several times faster here than a compiled ``argsort``. Bits of a double
    sort like the number itself once negative ones are inverted and the sign bit of the others is set.
    """
    n = len(values)
    bits = values.view(np.int64)
    top = np.int64(-0x8000000000000000)
    keys = np.empty(n, dtype=np.uint64)
    counts = np.zeros((6, 2048), dtype=np.int64)
    for p in range(n):
        key = np.uint64(~bits[p] if bits[p] < 0 else bits[p] ^ top)
        keys[p] = key
        order[p] = p
        for digit in range(6):
            counts[digit, (key >> np.uint64(11 * digit)) & np.uint64(2047)] += 1
    for digit in range(6):
        shift = np.uint64(11 * digit)
        if counts[digit, (keys[0] >> shift) & np.uint64(2047)] == n:
            continue  # all keys agree in this digit
        total = 0
        for bucket in range(2048):
            here = counts[digit, bucket]
            counts[digit, bucket] = total
            total += here
        for q in range(n):
            p = order[q]
            bucket = (keys[p] >> shift) & np.uint64(2047)
            spare[counts[digit, bucket]] = p
            counts[digit, bucket] += 1
        order[:n] = spare[:n]


@numba.njit(cache=True, nogil=True)
def descend(columns, cost, coef, intercept, max_sweeps):
    """Exact coordinate line searches on ``sum_p cost[p] h(p)``, in place on ``coef`` (d,); returns the intercept.

    ``columns`` is ``(d, n)``. Along coordinate ``j`` the label of a row changes only where the step passes
    ``-score / x_j``: sort these breakpoints, run the cumulative cost over them, and step to the middle of the
    cheapest interval (the widest among equals, for a margin against rounding). Stops after a sweep that gains nothing.
    """
    d, n = columns.shape
    score = np.empty(n)
    at = np.empty(n)
    gain = np.empty(n)
    order = np.empty(n, dtype=np.int64)
    spare = np.empty(n, dtype=np.int64)
    stale = 0
    for _ in range(max_sweeps):
        # Scores follow each step; computed anew in every sweep, so that rounding cannot add up.
        score[:] = intercept
        for i in range(d):
            if coef[i] != 0.0:
                for p in range(n):
                    score[p] += columns[i, p] * coef[i]
        for j in range(-1, d):
            if stale > d:
                return intercept
            count = 0
            here = 0.0  # cost now, and far to the left, of the rows that this coordinate moves
            left = 0.0
            for p in range(n):
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
                    count += 1
            if count == 0:
                stale += 1
                continue
            sorted_order(at[:count], order, spare)
            best = left
            best_step = at[order[0]] - 1.0
            best_width = np.inf
            running = left
            for q in range(count):
                running += gain[order[q]]
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
                if running < best - 1e-14 or (running < best + 1e-14 and width > best_width):
                    best = running
                    best_step = step
                    best_width = width
            if best < here - 1e-12:
                stale = 0
                if j < 0:
                    intercept += best_step
                    score += best_step
                else:
                    coef[j] += best_step
                    for p in range(n):
                        score[p] += best_step * columns[j, p]
            else:
                stale += 1
    return intercept
