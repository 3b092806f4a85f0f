"""A mixture of fewer classifiers that is no worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.mixture import Mixture

if TYPE_CHECKING:
    from fairwise.learning.problem import Problem


def fewest_classifiers(problem: Problem, mixture: Mixture) -> tuple[Mixture, float]:
    """A vertex of the mixtures that are no worse, in error and on every row: at most one classifier more than rows.

    ::

        minimise    errors @ p                                          over p >= 0, sum p = 1
        subject to  values_k @ p <= max(floor_k, values_k @ weights)    for every row k

    where the floor of a pair is 0, no violation at all, and that of a statistical rule is its limit, which may be
    negative. So a rule that is kept stays kept, one that is broken is broken no more than before, and no pair has a
    larger excess, hence no budget either.
    """
    from scipy.optimize import linprog

    from fairwise.learning.highs import FEASIBLE

    errors, values = problem.evaluate(mixture.classifiers)
    floor = np.concatenate([np.zeros(problem.n_pairs), problem.row_limits[problem.n_pairs :]])
    found = linprog(
        errors,
        A_ub=values.T if len(problem) else None,
        b_ub=np.maximum(mixture.weights @ values, floor) if len(problem) else None,
        A_eq=np.ones((1, len(errors))),
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE},
    )
    if not found.success or found.x is None:
        return mixture, float(mixture.weights @ errors)
    support = np.flatnonzero(found.x > 1e-12)
    weights = found.x[support] / found.x[support].sum()
    return Mixture(mixture.classifiers.take(support), weights), float(weights @ errors[support])
