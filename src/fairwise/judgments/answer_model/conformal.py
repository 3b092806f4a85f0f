"""Sets of answers that hold the real one as often as is asked for, whatever the model got wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from fairwise.errors import InputError
from fairwise.judgments.answer_model.features import Floats, Ints
from fairwise.judgments.reliability import clopper_pearson

# What all other judges say about one of them counts as much as so many answers of their own.
_OTHERS = 5.0
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """Answers, each predicted by a model that had not seen it.

    A set holds the answers that are as probable as a threshold. By split conformal prediction, a threshold that
    `coverage` of these answers reach serves as well for others that come about alike: drawn by the same design, or by
    one with known chances, for which they are weighted. Since judges are not equally predictable, each has a threshold
    of their own, for which their own answers count 1 each and those of all others together 5, the more the more alike
    the judges' attributes are. Where even the most probable answer does not reach it, the set is empty.
    """

    probabilities: Floats
    """``(N, K)``."""

    said: Ints
    """``(N,)``: places in the scale."""

    weight: Floats
    """``(N,)``: how many of all pairs each stands for."""

    judge: Ints
    """``(N,)``; -1 where it was predicted as that of somebody new."""

    attributes: Floats
    """``(J, Q)``: of the judges."""

    def sets(self, probabilities: Floats, judge: Ints, coverage: float) -> np.ndarray:
        """Return ``(R, K)``: which answers are in the set for each row of probabilities; judge -1 is somebody new."""
        judges, which = np.unique(judge, return_inverse=True)
        thresholds = np.array([self._thresholds(int(number), coverage) for number in judges])
        result: np.ndarray = probabilities >= thresholds[which][:, None]
        return result

    def _thresholds(self, judge: int, coverage: float, without: Ints | None = None) -> Floats:
        """Return the probability that `coverage` of the answers reach, one more answer being counted as below.

        A number; or, of several answers of this judge, one for each, as it would be without that answer: then its
        weight is taken from the total, and from all that come behind it.
        """
        if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
            raise InputError(f"coverage={coverage!r}; allowed: a number between 0 and 1")
        weight = self.weight * self._likeness(judge)
        order = self._order
        reached = np.cumsum(weight[order])
        left_out = 0.0 if without is None else weight[without]
        wanted = coverage * (weight.sum() - left_out + weight.mean())
        place = np.searchsorted(reached, wanted)
        if without is not None:
            ahead = place < np.argsort(order)[without]
            place = np.where(ahead, place, np.searchsorted(reached, wanted + left_out))
        own = np.append(self._own[order], 0.0)
        result: Floats = own[place]
        return result

    @cached_property
    def _own(self) -> Floats:
        """``(N,)``: how probable each answer was."""
        return self.probabilities[np.arange(len(self.said)), self.said]

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(-self._own)

    def _likeness(self, judge: int) -> Floats:
        others = self.judge != judge
        if judge < 0 or others.all() or not others.any():
            return np.ones(len(self.judge))
        distance = ((self.attributes - self.attributes[judge]) ** 2).sum(axis=1)
        alike = np.exp(-2 * distance)[self.judge]
        return np.where(others, _OTHERS * alike / alike[others].sum(), 1.0)

    def error_bound(self, coverage: float) -> float:
        """Return what share of sets with one answer hold the wrong one, at most: an exact 95 % bound.

        From the held-out answers, each with the threshold that would be its judge's without it: the threshold itself
        is such that few of those it was chosen by are wrong. With weights, as many answers count as would have the
        same variance, (Σw)² / Σw².
        """
        thresholds = np.empty(len(self.said))
        for judge in np.unique(self.judge):
            theirs = np.flatnonzero(self.judge == judge)
            thresholds[theirs] = self._thresholds(int(judge), coverage, without=theirs)
        sets = self.probabilities >= thresholds[:, None]
        single = sets.sum(axis=1) == 1
        if not single.any():
            return 1.0
        weight = self.weight[single]
        number = weight.sum() ** 2 / (weight**2).sum()
        wrong = ~sets[single, self.said[single]]
        share = min(float(weight @ wrong / weight.sum()), 1.0)
        return float(clopper_pearson(share * number, number, 2 * _CONFIDENCE - 1)[1])
