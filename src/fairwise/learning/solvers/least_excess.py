"""The mixture with the least mean excess of the panel, among those whose error is small enough.

Let ``v(eta)`` be the least error at a panel budget of ``eta``. The least mean excess at an error of at most ``ceiling``
is the least ``eta`` with ``v(eta) <= ceiling``. ``v`` is convex and falls, and its slope is ``-tau``, the price of the
budget. So Newton's method from the left finds that ``eta`` in at most as many steps as ``v`` has kinks on the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairwise.learning.problem import Problem
from fairwise.learning.solvers.master import Master, MasterSolution
from fairwise.learning.solvers.selection import solved_or_none
from fairwise.learning.solvers.solution import FEASIBLE

LEAST_BUDGET = FEASIBLE
"""A budget of nothing at all would be another programme."""

_STEPS = 100
_SHARES = (0.1, 0.5, 0.9)  # of the excess used, tried from the last on while nothing is paid for the budget
_ROUNDING = 1e-11


def has_choice(problem: Problem) -> bool:
    """Whether there is a panel whose mean excess may be more or less."""
    return bool(problem.budgets) and problem.budgets[0].limit > LEAST_BUDGET


def with_budget(problem: Problem, eta: float) -> Problem:
    """Return the problem with another limit of the panel's budget, which is the first."""
    panel, *others = problem.budgets
    return replace(problem, budgets=(replace(panel, limit=eta), *others))


def least_excess(master: Master, problem: Problem, ceiling: float) -> tuple[Problem, MasterSolution]:
    """The problem with the least panel budget for an error within ``ceiling``, and its solution.

    The master's best mixture must be within the ceiling.
    """
    solved, shares = master.solve(problem), list(_SHARES)
    from_left, impossible = False, 0.0  # a few classifiers, without a constant, may keep no budget as small as that
    for _ in range(_STEPS if has_choice(problem) else 0):
        panel, tau, over = problem.budgets[0], float(solved.multipliers.budgets[0]), solved.value - ceiling
        is_least = from_left or panel.limit <= max(LEAST_BUDGET, impossible + LEAST_BUDGET)
        if over <= _ROUNDING and (is_least or (tau > 0.0 and over >= -_ROUNDING)):
            break
        from_left = over > _ROUNDING
        if tau > 0.0:
            eta = panel.limit + over / tau
        else:
            excess = np.maximum(master.row_values(solved.weights) - problem.row_limits, 0.0)
            eta = (shares.pop() if shares else 0.0) * float(panel.shares @ excess[panel.rows])
        eta = max(eta, LEAST_BUDGET)
        smaller = with_budget(problem, eta if eta > impossible else (impossible + panel.limit) / 2.0)
        solution = solved_or_none(master, smaller)
        if solution is None:
            impossible = smaller.budgets[0].limit
        else:
            problem, solved = smaller, solution
    return problem, solved
