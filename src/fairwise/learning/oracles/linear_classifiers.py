"""Linear threshold classifiers, many at a time.

A label is the sign of a sum in double precision and fixed order (``linear_kernels``). Of many classifiers scores are
first computed in single precision, together with a bound on how far they can be from that sum. Where a score is beyond
the bound its sign is certain; the few others are added again in the exact way, so labels are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairwise.learning.oracles.base import ArrayClassifiers, FloatArray, IntArray, LabelArray

FEW = 8  # so few classifiers are as well scored exactly
_AT_ONCE = 128  # classifiers scored together
_TILE = 1 << 17  # multiplications in a matrix product that BLAS does at once and on one core: threads are ours to start
_UNIT = 2.0**-24  # rounding of single precision
_SAFE = 1e15  # entries up to this cannot overflow there
_TINY = 1e-30  # more than all underflows of one score together


@dataclass(frozen=True, eq=False)
class LinearClassifiers(ArrayClassifiers):
    """``h_t(x) = [intercept[t] + x . coef[t] > 0]`` for ``t < k``; ``coef`` is ``(k, d)``."""

    coef: FloatArray
    intercept: FloatArray

    @classmethod
    def constants(cls, n_columns: int) -> LinearClassifiers:
        return cls(np.zeros((2, n_columns)), np.array([-1.0, 1.0]))

    def labels(self, rows: FloatArray) -> LabelArray:
        if len(self) > FEW:
            return labels_of_many(rows, self.coef, self.intercept).T
        by_column = np.ascontiguousarray(self.coef.T)
        result: LabelArray = _kernels().labels(np.ascontiguousarray(rows), by_column, self.intercept)
        return result.T

    def total_costs(self, rows: FloatArray, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h_t(p)``, ``(k,)``, without storing the labels."""
        if len(self) > FEW:
            everyone = np.zeros(len(rows), dtype=np.intp)
            return np.asarray(cell_totals(rows, self.coef, self.intercept, everyone, cost, 1)[0])
        by_column = np.ascontiguousarray(self.coef.T)
        result: FloatArray = _kernels().total_costs(np.ascontiguousarray(rows), cost, by_column, self.intercept)
        return result


def labels_of_many(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> LabelArray:
    """Labels ``(n, k)`` of rows ``(n, d)`` under classifiers ``(k, d)``, ``(k,)``."""
    out = np.empty((len(rows), len(intercept)), dtype=np.uint8)
    for some, known in _score(rows, coef, intercept):
        own = np.empty((len(rows), some.stop - some.start), dtype=np.uint8)
        _kernels().quick_labels(*known, own)
        out[:, some] = own
    return out


def cell_totals(
    rows: FloatArray, coef: FloatArray, intercept: FloatArray, cell: IntArray, value: NDArray[Any], n_cells: int
) -> NDArray[Any]:
    """``sum_p value[p] h_t(p)`` over the rows of each cell, in their order: ``(n_cells, k)``, of value's type."""
    out = np.zeros((n_cells, len(intercept)), dtype=value.dtype)
    for some, known in _score(rows, coef, intercept):
        own = np.zeros((n_cells, some.stop - some.start), dtype=value.dtype)
        if len(rows):
            _kernels().quick_totals(*known, cell, value, own)
        out[:, some] = own
    return out


def _score(rows: FloatArray, coef: FloatArray, intercept: FloatArray) -> Iterator[tuple[slice, tuple[Any, ...]]]:
    """Some classifiers at a time, with what the loops need to know of them and of the rows.

    With ``u`` the rounding of single precision, converting two factors and adding ``d + 1`` products in any order is
    wrong by at most about ``(d + 3) u (|b| + sum_j |x_j| |w_j|)``; double precision adds nothing that matters.
    """
    rows = np.ascontiguousarray(rows)
    # Powers of two bring every classifier to one size without changing a sign.
    both = np.concatenate([intercept[:, None], coef], axis=1)
    scaled = np.ldexp(both, -np.frexp(np.abs(both).max(axis=1))[1][:, None])
    most = np.abs(scaled).max(axis=0)
    single, bound = _kernels().in_single_precision(rows, most, 1.1 * (len(most) + 4) * _UNIT, _SAFE, _TINY)
    tile = max(1, _TILE // (_AT_ONCE * len(most)))
    for start in range(0, len(intercept), _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, len(intercept)))
        weights = np.ascontiguousarray(scaled[some].T, dtype=np.float32)
        exact = rows, np.ascontiguousarray(coef[some].T), np.ascontiguousarray(intercept[some])
        yield some, (*exact, single, weights, bound, tile)


def _kernels() -> Any:
    from fairwise.learning.oracles import linear_kernels  # numba takes most of a second to load

    return linear_kernels
