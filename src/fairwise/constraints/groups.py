"""Statistical rules as rows of the same form as pairs: fairlearn's moments, read as ``G h <= b``."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairlearn.reductions import UtilityParity

    from fairwise.constraints.pairs import FloatArray, IntArray


_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class GroupRows:
    """``matrix @ h <= limits`` for labels ``h`` of ``n`` people or points: one row per rule, group and direction.

    ``matrix`` is ``(Q, n)`` and dense: a rate of a group is a mean over all its people. Of ``k > 2`` labels it is
    ``(Q, n, k - 1)``, what each label but the first adds.
    """

    names: list[str]
    matrix: FloatArray
    limits: FloatArray
    bounds: FloatArray
    """``(Q,)`` the limits as they were given, of the rules themselves and in their units."""
    units: FloatArray | float = 1.0
    """``(Q,)`` how many units of its rule one unit of a row is."""
    always_kept: bool = True
    """Whether some mixture of constants keeps them all."""
    rounding: FloatArray | float = 0.0
    """``(Q,)`` of amounts: by how much rounding to their grid raises each row, at most."""

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_moments(
        cls,
        moments: Sequence[UtilityParity],
        table: pd.DataFrame,
        labels: IntArray,
        sensitive_features: ArrayLike | None,
        weights: FloatArray | None = None,
        *,
        point: IntArray | None = None,
        n_points: int | None = None,
    ) -> GroupRows:
        """Rows of fairlearn's moments for ``n`` people, each of whom counts by their weight (1 if none are given).

        For event ``e`` and group ``g``, with ``u`` the moment's utility and ``rho`` its ratio (1 for differences)::

            +:  rho E[u(h) | e, g] - E[u(h) | e] <= bound
            -:  rho E[u(h) | e] - E[u(h) | e, g] <= bound

        where ``E`` are weighted means, so that a weight of 2 is the same as standing in the table twice. With ``point``
        ``(n,)`` the rows are about the labels of points, person ``i`` being at ``point[i]``. Weights are added up
        before anything is divided: whole numbers give the very same rows as people who are repeated.
        """
        weights = np.ones(len(labels)) if weights is None else weights
        counted = np.flatnonzero(weights > 0)  # a group of nobody has no rate
        mass = weights[counted]
        at = (np.arange(len(labels)) if point is None else point)[counted]
        size = len(labels) if n_points is None else n_points
        people = table.iloc[counted]
        outcome, groups = labels[counted], np.asarray(sensitive_features)[counted]
        names: list[str] = []
        rows: list[FloatArray] = []
        limits: list[float] = []
        bounds: list[float] = []
        for moment in moments:
            first, kind = _kinds(moment, outcome, groups)
            loaded = _load(moment, people.iloc[first], outcome[first], groups[first])
            event, group = loaded.tags["event"].to_numpy(), loaded.tags["group_id"].to_numpy()
            at_zero, at_one = loaded.utilities[kind].T
            slope, bounds_of_moment = at_one - at_zero, loaded.bound()
            for sign, of_event, of_group in loaded.index:
                everyone = np.where((event == of_event)[kind], mass, 0.0)
                members = np.where((group == of_group)[kind], everyone, 0.0)
                more, less = (members, everyone) if sign == "+" else (everyone, members)
                upper, lower = loaded.ratio / more.sum(), 1.0 / less.sum()
                slopes = [np.bincount(at, part * slope, minlength=size) for part in (more, less)]
                rows.append(upper * slopes[0] - lower * slopes[1])
                constant = upper * (more @ at_zero) - lower * (less @ at_zero)
                bounds.append(float(bounds_of_moment[sign, of_event, of_group]))
                limits.append(float(bounds[-1] - constant))
                names.append(f"{type(moment).__name__} {sign} {of_event} {of_group}")
        return cls(names, np.array(rows).reshape(len(rows), size), np.array(limits), np.array(bounds))

    def values(self, labels: NDArray[np.uint8], part: slice = _ALL) -> FloatArray:
        """Return what labels ``(t, n)`` of these people or points, all by default, add to every rule ``(t, Q)``."""
        matrix = self.matrix[:, part]
        if matrix.ndim == 2:
            return np.asarray(labels.astype(float) @ matrix.T)
        parts = ((labels == j + 1).astype(float) @ matrix[:, :, j].T for j in range(matrix.shape[2]))
        return np.asarray(sum(parts))

    def in_rule_units(self, values: FloatArray, multipliers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values, limits and multipliers ``(Q,)`` of the rows in the units of the rules.

        A row is a rule less what label 0 gives, in units of its own; how far it is from its limit needs only these.
        """
        at_first = self.bounds - self.units * self.limits  # the rules' values where everyone has label 0
        return self.units * values + at_first, self.bounds, multipliers / self.units

    def adjoint(self, multipliers: FloatArray) -> FloatArray:
        """Return the costs of labels, ``(n,)`` or ``(n, k - 1)``, under multipliers ``(Q,)``."""
        if self.matrix.ndim == 2:
            return np.asarray(multipliers @ self.matrix)
        return np.tensordot(multipliers, self.matrix, axes=1)

    def renamed(self, prefix: str) -> GroupRows:
        """Return the same rows with a prefix before their names."""
        return replace(self, names=[f"{prefix}{name}" for name in self.names])

    def about_label(self, label: int, n_labels: int) -> GroupRows:
        """These rows about ``h = [the label is this one]``, as rows about all ``k`` labels."""
        if label > 0:
            matrix = np.zeros((*self.matrix.shape, n_labels - 1))
            matrix[:, :, label - 1] = self.matrix
            limits = self.limits
        else:  # what is not label 0 is one of the others
            matrix = np.repeat(-self.matrix[:, :, None], n_labels - 1, axis=2)
            limits = self.limits - self.matrix.sum(axis=1)
        return replace(self, matrix=matrix[:, :, 0] if n_labels == 2 else matrix, limits=limits)

    def about_values(self, values: FloatArray) -> GroupRows:
        """These rows about ``h = value of the label`` ``(k,)`` instead of 0 or 1, as rows about all labels."""
        matrix = self.matrix[:, :, None] * (values[1:] - values[0])
        limits = self.limits - values[0] * self.matrix.sum(axis=1)
        return replace(self, matrix=matrix[:, :, 0] if len(values) == 2 else matrix, limits=limits)

    @classmethod
    def joined(cls, parts: Sequence[GroupRows]) -> GroupRows:
        """All rows of these, in their order."""
        return cls(
            [name for part in parts for name in part.names],
            np.concatenate([part.matrix for part in parts]),
            np.concatenate([part.limits for part in parts]),
            np.concatenate([part.bounds for part in parts]),
            np.concatenate([np.broadcast_to(part.units, len(part)) for part in parts]),
            all(part.always_kept for part in parts),
        )

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Least and greatest value of each row over all labels."""
        matrix = self.matrix if self.matrix.ndim == 3 else self.matrix[:, :, None]
        return np.minimum(matrix.min(axis=2), 0.0).sum(axis=1), np.maximum(matrix.max(axis=2), 0.0).sum(axis=1)


def _kinds(moment: UtilityParity, outcome: IntArray, groups: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """One person of each kind that a moment tells apart, by position, and of which kind everyone ``(n,)`` is.

    Fairlearn's own look at outcomes and groups alone. What others look at is theirs to know: everyone is a kind.
    """
    if not type(moment).__module__.startswith("fairlearn."):
        return np.arange(len(outcome)), np.arange(len(outcome))
    number, names = pd.factorize(groups, use_na_sentinel=False)
    _, first, kind = np.unique(outcome * len(names) + number, return_index=True, return_inverse=True)
    return first, kind


def _load(
    moment: UtilityParity, table: pd.DataFrame, outcome: IntArray, sensitive_features: NDArray[Any]
) -> UtilityParity:
    loaded = copy.deepcopy(moment)
    people, labels, groups = table.reset_index(drop=True), pd.Series(outcome), pd.Series(sensitive_features)
    with warnings.catch_warnings():  # fairlearn's own, about pandas' next version; nothing a user could do
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded.load_data(people, labels, sensitive_features=groups)
    return loaded


VALUE = "value"
"""Stands for a label where a rule is about how well people are treated, unless a label is called so."""

Moments = dict[Any, list["UtilityParity"]]
"""Moments by the label that they are about; None: label 1 of two, of more every label in turn."""


def parity_moments(moments: object) -> Moments:
    """Fairlearn's parity moments, a list or a list for each label; anything else is refused with what is allowed."""
    if moments is None:
        return {}
    if not isinstance(moments, Mapping):
        listed = _listed(moments)
        return {None: listed} if listed else {}
    by_label = {label: _listed(some) for label, some in moments.items()}
    return {label: some for label, some in by_label.items() if some}


def _listed(moments: object) -> list[UtilityParity]:
    from fairlearn.reductions import UtilityParity  # slow to load, and few ask for it

    listed = list(moments) if isinstance(moments, list | tuple) else [moments]
    for moment in listed:
        if not isinstance(moment, UtilityParity):
            raise InputError(
                f"group_constraints: {moment!r} is not allowed. Give fairlearn's parity moments, such as "
                "[FalsePositiveRateParity(difference_bound=0.02)]: DemographicParity, TruePositiveRateParity, "
                "FalsePositiveRateParity, EqualizedOdds, ErrorRateParity."
            )
    return listed
