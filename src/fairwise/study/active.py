"""Active pairs: chosen by chance, with known probability, more often where the answer is least certain."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.judgments.answer_model.choices import WIDE, Beforehand, Choices, Normal, Panel, learn_panel, softmax
from fairwise.judgments.answer_model.encoding import EncodedPeople, Floats, Ints, PeopleEncoder, Scale
from fairwise.study.folder import StudyFolder
from fairwise.study.schedules import DifferingPairs, Purpose, ShownPair, stream
from fairwise.tables.columns import is_numeric

# Two questions: are they the same, and if not, who is ahead?
_SAME = Scale.of([Answer.SAME, Answer.NO_CONSTRAINT])
_ORDER = Scale.of([Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT])
_PLACE = {answer: place for place, answer in enumerate(Answer)}

# Bundles of studies are verified by choosing again, so nothing that a choice follows from may ever change: neither
# what is assumed of participants, nor how often it is gone over, nor the draws.
_BEFOREHAND = Beforehand(spread=WIDE, correlated=False, sizes_learned=False, floor=0.0)
_ROUNDS = 12
_ALONE_STEPS = 8
_DRAWS = 32


@dataclass(frozen=True)
class ParticipantAnswer:
    """Answer of a participant about two people, `a` on the left."""

    participant: str
    a: str
    b: str
    answer: Answer


@dataclass(frozen=True, eq=False)
class SeenPeople:
    """Records that participants see, encoded, with the row of each person; no outcomes."""

    places: Mapping[str, int]
    encoded: EncodedPeople

    @classmethod
    def of(cls, people: pd.DataFrame) -> SeenPeople:
        """Read a table of what is shown, ids in its index, one column for each thing that is shown."""
        if not people.columns.size or not people.index.is_unique:
            raise InputError("people: at least one column and an index without repeated ids are needed")
        encoded = PeopleEncoder.learn(people, plain=True).encode(people)
        return cls({person: place for place, person in enumerate(people.index)}, encoded)

    def positions(self, ids: Sequence[str]) -> Ints:
        """Return where people stand in the table."""
        try:
            return np.array([self.places[person] for person in ids], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"people: nobody with the id {error.args[0]!r}") from None


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Coefficients one participant may have: S draws from what is believed of them."""

    same: Floats
    """``(S, D)``: of the first question."""

    order: Floats | None
    """``(S, E)``: of the second, unless only `same` and `no_constraint` are allowed."""


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """Two models of choices whose coefficients differ between participants, about a common mean.

    For a participant with coefficients θ and λ, and two people with differences s = `EncodedPeople.apart` and
    t = `EncodedPeople.ahead`,

        P(same)                                  = 1 / (1 + exp(-θ·s))
        P(A ahead), P(B ahead), P(no constraint) ∝ exp(λ·t), exp(-λ·t), exp(λ₀), if not the same.

    Changing sides turns the sign of t and leaves s: it exchanges the two ordered answers and nothing else. It is
    quicker than `AnswerModel`, whose features and hierarchy it uses in their plainest form, as a page cannot wait.
    """

    seen: SeenPeople
    same: Panel
    order: Panel | None

    @classmethod
    def learn(cls, seen: SeenPeople, answers: Sequence[ParticipantAnswer], *, four: bool) -> ChoiceModel:
        """Learn from all answers so far what participants have in common."""
        same, order = _choices(seen, answers)
        return cls(seen, _common(same), _common(order) if four else None)

    def beliefs(self, own: Sequence[ParticipantAnswer]) -> Beliefs:
        """Return what one participant's own answers leave open; with none, what is common to all."""
        same, order = _choices(self.seen, [replace(each, participant="") for each in own])
        return Beliefs(_sampled(self.same, same), None if self.order is None else _sampled(self.order, order))

    def draws(self, beliefs: Beliefs, left: Ints, right: Ints) -> Floats:
        """Return ``(S, R, 4)``: the probability of each `Answer` for each draw and each pair."""
        utility = beliefs.same @ self.seen.encoded.distances(left, right).T
        same = softmax(np.stack([utility, np.zeros_like(utility)], axis=-1))
        result = np.zeros((*utility.shape, len(Answer)))
        result[..., _PLACE[Answer.SAME]] = same[..., 0]
        if beliefs.order is None:
            result[..., _PLACE[Answer.NO_CONSTRAINT]] = same[..., 1]
            return result
        merit_scores = beliefs.order[:, :-1] @ self.seen.encoded.merit_differences(left, right).T
        tie = np.broadcast_to(beliefs.order[:, -1:], merit_scores.shape)
        ordered = softmax(np.stack([merit_scores, -merit_scores, tie], axis=-1))
        result[..., [_PLACE[answer] for answer in _ORDER.answers]] = ordered * same[..., 1:]
        return result

    def predict(self, beliefs: Beliefs, left: Ints, right: Ints) -> Floats:
        """Return ``(R, 4)``: the probability of each `Answer` for each pair of positions in the table."""
        mean: Floats = self.draws(beliefs, left, right).mean(axis=0)
        return mean


