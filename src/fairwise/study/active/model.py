"""A small model of what each participant will answer: first whether two people are the same, then who is ahead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer
from fairwise.study.active.features import SeenPeople

if TYPE_CHECKING:
    from fairwise.study.active.chooser import ActiveChooser


# Choices between a few options, explained by their features: for many participants at once, each with a prior.

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choices:
    """What J participants chose, R times each, among K options with D features."""

    options: Floats
    """``(J, R, K, D)``."""

    chosen: Ints
    """``(J, R)``: numbers of options."""

    counts: Floats
    """``(J, R)``: 1, or 0 where a row only fills up those of a participant who chose less often."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Coefficients before anything is known of a participant: independent, normal."""

    mean: Floats
    """``(D,)``."""

    variance: Floats
    """``(D,)``."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Coefficients of J participants: about normal."""

    mean: Floats
    """``(J, D)``."""

    covariance: Floats
    """``(J, D, D)``."""


def shares(options: Floats, coefficients: Floats) -> Floats:
    """Return softmax over the options: ``(..., K, D)`` and ``(..., D)`` to ``(..., K)``."""
    utility = (options @ coefficients[..., None])[..., 0]
    return softmax(utility)


def softmax(utility: Floats) -> Floats:
    """Return ``exp(u_k) / Σ_l exp(u_l)`` over the last axis.

    The first two are added first, so that exchanging them changes nothing, not even in the last digit.
    """
    raised = np.exp(utility - utility.max(axis=-1, keepdims=True))
    total: Floats = raised[..., 0] + raised[..., 1]
    for option in range(2, raised.shape[-1]):
        total = total + raised[..., option]
    result: Floats = raised / total[..., None]
    return result


def posterior(choices: Choices, prior: Prior, start: Floats, steps: int) -> Posterior:
    """Return each participant's most probable coefficients θ, and the inverse of the curvature one step before.

    Maximises, for each participant, Σ_r log p_r(chosen_r) - ½ Σ_d (θ_d - mean_d)² / variance_d, which is concave, by
    `steps` of Newton's method from `start` ``(J, D)``. A step that moves utilities by up to c against each other is
    shortened by log(1 + c) / c: then it always climbs, since the third derivative of log Σ exp along a line is at
    most that range times the second.
    """
    theta, curvature = start, np.diag(1 / prior.variance)
    for _ in range(steps):
        gradient, curvature = _derivatives(choices, prior, theta)
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        moved = (choices.options @ step[:, None, :, None])[..., 0]
        span = np.ptp(moved, axis=-1).max(axis=-1, initial=1e-12)
        theta = theta + (np.log1p(span) / span)[:, None] * step
    covariance = np.linalg.inv(curvature).astype(np.float64, copy=False)
    return Posterior(theta, covariance)


def _derivatives(choices: Choices, prior: Prior, theta: Floats) -> tuple[Floats, Floats]:
    """Return the gradient ``(J, D)`` of what is maximised, and minus its second derivatives ``(J, D, D)``."""
    options, counts = choices.options, choices.counts
    j, r, k, d = options.shape
    p = shares(options, theta[:, None, :]) * counts[..., None]
    seen = np.zeros((j, r, k))
    np.put_along_axis(seen, choices.chosen[..., None], counts[..., None], axis=-1)
    flat = options.reshape(j, r * k, d)
    gradient = ((seen - p).reshape(j, 1, r * k) @ flat)[:, 0] - (theta - prior.mean) / prior.variance
    expected = (p[..., None, :] @ options)[..., 0, :]
    curvature = flat.swapaxes(1, 2) @ (p.reshape(j, r * k, 1) * flat) - expected.swapaxes(1, 2) @ expected
    return gradient, curvature + np.diag(1 / prior.variance)


# What a participant will answer, by such choices.

ORDER = (Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)
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
    def learn(cls, seen: SeenPeople, answers: Sequence[ParticipantAnswer], *, four: bool) -> AnswerModel:
        """Learn from all answers so far what participants have in common."""
        same, order = _choices(seen, answers)
        return cls(seen, pooled(same)[0], pooled(order)[0] if four else None)

    def beliefs(self, own: Sequence[ParticipantAnswer]) -> Beliefs:
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


def _choices(seen: SeenPeople, answers: Sequence[ParticipantAnswer]) -> tuple[Choices, Choices]:
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


# What participants have in common, learned from all of them, so that a newcomer's few answers go further.

# Before anybody has answered: coefficients of standardised features are about this large.
_WIDE = 2.0
# The prior's spread counts as much as that of so many participants.
_IMAGINED = 2.0
_ROUNDS = 12
_STEPS_IN_A_ROUND = 1


def pooled(choices: Choices, rounds: int = _ROUNDS) -> tuple[Prior, Posterior]:
    """Return the prior that explains all participants best, and each one's posterior given it.

    Expectation and maximisation in turn, with posteriors taken as normal: with J participants, of whom the d-th
    coefficient has posterior mean m_jd and variance v_jd,

        mean_d     = Σ_j m_jd / (J + variance_d / wide²)
        variance_d = (imagined · wide² + Σ_j ((m_jd - mean_d)² + v_jd)) / (imagined + J).
    """
    participants, _, _, features = choices.options.shape
    prior = Prior(np.zeros(features), np.full(features, _WIDE**2))
    found = Posterior(np.zeros((participants, features)), np.zeros((participants, features, features)))
    for _ in range(rounds):
        found = posterior(choices, prior, found.mean, _STEPS_IN_A_ROUND)
        mean = found.mean.sum(axis=0) / (participants + prior.variance / _WIDE**2)
        scatter = (found.mean - mean) ** 2 + np.diagonal(found.covariance, axis1=1, axis2=2)
        prior = Prior(mean, (_IMAGINED * _WIDE**2 + scatter.sum(axis=0)) / (_IMAGINED + participants))
    return prior, posterior(choices, prior, found.mean, _STEPS_IN_A_ROUND)


# What all participants have in common, as text that reads back to the same numbers, every digit of them.


def written(model: AnswerModel) -> str:
    """Return the two priors as JSON; what is seen of people is the study's, and not repeated."""
    priors = {"same": model.same, "order": model.order}
    return json.dumps(
        {
            name: None if prior is None else {"mean": prior.mean.tolist(), "variance": prior.variance.tolist()}
            for name, prior in priors.items()
        }
    )


def restored(chooser: ActiveChooser, parameters: str, learned_from: int) -> ActiveChooser:
    """Return the chooser that had learned this, from another one about the same people."""
    model = chooser.model
    try:
        found = json.loads(parameters)
        same, order = found["same"], found["order"]
        priors = _prior(same, model.same), None if model.order is None else _prior(order, model.order)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise InputError("its parameters are not those of a model of answers about these people") from None
    return replace(chooser, model=replace(model, same=priors[0], order=priors[1]), answers_so_far=learned_from)


def _prior(numbers: dict[str, list[float]], like: Prior) -> Prior:
    mean, variance = (np.asarray(numbers[name], dtype=np.float64) for name in ("mean", "variance"))
    possible = np.isfinite(mean).all() and np.isfinite(variance).all() and (variance > 0).all()
    if mean.shape != like.mean.shape or variance.shape != mean.shape or not possible:
        raise ValueError
    return Prior(mean, variance)
