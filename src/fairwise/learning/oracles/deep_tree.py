"""Best responses over deeper decision trees, by the dynamic programme of the optional package ``pystreed``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

import numpy as np

from fairwise.errors import InputError
from fairwise.extras import require
from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle, by_label, total_costs
from fairwise.learning.oracles.tree import TreeOracle, affordable, whole_number
from fairwise.learning.oracles.tree_classifiers import Grown, TreeClassifiers
from fairwise.learning.settings import MaxThresholds

_DEEPEST = 8
_TOTAL = 1e6
"""What the costs given to the package add up to."""


class DeepTreeOracle(Oracle):
    """A decision tree of nearly least cost, searched for within a time limit.

    It is never ``exact``, even where the search ends in time: whatever the scale, the package takes a
    solution within a factor of 1 + 1e-4 of a bound for optimal, and so may miss the least cost in the fifth
    digit. Up to depth 4, :class:`~fairwise.learning.oracles.tree.TreeOracle` is faster and proves what it
    finds; this is for the depths beyond. A response is never worse than the best tree of depth 3.

    Parameters
    ----------
    features, max_thresholds, feature_names
        As for :class:`~fairwise.learning.oracles.tree.TreeOracle`.
    max_depth
        1 to 8; every level takes some twenty times longer (on COMPAS depth 4: 2.5 s, depth 5: 45 s).
    time_limit
        Seconds for one response.
    """

    exact = False
    cheap = False

    finished: bool
    """Whether every search so far ended before its time limit."""

    def __init__(
        self,
        features: FloatArray,
        max_depth: int = 4,
        max_thresholds: MaxThresholds = None,
        feature_names: Sequence[str] | None = None,
        time_limit: float = 60.0,
        n_labels: int = 2,
    ) -> None:
        self.max_depth = whole_number("max_depth", max_depth, _DEEPEST)
        if not 0 < time_limit < math.inf:
            raise InputError(f"time_limit is a number of seconds above 0, not {time_limit!r}")
        _package()
        self.time_limit, self.finished = float(time_limit), True
        no_cost = np.zeros((len(features), n_labels - 1))
        most = affordable(features, self.max_depth, n_labels) if max_thresholds == "auto" else max_thresholds
        self._shallow = TreeOracle(features, no_cost, min(self.max_depth, 3), most, feature_names)
        self._inside = self._shallow.splits.inside(self._shallow.features).astype(np.intc)
        self.hypothesis_class = self._shallow.hypothesis_class.replace(
            f"depth {self._shallow.max_depth}", f"depth {self.max_depth}"
        )

    def constants(self) -> TreeClassifiers:
        return self._shallow.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> TreeClassifiers:
        """The tree that the search found, or that of depth 3 if it is cheaper."""
        shallow = self._shallow.best_response(cost, warm)
        cost = np.asarray(cost, dtype=np.float64)
        scale = float(np.abs(cost).sum())
        if scale == 0.0 or not len(self._shallow.splits):
            return shallow
        deep = self._shallow.splits.classifiers([self._search(cost / scale)], self.max_depth)
        both = shallow.joined(deep)
        values = total_costs(both.labels(self._shallow.features), cost)
        return both.take(np.array([values.argmin()]))

    def _search(self, cost: FloatArray) -> Grown:
        model = _package().STreeDInstanceCostSensitiveClassifier(self.max_depth, time_limit=self.time_limit)
        costs = by_label(cost)
        charges = _TOTAL * (costs - costs.min(axis=1, keepdims=True))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No feasible tree found", UserWarning)
            model.fit(self._inside, charges)
        if not model.is_fitted():
            self.finished = False
            return 0
        self.finished &= bool(model.fit_result.is_optimal())
        return _grown(model.get_tree())


def _grown(node: Any) -> Grown:
    if node.is_leaf_node():
        return int(node.label)
    return int(node.feature), _grown(node.right_child), _grown(node.left_child)


def _package() -> ModuleType:
    require("trees", "A tree beyond depth 4")
    import pystreed  # an extra, and slow to import

    return cast("ModuleType", pystreed)
