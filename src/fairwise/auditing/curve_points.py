"""One point of a curve: what a solution reaches, as a line of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.judgments.proportions import wilson

if TYPE_CHECKING:
    from fairwise.constraints.pairs import Weighting
    from fairwise.learning.preparation import Rules
    from fairwise.learning.solvers.solution import Solution

RATE = "false_positive_rate "
_CONFIDENCE = 0.95


def point_row(
    rules: Rules, solution: Solution, gamma: float, eta: float | None, weighting: Weighting, n_people: float
) -> dict[str, Any]:
    """Error, violations and bound as realised; ``n_people`` is how many people of equal weight the table is worth."""
    from fairwise.learning.model.mixture import Measurement

    certificate = Measurement(rules, solution).certificate(gamma, eta, weighting)
    low, high = wilson(certificate.error * n_people, n_people, _CONFIDENCE)
    return {
        "gamma": gamma,
        "eta": np.nan if eta is None else eta,
        "error": certificate.error,
        "max_violation": certificate.max_violation,
        "mean_violation": certificate.mean_violation,
        "mean_excess": certificate.mean_excess,
        "lower_bound": certificate.lower_bound,
        "kind": certificate.kind,
        "error_low": float(low),
        "error_high": float(high),
    }
