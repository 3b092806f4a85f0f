"""What participants answer, as far as the active design needs to know: a plain case of the model of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer
from fairwise.judgments.answer_model.choices import Choices, Normal, Scale, softmax
from fairwise.judgments.answer_model.features import EncodedPeople, Floats, Ints, PeopleEncoder
from fairwise.judgments.answer_model.panel import WIDE, Beforehand, Panel, learn_panel

if TYPE_CHECKING:
    from fairwise.study.active.chooser import ActiveChooser

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
    """What a participant said of two people, `a` on the left."""

    participant: str
    a: str
    b: str
    answer: Answer


@dataclass(frozen=True, eq=False)
class SeenPeople:
    """What is shown of people, and where each of them stands in the table; no outcomes."""

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
        return Beliefs(_drawn(self.same, same), None if self.order is None else _drawn(self.order, order))

    def draws(self, beliefs: Beliefs, left: Ints, right: Ints) -> Floats:
        """Return ``(S, R, 4)``: the probability of each `Answer` for each draw and each pair."""
        utility = beliefs.same @ self.seen.encoded.apart(left, right).T
        same = softmax(np.stack([utility, np.zeros_like(utility)], axis=-1))
        result = np.zeros((*utility.shape, len(Answer)))
        result[..., _PLACE[Answer.SAME]] = same[..., 0]
        if beliefs.order is None:
            result[..., _PLACE[Answer.NO_CONSTRAINT]] = same[..., 1]
            return result
        ahead = beliefs.order[:, :-1] @ self.seen.encoded.ahead(left, right).T
        tie = np.broadcast_to(beliefs.order[:, -1:], ahead.shape)
        ordered = softmax(np.stack([ahead, -ahead, tie], axis=-1))
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
    ahead = [seen.encoded.ahead(left[differ], right[differ]), np.ones((len(second), 1))]
    return (
        _by_participant(_SAME, who, [seen.encoded.apart(left, right)], first),
        _by_participant(_ORDER, who[differ], ahead, second),
    )


def _by_participant(scale: Scale, who: np.ndarray, blocks: list[Floats], said: Sequence[Answer]) -> Choices:
    codes, names = pd.factorize(who)
    chosen = np.array([scale.places[answer] for answer in said], dtype=np.int64)
    evidence = np.eye(len(scale.answers))[chosen]
    return Choices.by_judge(scale.signs, codes.astype(np.int64), len(names), blocks, evidence)


def _common(choices: Choices) -> Panel:
    return learn_panel(choices, np.ones((choices.n_judges, 1)), beforehand=_BEFOREHAND, rounds=_ROUNDS)[0]


def _drawn(panel: Panel, choices: Choices) -> Floats:
    """Return ``(S, D)`` draws for one participant: always the same luck, in pairs of opposite luck."""
    found: Normal = panel.posterior(choices, np.ones((1, 1)), steps=_ALONE_STEPS).of(0)
    luck = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(found.mean)))
    spread = np.concatenate([luck, -luck]) @ np.linalg.cholesky(found.covariance).T
    drawn: Floats = found.mean + spread
    return drawn


# What all participants have in common, as text that reads back to the same numbers, every digit of them.


def written(model: ChoiceModel) -> str:
    """Return both panels as JSON; what is seen of people is the study's, and not repeated."""
    return json.dumps({"same": _numbers(model.same), "order": None if model.order is None else _numbers(model.order)})


def _numbers(panel: Panel) -> dict[str, list[float]]:
    return {"mean": panel.weights[0].tolist(), "variance": np.diagonal(panel.covariance).tolist()}


def restored(chooser: ActiveChooser, parameters: str, learned_from: int) -> ActiveChooser:
    """Return the chooser that had learned this, from another one about the same people."""
    model = chooser.model
    try:
        found = json.loads(parameters)
        same, order = found["same"], found["order"]
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
