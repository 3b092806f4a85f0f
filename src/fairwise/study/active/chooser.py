"""The next pair in active mode: drawn among random candidates, more often where it is worth more."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.judgments.answer_model.features import Floats
from fairwise.study.active.model import ChoiceModel, ParticipantAnswer, SeenPeople, restored
from fairwise.study.designs import DifferingPairs, ShownPair
from fairwise.study.designs.numbered_pairs import Purpose, stream
from fairwise.study.folder import StudyFolder
from fairwise.tables.columns import is_numeric

CANDIDATES = 300
# Up to so many numbers it is quicker to shuffle them all than to draw until enough are new.
_FEW_NUMBERS = 50_000


@dataclass(frozen=True, eq=False)
class ActiveChooser:
    """Chooses pairs by what was answered so far; knows what is shown of people, and nothing about outcomes.

    It never changes: `learned` returns another one. All it does follows from the table, the answers and the `rng`.
    """

    records: Mapping[str, Hashable]
    """What is shown of each person; two people are never compared whose records are equal."""

    pairs: DifferingPairs
    model: ChoiceModel
    answers_so_far: int

    @classmethod
    def of(
        cls,
        people: pd.DataFrame,
        allowed: Collection[Answer] = tuple(Answer),
        records: Mapping[str, Hashable] | None = None,
    ) -> ActiveChooser:
        """Return one that knows no answers yet, and so draws all pairs alike.

        Parameters
        ----------
        people : DataFrame
            Ids in the index, one column for each thing that is shown.
        allowed : answers
            All four, or `same` and `no_constraint`.
        records : {id: what is read}, optional
            Who looks the same to participants, such as the rows of their cards; otherwise whose values are equal.
        """
        seen = SeenPeople.of(people)
        if records is None:
            rows = people.groupby(list(people.columns), dropna=False, sort=False).ngroup()
            records = dict(zip(people.index, rows.tolist(), strict=True))
        model = ChoiceModel.learn(seen, [], four=Answer.A_AT_LEAST_B in allowed)
        return cls(records, DifferingPairs(records), model, 0)

    def learned(self, answers: Sequence[ParticipantAnswer]) -> ActiveChooser:
        """Return one that has learned from all these answers, of all participants, and from no others."""
        model = ChoiceModel.learn(self.model.seen, answers, four=self.model.order is not None)
        return replace(self, model=model, answers_so_far=len(answers))

    def choose(
        self,
        rng: np.random.Generator,
        own: Sequence[ParticipantAnswer] = (),
        *,
        also_shown: Collection[tuple[str, str]] = (),
        candidates: int = CANDIDATES,
        scores: Mapping[str, float] | None = None,
    ) -> ShownPair:
        """Draw one participant's next pair.

        Its `selection_probability` is q · M / N: the chance q of this pair among the M candidates, times the chance
        M / N of being a candidate, of all N pairs that this participant could still be shown. One over it is the
        weight with which this draw estimates a sum over those N pairs without bias; see `mean_over_pairs`.

        Parameters
        ----------
        rng : Generator
            All the chance there is.
        own : answers
            Of this participant so far, in any order, whether `learned` knew them or not.
        also_shown : pairs of ids
            What this participant was shown besides; never drawn again, on whichever sides.
        candidates : int
            How many pairs are looked at, at most.
        scores : {id: probability}, optional
            How likely a current model gives each person the good label. Then half of the choosy draws go to pairs
            about which this model would break the likely answer.
        """
        if candidates < 1:
            raise InputError(f"candidates={candidates!r}; allowed: 1 or more")
        shown = {frozenset((each.a, each.b)) for each in own} | {frozenset(pair) for pair in also_shown}
        left_over = len(self.pairs) - sum(self._differ(*pair) for pair in shown if len(pair) == 2)
        if not left_over:
            raise InputError("active design: this participant has been shown every pair of people who differ")
        pool = self._candidates(rng, shown, min(candidates, left_over))
        q = self._chances(pool, own, scores)
        drawn = int(rng.choice(len(pool), p=q))
        return ShownPair(*pool[drawn], PairDesign.ACTIVE, float(q[drawn]) * len(pool) / left_over)

    def _differ(self, one: str, other: str) -> bool:
        for person in (one, other):
            if person not in self.records:
                raise InputError(f"people: nobody with the id {person!r}")
        return self.records[one] != self.records[other]

    def _candidates(
        self, rng: np.random.Generator, shown: Collection[frozenset[str]], wanted: int
    ) -> list[tuple[str, str]]:
        """Return different pairs, each as likely as any other that was not shown, sides at random."""
        pool: dict[frozenset[str], tuple[str, str]] = {}
        for number in _numbers(rng, self.pairs.ordered, wanted):
            pair = self.pairs[number]
            if (key := frozenset(pair)) not in shown:
                pool.setdefault(key, pair)
            if len(pool) == wanted:
                break
        return list(pool.values())

    def _chances(
        self, pool: Sequence[tuple[str, str]], own: Sequence[ParticipantAnswer], scores: Mapping[str, float] | None
    ) -> Floats:
        ids = [[pair[side] for pair in pool] for side in (0, 1)]
        predicted = self.model.predict(self.model.beliefs(own), *map(self.model.seen.positions, ids))
        worths = [uncertainty(predicted)]
        if scores is not None:
            worths.append(expected_violation(predicted, *(_scores(scores, side) for side in ids)))
        return chances(worths, max(self.answers_so_far, len(own)))


def _numbers(rng: np.random.Generator, below: int, at_once: int) -> Iterator[int]:
    if below <= _FEW_NUMBERS:
        yield from rng.permutation(below).tolist()
        return
    while True:
        yield from rng.integers(below, size=at_once).tolist()


def _scores(scores: Mapping[str, float], ids: Sequence[str]) -> Floats:
    values = np.array([scores.get(person, np.nan) for person in ids], dtype=np.float64)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        person = ids[int(wrong.argmax())]
        raise InputError(f"scores, person {person!r}: {scores.get(person)!r}; needed: a probability from 0 to 1")
    return values


# Which pairs are worth asking about, and how likely each is therefore to be drawn.

# How much more often a pair is drawn that is worth more: its worth to this power.
_SHARPNESS = 6
# Of all draws, at least this part goes to all pairs alike, so that no pair weighs more than 1 / 0.2 times its due.
_ALIKE = 0.2
# After so many answers, draws are half as choosy as they will be in the end.
_HALFWAY = 100


def uncertainty(predicted: Floats) -> Floats:
    """Return the entropy -Σ_k p_k log p_k of each row of ``(R, 4)`` probabilities: ``(R,)``."""
    logarithms = np.log(predicted, out=np.zeros_like(predicted), where=predicted > 0)
    entropy: Floats = np.maximum(-(predicted * logarithms).sum(axis=-1), 0.0)
    return entropy


def expected_violation(predicted: Floats, left: Floats, right: Floats) -> Floats:
    """Return by how much a model would break the answers that are likely, ``(R,)``.

    With probabilities l and r of the good label for the two people,
    P(same) |l - r| + P(A ahead) max(r - l, 0) + P(B ahead) max(l - r, 0).
    """
    same, a_ahead, b_ahead = (
        predicted[:, list(Answer).index(answer)] for answer in (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A)
    )
    gain = left - right
    broken: Floats = same * np.abs(gain) + a_ahead * np.maximum(-gain, 0) + b_ahead * np.maximum(gain, 0)
    return broken


def chances(worths: list[Floats], answers_so_far: int) -> Floats:
    """Return the chance of each of M pairs to be drawn: positive, adding up to 1; ``(M,)``.

    q = (1 - c) / M + c · the mean over kinds of worth w of w^k / Σ w^k, with k = 6, where
    c = 0.8 · n / (n + 100) after n answers: without answers, all pairs are alike.
    """
    choosy = (1 - _ALIKE) * answers_so_far / (answers_so_far + _HALFWAY)
    focus = np.mean([_focus(worth) for worth in worths], axis=0)
    mixed: Floats = (1 - choosy) / len(focus) + choosy * focus
    chance: Floats = mixed / mixed.sum()
    return chance


def _focus(worth: Floats) -> Floats:
    largest = worth.max()
    raised: Floats = (worth / largest) ** _SHARPNESS if largest > 0 else np.ones_like(worth)
    part: Floats = raised / raised.sum()
    return part


# A study's active pairs: the same choice in the running study and years later, when somebody checks it.


@dataclass(frozen=True)
class Situation:
    """All that a choice follows from, beside the study and what all participants have in common."""

    participant_number: int
    position: int
    """Of the pair to choose."""

    own: Sequence[ParticipantAnswer]
    """The participant's current answers, in the order of positions: sums of numbers depend on it in the last digit."""

    laid_out: Collection[tuple[str, str]]
    """All pairs that this participant was shown or will be."""


