"""Certificates: what is proved about a fitted model, and what is measured on new people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fairwise import notebook
from fairwise.messages import marked
from fairwise.numbers import EqualNan
from fairwise.results.base import Result


@dataclass(frozen=True)
class Baseline(Result):
    """Error of a simpler way of deciding on the same new people, and what the model gains over it."""

    error: float
    low: float
    high: float
    gain: float
    """Its error less that of the model."""

    gain_low: float
    gain_high: float

    @property
    def is_beaten(self) -> bool:
        """Whether the model is better by more than chance explains."""
        return self.gain_low > 0


@dataclass(frozen=True)
class HeldOutErrors(Result):
    """Mean errors over splits into people to learn from and new ones, with 95 % intervals; NaN: no interval is known.

    Attributes
    ----------
    error, low, high
        Of the model.
    training
        Of the model on the people it was made from, in the same splits.
    splits
        How many there are.
    plain, constant
        The same kind of model without judgments, and the outcome that is wrong least where it was learned.
    """

    error: float
    training: float
    low: float
    high: float
    splits: int
    plain: Baseline
    constant: Baseline

    @property
    def not_beaten(self) -> dict[str, Baseline]:
        """Baselines that the model is not clearly better than: ``constant``, ``plain``."""
        every = {"constant": self.constant, "plain": self.plain}
        return {name: one for name, one in every.items() if not one.is_beaten}


Stopped: TypeAlias = Literal["gap", "rounds", "oracle", "stalled", "iterations", "time", "interrupted"]
"""Why a search ended: its gap is small enough, all rounds asked for were played, its oracle found nothing more though
the gap is open, a heuristic long found nothing better though the gap is open, a limit was reached, or someone stopped
it."""

NOT_PROVED = (
    "Not proved: anything about other people or other kinds of model, that the judgments are right, or that the right "
    "people were asked."
)
"""Limitation that every certificate states."""

EXCEEDED = marked("A limit is exceeded: {which}")
"""Template of a warning about an exceeded limit."""

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate(Result, EqualNan):
    """Error of the model on the training people, and bounds for the best possible one.

    ``kind="exact"``: every oracle call was a proven minimum over ``hypothesis_class``, so no mixture of classifiers of
    that class that keeps the rules has an error below ``lower_bound``; ``gap = error - lower_bound``. Where the model
    itself breaks a rule a little, as no-regret averages do, the gap can be negative.

    ``kind="heuristic"``: no such proof; ``lower_bound`` and ``gap`` are NaN, and ``oracle_bound`` says only below which
    error the oracle used could find nothing.

    ``stopped`` says why the search ended: at its ``gap``, after the ``rounds`` asked for, because its ``oracle`` found
    nothing more, because a heuristic ``stalled``, at a limit of ``iterations`` or ``time``, or because it was
    ``interrupted``, by Ctrl-C or a callback.
    ``plain_error`` is the least found without any rule, ``constant_error`` that of giving everyone the same label;
    ``warnings`` are what to know before using the model.

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
    plain_error: float = math.nan
    constant_error: float = math.nan
    n_judgments: int | None = None
    stopped: Stopped = "gap"
    warnings: tuple[str, ...] = ()
    n_predicted: int = 0
    """Number of judgments that a model of answers predicted."""

    predicted_error: float = math.nan
    """Upper bound for the share of wrong predicted judgments (95 %)."""

    simulated: bool = False
    """Whether all judges are simulated: no real person was asked."""

    n_simulated: int = 0
    """Number of simulated judges, as far as their names or their attribute ``simulated`` tell."""

    max_classifiers: int | None = None
    """Largest number of classifiers, if limited; the bound is about any number of them."""

    rule: str | None = None
    """Method by which a model decides without chance; None for a mixture, which the bound is about."""

    mean_error: float = math.nan
    """Error of the mean of the mixture, which is predicted for amounts; never above ``error``."""

    grid_gap: float = math.nan
    """Largest amount by which values between those of the grid could lower ``lower_bound``."""

    has_rules: bool = True
    """Whether there was any rule to keep, of judgments or about groups; without, the model is the plain one."""

    below_because: str | None = None
    """Why this model is below ``lower_bound``, where that is not only because it breaks the rules."""

    def __str__(self) -> str:
        lines = [f"Error on the training people   {self.error:.4f}"]
        if math.isfinite(self.plain_error):
            constant = f"one {self._decided} for everyone {self.constant_error:.4f}"
            lines.append(f"  Least found without any rule {self.plain_error:.4f}; {constant}")
        if self.kind == "exact":
            lines += [
                f"Proven lower bound             {self.lower_bound:.4f}   ({self._gap_in_words()})",
                f"  No mixture of {self._class_in_words} can have a lower error.",
            ]
        else:
            lines += [
                f"No proof of optimality: heuristic search over {self.hypothesis_class}.",
                f"  Its search found nothing below {self.oracle_bound:.4f}; something better may exist.",
            ]
        if math.isfinite(self.mean_error):
            lines.append(
                f"Error of the mean, as predicted {self.mean_error:.4f}   (the bound is about mixtures that draw)"
            )
            if math.isfinite(self.grid_gap):
                gain = f"lower the bound by at most {self.grid_gap:.4g}"
                lines.append(f"  Amounts between those of the grid could {gain}.")
        if self.max_classifiers is not None:
            few = f"{self.max_classifiers} classifier{'s' if self.max_classifiers > 1 else ''}"
            lines.append(f"  This model was allowed {few}; that holds for any number of them.")
        if self.n_judgments != 0:
            eta = "no panel budget" if self.eta is None else f"eta = {self.eta:g}"
            lines += [
                f"Largest violation of a pair    {self.max_violation:.4f}   (asked: gamma = {self.gamma:g})",
                f"Mean violation of 'same'       {self.mean_violation:.4f}",
                f"Mean excess over gamma         {self.mean_excess:.4f}   (asked: {eta})",
            ]
        if self.n_predicted:
            lines.append(f"  {self.predicted_in_words()}")
        lines.append(f"Oracle calls                   {self.oracle_calls}")
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    @property
    def _class_in_words(self) -> str:
        return f"{self.hypothesis_class} that keeps the rules" if self.has_rules else self.hypothesis_class

    @property
    def _decided(self) -> str:
        return "amount" if math.isfinite(self.mean_error) else "label"

    def _repr_html_(self) -> str:
        return notebook.page(self.to_html())

    def to_html(self) -> str:
        """Return the certificate as a section of a page in a notebook."""
        return notebook.section(
            "What is proved, and what is not",
            notebook.table(self.rows()),
            notebook.paragraph(self.proved_in_words()),
            notebook.paragraph(NOT_PROVED),
            *map(notebook.notice, self.warnings),
            warn=self.kind != "exact",
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """The numbers: what each is, its value, and what to hold it against."""
        rows = [("Error on the training people", f"{self.error:.4f}", "")]
        if math.isfinite(self.plain_error):
            rows.append(("Least found without any rule", f"{self.plain_error:.4f}", ""))
            rows.append((f"One {self._decided} for everyone", f"{self.constant_error:.4f}", ""))
        if self.kind == "exact":
            rows.append(("Proven lower bound", f"{self.lower_bound:.4f}", self._gap_in_words()))
        else:
            rows.append(("Nothing found below", f"{self.oracle_bound:.4f}", "something better may exist"))
        if self.n_judgments != 0:
            eta = "no panel budget" if self.eta is None else f"asked: eta = {self.eta:g}"
            rows.append(("Largest violation of a pair", f"{self.max_violation:.4f}", f"asked: gamma = {self.gamma:g}"))
            rows.append(("Mean violation of 'same'", f"{self.mean_violation:.4f}", ""))
            rows.append(("Mean excess over gamma", f"{self.mean_excess:.4f}", eta))
        if self.n_predicted:
            bound = (
                "" if math.isnan(self.predicted_error) else f"at most {self.predicted_error:.1%} of them wrong (95 %)"
            )
            rows.append(("Predicted judgments among them", f"{self.n_predicted:,} of {self.n_judgments:,}", bound))
        return [*rows, ("Oracle calls", f"{self.oracle_calls:,}", "")]

    def proved_in_words(self) -> str:
        """Proof about the error, in a sentence or two."""
        if self.kind == "exact":
            none = f"no mixture of {self._class_in_words}"
            return f"Proved: {none} has an error below {self.lower_bound:.4f} on these people."
        return f"Not proved that nothing is better: this was a heuristic search over {self.hypothesis_class}."

    def predicted_in_words(self) -> str:
        """Number of predicted judgments as a sentence; empty without any."""
        return predicted_in_words(self.n_predicted, self.n_judgments or 0, self.predicted_error)

    def _gap_in_words(self) -> str:
        if self.gap < -_ROUNDING:
            return f"this model is below it because {self.below_because or 'it breaks the rules'}"
        return f"gap {max(self.gap, 0.0):.1e}"


def predicted_in_words(n_predicted: int, n_judgments: int, error: float) -> str:
    """Say how many judgments are predicted, and how many of them are wrong at most; empty where none is."""
    if not n_predicted:
        return ""
    bound = "" if math.isnan(error) else f", at most {error:.1%} of them wrongly (95 %)"
    return f"{n_predicted:,} of {n_judgments:,} judgments were predicted, not asked for{bound}."
