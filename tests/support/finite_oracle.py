"""A finite class given by its predictions: every member is looked at, so the answer is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.oracles.base import (
    ArrayClassifiers,
    Classifiers,
    FloatArray,
    IntArray,
    LabelArray,
    Oracle,
    RowValues,
)


@dataclass(frozen=True, eq=False)
class ListedClassifiers(ArrayClassifiers):
    """Classifiers known only by their labels ``(k, P)`` on the points; a row is the number of its point."""

    predictions: LabelArray

    def labels(self, rows: IntArray) -> LabelArray:
        return self.predictions[:, rows]


class FiniteClassOracle(Oracle):
    """Minimises over the rows of ``predictions`` ``(k, P)``, 0 or 1, and both constants."""

    exact = True
    cheap = True

    def __init__(self, predictions: RowValues) -> None:
        if predictions.ndim != 2 or not np.isin(predictions, (0, 1)).all():
            raise InputError("A finite class is a (classifiers, people) array of 0 and 1.")
        n_points = predictions.shape[1]
        constants = np.stack([np.zeros(n_points), np.ones(n_points)])
        self._everyone = ListedClassifiers(np.concatenate([constants, predictions]).astype(np.uint8))
        self.hypothesis_class = f"{len(predictions)} given classifiers and both constants"

    def constants(self) -> ListedClassifiers:
        return self._everyone.take(np.arange(2))

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> ListedClassifiers:  # noqa: ARG002
        return self._everyone.take(np.argmin(self._everyone.predictions @ cost, keepdims=True))


class SlowOracle(FiniteClassOracle):
    """Finds the least cost every time, and says that a question takes long; counts them."""

    cheap = False

    def __init__(self, predictions: RowValues) -> None:
        super().__init__(predictions)
        self.questions: list[FloatArray] = []

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> ListedClassifiers:
        self.questions.append(cost.copy())
        return super().best_response(cost, warm)
