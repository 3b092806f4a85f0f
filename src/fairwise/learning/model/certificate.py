"""What is proved about a fitted model, and of which kind the proof is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairwise.constraints.violations import excess
from fairwise.equal_nan import EqualNan
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.solvers.solution import Solution, Stopped  # noqa: TC001 - a field's type, read when running

if TYPE_CHECKING:
    from fairwise.constraints.pairs import PairRows, Weighting


_ROUNDING = 1e-9
_MOST = 0.5  # of the time
_ENDED = {
    "iterations": ("at its limit of iterations", "A larger max_iter lets it go on."),
    "time": ("at its time limit", "A larger time_limit lets it go on."),
    "oracle": ("because its oracle found nothing more", "Another estimator may."),
}


@dataclass(frozen=True, eq=False)
class Certificate(EqualNan):
    """How good the model is on the training people, and what is known about the best possible one.

    ``kind="exact"``: every oracle call was a proven minimum over ``hypothesis_class``, so no mixture of classifiers of
    that class that keeps the rules has an error below ``lower_bound``; ``gap = error - lower_bound``. Where the model
    itself breaks a rule a little, as no-regret averages do, the gap can be negative.

    ``kind="heuristic"``: no such proof; ``lower_bound`` and ``gap`` are NaN, and ``oracle_bound`` says only below which
    error the oracle used could find nothing.

    ``stopped`` says why the search ended: at its ``gap``, after the ``rounds`` asked for, because its ``oracle`` found
    nothing more, or at a limit of ``iterations`` or ``time``. ``plain_error`` is the least found without any rule,
    ``constant_error`` that of giving everyone the same label; ``warnings`` are what to know before using the model.

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
    plain_error: float = np.nan
    constant_error: float = np.nan
    n_judgments: int | None = None
    stopped: Stopped = "gap"
    warnings: tuple[str, ...] = ()
    below_because: str | None = None
    """Why this model is below ``lower_bound``, where that is not only because it breaks the rules."""

    def __str__(self) -> str:
        lines = [f"Error on the training people   {self.error:.4f}"]
        if np.isfinite(self.plain_error):
            constant = f"one label for everyone {self.constant_error:.4f}"
            lines.append(f"  Least found without any rule {self.plain_error:.4f}; {constant}")
        if self.kind == "exact":
            lines += [
                f"Proven lower bound             {self.lower_bound:.4f}   ({self._gap_in_words()})",
                f"  No mixture of {self.hypothesis_class} that keeps the rules can have a lower error.",
            ]
        else:
            lines += [
                f"No proof of optimality: heuristic search over {self.hypothesis_class}.",
                f"  Its search found nothing below {self.oracle_bound:.4f}; something better may exist.",
            ]
        if self.n_judgments != 0:
            asked = "no panel budget" if self.eta is None else f"eta = {self.eta:g}"
            lines += [
                f"Largest violation of a pair    {self.max_violation:.4f}   (asked: gamma = {self.gamma:g})",
                f"Mean violation of 'same'       {self.mean_violation:.4f}",
                f"Mean excess over gamma         {self.mean_excess:.4f}   (asked: {asked})",
            ]
        lines.append(f"Oracle calls                   {self.oracle_calls}")
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def _gap_in_words(self) -> str:
        if self.gap < -_ROUNDING:
            return f"this model is below it because {self.below_because or 'it breaks the rules'}"
        return f"gap {max(self.gap, 0.0):.1e}"


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
