"""Oracles, which answer "which classifier is cheapest for these costs?", and the choice of one by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.learning.settings import DEEPEST_PROVEN, FitSettings

if TYPE_CHECKING:  # whoever builds an oracle has its points; both know the base of all oracles
    from fairwise.learning.oracles.base import IntArray, Oracle
    from fairwise.learning.problem import Points


def make_oracle(
    settings: FitSettings, points: Points, columns: list[str], seed: int, judged: IntArray | None = None
) -> Oracle:
    """The oracle that ``estimator`` names, built for these points."""
    # numba takes most of a second to load
    from fairwise.learning.oracles import deep_tree, descent, linear, scikit_learn, tree
    from fairwise.learning.oracles.base import n_labels

    labels = n_labels(points.error_cost)
    depth, most = settings.max_depth, settings.max_thresholds
    match settings.estimator:
        case "linear-regression":
            return linear.RegressionOracle(points.rows, points.multiplicity, labels)
        case "linear":
            return descent.DescentOracle(points.rows, points.multiplicity, points.error_cost, labels, judged)
        case "tree" if depth > DEEPEST_PROVEN:
            return deep_tree.DeepTreeOracle(points.rows, depth, most, columns, n_labels=labels)
        case "tree":
            return tree.TreeOracle(points.rows, points.error_cost, depth, most, columns)
        case estimator:
            return scikit_learn.ScikitLearnOracle(points.rows, points.error_cost, estimator, seed)
