"""An oracle for which the order of the columns does not matter.

Where classifiers cost the same, a search takes the first, and sums of numbers round in the order in which they are
added. So the oracle inside gets the columns in an order that follows from what they hold
(:func:`~fairwise.learning.deduplication.column_order`), without those that are the same for everyone. Its answers
are translated to the columns of the table. Their labels are those that the translated classifiers give: where a score
is nothing but rounding, its sign depends on the order in which its parts are added.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray, Oracle
from fairwise.learning.oracles.linear import LinearClassifiers, RegressionTerms
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.problem import Problem


class ReorderedOracle(Oracle):
    """Answers of ``oracle``, which was built for ``rows[:, columns]``, as classifiers of ``rows`` ``(P, d)``."""

    def __init__(self, oracle: Oracle, columns: IntArray, rows: FloatArray) -> None:
        self.exact, self.cheap, self.is_regression = oracle.exact, oracle.cheap, oracle.is_regression
        self.hypothesis_class, self.plain_class = oracle.hypothesis_class, oracle.plain_class
        self.n_variations, self.variation_rounds = oracle.n_variations, oracle.variation_rounds
        self.max_iter, self.seed_rounds = oracle.max_iter, oracle.seed_rounds
        self._oracle, self._columns, self._rows = oracle, columns, rows

    def constants(self) -> Classifiers:
        return self._translated(self._oracle.constants())

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        return self._translated(self._oracle.best_response(cost, self._inside(warm)))

    def best_responses(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        return self._translated(self._oracle.best_responses(cost, self._inside(warm)))

    def variations(self, cost: FloatArray, below: float, most: int) -> tuple[Classifiers, LabelArray] | None:
        varied = self._oracle.variations(cost, below, most)
        if varied is None:
            return None
        found = self._translated(varied[0])
        return found, found.labels(self._rows)

    def plain_model(self, error_cost: FloatArray) -> Classifiers | None:
        plain = self._oracle.plain_model(error_cost)
        return None if plain is None else self._translated(plain)

    def regression_terms(self, problem: Problem) -> RegressionTerms | None:
        terms = self._oracle.regression_terms(problem)
        if terms is None:
            return None
        rows = np.ascontiguousarray(terms.judged_rows[:, self._columns])
        return replace(terms, judged_rows=rows, columns=self._columns, n_columns=self._rows.shape[1])

    def _inside(self, warm: Classifiers | None) -> Classifiers | None:
        """Good classifiers to start from; an exhaustive search over trees needs none."""
        return warm.over(self._columns) if isinstance(warm, LinearClassifiers) else None

    def _translated(self, inside: Classifiers) -> Classifiers:
        assert isinstance(inside, LinearClassifiers | TreeClassifiers), "oracles of an encoded matrix"
        return inside.placed(self._columns, self._rows.shape[1])
