"""Choices among the four answers by coefficients of each judge, and what the judges of a panel have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fairwise.judgments.answer_model.encoding import Floats, Ints


@dataclass(frozen=True, eq=False)
class Choices:
    """Answers of J judges about up to R pairs each, as arrays with one block for each judge.

    A row that only fills up those of a judge with fewer pairs has count 0.
    """

    signs: Floats
    """``(B, K)``, see `Scale`."""

    blocks: list[Floats]
    """``(J, R, F_b)`` for each block."""

    evidence: Floats
    """``(J, R, K)``: how likely what was said of this pair is, if each answer is the one that is meant."""

    counts: Floats
    """``(J, R)``: 1 or 0."""

    @classmethod
    def by_judge(cls, signs: Floats, judge: Ints, n_judges: int, blocks: list[Floats], evidence: Floats) -> Choices:
        """Put each judge's rows, given with the judges' numbers ``(N,)``, into a block of their own."""
        order = np.argsort(judge, kind="stable")
        sizes = np.bincount(judge, minlength=n_judges)
        place = np.empty(len(judge), dtype=np.int64)
        place[order] = np.arange(len(judge)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shape = (max(n_judges, 1), max(int(sizes.max(initial=1)), 1))

        def filled(rows: Floats, value: float = 0.0) -> Floats:
            whole = np.full((*shape, *rows.shape[1:]), value)
            whole[judge, place] = rows
            return whole

        # The same features may serve two blocks; they are laid out once.
        laid_out = {id(block): filled(block) for block in blocks}
        return cls(
            signs,
            [laid_out[id(block)] for block in blocks],
            filled(evidence, 1.0),
            filled(np.ones(len(judge))),
        )

    @cached_property
    def spans(self) -> list[slice]:
        """Slice of each block among all D coefficients."""
        ends = np.cumsum([block.shape[-1] for block in self.blocks])
        return [slice(int(end) - block.shape[-1], int(end)) for end, block in zip(ends, self.blocks, strict=True)]

    @property
    def n_judges(self) -> int:
        return len(self.counts)

    @property
    def n_coefficients(self) -> int:
        return sum(block.shape[-1] for block in self.blocks)

    def probabilities(self, coefficients: Floats) -> Floats:
        """``(J, D)`` to ``(J, R, K)``."""
        return softmax(self._utilities(coefficients))

    def _utilities(self, coefficients: Floats) -> Floats:
        result = np.zeros(self.evidence.shape)
        for block, span, sign in zip(self.blocks, self.spans, self.signs, strict=True):
            result += (block @ coefficients[:, span, None]) * sign
        return result

    def span_of(self, step: Floats) -> Floats:
        """``(J,)``: by how much a change of coefficients moves utilities against each other, at most."""
        moved: Floats = np.ptp(self._utilities(step), axis=-1).max(axis=-1, initial=1e-12)
        return moved

    def intended(self, probabilities: Floats) -> Floats:
        """``(J, R, K)``: how probable each answer is as the one meant, given what was said."""
        joint = probabilities * self.evidence
        total = joint.sum(axis=-1, keepdims=True)
        # What is too improbable for a number is as the evidence has it.
        fallback = self.evidence / self.evidence.sum(axis=-1, keepdims=True)
        result: Floats = np.divide(joint, total, out=fallback, where=total > 0)
        return result

    def derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return the gradient ``(J, D)`` of Σ_r log Σ_k p_rk e_rk and the curvature ``(J, D, D)`` of -Σ_r log p_rk.

        With p the probabilities, e the evidence and q ∝ p e, the gradient by block b is Σ_r (Σ_k (q_rk - p_rk) sign_bk)
        x_rb. The curvature, Σ_r Cov_p(sign_b, sign_c) x_rb x_rc', is that of a q that is held fixed: at least the true
        one, so a step by it climbs.
        """
        p = self.probabilities(coefficients)
        residual = (self.intended(p) - p) * self.counts[..., None]
        weighted = p * self.counts[..., None]
        mean = p @ self.signs.T
        gradient = np.empty_like(coefficients)
        curvature = np.empty((*coefficients.shape, coefficients.shape[-1]))
        for b, (x, here) in enumerate(zip(self.blocks, self.spans, strict=True)):
            gradient[:, here] = ((residual @ self.signs[b])[:, None, :] @ x)[:, 0]
            for c in range(b, len(self.blocks)):
                there = self.spans[c]
                covariance = weighted @ (self.signs[b] * self.signs[c]) - self.counts * mean[..., b] * mean[..., c]
                block = x.swapaxes(1, 2) @ (covariance[..., None] * self.blocks[c])
                curvature[:, here, there] = block
                if c > b:
                    curvature[:, there, here] = block.swapaxes(1, 2)
        return gradient, curvature


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


@dataclass(frozen=True, eq=False)
class Normal:
    """Coefficients, about normal: of one judge ``(D,)`` and ``(D, D)``, or of J, ``(J, D)`` and ``(J, D, D)``."""

    mean: Floats
    covariance: Floats

    def of(self, judge: int) -> Normal:
        """Return that of one judge among J."""
        return Normal(self.mean[judge], self.covariance[judge])


