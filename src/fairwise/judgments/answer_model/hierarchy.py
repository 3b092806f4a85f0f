"""The learned panel: coefficients of its judges, how often they lapse, and calibrated sets of answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TypeAlias

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer
from fairwise.judgments.answer_model.choices import (
    Choices,
    Normal,
    Panel,
    expected_probabilities,
    learn_panel,
    score_moments,
)
from fairwise.judgments.answer_model.encoding import AnsweredPairs, AnswerRows, EncodedPeople, Floats, Ints, Scale
from fairwise.judgments.reliability import clopper_pearson
from fairwise.tables.columns import is_numeric

# The chance of a lapse, as log-odds; the first point stands for never, the last is 99 %.
_GRID = np.linspace(-7.6, 4.6, 123)
# How log-odds may be spread over judges: normal, about means and with standard deviations between these, except for a
# share of judges who never lapse. Before anything was asked twice, a lapse is thought of as one answer in 20 or so.
_MEANS, _SPREADS, _NEVER = np.linspace(-5.5, 0.5, 13), np.linspace(0.25, 3.25, 7), (0.0, 0.1, 0.3)
_MEAN, _MEAN_SPREAD, _SPREAD = -3.0, 1.5, 2.0
# What one standard deviation of the logarithm of seconds may change in the log-odds of a lapse.
_SLOPES = np.linspace(-1.5, 1.5, 13)
_SLOPE_SPREAD = 0.5
# Which part of lapses may be such that they happen anywhere.
_PARTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class Lapses:
    """Chance with which each judge lapses, that is, answers at random among the K answers.

    With a chance ε both times, an answer is the same again with probability (1 - ε + ε / K)² + (K - 1) (ε / K)², and
    two identical people are called the same with 1 - ε + ε / K. log-odds(ε) = c_j + slope · pace, with c_j normal over
    judges, but for some who never lapse.

    People also change their mind where they are undecided, and that is no lapse: what they mean is uncertain there
    anyhow. So of the ε that repeats show, only a `part` is taken to happen at pairs of all kinds: as much as predicts
    answers that were held out best.
    """

    slope: float
    chances: Floats
    """``(J + 1, G)``: how probable each point of the grid is as c_j, given what j said; last, of somebody new."""

    part: float = 0.2

    @classmethod
    def unknown(cls, n_judges: int) -> Lapses:
        """Return what is usual, where nothing was asked twice."""
        priors, chances = _priors()
        return cls(0.0, np.tile(chances @ priors, (n_judges + 1, 1)))

    @classmethod
    def learn(cls, rows: AnswerRows, check: np.ndarray, same: int, n_judges: int) -> Lapses:
        """Learn from checks, for which `check` ``(P,)`` is true and the place `same` is right, and repeated pairs."""
        order = np.argsort(rows.pair, kind="stable")
        here, before = order[1:], order[:-1]
        repeats = (rows.pair[here] == rows.pair[before]) & ~check[rows.pair[here]]
        twice = _Trials.of(rows, here[repeats], rows.answer[here[repeats]] == rows.answer[before[repeats]], twice=True)
        checked = np.flatnonzero(check[rows.pair])
        once = _Trials.of(rows, checked, rows.answer[checked] == same, twice=False)
        if not len(here[repeats]) + len(checked):
            return cls.unknown(n_judges)
        timed = bool(np.concatenate([twice.pace, once.pace]).any())
        candidates = [
            _explained([twice, once], rows.n_answers, n_judges, slope) for slope in (_SLOPES if timed else [0.0])
        ]
        return max(candidates, key=lambda each: each[0])[1]

    def with_part(self, rows: AnswerRows, intended: Floats) -> Lapses:
        """Return the same with the part that predicts best; `intended` ``(N, K)`` was learned without the answer."""
        lapse = self._lapse(rows.judge, rows.pace)
        own = intended[np.arange(len(rows.answer)), rows.answer]

        def likelihood(part: float) -> float:
            return float(np.log((1 - part * lapse) * own + part * lapse / rows.n_answers + 1e-12).sum())

        return replace(self, part=max(_PARTS, key=likelihood))

    def slip(self, judge: Ints, pace: Floats) -> Floats:
        """Return for each row ``(N,)`` the chance of an answer by lot, whatever is meant; judge -1 is somebody new."""
        # Never quite 0: one answer must not rule out what all others say.
        return np.maximum(self.part * self._lapse(judge, pace), 1e-3)

    def _lapse(self, judge: Ints, pace: Floats) -> Floats:
        if not self.slope:
            by_judge: Floats = self.chances @ _lapses(np.zeros(1))[0]
            return by_judge[judge]
        by_row: Floats = np.einsum("ng,ng->n", self.chances[judge], _lapses(self.slope * pace))
        return by_row

    def evidence(self, rows: AnswerRows, n_pairs: int) -> Floats:
        """Return ``(P, K)``: how likely what was said of each pair is, if each answer is the one meant."""
        slip = self.slip(rows.judge, rows.pace)[:, None]
        result = np.ones((n_pairs, rows.n_answers))
        hit = np.equal.outer(rows.answer, np.arange(rows.n_answers))
        np.multiply.at(result, rows.pair, slip / rows.n_answers + (1 - slip) * hit)
        return result

    def reliability(self, rows: AnswerRows, confidence: float = 0.95) -> Floats:
        """Return ``(J, 3)``: the probability of the same answer again, at the judge's own pace, and its interval.

        The interval leaves out equally much of the judge's posterior on both sides, and is rounded outwards to a
        percent.
        """
        result = np.empty((len(self.chances) - 1, 3))
        for judge in range(len(result)):
            pace = rows.pace[rows.judge == judge] if self.slope else np.zeros(1)
            same_again = _right(_lapses(self.slope * pace), rows.n_answers, twice=True).mean(axis=0)
            low, high = _interval(same_again, self.chances[judge], confidence)
            result[judge] = same_again @ self.chances[judge], np.floor(100 * low) / 100, np.ceil(100 * high) / 100
        return result


@dataclass(frozen=True, eq=False)
class _Trials:
    """Answers that could be compared with another one, or with the right one."""

    judge: Ints
    pace: Floats
    right: np.ndarray
    twice: bool
    """Whether two answers were compared, either of which may be a lapse."""

    @classmethod
    def of(cls, rows: AnswerRows, use: Ints, right: np.ndarray, *, twice: bool) -> _Trials:
        return cls(rows.judge[use], rows.pace[use], right, twice)

    def likelihood(self, n_answers: int, n_judges: int, slope: float) -> Floats:
        """``(J, G)``: logarithms."""
        right = _right(_lapses(slope * self.pace), n_answers, twice=self.twice)
        result = np.zeros((n_judges, len(_GRID)))
        np.add.at(result, self.judge, np.log(np.maximum(np.where(self.right[:, None], right, 1 - right), 1e-12)))
        return result


def _explained(trials: list[_Trials], n_answers: int, n_judges: int, slope: float) -> tuple[float, Lapses]:
    """Return how likely all this is, penalised, and what it says of each judge, averaged over means and spreads.

    With L_jg the likelihood of what judge j did and π_g the prior for a mean and a spread, these are as probable as
    their own prior times Π_j Σ_g π_g L_jg.
    """
    logs = np.sum([each.likelihood(n_answers, n_judges, slope) for each in trials], axis=0)
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - top)
    priors, chances = _priors()
    by_judge = likelihood @ priors.T
    joint = np.log(chances) + np.log(by_judge).sum(axis=0)
    weight = np.exp(joint - joint.max())
    evidence = float(joint.max() + np.log(weight.sum()) + top.sum())
    weight /= weight.sum()
    # Of each judge: Σ over priors of weight · π_g L_jg / Σ_g π_g L_jg.
    posterior = likelihood * ((weight / by_judge) @ priors)
    lapses = Lapses(float(slope), np.vstack([posterior, weight @ priors]))
    return evidence - (slope / _SLOPE_SPREAD) ** 2 / 2, lapses


def _priors() -> tuple[Floats, Floats]:
    """Return priors over the grid ``(H, G)``, and how probable each is before anything was asked twice ``(H,)``."""
    means, spreads, never = (each.ravel()[:, None] for each in np.meshgrid(_MEANS, _SPREADS, _NEVER))
    normal = np.exp(-(((_GRID - means) / spreads) ** 2) / 2)
    priors = (1 - never) * normal / normal.sum(axis=1, keepdims=True) + never * np.equal(_GRID, _GRID[0])
    chances = np.exp(-(((means - _MEAN) / _MEAN_SPREAD) ** 2) / 2 - (spreads / _SPREAD) ** 2 / 2)[:, 0]
    return np.maximum(priors, 1e-300), chances / chances.sum()


def _right(lapse: Floats, n_answers: int, *, twice: bool) -> Floats:
    """Return how probable an answer is to be right, or the same twice, by the chance of a lapse."""
    hit = 1 - lapse + lapse / n_answers
    result: Floats = hit**2 + (n_answers - 1) * (lapse / n_answers) ** 2 if twice else hit
    return result


def _lapses(moved: Floats) -> Floats:
    """Return ``(N, G)``: the chance of a lapse at each point of the grid, moved by so much; 0 at the first."""
    result: Floats = 1 / (1 + np.exp(-_GRID - moved[:, None]))
    result[:, 0] = 0.0
    return result


def _interval(values: Floats, chances: Floats, confidence: float) -> tuple[float, float]:
    """Return the values below and above which equally much of the chances is left out."""
    order = np.argsort(values)
    total = np.cumsum(chances[order])
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2]) * total[-1]
    low, high = values[order][np.minimum(np.searchsorted(total, tails), len(values) - 1)]
    return float(low), float(high)


# What all other judges say about one of them counts as much as so many answers of their own.
_OTHER_JUDGES_WEIGHT = 5.0
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

    answer: Ints
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
        cumulative = np.cumsum(weight[order])
        left_out = 0.0 if without is None else weight[without]
        target = coverage * (weight.sum() - left_out + weight.mean())
        place = np.searchsorted(cumulative, target)
        if without is not None:
            is_before = place < np.argsort(order)[without]
            place = np.where(is_before, place, np.searchsorted(cumulative, target + left_out))
        own = np.append(self._own[order], 0.0)
        result: Floats = own[place]
        return result

    @cached_property
    def _own(self) -> Floats:
        """``(N,)``: how probable each answer was."""
        return self.probabilities[np.arange(len(self.answer)), self.answer]

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(-self._own)

    def _likeness(self, judge: int) -> Floats:
        by_other_judges = self.judge != judge
        if judge < 0 or by_other_judges.all() or not by_other_judges.any():
            return np.ones(len(self.judge))
        distance = ((self.attributes - self.attributes[judge]) ** 2).sum(axis=1)
        alike = np.exp(-2 * distance)[self.judge]
        return np.where(by_other_judges, _OTHER_JUDGES_WEIGHT * alike / alike[by_other_judges].sum(), 1.0)

    def error_bound(self, coverage: float) -> float:
        """Return what share of sets with one answer hold the wrong one, at most: an exact 95 % bound.

        From the held-out answers, each with the threshold that would be its judge's without it: the threshold itself
        is such that few of those it was chosen by are wrong. With weights, as many answers count as would have the
        same variance, (Σw)² / Σw².
        """
        thresholds = np.empty(len(self.answer))
        for judge in np.unique(self.judge):
            theirs = np.flatnonzero(self.judge == judge)
            thresholds[theirs] = self._thresholds(int(judge), coverage, without=theirs)
        sets = self.probabilities >= thresholds[:, None]
        single = sets.sum(axis=1) == 1
        if not single.any():
            return 1.0
        weight = self.weight[single]
        number = weight.sum() ** 2 / (weight**2).sum()
        wrong = ~sets[single, self.answer[single]]
        share = min(float(weight @ wrong / weight.sum()), 1.0)
        return float(clopper_pearson(share * number, number, 2 * _CONFIDENCE - 1)[1])


_FOLDS, _FEW_FOLDS = 10, 3
# After a little changed, the panel is nearly known.
_REFIT_ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Learned panel: distribution over judges, posterior of each judge, and lapses."""

    scale: Scale
    people: EncodedPeople
    """Judged people in the order of ``asked.people``."""

    pairs: AnsweredPairs
    attributes: Floats
    """``(J, Q)``: of the judges, the first one 1."""

    lapses: Lapses
    panel: Panel
    beliefs: Normal

    @classmethod
    def learn(cls, scale: Scale, people: EncodedPeople, pairs: AnsweredPairs, attributes: Floats) -> Hierarchy:
        """Learn what is meant, from that how often people lapse, and what is meant once more."""
        lapses = Lapses.unknown(len(pairs.judges))
        panel, beliefs = learn_panel(_choices(scale, people, pairs, lapses), attributes)
        return cls(scale, people, pairs, attributes, lapses, panel, beliefs).with_lapses()

    def with_lapses(self) -> Hierarchy:
        """Return what is learned once it is known how often judges lapse."""
        pairs, same = self.pairs, self.scale.places.get(Answer.SAME, -1)
        lapses = Lapses.learn(pairs.rows, pairs.check, same, len(pairs.judges))
        once_more = replace(self, lapses=lapses)
        intended = once_more.without_each(self._folds(0, _FEW_FOLDS), Hierarchy.intended_probabilities)
        once = pairs.only(~pairs.check)
        lapses = lapses.with_part(once.rows, intended[~pairs.check][once.rows.pair])
        return replace(self, lapses=lapses).refitted(pairs)

    def refitted(self, pairs: AnsweredPairs) -> Hierarchy:
        """Return what is learned from other answers to about the same questions."""
        choices = _choices(self.scale, self.people, pairs, self.lapses)
        start = self.panel, self.beliefs.mean
        panel, beliefs = learn_panel(choices, self.attributes, rounds=_REFIT_ROUNDS, start=start)
        return replace(self, pairs=pairs, panel=panel, beliefs=beliefs)

    def intended_probabilities(self, people: EncodedPeople, judge: Ints, left: Ints, right: Ints) -> Floats:
        """Return ``(R, K)``: what judges mean, averaged over what is believed of them; judge -1 is somebody new."""
        blocks = self.scale.blocks(people, left, right)
        mean = np.empty((len(judge), len(blocks)))
        covariance = np.empty((len(judge), len(blocks), len(blocks)))
        for number in np.unique(judge):
            rows = judge == number
            belief = self.panel.newcomer if number < 0 else self.beliefs.of(number)
            mean[rows], covariance[rows] = score_moments([block[rows] for block in blocks], belief)
        return expected_probabilities(self.scale.signs, mean, covariance)

    def answer_probabilities(self, people: EncodedPeople, judge: Ints, left: Ints, right: Ints) -> Floats:
        """Return ``(R, K)``: what judges say, which is what they mean but for lapses."""
        slip = self.lapses.slip(judge, np.zeros(len(judge)))[:, None]
        result: Floats = (1 - slip) * self.intended_probabilities(people, judge, left, right) + slip / len(
            self.scale.answers
        )
        return result

    def held_out(self, seed: int) -> HeldOutAnswers:
        """Return each answer as predicted without it, and without a tenth of its judge's others."""
        return self._held_out_answers(self._folds(seed, _FOLDS), Hierarchy.answer_probabilities)

    def held_out_judges(self, seed: int) -> HeldOutAnswers:
        """Return each answer as predicted of a new member, by what nine tenths of the panel said, all others."""
        fold = np.random.default_rng(seed).permutation(len(self.pairs.judges)) % _FOLDS
        held_out = self._held_out_answers(fold[self.pairs.judge], _newcomer_probabilities)
        return replace(held_out, judge=np.full_like(held_out.judge, -1))

    def _folds(self, seed: int, number: int) -> Ints:
        """Return ``(P,)``: pairs dealt out judge by judge, so that every fold holds its part of each."""
        order = np.random.default_rng(seed).permutation(len(self.pairs.judge))
        fold = np.empty(len(order), dtype=np.int64)
        fold[order[np.argsort(self.pairs.judge[order], kind="stable")]] = np.arange(len(order)) % number
        return fold

    def _held_out_answers(self, fold: Ints, predict: Predict) -> HeldOutAnswers:
        """Take the first answer about each pair; checks are none that anyone would want to predict."""
        probabilities, rows = self.without_each(fold, predict), self.pairs.rows
        _, first = np.unique(rows.pair, return_index=True)
        use = first[~self.pairs.check[rows.pair[first]]]
        return HeldOutAnswers(
            probabilities[rows.pair[use]], rows.answer[use], self.pairs.weight[use], rows.judge[use], self.attributes
        )

    def without_each(self, fold: Ints, predict: Predict) -> Floats:
        """Return ``(P, K)``: predictions for the pairs of each fold, by what is learned from the other folds."""
        probabilities = np.empty((len(fold), len(self.scale.answers)))
        for number in np.unique(fold):
            out = fold == number
            fewer = self.refitted(self.pairs.only(~out))
            pairs = (self.pairs.judge[out], self.pairs.first[out], self.pairs.second[out])
            probabilities[out] = predict(fewer, self.people, *pairs)
        return probabilities