@dataclass(frozen=True, eq=False)
class StudyChooser:
    """Knows a study and what was learned last; chance follows from the seed, the participant and the position."""

    chooser: ActiveChooser
    seed: int
    scores: Mapping[str, float] | None

    @classmethod
    def of(cls, study: StudyFolder) -> StudyChooser:
        """Return one that has learned nothing yet; it sees what participants see."""
        people = study.people()
        places = {column.name: place for place, column in enumerate(study.settings.columns)}
        for name in people.columns:
            if not is_numeric(people[name]):
                people[name] = [card.rows[places[name]].text for card in study.cards.values()]
        records = {person: card.rows for person, card in study.cards.items()}
        chooser = ActiveChooser.of(people, study.settings.allowed_answers, records)
        return cls(chooser, study.settings.seed, study.scores)

    def learned(self, answers: Sequence[ParticipantAnswer]) -> StudyChooser:
        """Return one that has learned from all these answers, and from no others."""
        return replace(self, chooser=self.chooser.learned(answers))

    def restored(self, parameters: str, learned_from: int) -> StudyChooser:
        """Return one that knows what was once learned."""
        return replace(self, chooser=restored(self.chooser, parameters, learned_from))

    def choose(self, now: Situation) -> ShownPair:
        """Return the pair; asked again, the same."""
        chance = stream(Purpose.ACTIVE, self.seed, now.participant_number, now.position)
        return self.chooser.choose(np.random.Generator(chance), now.own, also_shown=now.laid_out, scores=self.scores)


