"""A small model of what each participant will answer: first whether two people are the same, then who is ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairwise.judgments.answer import Answer
from fairwise.study.active.logit import Choices, Floats, Ints, Posterior, Prior, posterior, softmax
from fairwise.study.active.pooling import pooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairwise.study.active.features import SeenPeople

ORDER = (Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)
_ALONE_STEPS = 8
_DRAWS = 32


@dataclass(frozen=True)
class GivenAnswer:
    """What a participant said of two people, `a` on the left."""

    participant: str
    a: str
    b: str
    answer: Answer


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Coefficients one participant may have: S draws from what is believed of them."""

    same: Floats
    """``(S, D)``: of the first question."""

    order: Floats | None
    """``(S, E)``: of the second, unless only `same` and `no_constraint` are allowed."""


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """Logistic regressions whose coefficients differ between participants, about a common mean.

    For a participant with coefficients θ and λ, and two people with differences s = `SeenPeople.apart` and
    t = `SeenPeople.ahead`,

        P(same)                                  = 1 / (1 + exp(-θ·s))
        P(A ahead), P(B ahead), P(no constraint) ∝ exp(λ·t), exp(-λ·t), exp(λ₀), if not the same.

    Changing sides turns the sign of t and leaves s: it exchanges the two ordered answers and nothing else. The
    second line is Davidson's model of comparisons with ties.
    """

    seen: SeenPeople
    same: Prior
    order: Prior | None

    @classmethod
    def learn(cls, seen: SeenPeople, answers: Sequence[GivenAnswer], *, four: bool) -> AnswerModel:
        """Learn from all answers so far what participants have in common."""
        same, order = _choices(seen, answers)
        return cls(seen, pooled(same)[0], pooled(order)[0] if four else None)

    def beliefs(self, own: Sequence[GivenAnswer]) -> Beliefs:
        """Return what one participant's own answers leave open; with none, what is common to all."""
        same, order = _choices(self.seen, own)
        of_order = None if self.order is None else _drawn(_alone(order, self.order))
        return Beliefs(_drawn(_alone(same, self.same)), of_order)

    def draws(self, beliefs: Beliefs, left: Ints, right: Ints) -> Floats:
        """Return ``(S, R, 4)``: the probability of each `Answer` for each draw and each pair."""
        utility = beliefs.same @ self.seen.apart(left, right).T
        same = softmax(np.stack([utility, np.zeros_like(utility)], axis=-1))
        result = np.zeros((*utility.shape, len(Answer)))
        result[..., _PLACE[Answer.SAME]] = same[..., 0]
        if beliefs.order is None:
            result[..., _PLACE[Answer.NO_CONSTRAINT]] = same[..., 1]
            return result
        ahead = beliefs.order[:, :-1] @ self.seen.ahead(left, right).T
        tie = np.broadcast_to(beliefs.order[:, -1:], ahead.shape)
        result[..., [_PLACE[answer] for answer in ORDER]] = softmax(np.stack([ahead, -ahead, tie], axis=-1))
        result[..., [_PLACE[answer] for answer in ORDER]] *= same[..., 1:]
        return result

    def predict(self, beliefs: Beliefs, left: Ints, right: Ints) -> Floats:
        """Return ``(R, 4)``: the probability of each `Answer` for each pair of positions in the table."""
        mean: Floats = self.draws(beliefs, left, right).mean(axis=0)
        return mean


_PLACE = {answer: place for place, answer in enumerate(Answer)}


def _choices(seen: SeenPeople, answers: Sequence[GivenAnswer]) -> tuple[Choices, Choices]:
    """Return the first question's choices, and the second's, of those who were not said to be the same."""
    apart, ahead = (
        part(*(seen.positions([getattr(each, side) for each in answers]) for side in "ab"))
        for part in (seen.apart, seen.ahead)
    )
    first = np.stack([apart, np.zeros_like(apart)], axis=1)
    none = np.zeros((len(ahead), 1))
    tie = np.hstack([np.zeros_like(ahead), none + 1])
    second = np.stack([np.hstack([ahead, none]), np.hstack([-ahead, none]), tie], axis=1)
    who = [each.participant for each in answers]
    ordered = [number for number, each in enumerate(answers) if each.answer != Answer.SAME]
    return (
        _by_participant(who, first, [int(each.answer != Answer.SAME) for each in answers]),
        _by_participant(
            [who[number] for number in ordered],
            second[ordered],
            [ORDER.index(answers[number].answer) for number in ordered],
        ),
    )


def _by_participant(who: Iterable[str], options: Floats, chosen: Sequence[int]) -> Choices:
    """Put each participant's rows into a block of their own, filled up to the longest."""
    blocks: dict[str, list[int]] = {}
    for row, participant in enumerate(who):
        blocks.setdefault(participant, []).append(row)
    shape = (max(len(blocks), 1), max(map(len, blocks.values()), default=1))
    filled = Choices(np.zeros((*shape, *options.shape[1:])), np.zeros(shape, dtype=np.int64), np.zeros(shape))
    for block, rows in enumerate(blocks.values()):
        filled.options[block, : len(rows)] = options[rows]
        filled.chosen[block, : len(rows)] = np.asarray(chosen)[rows]
        filled.counts[block, : len(rows)] = 1
    return filled


def _alone(choices: Choices, prior: Prior) -> Posterior:
    return posterior(choices, prior, prior.mean[None], _ALONE_STEPS)


def _drawn(found: Posterior) -> Floats:
    """Return ``(S, D)`` draws for one participant: always the same luck, in pairs of opposite luck."""
    luck = np.random.default_rng(0).standard_normal((_DRAWS // 2, found.mean.shape[1]))
    spread = np.concatenate([luck, -luck]) @ np.linalg.cholesky(found.covariance[0]).T
    drawn: Floats = found.mean[0] + spread
    return drawn
