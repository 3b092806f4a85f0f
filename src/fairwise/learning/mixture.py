"""A randomised classifier: several deterministic ones and how often each decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray

_LABELS_AT_ONCE = 1 << 24
_MANY = 64  # from so many on compiled code adds them, in the same order


@dataclass(frozen=True, eq=False)
class Mixture:
    """``E_D[h(x)] = sum_t weights[t] h_t(x)``."""

    classifiers: Classifiers
    weights: FloatArray

    def probabilities(self, rows: Any) -> FloatArray:
        """Probability of label 1 for each row; added in a fixed order, so the same in any batch."""
        result = np.zeros(len(rows))
        step = max(1, _LABELS_AT_ONCE // len(self.weights))
        for start in range(0, len(rows), step):
            part = rows.iloc[start : start + step] if hasattr(rows, "iloc") else rows[start : start + step]
            labels = self.classifiers.labels(part)
            if len(self.weights) > _MANY:
                from fairwise.learning.row_kernels import mixed

                result[start : start + step] = mixed(np.ascontiguousarray(labels), self.weights)
                continue
            for weight, given in zip(self.weights, labels, strict=True):
                result[start : start + step] += weight * given
        # Weights add to 1 only up to rounding.
        return np.minimum(result, 1.0)
