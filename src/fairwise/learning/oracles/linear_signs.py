"""Labels of many linear classifiers at the speed of single precision, equal to the exact loops' bit for bit.

A label is the sign of a sum in double precision and fixed order (``linear_kernels``). Here scores are first computed
in single precision, together with a bound on how far they can be from that sum. Where a score is beyond the bound its
sign is certain; the few others are added again in the exact way. Product, sign and sum are one pass over the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.oracles import sign_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fairwise.learning.oracles.base import FloatArray, IntArray, LabelArray

FEW = 8  # so few classifiers are as well scored exactly
_AT_ONCE = 128  # classifiers scored together
_TILE = 1 << 17  # multiplications in a matrix product that BLAS does at once and on one core: threads are ours to start
_UNIT = 2.0**-24  # rounding of single precision
_SAFE = 1e15  # entries up to this cannot overflow there
_TINY = 1e-30  # more than all underflows of one score together


def labels(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> LabelArray:
    """Labels ``(n, k)`` of rows ``(n, d)`` under classifiers ``(k, d)``, ``(k,)``."""
    out = np.empty((len(rows), len(intercept)), dtype=np.uint8)
    for some, known in _scored(rows, coef, intercept):
        own = np.empty((len(rows), some.stop - some.start), dtype=np.uint8)
        sign_kernels.labels(*known, own)  # type: ignore[call-arg]
        out[:, some] = own
    return out


def totals(
    rows: FloatArray, coef: FloatArray, intercept: FloatArray, cell: IntArray, value: NDArray[Any], n_cells: int
) -> NDArray[Any]:
    """``sum_p value[p] h_t(p)`` over the rows of each cell, in their order: ``(n_cells, k)``, of value's type."""
    out = np.zeros((n_cells, len(intercept)), dtype=value.dtype)
    for some, known in _scored(rows, coef, intercept):
        own = np.zeros((n_cells, some.stop - some.start), dtype=value.dtype)
        if len(rows):
            sign_kernels.totals(*known, cell, value, own)  # type: ignore[call-arg]
        out[:, some] = own
    return out


def _scored(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Some classifiers at a time, with what the loops need to know of them and of the rows.

    With ``u`` the rounding of single precision, converting two factors and adding ``d + 1`` products in any order is
    wrong by at most about ``(d + 3) u (|b| + sum_j |x_j| |w_j|)``; double precision adds nothing that matters.
    """
    rows = np.ascontiguousarray(rows)
    # Powers of two bring every classifier to one size without changing a sign.
    both = np.concatenate([intercept[:, None], coef], axis=1)
    scaled = np.ldexp(both, -np.frexp(np.abs(both).max(axis=1))[1][:, None])
    most = np.abs(scaled).max(axis=0)
    single, bound = sign_kernels.in_single_precision(rows, most, 1.1 * (len(most) + 4) * _UNIT, _SAFE, _TINY)
    tile = max(1, _TILE // (_AT_ONCE * len(most)))
    for start in range(0, len(intercept), _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, len(intercept)))
        weights = np.ascontiguousarray(scaled[some].T, dtype=np.float32)
        exact = rows, np.ascontiguousarray(coef[some].T), np.ascontiguousarray(intercept[some])
        yield some, (*exact, single, weights, bound, tile)
