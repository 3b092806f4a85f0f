"""Linear threshold classifiers, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, IntArray, LabelArray


@dataclass(frozen=True, eq=False)
class LinearClassifiers:
    """``h_t(x) = [intercept[t] + x . coef[t] > 0]`` for ``t < k``; ``coef`` is ``(k, d)``."""

    coef: FloatArray
    intercept: FloatArray

    @classmethod
    def constants(cls, n_columns: int) -> LinearClassifiers:
        return cls(np.zeros((2, n_columns)), np.array([-1.0, 1.0]))

    def __len__(self) -> int:
        return len(self.intercept)

    def labels(self, rows: FloatArray) -> LabelArray:
        from fairwise.learning.oracles import linear_kernels, linear_signs

        if len(self) > linear_signs.FEW:
            return linear_signs.labels(rows, self.coef, self.intercept).T
        by_column = np.ascontiguousarray(self.coef.T)
        result: LabelArray = linear_kernels.labels(np.ascontiguousarray(rows), by_column, self.intercept)
        return result.T

    def total_costs(self, rows: FloatArray, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h_t(p)``, ``(k,)``, without storing the labels."""
        from fairwise.learning.oracles import linear_kernels, linear_signs

        if len(self) > linear_signs.FEW:
            everyone = np.zeros(len(rows), dtype=np.intp)
            return np.asarray(linear_signs.totals(rows, self.coef, self.intercept, everyone, cost, 1)[0])
        by_column = np.ascontiguousarray(self.coef.T)
        result: FloatArray = linear_kernels.total_costs(np.ascontiguousarray(rows), cost, by_column, self.intercept)
        return result

    def take(self, which: IntArray) -> LinearClassifiers:
        return LinearClassifiers(self.coef[which], self.intercept[which])

    def joined(self, other: LinearClassifiers) -> LinearClassifiers:
        return LinearClassifiers(
            np.concatenate([self.coef, other.coef]), np.concatenate([self.intercept, other.intercept])
        )

    def state(self) -> dict[str, Any]:
        return {"coef": self.coef, "intercept": self.intercept}