def posterior(choices: Choices, mean: Floats, precision: Floats, start: Floats, steps: int) -> Normal:
    """Return each judge's most probable coefficients θ, and the inverse of the curvature one step before.

    Maximises Σ_r log Σ_k p_rk e_rk - ½ (θ - mean)' precision (θ - mean), with mean ``(J, D)``, by `steps` of Newton's
    method from `start` ``(J, D)``. A step that moves utilities by up to c against each other is shortened by
    log(1 + c) / c: then it always climbs, since the third derivative of log Σ exp along a line is at most that range
    times the second.
    """
    theta, curvature = start, np.broadcast_to(precision, (*start.shape, start.shape[-1]))
    for _ in range(steps):
        gradient, curvature = choices.derivatives(theta)
        gradient -= (theta - mean) @ precision
        curvature += precision
        step: Floats = np.linalg.solve(curvature, gradient[..., None])[..., 0].astype(np.float64, copy=False)
        span = choices.span_of(step)
        theta = theta + (np.log1p(span) / span)[:, None] * step
    covariance = np.linalg.inv(curvature).astype(np.float64, copy=False)
    return Normal(theta, covariance)


# Gauss and Hermite's nodes and weights for a standard normal: exact for polynomials of degree 7. An even number, so
# that each has its opposite.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(4)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def score_moments(blocks: list[Floats], belief: Normal) -> tuple[Floats, Floats]:
    """Return mean ``(R, B)`` and covariance ``(R, B, B)`` of the blocks' scores of R pairs, for one judge."""
    ends = np.cumsum([block.shape[-1] for block in blocks])
    spans = [slice(int(end) - block.shape[-1], int(end)) for end, block in zip(ends, blocks, strict=True)]
    mean = np.stack([x @ belief.mean[span] for x, span in zip(blocks, spans, strict=True)], axis=-1)
    covariance = np.empty((*mean.shape, len(blocks)))
    for b, c in product(range(len(blocks)), repeat=2):
        covariance[:, b, c] = ((blocks[b] @ belief.covariance[spans[b], spans[c]]) * blocks[c]).sum(axis=-1)
    return mean, covariance


def expected_probabilities(signs: Floats, mean: Floats, covariance: Floats) -> Floats:
    """Return ``(R, K)``: probabilities of the answers to R pairs, averaged over normal scores.

    With covariance L L', the average of softmax is taken at 4^B nodes mean + L z. Nodes with opposite first
    coordinates, which changing sides exchanges, are added first.
    """
    root = _roots(covariance)
    total = np.zeros((len(mean), signs.shape[1]))
    for nodes in product(range(len(_NODES)), repeat=mean.shape[1] - 1):
        weight = _WEIGHTS[list(nodes)].prod()
        fixed = mean + root[:, :, 1:] @ _NODES[list(nodes)]
        for node in range(len(_NODES) // 2):
            there, back = (softmax((fixed + root[:, :, 0] * z) @ signs) for z in (_NODES[node], -_NODES[node]))
            total += weight * _WEIGHTS[node] * (there + back)
    return total


def _roots(covariance: Floats) -> Floats:
    """Return lower triangular roots of small matrices ``(R, B, B)``, also of those without full rank."""
    root = np.zeros_like(covariance)
    size = covariance.shape[-1]
    for c in range(size):
        rest = covariance[:, c:, c] - (root[:, c:, :c] * root[:, c, None, :c]).sum(axis=-1)
        diagonal = np.sqrt(np.maximum(rest[:, 0], 0))
        root[:, c, c] = diagonal
        root[:, c + 1 :, c] = np.divide(
            rest[:, 1:], diagonal[:, None], out=np.zeros_like(rest[:, 1:]), where=diagonal[:, None] > 1e-9
        )
    return root


# Before anybody has answered, coefficients of standardised features are about this large.
WIDE = 2.0
# How much that counts beside what the panel's mean coefficient says about its own size.
_WIDE_COUNTS = 0.1
# What an attribute of judges changes is about this large, and the smaller the less it explains.
_ATTRIBUTE_SIZE = 0.1
ROUNDS = 30


@dataclass(frozen=True)
class Beforehand:
    """Prior assumptions about a panel, and which of them answers may change."""

    spread: float = 0.15
    """Prior standard deviation of a coefficient over judges; it counts as much as `imagined` more judges."""

    imagined: float = 2.0
    correlated: bool = True
    """Whether judges who differ in one coefficient may be learned to differ in another."""

    sizes_learned: bool = True
    """Whether it is learned how large mean coefficients are; what is not known of them then counts as spread."""

    floor: float = 1e-4
    """Least variance of a coefficient."""


USUAL = Beforehand()


@dataclass(frozen=True, eq=False)
class Panel:
    """Distribution of coefficients over the judges of a panel."""

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
        """Distribution for a judge without known answers and attributes."""
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
            second_moment = weights**2 + np.diagonal(unsure, axis1=1, axis2=2).T
            sizes = (second_moment + _WIDE_COUNTS * imagined) / (1 + _WIDE_COUNTS)
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
