"""The problem a solver is given: points with costs, ordered pairs, gamma and budgets. Nothing in it ever changes.

Notation (``docs/notation.md`` maps every letter)::

    minimise    err(D)                              over distributions D on classifiers, and slack
    subject to  s (E_D[h_i] - E_D[h_j]) <= gamma + slack_ij      for every ordered pair in force
                sum shares_ij slack_ij <= limit                  for every budget
                0 <= slack_ij <= 1

with ``s = +1`` where label 1 is favourable and ``s = -1`` where label 0 is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.constraints.pairs import adjoint_differences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.constraints.budgets import Budget
    from fairwise.constraints.pairs import PairRows
    from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray


@dataclass(frozen=True, eq=False)
class Points:
    """The rows classifiers are asked about, with what each costs.

    ``err(h) = error_offset + error_cost @ h`` where ``error_cost[p]`` sums ``w_i (1 - 2 y_i)`` and the offset sums
    ``w_i y_i`` over the people ``i`` at that point, their weights ``w`` adding to 1.
    """

    rows: Any
    """``(P, d)`` encoded matrix (or a table, where a pipeline does its own encoding)."""

    error_cost: FloatArray
    error_offset: float

    multiplicity: FloatArray
    """Weight of the people at each point: how often a repeated row stands in the table."""

    def errors(self, labels: LabelArray) -> FloatArray:
        """Error ``(k,)`` of classifiers with labels ``(k, P)``."""
        return self.error_offset + labels.astype(float) @ self.error_cost


@dataclass(frozen=True, eq=False)
class Problem:
    """Points, the ordered pairs that some budget limits, gamma, and the budgets.

    Attributes
    ----------
    judged
        ``(m,)`` where each judged person is among the points.
    reference, owed
        ``(K,)`` positions in ``judged``; only pairs that belong to a budget are here.
    source
        ``(K,)`` which row of the full :class:`PairRows` each is.
    sign
        The letter ``s`` above.
    """

    points: Points
    judged: IntArray
    reference: IntArray
    owed: IntArray
    source: IntArray
    sign: float
    gamma: float
    budgets: tuple[Budget, ...]

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
        )

    def __len__(self) -> int:
        return len(self.reference)

    @cached_property
    def hard(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """``(K,)`` whether a row lies in a budget of 0, so that no slack is allowed on it."""
        mask = np.zeros(len(self), dtype=bool)
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

    def differences(self, judged_labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """``s (h_i - h_j)`` for every row; labels or probabilities ``(k, m)`` give ``(k, K)``."""
        values = judged_labels.astype(np.int8) if judged_labels.dtype == np.uint8 else judged_labels
        gaps: np.ndarray[Any, Any] = values[:, self.reference] - values[:, self.owed]
        return -gaps if self.sign < 0 else gaps

    def cost(self, multipliers: FloatArray) -> FloatArray:
        """Cost ``c1 - c0`` of every point ``(P,)``: that of errors plus that of pairs (Algorithm 1)."""
        total = self.points.error_cost.copy()
        on_people = adjoint_differences(self.sign * multipliers, self.reference, self.owed, len(self.judged))
        np.add.at(total, self.judged, on_people)
        return total

    def evaluate(self, classifiers: Classifiers) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.int8]]]:
        """Errors ``(k,)`` and signed pair differences ``(k, K)`` of some classifiers."""
        labels = classifiers.labels(self.points.rows)
        return self.points.errors(labels), self.differences(labels[:, self.judged])
