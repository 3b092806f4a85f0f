"""Of mixtures whose error is small enough, one with the least mean excess of the panel.

Let ``v(eta)`` be the least error at a panel budget of ``eta``. The least mean excess at an error of at most ``ceiling``
is the least ``eta`` with ``v(eta) <= ceiling``. ``v`` is convex and falls, and its slope is ``-tau``, the price of the
budget. So Newton's method from the left finds that ``eta`` in at most as many steps as ``v`` has kinks on the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairwise.learning.problem import Problem
from fairwise.learning.solvers.master import Master, MasterSolution
from fairwise.learning.solvers.solution import FEASIBLE

LEAST_BUDGET = FEASIBLE
"""A budget of nothing at all would be another programme."""

_STEPS = 100
_SHARES = (0.0, 0.1, 0.5, 0.9)  # of the excess used, tried from the last on while nothing is paid for the budget
_ROUNDING = 1e-11


def has_choice(problem: Problem) -> bool:
    """Whether there is a panel whose mean excess may be more or less."""
    return bool(problem.budgets) and problem.budgets[0].limit > LEAST_BUDGET


def with_budget(problem: Problem, eta: float) -> Problem:
    """The same problem with another limit of the panel's budget, which is the first."""
    panel, *others = problem.budgets
    return replace(problem, budgets=(replace(panel, limit=eta), *others))


def least_excess(master: Master, problem: Problem, ceiling: float) -> tuple[Problem, MasterSolution]:
    """The problem with the least panel budget for an error within ``ceiling``, and its solution.

    The master's best mixture must be within the ceiling.
    """
    solved, shares, from_left = master.solve(problem), list(_SHARES), False
    for _ in range(_STEPS if has_choice(problem) else 0):
        panel, tau, over = problem.budgets[0], float(solved.multipliers.budgets[0]), solved.value - ceiling
        if abs(over) <= _ROUNDING or (over < 0.0 and (from_left or panel.limit <= LEAST_BUDGET)):
            break
        from_left = over > 0.0
        if tau > 0.0:
            eta = panel.limit + over / tau
        else:
            excess = np.maximum(master.row_values(solved.weights) - problem.row_limits, 0.0)
            eta = shares.pop() * float(panel.shares @ excess[panel.rows])
        problem = with_budget(problem, max(eta, LEAST_BUDGET))
        solved = master.solve(problem)
    return problem, solved
