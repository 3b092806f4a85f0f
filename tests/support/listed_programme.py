"""The whole linear programme over a list of classifiers, written down directly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from collections.abc import Sequence


def least_error(errors: Any, matrix: Sequence[Any], limits: Sequence[float], n_pairs: int) -> float:
    """Of the best mixture of ``k`` classifiers under ``matrix @ (p, slack) <= limits``, with slack from 0 to 1."""
    k = len(errors)
    found = linprog(
        np.concatenate([errors, np.zeros(n_pairs)]),
        A_ub=np.array(matrix),
        b_ub=np.array(limits),
        A_eq=np.concatenate([np.ones(k), np.zeros(n_pairs)])[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(0, 1)] * n_pairs,
    )
    assert found.x is not None
    return float(errors @ found.x[:k])
