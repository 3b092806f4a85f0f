"""What solvers share: multipliers and the bound they prove, averages over rounds, and the solution they return."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray
from fairwise.learning.problem import Problem
from fairwise.results.certificate import Stopped

FEASIBLE = 1e-9  # to what precision linear programmes are solved


@dataclass(frozen=True, eq=False)
class Multipliers:
    """All are >= 0: one for each row (the paper's lambda), one for each soft budget (its tau)."""

    rows: FloatArray
    budgets: FloatArray

    @classmethod
    def zero(cls, problem: Problem) -> Multipliers:
        return cls(np.zeros(len(problem)), np.zeros(len(problem.soft_budgets)))

    def times(self, unit: float) -> Multipliers:
        """The same where errors cost so many times as much."""
        return Multipliers(self.rows * unit, self.budgets * unit)

    def towards(self, other: Multipliers, share: float) -> Multipliers:
        """``(1 - share) * self + share * other``."""
        return Multipliers(
            (1 - share) * self.rows + share * other.rows, (1 - share) * self.budgets + share * other.budgets
        )

    def same_as(self, other: Multipliers) -> bool:
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.budgets, other.budgets)

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


class RoundAverages:
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


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture, the multipliers that go with it, and what the solver can say about the distance to the optimum.

    ``bound`` is the Lagrangian value at the best multipliers seen. It is a proof only where ``exact`` is true, that
    is where every oracle call behind it was a proven minimum; ``multipliers`` are then those that prove it.
    """

    classifiers: Classifiers
    weights: FloatArray
    error: float
    multipliers: Multipliers
    bound: float
    exact: bool
    hypothesis_class: str
    oracle_calls: int
    trajectory: dict[str, FloatArray]
    stopped: Stopped
    plain_error: float
    """The least of any classifier found, rules or not."""

    constant_weight: float = 0.0
    """How often a constant decides, where the solver knows."""

    pool: Classifiers | None = None
    """Every classifier found, with or without weight; None where those of the mixture are all."""

    max_classifiers: int | None = None
    """How many the mixture was allowed; the bound is about any number."""

    judged_probability: FloatArray | None = None
    """Of label 1 for each of the judged people ``(m,)``, where the solver knows."""

    def times(self, unit: float) -> Solution:
        """The same solution where errors cost so many times as much."""
        if unit == 1.0:
            return self
        in_errors = {name: unit * getattr(self, name) for name in ("error", "bound", "plain_error")}
        trajectory = {name: path * (1.0 if name == "max_violation" else unit) for name, path in self.trajectory.items()}
        return replace(self, **in_errors, trajectory=trajectory, multipliers=self.multipliers.times(unit))

    @classmethod
    def of_one(
        cls, problem: Problem, classifier: Classifiers, error: float, hypothesis_class: str, *, exact: bool
    ) -> Solution:
        """One classifier that an oracle gave for the costs of errors, as a mixture of one."""
        return cls(
            classifiers=classifier,
            weights=np.ones(1),
            error=error,
            multipliers=Multipliers.zero(problem),
            bound=error,
            exact=exact,
            hypothesis_class=hypothesis_class,
            oracle_calls=1,
            trajectory={"error": np.array([error]), "max_violation": np.zeros(1), "gap": np.zeros(1)},
            stopped="gap",
            plain_error=error,
        )
