"""Choices between a few options, explained by their features: for many participants at once, each with a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