# What pairs that were not drawn alike say about all pairs.


def mean_over_pairs(values: ArrayLike, selection_probabilities: ArrayLike, n_pairs: int) -> float:
    """Estimate, without bias, the mean of something over all pairs from those one participant was shown.

    Draw t was of pair i with probability p_t, given all that came before, among those not yet shown. Then
    (Σ_{s<t} y_s + y_t / p_t) / N is an unbiased estimate of the mean of y over all N pairs, whatever was learned
    from earlier answers; this is the mean of these estimates over t (Des Raj's estimator, with the two-phase
    probability p = q · M / N in place of the exact one, which is not known).

    Parameters
    ----------
    values : (T,)
        Such as 1 where the answer was `same`, for every pair shown, in the order in which they were.
    selection_probabilities : (T,)
        As `ActiveChooser.choose` returned them; NaN for pairs of other designs, which then only count as seen.
    n_pairs : int
        N, how many pairs of people differ in what is shown.
    """
    y, p = np.asarray(values, dtype=np.float64), np.asarray(selection_probabilities, dtype=np.float64)
    drawn = ~np.isnan(p)
    if y.shape != p.shape or y.ndim != 1 or not drawn.any():
        raise InputError(
            f"mean_over_pairs: {y.shape} values, {p.shape} probabilities; needed: one each, one of them known"
        )
    if not ((p[drawn] > 0) & (p[drawn] <= 1)).all():
        raise InputError("mean_over_pairs: selection probabilities must be above 0 and at most 1")
    seen_before = np.cumsum(y) - y
    return float(np.mean((seen_before + y / np.where(drawn, p, 1.0))[drawn]) / n_pairs)
