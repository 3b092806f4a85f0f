"""Prices on the constraints, and the bound they prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.problem import Problem


@dataclass(frozen=True, eq=False)
class Multipliers:
    """All are >= 0: one for each row (the paper's lambda), one for each soft budget (its tau)."""

    rows: FloatArray
    budgets: FloatArray

    @classmethod
    def zero(cls, problem: Problem) -> Multipliers:
        return cls(np.zeros(len(problem)), np.zeros(len(problem.soft_budgets)))

    def towards(self, other: Multipliers, share: float) -> Multipliers:
        """``(1 - share) * self + share * other``."""
        return Multipliers(
            (1 - share) * self.rows + share * other.rows, (1 - share) * self.budgets + share * other.budgets
        )

    def slack_cost(self, problem: Problem) -> FloatArray:
        """``(K,)`` cost of one unit of slack on a row: ``sum_b tau_b shares_b - lambda``, +inf on hard rows."""
        cost = -self.rows
        for value, budget in zip(self.budgets, problem.soft_budgets, strict=True):
            cost[budget.rows] += value * budget.shares
        cost[problem.hard] = np.inf
        return cost


def lagrangian_bound(problem: Problem, at: Multipliers, cheapest: float) -> float:
    """Lagrangian dual value at ``at``, a lower bound on the optimum where ``cheapest`` is a true minimum.

    ::

        LB = min_h [err(h) + s sum lambda_ij (h_i - h_j)]              (= cheapest)
             + sum_ij min(0, sum_b tau_b shares_bij - lambda_ij)
             - sum lambda_ij limit_ij - sum_b tau_b limit_b

    over all rows, where a pair's limit is gamma.
    """
    slack = float(np.minimum(at.slack_cost(problem), 0.0).sum())
    limits = sum(value * b.limit for value, b in zip(at.budgets, problem.soft_budgets, strict=True))
    return cheapest + slack - float(at.rows @ problem.row_limits) - float(limits)
