"""All that was learned from a panel's answers, and what it predicts; tables of users are read elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from fairwise.judgments.answer import Answer
from fairwise.judgments.answer_model.choices import (
    Choices,
    Normal,
    Scale,
    expected_probabilities,
    score_moments,
)
from fairwise.judgments.answer_model.conformal import HeldOutAnswers
from fairwise.judgments.answer_model.features import EncodedPeople, Floats, Ints
from fairwise.judgments.answer_model.lapses import Lapses
from fairwise.judgments.answer_model.panel import Panel, learn_panel
from fairwise.judgments.answer_model.rows import AskedPairs
from fairwise.tables.columns import is_numeric

_FOLDS, _FEW_FOLDS = 10, 3
# After a little changed, the panel is nearly known.
_ROUNDS_AGAIN = 10


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """What was learned: a panel, what is believed of each of its judges, and how often they lapse."""

    scale: Scale
    people: EncodedPeople
    """Whom the answers are about, in the order of ``asked.people``."""

    asked: AskedPairs
    attributes: Floats
    """``(J, Q)``: of the judges, the first one 1."""

    lapses: Lapses
    panel: Panel
    beliefs: Normal

    @classmethod
    def learn(cls, scale: Scale, people: EncodedPeople, asked: AskedPairs, attributes: Floats) -> Hierarchy:
        """Learn what is meant, from that how often people lapse, and what is meant once more."""
        lapses = Lapses.unknown(len(asked.judges))
        panel, beliefs = learn_panel(_choices(scale, people, asked, lapses), attributes)
        return cls(scale, people, asked, attributes, lapses, panel, beliefs).with_lapses()

    def with_lapses(self) -> Hierarchy:
        """Return what is learned once it is known how often judges lapse."""
        asked, same = self.asked, self.scale.places.get(Answer.SAME, -1)
        lapses = Lapses.learn(asked.rows, asked.check, same, len(asked.judges))
        once_more = replace(self, lapses=lapses)
        meant = once_more.without_each(self._folds(0, _FEW_FOLDS), Hierarchy.meant_probabilities)
        once = asked.only(~asked.check)
        lapses = lapses.with_part(once.rows, meant[~asked.check][once.rows.pair])
        return replace(self, lapses=lapses).again(asked)

    def again(self, asked: AskedPairs) -> Hierarchy:
        """Return what is learned from other answers to about the same questions."""
        choices = _choices(self.scale, self.people, asked, self.lapses)
        start = self.panel, self.beliefs.mean
        panel, beliefs = learn_panel(choices, self.attributes, rounds=_ROUNDS_AGAIN, start=start)
        return replace(self, asked=asked, panel=panel, beliefs=beliefs)

    def meant_probabilities(self, people: EncodedPeople, judge: Ints, left: Ints, right: Ints) -> Floats:
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
        result: Floats = (1 - slip) * self.meant_probabilities(people, judge, left, right) + slip / len(
            self.scale.answers
        )
        return result

    def held_out(self, seed: int) -> HeldOutAnswers:
        """Return each answer as predicted without it, and without a tenth of its judge's others."""
        return self._said_without(self._folds(seed, _FOLDS), Hierarchy.answer_probabilities)

    def held_out_judges(self, seed: int) -> HeldOutAnswers:
        """Return each answer as predicted of a new member, by what nine tenths of the panel said, all others."""
        fold = np.random.default_rng(seed).permutation(len(self.asked.judges)) % _FOLDS
        held_out = self._said_without(fold[self.asked.judge], _said_by_newcomers)
        return replace(held_out, judge=np.full_like(held_out.judge, -1))

    def _folds(self, seed: int, number: int) -> Ints:
        """Return ``(P,)``: pairs dealt out judge by judge, so that every fold holds its part of each."""
        order = np.random.default_rng(seed).permutation(len(self.asked.judge))
        fold = np.empty(len(order), dtype=np.int64)
        fold[order[np.argsort(self.asked.judge[order], kind="stable")]] = np.arange(len(order)) % number
        return fold

    def _said_without(self, fold: Ints, predict: Predict) -> HeldOutAnswers:
        """Take the first answer about each pair; checks are none that anyone would want to predict."""
        probabilities, rows = self.without_each(fold, predict), self.asked.rows
        _, first = np.unique(rows.pair, return_index=True)
        use = first[~self.asked.check[rows.pair[first]]]
        return HeldOutAnswers(
            probabilities[rows.pair[use]], rows.said[use], self.asked.weight[use], rows.judge[use], self.attributes
        )

    def without_each(self, fold: Ints, predict: Predict) -> Floats:
        """Return ``(P, K)``: predictions for the pairs of each fold, by what is learned from the other folds."""
        probabilities = np.empty((len(fold), len(self.scale.answers)))
        for number in np.unique(fold):
            out = fold == number
            fewer = self.again(self.asked.only(~out))
            pairs = (self.asked.judge[out], self.asked.first[out], self.asked.second[out])
            probabilities[out] = predict(fewer, self.people, *pairs)
        return probabilities


Predict: TypeAlias = Callable[[Hierarchy, EncodedPeople, Ints, Ints, Ints], Floats]


def _said_by_newcomers(learned: Hierarchy, people: EncodedPeople, judge: Ints, left: Ints, right: Ints) -> Floats:
    return learned.answer_probabilities(people, np.full_like(judge, -1), left, right)


def with_checks(scale: Scale, meant: Floats, check: np.ndarray) -> Floats:
    """Return what is meant, where two identical people are surely the same."""
    if check.any():
        meant = np.where(check[:, None], np.eye(len(scale.answers))[scale.places[Answer.SAME]], meant)
    return meant


def _choices(scale: Scale, people: EncodedPeople, asked: AskedPairs, lapses: Lapses) -> Choices:
    """Return what coefficients are learned from: all but checks."""
    use = ~asked.check
    evidence = lapses.evidence(asked.rows, len(asked.judge))[use]
    blocks = scale.blocks(people, asked.first[use], asked.second[use])
    return Choices.by_judge(scale.signs, asked.judge[use], len(asked.judges), blocks, evidence)


# Attributes of judges, as numbers.

_MOST_CATEGORIES = 12


def attribute_design(attributes: pd.DataFrame) -> Floats:
    """Return ``(J, Q)``: 1, standardised numbers, centred indicators of categories; 0 where nothing is known.

    Columns that are constant, or a category of its own for nearly everybody, explain nothing and are left out.
    """
    parts = [np.ones(len(attributes))]
    for name in attributes.columns:
        column = attributes[name]
        known = column.notna().to_numpy()
        if is_numeric(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            spread = np.nanstd(values) if known.any() else 0.0
            if spread > 0:
                parts.append(np.nan_to_num((values - np.nanmean(values)) / spread))
            continue
        groups = column[known].astype(str)
        if 1 < groups.nunique() <= min(_MOST_CATEGORIES, len(attributes) // 2):
            for group in sorted(groups.unique()):
                share = float((groups == group).mean())
                parts.append(np.where(known, (column.astype(str) == group).to_numpy() - share, 0.0))
    return np.column_stack(parts)