def _choices(seen: SeenPeople, answers: Sequence[ParticipantAnswer]) -> tuple[Choices, Choices]:
    """Return the first question's choices, and the second's, of those who were not said to be the same."""
    left, right = (seen.positions([getattr(each, side) for each in answers]) for side in "ab")
    who = np.array([each.participant for each in answers], dtype=object)
    first = [Answer.SAME if each.answer == Answer.SAME else Answer.NO_CONSTRAINT for each in answers]
    differ = np.array([each.answer != Answer.SAME for each in answers], dtype=bool)
    second = [each.answer for each in answers if each.answer != Answer.SAME]
    merit_blocks = [seen.encoded.merit_differences(left[differ], right[differ]), np.ones((len(second), 1))]
    return (
        _by_participant(_SAME, who, [seen.encoded.distances(left, right)], first),
        _by_participant(_ORDER, who[differ], merit_blocks, second),
    )


def _by_participant(scale: Scale, who: np.ndarray, blocks: list[Floats], answers: Sequence[Answer]) -> Choices:
    codes, names = pd.factorize(who)
    chosen = np.array([scale.places[answer] for answer in answers], dtype=np.int64)
    evidence = np.eye(len(scale.answers))[chosen]
    return Choices.by_judge(scale.signs, codes.astype(np.int64), len(names), blocks, evidence)


def _common(choices: Choices) -> Panel:
    return learn_panel(choices, np.ones((choices.n_judges, 1)), beforehand=_BEFOREHAND, rounds=_ROUNDS)[0]


def _sampled(panel: Panel, choices: Choices) -> Floats:
    """Return ``(S, D)`` draws for one participant: always the same luck, in pairs of opposite luck."""
    posterior: Normal = panel.posterior(choices, np.ones((1, 1)), steps=_ALONE_STEPS).of(0)
    luck = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(posterior.mean)))
    spread = np.concatenate([luck, -luck]) @ np.linalg.cholesky(posterior.covariance).T
    drawn: Floats = posterior.mean + spread
    return drawn


# What all participants have in common, as text that reads back to the same numbers, every digit of them.


def written(model: ChoiceModel) -> str:
    """Return both panels as JSON; what is seen of people is the study's, and not repeated."""
    return json.dumps(
        {"same": _panel_numbers(model.same), "order": None if model.order is None else _panel_numbers(model.order)}
    )


def _panel_numbers(panel: Panel) -> dict[str, list[float]]:
    return {"mean": panel.weights[0].tolist(), "variance": np.diagonal(panel.covariance).tolist()}


def restored(chooser: ActiveChooser, parameters: str, learned_from: int) -> ActiveChooser:
    """Return the chooser that had learned this, from another one about the same people."""
    model = chooser.model
    try:
        content = json.loads(parameters)
        same, order = content["same"], content["order"]
        panels = _panel(same, model.same), None if model.order is None else _panel(order, model.order)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise InputError("its parameters are not those of a model of answers about these people") from None
    return replace(chooser, model=replace(model, same=panels[0], order=panels[1]), answers_so_far=learned_from)


