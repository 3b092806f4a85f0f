"""Definitions of violation, excess and "followed", for one pair (numbers) and for many (arrays).

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
"""Status of a judgment, as tables and model files write it."""


def violation(reference: Numbers, owed: Numbers) -> Numbers:
    """Return max(0, r_reference - r_owed); gamma is not subtracted."""
    return np.maximum(reference - owed, 0.0)  # type: ignore[no-any-return, return-value]


def excess(violation: Numbers, gamma: float) -> Numbers:
    """Return by how much a violation exceeds gamma."""
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
    """Numbers of judgments that are ``followed``, ``not_followed`` and ``asks_nothing``."""
    counts = Counter(status)
    return {name.replace(" ", "_"): counts[name] for name in STATUSES}


class TreatmentStatus(StrEnum):
    """Whether what one answer asks for is done, as participants are told."""

    KEPT = "kept"
    """Number that are followed."""

    NEARLY = "nearly"
    """But for a difference that the fit lets pass: followed, too."""

    NOT_FOLLOWED = "not_followed"
    ASKS_NOTHING = "asks_nothing"


@dataclass(frozen=True)
class Treatment:
    """Treatment of the two people of a pair by a model, beside an answer about them.

    ``good_a`` and ``good_b`` are the probabilities with which it gives each of them the favourable label.
    """

    answer: Answer
    good_a: float
    good_b: float
    gamma: float

    @property
    def violation(self) -> float:
        """Violation from 0 to 1; 0 where nothing is in force."""
        a_owed, b_owed = violation(self.good_b, self.good_a), violation(self.good_a, self.good_b)
        shortfalls = {
            Answer.A_AT_LEAST_B: a_owed,
            Answer.B_AT_LEAST_A: b_owed,
            Answer.SAME: max(a_owed, b_owed),
            Answer.NO_CONSTRAINT: 0.0,
        }
        return float(shortfalls[self.answer])

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
    def favors_a(self) -> bool:
        """Whether the one on the left is treated better."""
        return self.good_a > self.good_b

    @property
    def more_in_hundred(self) -> int:
        """Rounded difference of better decisions in 100 between the two people."""
        return round(100 * abs(self.good_a - self.good_b))

    @property
    def in_hundred(self) -> tuple[int, int]:
        """Better decisions in 100 for each of the two, rounded so that they differ by the rounded difference.

        Both rounded for themselves could differ by one more or less than their rounded difference.
        """
        rounded = round(100 * min(self.good_a, self.good_b))
        less = min(rounded, 100 - self.more_in_hundred)  # 99.5 and half a decision more would be 101 of 100
        more = less + self.more_in_hundred
        return (more, less) if self.favors_a else (less, more)
