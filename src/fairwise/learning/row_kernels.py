"""Compiled passes over rows: sums over many classifiers' values, kept as bytes, and the encoding of a large column."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def mixed(values, weights):
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
def combined(values, starts, rows, coefficients):
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
def scaled(values, fill, shift, scale, out):
    """Write ``(value - shift) / scale``, missing ones as ``fill``, and whether they are missing if ``out`` has room."""
    marks = out.shape[1] > 1
    for p in range(len(values)):
        missing = np.isnan(values[p])
        out[p, 0] = ((fill if missing else values[p]) - shift) / scale
        if marks:
            out[p, 1] = missing
