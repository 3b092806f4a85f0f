"""Any scikit-learn classifier as an oracle: label ``[c1 < c0]``, weight ``|c1 - c0|``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray


@dataclass(frozen=True, eq=False)
class FittedClassifiers:
    """Fitted scikit-learn classifiers; a plain 0 or 1 stands for the classifier that always says so."""

    members: list[Any]

    def __len__(self) -> int:
        return len(self.members)

    def labels(self, rows: Any) -> LabelArray:
        found = np.empty((len(self.members), len(rows)), dtype=np.uint8)
        for position, member in enumerate(self.members):
            found[position] = member if isinstance(member, int) else member.predict(rows)
        return found

    def take(self, which: IntArray) -> FittedClassifiers:
        return FittedClassifiers([self.members[position] for position in which])

    def joined(self, other: FittedClassifiers) -> FittedClassifiers:
        return FittedClassifiers([*self.members, *other.members])

    def state(self) -> dict[str, Any]:
        return {"members": self.members}


class WeightedOracle:
    """Fits a clone of ``estimator`` to each cost vector.

    An estimator without ``sample_weight`` gets a sample of the rows instead, drawn with probabilities proportional to
    the weights from a fixed seed, so that the same costs always give the same classifier.
    """

    exact = False

    def __init__(self, rows: Any, estimator: Any, seed: int = 0) -> None:
        if not (hasattr(estimator, "fit") and hasattr(estimator, "predict") and hasattr(estimator, "get_params")):
            raise InputError(
                f"estimator={estimator!r} is not a scikit-learn classifier (it needs fit, predict and get_params). "
                'Allowed are "linear", "linear-regression", "tree", or such a classifier or Pipeline.'
            )
        self._rows = rows
        self._estimator = _seeded(estimator, seed)
        self._seed = seed
        self._weight_name = _weight_name(estimator)
        self.hypothesis_class = f"{type(estimator).__name__}, by cost-weighted fits"

    def constants(self) -> FittedClassifiers:
        return FittedClassifiers([0, 1])

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> FittedClassifiers:  # noqa: ARG002
        label = (cost < 0).astype(np.intp)
        weight = np.abs(cost)
        counted = np.flatnonzero(weight > 0)
        if len(np.unique(label[counted])) < 2:
            return FittedClassifiers([int(label[counted[0]]) if len(counted) else 0])
        chosen, weights = counted, weight[counted] * (len(counted) / weight[counted].sum())
        if self._weight_name is None:
            draw = np.random.default_rng(self._seed)
            chosen = np.sort(draw.choice(counted, size=len(counted), p=weights / weights.sum()))
            if len(np.unique(label[chosen])) < 2:
                return FittedClassifiers([int(label[chosen[0]])])
        rows = self._rows.iloc[chosen] if hasattr(self._rows, "iloc") else self._rows[chosen]
        fitted = clone(self._estimator)
        fitted.fit(rows, label[chosen], **({self._weight_name: weights} if self._weight_name else {}))
        return FittedClassifiers([fitted])


def _weight_name(estimator: Any) -> str | None:
    """Under which name ``fit`` takes sample weights; None where it takes none."""
    if isinstance(estimator, Pipeline):
        last, model = estimator.steps[-1]
        return f"{last}__sample_weight" if has_fit_parameter(model, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _seeded(estimator: Any, seed: int) -> Any:
    """A clone whose open random states are fixed: the same costs must give the same classifier."""
    fixed = clone(estimator)
    states = [name for name in fixed.get_params() if name == "random_state" or name.endswith("__random_state")]
    return fixed.set_params(**{name: seed for name in states if fixed.get_params()[name] is None})
