"""Oracles, which answer "which classifier is cheapest for these costs?", and the choice of one by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.settings import FitSettings

if TYPE_CHECKING:  # whoever builds an oracle has its points; both know the base of all oracles
    from fairwise.learning.oracles.base import IntArray, Oracle
    from fairwise.learning.problem import Points


def make_oracle(
    settings: FitSettings, points: Points, columns: list[str], seed: int, judged: IntArray | None = None
) -> Oracle:
    """The oracle that ``estimator`` names, built for these points."""
    # Of numba and scikit-learn, which take long to load, each oracle loads what it needs itself.
    from fairwise.learning.oracles.base import n_labels

    if isinstance(settings.estimator, str) and points.column_order is not None:
        from fairwise.learning.oracles.column_order import ReorderedOracle

        order = points.column_order
        inside = replace(points, rows=np.ascontiguousarray(points.rows[:, order]), column_order=None)
        names = [columns[column] for column in order] if columns else []
        return ReorderedOracle(make_oracle(settings, inside, names, seed, judged), order, points.rows)
    labels = n_labels(points.error_cost)
    match settings.estimator:
        case "linear-regression":
            from fairwise.learning.oracles.linear import RegressionOracle

            return RegressionOracle(points.rows, points.multiplicity, labels)
        case "linear":
            from fairwise.learning.oracles.descent import DescentOracle

            return DescentOracle(points.rows, points.multiplicity, points.error_cost, labels, judged)
        case "tree":
            from fairwise.learning.oracles.tree import TreeOracle

            return TreeOracle(points.rows, points.error_cost, settings.max_depth, settings.max_thresholds, columns)
        case estimator:
            from fairwise.learning.oracles.scikit_learn import ScikitLearnOracle

            return ScikitLearnOracle(points.rows, points.error_cost, estimator, seed)
