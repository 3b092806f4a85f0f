"""What a violation, an excess and "followed" are: defined once, for one pair (numbers) and for many (arrays).

``reference`` and ``owed`` are the probabilities of the favourable label of two people, of whom the second is to be
treated at least as well as the first::

    violation = max(0, reference - owed)          for "same", the larger of both directions: the difference
    excess    = max(0, violation - gamma)
    followed    where violation <= gamma, to the precision of a fit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    Numbers = TypeVar("Numbers", float, NDArray[np.float64], pd.Series[float])

# A learner keeps its rules to about this precision; a judgment broken by less counts as followed.
PRECISION = 1e-6

FOLLOWED, NOT_FOLLOWED, ASKS_NOTHING = STATUSES = ("followed", "not followed", "asks nothing")
"""What became of a judgment, as tables and model files write it."""


def violation(reference: Numbers, owed: Numbers) -> Numbers:
    """By how much the one who is owed at least as much has less; gamma is not taken off."""
    return np.maximum(reference - owed, 0.0)  # type: ignore[no-any-return, return-value]


def excess(violation: Numbers, gamma: float) -> Numbers:
    """By how much a violation is beyond what is let pass."""
    return np.maximum(violation - gamma, 0.0)  # type: ignore[no-any-return, return-value]


def is_followed(violation: float | NDArray[np.float64], gamma: float) -> Any:
    """Whether a violation is at most gamma: a truth value, or one for each."""
    return violation <= gamma + PRECISION


def status_of(
    answer: NDArray[np.object_] | NDArray[np.str_], violation: NDArray[np.float64], gamma: float
) -> pd.Categorical[str]:
    """One of `STATUSES` for each answer."""
    asks = np.asarray(answer != Answer.NO_CONSTRAINT, dtype=bool)
    codes = np.where(asks, np.where(is_followed(violation, gamma), 0, 1), 2)
    return pd.Categorical.from_codes(codes, categories=pd.Index(STATUSES))


def status_counts(status: Iterable[str]) -> dict[str, int]:
    """How many judgments are ``followed``, ``not_followed`` and ``asks_nothing``."""
    found = Counter(status)
    return {name.replace(" ", "_"): found[name] for name in STATUSES}


class TreatmentStatus(StrEnum):
    """Whether what one answer asks for is done, as participants are told."""

    KEPT = "kept"
    """To the letter."""

    NEARLY = "nearly"
    """But for a difference that the fit lets pass: followed, too."""

    NOT_FOLLOWED = "not_followed"
    ASKS_NOTHING = "asks_nothing"


@dataclass(frozen=True)
class Treatment:
    """What a model does with the two people of a pair, beside what was said about them.

    ``good_a`` and ``good_b`` are the probabilities with which it gives each of them the favourable label.
    """

    answer: Answer
    good_a: float
    good_b: float
    gamma: float

    @property
    def violation(self) -> float:
        """From 0 to 1; 0 where nothing was asked for."""
        a_owed, b_owed = violation(self.good_b, self.good_a), violation(self.good_a, self.good_b)
        asked = {
            Answer.A_AT_LEAST_B: a_owed,
            Answer.B_AT_LEAST_A: b_owed,
            Answer.SAME: max(a_owed, b_owed),
            Answer.NO_CONSTRAINT: 0.0,
        }
        return float(asked[self.answer])

    @property
    def excess(self) -> float:
        return float(excess(self.violation, self.gamma))

    @property
    def status(self) -> TreatmentStatus:
        if self.answer == Answer.NO_CONSTRAINT:
            return TreatmentStatus.ASKS_NOTHING
        if is_followed(self.violation, 0.0):
            return TreatmentStatus.KEPT
        return TreatmentStatus.NEARLY if is_followed(self.violation, self.gamma) else TreatmentStatus.NOT_FOLLOWED

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
        rounded = round(100 * min(self.good_a, self.good_b))
        less = min(rounded, 100 - self.more_in_hundred)  # 99.5 and half a decision more would be 101 of 100
        more = less + self.more_in_hundred
        return (more, less) if self.is_a_ahead else (less, more)
