"""A solution measured on the judged people: what is certified about it, and what each judgment costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.certificate import certify
from fairwise.learning.mixture import Mixture
from fairwise.learning.prices import price_table

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.constraints.pairs import Weighting
    from fairwise.learning.certificate import Certificate
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.preparation import Rules
    from fairwise.learning.result import Solution


class Measured:
    """``probability`` is ``(m,)``, that of label 1 for the judged people; the solution's own mixture if not given."""

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

    def prices(self, gamma: float) -> pd.DataFrame:
        """Return the table of prices; judgments that no budget limits cost nothing."""
        problem = self._rules.problem
        multipliers = np.zeros(len(self._rules.pairs))
        multipliers[problem.source] = self._solution.multipliers.rows[: problem.n_pairs]
        return price_table(self._rules.pairs, multipliers, self._favorable, gamma)