def _panel(numbers: dict[str, list[float]], like: Panel) -> Panel:
    mean, variance = (np.asarray(numbers[name], dtype=np.float64) for name in ("mean", "variance"))
    possible = np.isfinite(mean).all() and np.isfinite(variance).all() and (variance > 0).all()
    if mean.shape != like.weights[0].shape or variance.shape != mean.shape or not possible:
        raise ValueError
    return Panel(mean[None], np.diag(variance))


CANDIDATES = 300
# Up to so many numbers it is quicker to shuffle them all than to draw until enough are new.
_FEW_NUMBERS = 50_000


@dataclass(frozen=True, eq=False)
class ActiveChooser:
    """Chooses pairs by what was answered so far; knows what is shown of people, and nothing about outcomes.

    It never changes: `learned` returns another one. All it does follows from the table, the answers and the `rng`.
    """

    records: Mapping[str, Hashable]
    """Record that participants see, by person; people with equal records are never compared."""

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
        excluded_pairs: Collection[tuple[str, str]] = (),
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
        excluded_pairs : pairs of ids
            What this participant was shown besides; never drawn again, on whichever sides.
        candidates : int
            How many pairs are looked at, at most.
        scores : {id: probability}, optional
            How likely a current model gives each person the good label. Then half of the choosy draws go to pairs
            about which this model would break the likely answer.
        """
        if candidates < 1:
            raise InputError(f"candidates={candidates!r}; allowed: 1 or more")
        excluded = {frozenset((each.a, each.b)) for each in own} | {frozenset(pair) for pair in excluded_pairs}
        left_over = len(self.pairs) - sum(self._differ(*pair) for pair in excluded if len(pair) == 2)
        if not left_over:
            raise InputError("active design: this participant has been shown every pair of people who differ")
        pool = self._candidates(rng, excluded, min(candidates, left_over))
        q = self._chances(pool, own, scores)
        choice = int(rng.choice(len(pool), p=q))
        return ShownPair(*pool[choice], PairDesign.ACTIVE, float(q[choice]) * len(pool) / left_over)

    def _differ(self, one: str, other: str) -> bool:
        for person in (one, other):
            if person not in self.records:
                raise InputError(f"people: nobody with the id {person!r}")
        return self.records[one] != self.records[other]

    def _candidates(
        self, rng: np.random.Generator, excluded: Collection[frozenset[str]], count: int
    ) -> list[tuple[str, str]]:
        """Return different pairs, each as likely as any other that was not shown, sides at random."""
        pool: dict[frozenset[str], tuple[str, str]] = {}
        for number in _numbers(rng, self.pairs.ordered, count):
            pair = self.pairs[number]
            if (key := frozenset(pair)) not in excluded:
                pool.setdefault(key, pair)
            if len(pool) == count:
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
    same, a_first, b_first = (
        predicted[:, list(Answer).index(answer)] for answer in (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A)
    )
    gain = left - right
    broken: Floats = same * np.abs(gain) + a_first * np.maximum(-gain, 0) + b_first * np.maximum(gain, 0)
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
    """Position of the pair to choose."""

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
        return self.chooser.choose(
            np.random.Generator(chance), now.own, excluded_pairs=now.laid_out, scores=self.scores
        )


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
    is_active = ~np.isnan(p)
    if y.shape != p.shape or y.ndim != 1 or not is_active.any():
        raise InputError(
            f"mean_over_pairs: {y.shape} values, {p.shape} probabilities; needed: one each, one of them known"
        )
    if not ((p[is_active] > 0) & (p[is_active] <= 1)).all():
        raise InputError("mean_over_pairs: selection probabilities must be above 0 and at most 1")
    seen_before = np.cumsum(y) - y
    return float(np.mean((seen_before + y / np.where(is_active, p, 1.0))[is_active]) / n_pairs)
