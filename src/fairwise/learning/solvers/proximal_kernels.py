"""Compiled loops of the proximal programme, over the values of very many rows; sums are always in one order."""

from __future__ import annotations

import numpy as np

from fairwise.learning.compiler import numba

_LANES = 8  # running sums, which processors add to at once
_TILE = 512  # rows


@numba.njit(cache=True, nogil=True)
def weigh(values, weights):
    """``values @ weights`` for values ``(k, K)``, without a float copy of them."""
    k, n_rows = values.shape
    out = np.empty(k)
    even = n_rows - n_rows % _LANES
    lanes = np.empty(_LANES)
    for t in range(k):
        own = values[t]
        lanes[:] = 0.0
        for first in range(0, even, _LANES):
            for lane in range(_LANES):
                lanes[lane] += weights[first + lane] * own[first + lane]
        total = 0.0
        for lane in range(_LANES):
            total += lanes[lane]
        for r in range(even, n_rows):
            total += weights[r] * own[r]
        out[t] = total
    return out


@numba.njit(cache=True, nogil=True)
def charge(over, shares, centre, stiffness, charged):
    """Write ``u`` to ``charged``; return the sum over rows of ``shares (u over - stiffness / 2 (u - centre) ** 2)``.

    ``u = clip(centre + over / stiffness, 0, 1)`` is what makes it largest.
    """
    total = 0.0
    for r in range(len(over)):
        u = min(max(centre[r] + over[r] / stiffness, 0.0), 1.0)
        charged[r] = u
        total += shares[r] * (u * over[r] - 0.5 * stiffness * (u - centre[r]) ** 2)
    return total


@numba.njit(cache=True, nogil=True)
def curvature(values, which, shares, charged):
    """``sum_r shares[r] v_r v_r.T`` over rows with ``0 < charged < 1``, for the values of some columns, ``(k, k)``."""
    k, n_rows = len(which), values.shape[1]
    out = np.zeros((k, k))
    tile = np.empty((_TILE, k))
    for first in range(0, n_rows, _TILE):
        count = min(_TILE, n_rows - first)
        for a in range(k):
            for q in range(count):
                tile[q, a] = values[which[a], first + q]
        for q in range(count):
            if 0.0 < charged[first + q] < 1.0:
                for a in range(k):
                    x = shares[first + q] * tile[q, a]
                    if x != 0.0:
                        for b in range(k):
                            out[a, b] += x * tile[q, b]
    return out


@numba.njit(cache=True, nogil=True)
def descend_simplex(slope, curve, weights, precision, most):
    """Lower ``slope @ q + q @ curve @ q / 2`` over the simplex from ``weights``, in place.

    Each step moves weight from the dearest that has any to the cheapest. Ends when they differ by ``precision``.
    """
    n = len(slope)
    gradient = slope.copy()
    for a in range(n):
        for b in range(n):
            gradient[a] += curve[a, b] * weights[b]
    for _ in range(most):
        low = 0
        high = -1
        for a in range(n):
            if gradient[a] < gradient[low]:
                low = a
            if weights[a] > 0.0 and (high < 0 or gradient[a] > gradient[high]):
                high = a
        gain = gradient[high] - gradient[low]
        if gain <= precision:
            return
        bend = curve[low, low] + curve[high, high] - 2.0 * curve[low, high]
        step = weights[high]
        if gain < bend * step:
            step = gain / bend
            weights[high] -= step
        else:
            weights[high] = 0.0
        weights[low] += step
        for a in range(n):
            gradient[a] += step * (curve[a, low] - curve[a, high])
