"""The whole linear programme over a list of classifiers, written down directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from collections.abc import Sequence


def least_error(errors: Any, matrix: Sequence[Any], limits: Sequence[float], n_pairs: int) -> float:
    """Of the best mixture of ``k`` classifiers under ``matrix @ (p, slack) <= limits``, with slack from 0 to 1."""
    objective = np.concatenate([errors, np.zeros(n_pairs)])
    return float(objective @ least(objective, matrix, limits, n_pairs))


def least(objective: Any, matrix: Sequence[Any], limits: Sequence[float], n_pairs: int, hard: Any = 0.0) -> Any:
    """The mixture and slack ``(k + n_pairs,)`` of the least objective; no slack where ``hard``."""
    k = len(objective) - n_pairs
    found = linprog(
        objective,
        A_ub=np.array(matrix),
        b_ub=np.array(limits),
        A_eq=np.concatenate([np.ones(k), np.zeros(n_pairs)])[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(0, most) for most in 1.0 - hard * np.ones(n_pairs)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.x is not None
    return found.x
