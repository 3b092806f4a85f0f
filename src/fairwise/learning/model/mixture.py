"""A randomised classifier, several deterministic ones and how often each decides, and what it does to judged people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.pairs import Weighting
from fairwise.learning.model.certificate import certify
from fairwise.learning.model.prices import price_table
from fairwise.learning.oracles.base import Classifiers, FloatArray, Rows
from fairwise.learning.preparation import Rules
from fairwise.learning.solvers.solution import Solution

if TYPE_CHECKING:
    import pandas as pd


Columns = dict[str, list[Any]]
"""A table as plain values, by the names of its columns."""

_LABELS_AT_ONCE = 1 << 24
_MANY = 64  # from so many on compiled code adds them, in the same order


@dataclass(frozen=True, eq=False)
class Mixture:
    """``E_D[h(x)] = sum_t weights[t] h_t(x)``."""

    classifiers: Classifiers
    weights: FloatArray

    def probabilities(self, rows: Rows) -> FloatArray:
        """Probability of label 1 for each row; added in a fixed order, so the same in any batch."""
        result = np.zeros(len(rows))
        step = max(1, _LABELS_AT_ONCE // len(self.weights))
        for start in range(0, len(rows), step):
            part = rows.iloc[start : start + step] if hasattr(rows, "iloc") else rows[start : start + step]
            labels = self.classifiers.labels(part)
            if len(self.weights) > _MANY:
                from fairwise.learning.row_kernels import mix  # numba takes most of a second to load

                result[start : start + step] = mix(np.ascontiguousarray(labels), self.weights)
                continue
            for weight, label in zip(self.weights, labels, strict=True):
                result[start : start + step] += weight * label
        # Weights add to 1 only up to rounding.
        return np.minimum(result, 1.0)


class Measurement:
    """A solution measured on the judged people: what is certified about it, and what each judgment costs.

    ``probability`` is ``(m,)``, that of label 1 for the judged people; the solution's own mixture if not given.
    """

    def __init__(self, rules: Rules, solution: Solution, probability: FloatArray | None = None) -> None:
        if probability is None:
            probability = Mixture(solution.classifiers, solution.weights).probabilities(rules.judged_rows)
        self._rules, self._solution = rules, solution
        self._favorable = probability if rules.problem.sign > 0 else 1.0 - probability

    def certificate(
        self, gamma: float, eta: float | None, weighting: Weighting, *, error: float | None = None
    ) -> Certificate:
        """Return what is proved; ``error`` is the solution's own unless another model is measured by it."""
        return certify(
            self._solution,
            self._rules.pairs,
            error=self._solution.error if error is None else error,
            constant_error=self._rules.problem.points.constant_error,
            favorable=self._favorable,
            gamma=gamma,
            eta=eta,
            weighting=weighting,
        )

    def mean_answer_violation(self) -> float:
        """Return the weighted mean of the violation over all judgments that ask for something."""
        return float(self._rules.pairs.mean_answer_violation(self._favorable))

    def prices(self, gamma: float) -> pd.DataFrame:
        """Return the table of prices; judgments that no budget limits cost nothing."""
        problem = self._rules.problem
        multipliers = np.zeros(len(self._rules.pairs))
        multipliers[problem.source] = self._solution.multipliers.rows[: problem.n_pairs]
        return price_table(self._rules.pairs, multipliers, self._favorable, gamma)
