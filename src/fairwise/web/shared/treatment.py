"""How a model treats the two people of a pair that someone judged: the arithmetic of the way back, without words.

The definitions are those of a fit. ``good_a`` and ``good_b`` are the probabilities with which the model gives each of
the two the favourable label. What an answer asks for is violated by as much as the one who is to be treated at least as
well has less of it; for "same", by the difference. gamma is what a fit lets pass, and is not taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairwise.judgments import Answer

# As in constraints/status.py: a learner keeps its rules to about this precision.
PRECISION = 1e-6


class Status(StrEnum):
    """Whether what an answer asks for is done."""

    KEPT = "kept"
    """To the letter."""

    NEARLY = "nearly"
    """But for a difference that the fit lets pass. A fit counts this as honoured, too."""

    GIVEN_UP = "given_up"
    ASKS_NOTHING = "asks_nothing"


@dataclass(frozen=True)
class Treatment:
    """What a model does with a pair, beside what was said about it."""

    answer: Answer
    good_a: float
    good_b: float
    gamma: float

    @property
    def violation(self) -> float:
        """From 0 to 1; 0 where nothing was asked for."""
        ahead = self.good_b - self.good_a
        return {
            Answer.A_AT_LEAST_B: max(0.0, ahead),
            Answer.B_AT_LEAST_A: max(0.0, -ahead),
            Answer.SAME: abs(ahead),
            Answer.NO_CONSTRAINT: 0.0,
        }[self.answer]

    @property
    def excess(self) -> float:
        """By how much the violation is more than what is let pass."""
        return max(0.0, self.violation - self.gamma)

    @property
    def status(self) -> Status:
        if self.answer == Answer.NO_CONSTRAINT:
            return Status.ASKS_NOTHING
        if self.violation <= PRECISION:
            return Status.KEPT
        return Status.NEARLY if self.violation <= self.gamma + PRECISION else Status.GIVEN_UP

    @property
    def is_a_ahead(self) -> bool:
        """Whether the one on the left is treated better."""
        return self.good_a > self.good_b

    @property
    def more_in_hundred(self) -> int:
        """How many times more often, in 100 decisions, one of the two gets the better one; rounded."""
        return round(100 * abs(self.good_a - self.good_b))

    @property
    def in_hundred(self) -> tuple[int, int]:
        """How often each of the two gets the better decision in 100; rounded so that they differ as is said.

        Both rounded for themselves could differ by one more or less than their rounded difference.
        """
        less = round(100 * min(self.good_a, self.good_b))
        more = less + self.more_in_hundred
        return (more, less) if self.is_a_ahead else (less, more)
