"""Errors and treatment as a report tells them: shares of people or costs; chances, points or amounts."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.messages import marked
from fairwise.numbers import points, share_difference
from fairwise.reporting.words import ENGLISH, NOTHING, Words

if TYPE_CHECKING:
    from decimal import Decimal

    from fairwise.auditing.findings import Findings

_NAMES = {
    "share": marked("Wrong decisions in 100"),
    "cost": marked("Mean cost of a decision"),
    "squared": marked("Mean squared error"),
    "absolute": marked("Mean error"),
}


class ErrorWords:
    """Errors of one kind, in the language of a report."""

    def __init__(self, measure: ErrorMeasure | None = None, words: Words = ENGLISH) -> None:
        self.measure, self.words = measure or ErrorMeasure(), words
        self.is_share = self.measure.is_share

    @property
    def name(self) -> str:
        """What is counted."""
        return self.words.translate(_NAMES[self.measure.kind])

    def error(self, error: float | None) -> str:
        """34.5 %, or a cost with its unit."""
        if error is None or isnan(error):
            return NOTHING
        if self.is_share:
            return self.words.percent(error)
        square = "²" if self.measure.kind == "squared" else ""
        unit = f"\N{NO-BREAK SPACE}{self.measure.unit}{square}" if self.measure.unit else ""
        return f"{self.words.quantity(error)}{unit}"

    def short(self, error: float) -> str:
        """The same where the name stands beside it: decisions in 100, or a bare number."""
        return self.words.in_100(error) if self.is_share else self.words.quantity(error)

    def interval(self, low: float | None, high: float | None) -> str:
        """The words to follow an error whose interval is known, and none otherwise."""
        if low is None or high is None or isnan(low) or isnan(high):
            return ""
        ends = {"low": self.error(low), "high": self.error(high)}
        return self.words.translate(" (between {low} and {high})").format(**ends)

    def above(self, one: float, other: float) -> str:
        """How much more one error is than another: percentage points, or a cost."""
        return self.words.points_above(one, other) if self.is_share else self.error(one - other)

    def change(self, change: float) -> str:
        """So much of an error, which is no error itself."""
        return self.words.points(change) if self.is_share else self.error(change)

    def signed(self, one: float, other: float) -> str:
        """How much more, as a bare number with its sign."""
        if self.is_share:
            return self.words.signed(one, other)
        return f"{'+' if one > other else ''}{self.words.quantity(one - other)}"

    def shows(self, one: float, other: float) -> Decimal | float:
        """How much more one error is as far as what is printed shows: above, below or equal to 0."""
        if self.is_share:
            return share_difference(one, other)
        return 0.0 if self.error(one) == self.error(other) else one - other

    def price(self, price: float) -> str:
        """What 10 points more for a pair would save: wrong decisions in 10,000, or so much of the mean cost."""
        return self.words.price(price) if self.is_share else self.error(price / 10)


class TreatmentWords:
    """How well people are treated: the chance of the good outcome, points from 0 to 100, or an amount."""

    def __init__(self, findings: Findings, words: Words) -> None:
        self.labels, self.amounts, self.words = findings.labels, findings.amounts, words
        self.is_chance = self.labels.label_values is None

    @property
    def name(self) -> str:
        """What is compared."""
        if self.is_chance:
            return self.words.translate("Chance of “{label}”").format(label=self.labels.treated)
        return self.words.translate("How well treated, 0 to 100")

    @property
    def name_of_one(self) -> str:
        """What :meth:`gets` tells of a person."""
        return self.name if self.amounts is None else self.words.translate("Amount")

    def quantity(self, amount: float) -> str:
        """An amount with its unit."""
        unit = "" if self.amounts is None or not self.amounts.unit else f"\N{NO-BREAK SPACE}{self.amounts.unit}"
        return f"{self.words.quantity(amount)}{unit}"

    def gets(self, treated: float) -> str:
        """What one person gets."""
        if self.amounts is not None:
            return self.quantity(self.amounts.amount(treated))
        return self.words.percent(treated) if self.is_chance else self.words.in_100(treated)

    def differ(self, width: float) -> str:
        """By how much two people may differ."""
        if self.amounts is not None:
            return self.quantity(width * (self.amounts.high - self.amounts.low))
        if self.is_chance:
            return self.words.points(width)
        return self.words.translate("{points} of 100 points").format(points=self.words.number(points(width)))
