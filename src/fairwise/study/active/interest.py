"""Which pairs are worth asking about, and how likely each is therefore to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from fairwise.study.active.logit import Floats

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
