"""Running averages of the game's rounds, and the dual player's best reply to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.multipliers import Multipliers

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.problem import Problem


class Averages:
    """Averages over the rounds so far of multipliers, error, row values and slack."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._rounds = 0
        self.multipliers = Multipliers.zero(problem)
        self.error = 0.0
        self.values = np.zeros(len(problem))
        self.slack = np.zeros(len(problem))

    def add(self, at: Multipliers, error: float, values: FloatArray, slack: FloatArray) -> None:
        self._rounds += 1
        share = 1.0 / self._rounds
        self.multipliers = self.multipliers.towards(at, share)
        self.error += share * (error - self.error)
        self.values = self.values + share * (values - self.values)
        self.slack = self.slack + share * (slack - self.slack)

    def max_violation(self) -> float:
        return float(self.values[: self._problem.n_pairs].max(initial=0.0))

    def best_dual_value(self, lambda_bound: float, tau_bound: float) -> float:
        """``max L`` over the dual player's options, against the average of the primal player.

        All of ``lambda_bound`` goes on the row with the largest excess, if it has any (the paper's appendix has this
        condition the wrong way round), and ``tau_bound`` on each budget that is overspent.
        """
        excess = float((self.values - self.slack - self._problem.row_limits).max(initial=0.0))
        overspent = np.maximum(budgets_used(self._problem, self.slack) - budget_limits(self._problem), 0.0)
        return self.error + lambda_bound * excess + tau_bound * float(overspent.sum())


def budget_limits(problem: Problem) -> FloatArray:
    return np.array([budget.limit for budget in problem.soft_budgets], dtype=float)


def budgets_used(problem: Problem, slack: FloatArray) -> FloatArray:
    return np.array([budget.shares @ slack[budget.rows] for budget in problem.soft_budgets], dtype=float)
