"""The problem a solver is given: points with costs, ordered pairs, gamma and budgets. Nothing in it ever changes.

Notation (``docs/notation.md`` maps every letter)::

    minimise    err(D)                              over distributions D on classifiers, and slack
    subject to  r_i - r_j <= gamma + slack_ij                    for every ordered pair in force
                G E_D[h] <= b                                    for every statistical rule
                sum shares_ij slack_ij <= limit                  for every budget
                0 <= slack_ij <= 1

where ``r_i = E_D[value of the label h_i]`` is how well person ``i`` is treated. Of two labels ``r_i - r_j`` is
``s (E_D[h_i] - E_D[h_j])`` with ``s = +1`` where label 1 is favourable and ``s = -1`` where label 0 is; of more it is
linear in the probabilities of labels as well. Both kinds of rule are rows of one form: a value that is linear in the
labels, and a limit. Pairs come first, statistical rules behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from fairwise.constraints.groups import GroupRows
from fairwise.constraints.pairs import Budget, PairRows, adjoint_differences
from fairwise.learning.oracles.base import (
    Classifiers,
    FloatArray,
    IntArray,
    LabelArray,
    RowValues,
    point_slices,
    total_costs,
)

NO_BUDGET = 1.0  # the mean excess of a panel is never above it, so it limits nothing


@dataclass(frozen=True, eq=False)
class Points:
    """The rows classifiers are asked about, with what each costs.

    ``err(h) = error_offset + total_costs(h, error_cost)``, where ``error_cost[p]`` sums ``w_i (loss(y_i, label) -
    loss(y_i, 0))`` of every other label over the people ``i`` at that point, their weights ``w`` adding to 1, and the
    offset sums ``w_i loss(y_i, 0)``. For two labels and a loss of 1 for an error these are ``w_i (1 - 2 y_i)`` and
    ``w_i y_i``.
    """

    rows: Any
    """``(P, d)`` encoded matrix (or a table, where a pipeline does its own encoding)."""

    error_cost: FloatArray
    """``(P,)`` for two labels, ``(P, k - 1)`` for more."""

    error_offset: float

    multiplicity: FloatArray
    """Weight of the people at each point: how often a repeated row stands in the table."""

    elsewhere: FloatArray | float = 0.0
    """What people cost who are not among the points, of each label but the first: those of a table read in blocks."""

    unit: float = 1.0
    """The largest cost of a label for one person."""

    in_units: Points | None = None
    """The same with costs in this unit; None where it is 1."""

    column_order: IntArray | None = None
    """The columns that differ, in an order that does not depend on where they stand; None for as they stand."""

    def times(self, unit: float) -> Points:
        """The same where everything costs so many times as much."""
        if unit == 1.0:
            return self
        cost, offset = self.error_cost * unit, self.error_offset * unit
        return replace(self, error_cost=cost, error_offset=offset, unit=unit, in_units=self)

    @property
    def constant_error(self) -> float:
        """Error of the best of the classifiers that give everyone one label."""
        return self.error_offset + min(0.0, float(np.min(self.error_cost.sum(axis=0) + self.elsewhere)))

    def errors(self, labels: LabelArray) -> FloatArray:
        """Error ``(t,)`` of classifiers with labels ``(t, P)``."""
        return self.error_offset + total_costs(labels, self.error_cost)


@dataclass(frozen=True, eq=False)
class Problem:
    """Points, the ordered pairs that some budget limits, statistical rules, gamma, and the budgets.

    Attributes
    ----------
    judged
        ``(m,)`` where each judged person is among the points.
    reference, owed
        ``(K,)`` positions in ``judged``; only pairs that belong to a budget are here.
    source
        ``(K,)`` which row of the full :class:`PairRows` each is.
    sign
        The letter ``s`` above, of two labels.
    label_values
        ``(k,)`` how good each label is, in [0, 1]; None where there are two and ``sign`` says which is 1.
    """

    points: Points
    judged: IntArray
    reference: IntArray
    owed: IntArray
    source: IntArray
    sign: float
    gamma: float
    budgets: tuple[Budget, ...]
    groups: GroupRows | None = None
    allowance: FloatArray | None = None
    """``(len(self),)`` how far above its limit each row may be besides; None for nowhere."""

    label_values: FloatArray | None = None

    @classmethod
    def build(
        cls,
        points: Points,
        judged: IntArray,
        rows: PairRows,
        budgets: Sequence[Budget],
        *,
        sign: float,
        gamma: float,
        groups: GroupRows | None = None,
        label_values: FloatArray | None = None,
    ) -> Problem:
        limited = np.zeros(len(rows), dtype=bool)
        for budget in budgets:
            limited[budget.rows] = True
        source = np.flatnonzero(limited)
        position = np.cumsum(limited) - 1
        return cls(
            points=points,
            judged=judged,
            reference=rows.reference[source],
            owed=rows.owed[source],
            source=source,
            sign=sign,
            gamma=gamma,
            budgets=tuple(replace(budget, rows=position[budget.rows]) for budget in budgets),
            groups=groups,
            label_values=label_values,
        )

    def __len__(self) -> int:
        """How many rows there are, of both kinds."""
        return self.n_pairs + (0 if self.groups is None else len(self.groups))

    @property
    def has_rules(self) -> bool:
        """Whether anything is limited."""
        panel_alone = len(self.budgets) == 1 and self.budgets[0].limit == NO_BUDGET
        return len(self) > 0 and not (panel_alone and self.groups is None)

    @property
    def scaled(self) -> Problem:
        """The problem with costs in units of the largest, in which tolerances of solvers mean the same for all."""
        points = self.points.in_units
        return self if points is None else replace(self, points=points)

    @property
    def is_plain(self) -> bool:
        """Whether there are two labels of the values 0 and 1, so that a pair differs by -1, 0 or 1."""
        return self.label_values is None and self.points.error_cost.ndim == 1

    @property
    def n_pairs(self) -> int:
        """The letter ``K``."""
        return len(self.reference)

    @cached_property
    def row_limits(self) -> FloatArray:
        """What each row's value may be at most, before slack: gamma for pairs, ``b`` for statistical rules."""
        limits = np.full(self.n_pairs, self.gamma)
        if self.groups is not None:
            limits = np.concatenate([limits, self.groups.limits])
        return limits if self.allowance is None else limits + self.allowance

    @property
    def gain_range(self) -> float:
        """Width of the interval that holds ``value - slack - limit`` of every row, and 0 (the letter ``R``)."""
        slack = 1.0 if self.soft_budgets else 0.0
        low, high = (-1.0 - slack - self.gamma, 1.0 - self.gamma) if self.n_pairs else (0.0, 0.0)
        if self.groups is not None:
            least, most = self.groups.extremes()
            low = min(low, float((least - self.groups.limits).min()))
            high = max(high, float((most - self.groups.limits).max()))
        return high - low

    @cached_property
    def hard(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether no slack is allowed on a row: it lies in a budget of 0, or is a statistical rule."""
        mask = np.zeros(len(self), dtype=bool)
        mask[self.n_pairs :] = True
        for budget in self.budgets:
            if budget.limit == 0:
                mask[budget.rows] = True
        return mask

    @property
    def soft_budgets(self) -> tuple[Budget, ...]:
        """The budgets that leave some slack."""
        return tuple(budget for budget in self.budgets if budget.limit > 0)

    def at(self, gamma: float, limits: Sequence[float] | None = None) -> Problem:
        """The same problem with another gamma, and other limits of its budgets in order."""
        budgets = self.budgets
        if limits is not None:
            budgets = tuple(replace(b, limit=limit) for b, limit in zip(budgets, limits, strict=True))
        return replace(self, gamma=gamma, budgets=budgets)

    def at_point(self, gamma: float, eta: float | None) -> Problem:
        """The same problem with another gamma and eta; the panel's budget is the first."""
        panel, *others = self.budgets
        limit = NO_BUDGET if eta is None else eta
        return replace(self, gamma=gamma, budgets=(replace(panel, limit=limit), *others))

    def loosened_to(self, values: FloatArray) -> Problem:
        """The same problem with every rule loosened as far as a model with these row values breaks it."""
        over = np.maximum(values - self.row_limits, 0.0)
        used = [max(b.limit, float(b.shares @ over[b.rows])) if b.limit > 0 else 0.0 for b in self.budgets]
        return replace(self.at(self.gamma, used), allowance=np.where(self.hard, over, 0.0))

    def differences(self, judged_labels: RowValues) -> RowValues:
        """``r_i - r_j`` for every pair; labels, or of two labels probabilities, ``(t, m)`` give ``(t, K)``."""
        if self.label_values is not None:
            treated = self.label_values[judged_labels]
            return np.asarray(treated[:, self.reference] - treated[:, self.owed])
        values = judged_labels.astype(np.int8) if judged_labels.dtype == np.uint8 else judged_labels
        gaps: RowValues = values[:, self.reference] - values[:, self.owed]
        return -gaps if self.sign < 0 else gaps

    def cost(self, multipliers: FloatArray) -> FloatArray:
        """Cost of the labels of every point, like ``error_cost``: that of errors plus that of the rows (Algorithm 1).

        A person to whom multipliers come to ``l`` pays ``l`` times the value of their label, less that of label 0.
        """
        total = self.points.error_cost.copy()
        pairs = (
            multipliers[: self.n_pairs] if self.label_values is not None else self.sign * multipliers[: self.n_pairs]
        )
        on_people = adjoint_differences(pairs, self.reference, self.owed, len(self.judged))
        if self.label_values is not None:
            steps = self.label_values[1:] - self.label_values[0]
            on_people = on_people * steps if total.ndim == 1 else np.outer(on_people, steps)
        np.add.at(total, self.judged, on_people)
        return total if self.groups is None else total + self.groups.adjoint(multipliers[self.n_pairs :])

    def favorable(self, probability: FloatArray) -> FloatArray:
        """How well people are treated ``(n,)``, from the probabilities of labels as :class:`Mixture` has them."""
        if self.label_values is None:
            return probability if self.sign > 0 else 1.0 - probability
        return mean_value(probability, self.label_values)

    def evaluate(self, classifiers: Classifiers) -> tuple[FloatArray, RowValues]:
        """Errors ``(k,)`` and the value of every row ``(k, len(self))`` for some classifiers.

        Of two labels pair differences are -1, 0 or 1 and kept as bytes, unless there are statistical rules beside them.
        """
        rows = self.points.rows
        by_position = rows.iloc if hasattr(rows, "iloc") else rows
        return self._evaluate(lambda part: classifiers.labels(by_position[part]), len(classifiers))

    def observe(self, classifier: Classifiers) -> tuple[float, RowValues, bytes]:
        """Error and row values ``(len(self),)`` of one classifier, and a key that it shares with its like."""
        labels = classifier.labels(self.points.rows)
        errors, values = self.evaluate_labels(labels)
        return float(errors[0]), values[0], blake2b(labels.tobytes(), digest_size=16).digest()  # games keep very many

    def evaluate_labels(self, labels: LabelArray) -> tuple[FloatArray, RowValues]:
        """The same from the labels ``(k, P)`` of all points."""
        return self._evaluate(lambda part: labels[:, part], len(labels))

    def _evaluate(self, labels_of: Callable[[slice], LabelArray], n_classifiers: int) -> tuple[FloatArray, RowValues]:
        """Evaluate labels of some points at a time, so that those of all are never in memory together."""
        errors = np.full(n_classifiers, self.points.error_offset)
        of_groups = np.zeros((n_classifiers, len(self) - self.n_pairs))
        judged = np.empty((n_classifiers, len(self.judged)), dtype=np.uint8)
        for part in point_slices(len(self.points.error_cost), n_classifiers):
            labels = labels_of(part)
            errors += total_costs(labels, self.points.error_cost[part])
            inside = np.flatnonzero((part.start <= self.judged) & (self.judged < part.stop))
            judged[:, inside] = labels[:, self.judged[inside] - part.start]
            if self.groups is not None:
                of_groups += self.groups.values(labels, part)
        pairs = self.differences(judged)
        return errors, pairs if self.groups is None else np.concatenate([pairs, of_groups], axis=1)


def mean_value(probability: FloatArray, label_values: FloatArray) -> FloatArray:
    """``sum_k P(label k) value_k`` ``(n,)``, from the probabilities of all labels but the first ``(n, k - 1)``.

    Added label by label, so that it is the same in any batch.
    """
    total = np.full(len(probability), label_values[0])
    for value, column in zip(
        label_values[1:], probability.reshape(len(probability), len(label_values) - 1).T, strict=True
    ):
        total += (value - label_values[0]) * column
    return np.asarray(np.clip(total, 0.0, 1.0))
