"""Statistical rules as rows of the same form as pairs: fairlearn's moments, read as ``G h <= b``."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.constraints.pairs import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class GroupRows:
    """``matrix @ h <= limits`` for labels ``h`` of ``n`` people: one row per rule, group and direction.

    ``matrix`` is ``(Q, n)`` and dense: a rate of a group is a mean over all its people.
    """

    names: list[str]
    matrix: FloatArray
    limits: FloatArray

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_moments(
        cls,
        moments: Sequence[Any],
        table: pd.DataFrame,
        labels: IntArray,
        sensitive_features: Any,
    ) -> GroupRows:
        """Rows of fairlearn's moments for these people.

        A moment's ``gamma`` is affine in the labels. Its slope in row ``q`` is minus its signed weights for a
        multiplier of 1 on ``q`` alone, over ``n``; its constant is ``gamma`` of the classifier that always says 0.
        """
        names: list[str] = []
        rows: list[FloatArray] = []
        limits: list[float] = []
        outcome = pd.Series(labels, index=table.index)
        for moment in moments:
            loaded = copy.deepcopy(moment)
            with warnings.catch_warnings():  # fairlearn's own, about pandas' next version; nothing a user could do
                warnings.simplefilter("ignore", DeprecationWarning)
                loaded.load_data(table, outcome, sensitive_features=sensitive_features)
            at_zero = loaded.gamma(lambda people: np.zeros(len(people)))
            bound = loaded.bound()
            for key in loaded.index:
                alone = pd.Series(0.0, index=loaded.index)
                alone[key] = 1.0
                rows.append(-np.asarray(loaded.signed_weights(alone), dtype=float) / len(table))
                limits.append(float(bound[key] - at_zero[key]))
                names.append(f"{type(moment).__name__} {' '.join(str(part) for part in key)}")
        return cls(names, np.array(rows), np.array(limits))

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Least and greatest value of each row over all labels."""
        return np.minimum(self.matrix, 0.0).sum(axis=1), np.maximum(self.matrix, 0.0).sum(axis=1)

    def folded(self, point: IntArray, n_points: int) -> GroupRows:
        """The same rows on points, where person ``i`` is at ``point[i]``."""
        matrix = np.array([np.bincount(point, row, minlength=n_points) for row in self.matrix])
        return GroupRows(self.names, matrix, self.limits)


def checked_moments(moments: Any) -> list[Any]:
    """A list of fairlearn's parity moments; anything else is refused with what is allowed."""
    if moments is None:
        return []
    from fairlearn.reductions import UtilityParity

    listed = list(moments) if isinstance(moments, list | tuple) else [moments]
    for moment in listed:
        if not isinstance(moment, UtilityParity):
            raise InputError(
                f"group_constraints: {moment!r} is not allowed. Give fairlearn's parity moments, such as "
                "[FalsePositiveRateParity(difference_bound=0.02)]: DemographicParity, TruePositiveRateParity, "
                "FalsePositiveRateParity, EqualizedOdds, ErrorRateParity."
            )
    return listed
