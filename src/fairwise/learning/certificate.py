"""What is proved about a fitted model, and of which kind the proof is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairwise.equal_nan import EqualNan

if TYPE_CHECKING:
    from fairwise.constraints.pairs import PairRows, Weighting
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.result import Solution

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate(EqualNan):
    """How good the model is on the training people, and what is known about the best possible one.

    ``kind="exact"``: every oracle call was a proven minimum over ``hypothesis_class``, so no mixture of classifiers of
    that class that keeps the rules has an error below ``lower_bound``; ``gap = error - lower_bound``. Where the model
    itself breaks a rule a little, as no-regret averages do, the gap can be negative.

    ``kind="heuristic"``: no such proof; ``lower_bound`` and ``gap`` are NaN, and ``oracle_bound`` says only below which
    error the oracle used could find nothing.

    Either way it is about these people and this class: not about other people, other classifiers, or justice.
    """

    kind: Literal["exact", "heuristic"]
    error: float
    lower_bound: float
    gap: float
    oracle_bound: float
    max_violation: float
    mean_violation: float
    mean_excess: float
    oracle_calls: int
    hypothesis_class: str
    gamma: float
    eta: float | None

    def __str__(self) -> str:
        lines = [f"Error on the training people   {self.error:.4f}"]
        if self.kind == "exact":
            lines += [
                f"Proven lower bound             {self.lower_bound:.4f}   ({self._gap_in_words()})",
                f"  No mixture of {self.hypothesis_class} that keeps the rules can have a lower error.",
            ]
        else:
            lines += [
                f"No proof of optimality: heuristic search over {self.hypothesis_class}.",
                f"  Its search found nothing below {self.least_found:.4f}; something better may exist.",
            ]
        asked = "no panel budget" if self.eta is None else f"eta = {self.eta:g}"
        lines += [
            f"Largest violation of a pair    {self.max_violation:.4f}   (asked: gamma = {self.gamma:g})",
            f"Mean violation of 'same'       {self.mean_violation:.4f}",
            f"Mean excess over gamma         {self.mean_excess:.4f}   (asked: {asked})",
            f"Oracle calls                   {self.oracle_calls}",
        ]
        return "\n".join(lines)

    @property
    def least_found(self) -> float:
        """What a heuristic search found nothing below: its own bound is no proof, and may be above this very model."""
        return min(self.oracle_bound, self.error)

    def _gap_in_words(self) -> str:
        if self.gap < -_ROUNDING:
            return "this model is below it because it breaks the rules"
        return f"gap {max(self.gap, 0.0):.1e}"


def certify(
    solution: Solution,
    rows: PairRows,
    *,
    error: float,
    favorable: FloatArray,
    gamma: float,
    eta: float | None,
    weighting: Weighting,
) -> Certificate:
    """Measure the mixture on the judged people (``favorable`` is ``(m,)``) and say what the solver proved."""
    violations = rows.violations(favorable)
    excess = np.maximum(violations - gamma, 0.0)
    exact = solution.exact
    error = min(max(error, 0.0), 1.0)  # it is a sum of rounded parts
    lower_bound = max(solution.bound, 0.0)  # no error is below 0
    return Certificate(
        kind="exact" if exact else "heuristic",
        error=error,
        lower_bound=lower_bound if exact else np.nan,
        gap=error - lower_bound if exact else np.nan,
        oracle_bound=solution.bound,
        max_violation=float(violations.max(initial=0.0)),
        mean_violation=rows.mean_violation(favorable),
        mean_excess=float(rows.shares(weighting) @ excess),
        oracle_calls=solution.oracle_calls,
        hypothesis_class=solution.hypothesis_class,
        gamma=gamma,
        eta=eta,
    )
