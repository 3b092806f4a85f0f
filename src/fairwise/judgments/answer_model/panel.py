"""What the judges of a panel have in common, learned from all of them, so that a few answers of one go further."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairwise.judgments.answer_model.choices import Choices, Normal, posterior
from fairwise.judgments.answer_model.features import Floats

# Before anybody has answered, coefficients of standardised features are about this large.
WIDE = 2.0
# How much that counts beside what the panel's mean coefficient says about its own size.
_WIDE_COUNTS = 0.1
# What an attribute of judges changes is about this large, and the smaller the less it explains.
_ATTRIBUTE_SIZE = 0.1
ROUNDS = 30


@dataclass(frozen=True)
class Beforehand:
    """What is taken to hold of a panel before anyone has answered, and how much of it answers may change."""

    spread: float = 0.15
    """By how much judges differ in a coefficient, as if that had been seen of `imagined` more judges."""

    imagined: float = 2.0
    correlated: bool = True
    """Whether judges who differ in one coefficient may be learned to differ in another."""

    sizes_learned: bool = True
    """Whether it is learned how large mean coefficients are; what is not known of them then counts as spread."""

    floor: float = 1e-4
    """Nobody's coefficients are known more exactly than with this variance."""


USUAL = Beforehand()


@dataclass(frozen=True, eq=False)
class Panel:
    """How coefficients are spread over judges, before anything is known of what one of them said."""

    weights: Floats
    """``(Q, D)``: mean coefficients, and what each attribute of a judge adds to them."""

    covariance: Floats
    """``(D, D)``: of judges about that mean."""

    @classmethod
    def unknown(cls, n_attributes: int, n_coefficients: int) -> Panel:
        """Return one that nobody has answered to yet."""
        return cls(np.zeros((n_attributes, n_coefficients)), WIDE**2 * np.eye(n_coefficients))

    @property
    def newcomer(self) -> Normal:
        """Somebody of whom neither answers nor attributes are known."""
        return Normal(self.weights[0], self.covariance)

    def posterior(self, choices: Choices, attributes: Floats, start: Floats | None = None, steps: int = 8) -> Normal:
        """Return each judge's coefficients after what they said; attributes ``(J, Q)``, the first of them 1."""
        mean = attributes @ self.weights
        precision = np.linalg.inv(self.covariance).astype(np.float64, copy=False)
        return posterior(choices, mean, precision, mean if start is None else start, steps)


def learn_panel(
    choices: Choices,
    attributes: Floats,
    *,
    beforehand: Beforehand = USUAL,
    rounds: int = ROUNDS,
    start: tuple[Panel, Floats] | None = None,
) -> tuple[Panel, Normal]:
    """Return the panel that explains all judges best, and each one's posterior given it.

    Expectation and maximisation in turn, with posteriors taken as normal. With J judges, of whom the d-th coefficient
    has posterior mean m_jd and covariance V_j, attributes a_j and A = (a_1, …, a_J)',

        weights_d  = (A'A + S_dd / size_d²)⁻¹ A' m_d
        S          = the mean over judges of (m_j - weights'a_j)(…)' + V_j + what is not known of the weights,

    where S keeps its diagonal and J / (J + D) of the rest: few judges do not tell which of many coefficients go
    together. The sizes, one for each weight, follow from the weights themselves, so that what explains nothing fades
    (automatic relevance). `beforehand` says what else is assumed; `start` is what a similar panel ended with.
    """
    judges, coefficients = len(attributes), choices.n_coefficients
    panel, theta = start or (Panel.unknown(attributes.shape[1], coefficients), np.zeros((judges, coefficients)))
    sizes = np.full(panel.weights.shape, WIDE**2)
    sizes[1:] = _ATTRIBUTE_SIZE
    imagined = np.where(np.arange(len(sizes)) == 0, WIDE**2, _ATTRIBUTE_SIZE)[:, None]
    kept = judges / (judges + coefficients) if beforehand.correlated else 0.0
    design = attributes.T @ attributes
    believed = Normal(theta, np.zeros((judges, coefficients, coefficients)))
    for _ in range(rounds):
        believed = panel.posterior(choices, attributes, believed.mean, steps=1)
        spread = np.diagonal(panel.covariance)
        inverse = np.linalg.inv(design + _diagonals(spread[:, None] / sizes.T))
        weights = (inverse @ (attributes.T @ believed.mean).T[..., None])[..., 0].T
        unsure = inverse * spread[:, None, None]
        deviation = believed.mean - attributes @ weights
        scatter = deviation.T @ deviation + believed.covariance.sum(axis=0)
        if beforehand.sizes_learned:
            found = weights**2 + np.diagonal(unsure, axis1=1, axis2=2).T
            sizes = (found + _WIDE_COUNTS * imagined) / (1 + _WIDE_COUNTS)
            scatter += np.diag(np.einsum("dqr,qr->d", unsure, design))
        variance = np.diagonal(scatter) + beforehand.imagined * beforehand.spread**2
        variance = variance / (beforehand.imagined + judges)
        covariance = kept * scatter / judges
        np.fill_diagonal(covariance, kept * np.diagonal(scatter) / judges + (1 - kept) * variance + beforehand.floor)
        panel = Panel(weights, covariance)
    return panel, panel.posterior(choices, attributes, believed.mean, steps=2)


def _diagonals(values: Floats) -> Floats:
    """``(D, Q)`` to ``(D, Q, Q)``."""
    result: Floats = values[..., None] * np.eye(values.shape[-1])
    return result