Predict: TypeAlias = Callable[[Hierarchy, EncodedPeople, Ints, Ints, Ints], Floats]


def _newcomer_probabilities(learned: Hierarchy, people: EncodedPeople, judge: Ints, left: Ints, right: Ints) -> Floats:
    return learned.answer_probabilities(people, np.full_like(judge, -1), left, right)


def _choices(scale: Scale, people: EncodedPeople, pairs: AnsweredPairs, lapses: Lapses) -> Choices:
    """Return what coefficients are learned from: all but checks."""
    use = ~pairs.check
    evidence = lapses.evidence(pairs.rows, len(pairs.judge))[use]
    blocks = scale.blocks(people, pairs.first[use], pairs.second[use])
    return Choices.by_judge(scale.signs, pairs.judge[use], len(pairs.judges), blocks, evidence)


# Attributes of judges, as numbers.

_MOST_CATEGORIES = 12


def attribute_design(attributes: pd.DataFrame) -> Floats:
    """Return ``(J, Q)``: 1, standardised numbers, centred indicators of categories; 0 where nothing is known.

    Columns that are constant, or a category of its own for nearly everybody, explain nothing and are left out.
    """
    parts = [np.ones(len(attributes))]
    for name in attributes.columns:
        column = attributes[name]
        is_known = column.notna().to_numpy()
        if is_numeric(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            spread = np.nanstd(values) if is_known.any() else 0.0
            if spread > 0:
                parts.append(np.nan_to_num((values - np.nanmean(values)) / spread))
            continue
        groups = column[is_known].astype(str)
        if 1 < groups.nunique() <= min(_MOST_CATEGORIES, len(attributes) // 2):
            for group in sorted(groups.unique()):
                share = float((groups == group).mean())
                parts.append(np.where(is_known, (column.astype(str) == group).to_numpy() - share, 0.0))
    return np.column_stack(parts)
