"""What is proved about a fitted model, and of which kind the proof is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.pairs import PairRows, Weighting
from fairwise.constraints.violations import excess
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.solvers.solution import Solution

_MOST = 0.5  # of the time
_ENDED = {
    "iterations": ("at its limit of iterations", "A larger max_iter lets it go on."),
    "time": ("at its time limit", "A larger time_limit lets it go on."),
    "oracle": ("because its oracle found nothing more", "Another estimator may."),
}


def certify(
    solution: Solution,
    rows: PairRows,
    *,
    error: float,
    constant_error: float,
    favorable: FloatArray,
    gamma: float,
    eta: float | None,
    weighting: Weighting,
) -> Certificate:
    """Measure the mixture on the judged people (``favorable`` is ``(m,)``) and say what the solver proved."""
    violations = rows.violations(favorable)
    exact = solution.exact
    error = min(max(error, 0.0), 1.0)  # it is a sum of rounded parts
    bound = max(solution.bound, 0.0)  # no error is below 0
    return Certificate(
        kind="exact" if exact else "heuristic",
        error=error,
        lower_bound=bound if exact else np.nan,
        gap=error - bound if exact else np.nan,
        # What a heuristic found nothing below is no proof: its own bound may be above this very model.
        oracle_bound=bound if exact else min(bound, error),
        max_violation=float(violations.max(initial=0.0)),
        mean_violation=rows.mean_violation(favorable),
        mean_excess=float(rows.shares(weighting) @ excess(violations, gamma)),
        oracle_calls=solution.oracle_calls,
        hypothesis_class=solution.hypothesis_class,
        gamma=gamma,
        eta=eta,
        plain_error=solution.plain_error,
        constant_error=constant_error,
        n_judgments=len(rows.answers),
        stopped=solution.stopped,
        warnings=tuple(_warnings(solution)),
    )


def _warnings(solution: Solution) -> Iterator[str]:
    """What to know before using the model, each in a sentence or two."""
    if solution.stopped in _ENDED:
        reason, advice = _ENDED[solution.stopped]
        caveat = "" if solution.exact else ", as far as its oracle can tell"
        left = max(solution.error - max(solution.bound, 0.0), 0.0)
        yield f"The search ended {reason}: up to {left:.4f} of the error may be left to gain{caveat}. {advice}"
    if solution.constant_weight > _MOST:
        why = "larger gamma or eta allow more" if solution.exact else "or the search missed something better"
        share = f"{solution.constant_weight:.0%}"
        yield f"One label for everyone is what decides {share} of the time: the rules leave little else ({why})."
