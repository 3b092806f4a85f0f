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
            loaded = _loaded(moment, table, outcome, sensitive_features)
            at_zero = loaded.gamma(lambda people: np.zeros(len(people)))
            bound = loaded.bound()
            for key in loaded.index:
                alone = pd.Series(0.0, index=loaded.index)
                alone[key] = 1.0
                rows.append(-np.asarray(loaded.signed_weights(alone), dtype=float) / len(table))
                limits.append(float(bound[key] - at_zero[key]))
                names.append(_name(moment, key))
        return cls(names, np.array(rows), np.array(limits))

    @classmethod
    def from_cells(
        cls, moments: Sequence[Any], labels: IntArray, sensitive_features: Sequence[str], people: FloatArray
    ) -> GroupRows:
        """The same rows on cells of ``people`` ``(C,)`` who share outcome and group; ``h`` is a share of each cell.

        For event ``e`` and group ``g``, with ``u`` the moment's utility and ``rho`` its ratio (1 for differences)::

            +:  rho E[u(h) | e, g] - E[u(h) | e] <= bound
            -:  rho E[u(h) | e] - E[u(h) | e, g] <= bound
        """
        there = np.flatnonzero(people > 0)
        counts = people[there]
        table = pd.DataFrame({"cell": there})
        groups = pd.Series(np.array(sensitive_features, dtype=object)[there])
        names: list[str] = []
        rows: list[FloatArray] = []
        limits: list[float] = []
        for moment in moments:
            loaded = _loaded(moment, table, pd.Series(labels[there]), groups)
            event, group = loaded.tags["event"].to_numpy(), loaded.tags["group_id"].to_numpy()
            at_zero, slope = loaded.utilities[:, 0], loaded.utilities[:, 1] - loaded.utilities[:, 0]
            for sign, of_event, of_group in loaded.index:
                everyone = np.where(event == of_event, counts, 0.0)
                group_only = np.where(group == of_group, everyone, 0.0)
                everyone, group_only = everyone / everyone.sum(), group_only / group_only.sum()
                more, less = (group_only, everyone) if sign == "+" else (everyone, group_only)
                weights = loaded.ratio * more - less
                row = np.zeros(len(people))
                row[there] = weights * slope
                rows.append(row)
                limits.append(float(loaded.eps - weights @ at_zero))
                names.append(_name(moment, (sign, of_event, of_group)))
        return cls(names, np.array(rows), np.array(limits))

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Least and greatest value of each row over all labels."""
        return np.minimum(self.matrix, 0.0).sum(axis=1), np.maximum(self.matrix, 0.0).sum(axis=1)

    def folded(self, point: IntArray, n_points: int) -> GroupRows:
        """The same rows on points, where person ``i`` is at ``point[i]``."""
        matrix = np.array([np.bincount(point, row, minlength=n_points) for row in self.matrix])
        return GroupRows(self.names, matrix, self.limits)


def _loaded(moment: Any, table: pd.DataFrame, outcome: pd.Series[Any], sensitive_features: Any) -> Any:
    loaded = copy.deepcopy(moment)
    with warnings.catch_warnings():  # fairlearn's own, about pandas' next version; nothing a user could do
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded.load_data(table, outcome, sensitive_features=sensitive_features)
    return loaded


def _name(moment: Any, key: Sequence[Any]) -> str:
    return f"{type(moment).__name__} {' '.join(str(part) for part in key)}"


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
