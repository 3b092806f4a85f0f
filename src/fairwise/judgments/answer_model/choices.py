"""Which of the four answers someone means, by coefficients of their own: likelihood, posterior, prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from fairwise.judgments.answer import Answer
from fairwise.judgments.answer_model.features import EncodedPeople, Floats, Ints

# The ordered ones first, because exchanging the first two must change no digit: see `softmax`.
ORDER = (Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.SAME, Answer.NO_CONSTRAINT)


@dataclass(frozen=True)
class Scale:
    """The answers that can be given, and how they follow from blocks of coefficients.

    With features t of who is ahead and s of how far the two are apart (``EncodedPeople``), answers have utilities

        a_at_least_b  λ·t      b_at_least_a  -λ·t      same  θ·s      no_constraint  φ·s

    and probabilities proportional to their exponentials, over those that can be given: Davidson's model of comparisons
    with ties, whose ties depend on the pair. Changing sides turns the sign of t and leaves s, so it exchanges the two
    ordered answers and nothing else. Without ordered answers `no_constraint` has utility 0.
    """

    answers: tuple[Answer, ...]
    """In the order of `ORDER`."""

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Scale:
        """Whoever may say that A is ahead may say it of B."""
        ordered = any(answer.ordered for answer in answers)
        return cls(tuple(answer for answer in ORDER if (ordered if answer.ordered else answer in answers)))

    @cached_property
    def places(self) -> dict[Answer, int]:
        return {answer: place for place, answer in enumerate(self.answers)}

    @cached_property
    def signs(self) -> Floats:
        """``(B, K)``: with which sign each block's score counts for each answer."""
        ordered = Answer.A_AT_LEAST_B in self.answers
        rows = [[1.0 if a is Answer.A_AT_LEAST_B else -1.0 if a is Answer.B_AT_LEAST_A else 0.0 for a in self.answers]]
        ties = [answer for answer in self.answers if not answer.ordered]
        rows += [[float(each is answer) for each in self.answers] for answer in (ties if ordered else ties[:1])]
        return np.array(rows if ordered else rows[1:])

    def blocks(self, people: EncodedPeople, left: Ints, right: Ints) -> list[Floats]:
        """Return the features of each block, ``(R, F_b)``."""
        apart = people.apart(left, right)
        ahead = [people.ahead(left, right)] if Answer.A_AT_LEAST_B in self.answers else []
        return [*ahead, *[apart] * (len(self.signs) - len(ahead))]

    def in_four(self, probabilities: Floats) -> Floats:
        """Return ``(..., K)`` probabilities as ``(..., 4)`` in the order of `Answer`."""
        result = np.zeros((*probabilities.shape[:-1], len(Answer)))
        result[..., [list(Answer).index(answer) for answer in self.answers]] = probabilities
        return result


@dataclass(frozen=True, eq=False)
class Choices:
    """What J judges said of up to R pairs each, side by side.

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
        """Where each block's coefficients stand among all D."""
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

    def meant(self, probabilities: Floats) -> Floats:
        """``(J, R, K)``: how probable each answer is as the one meant, given what was said."""
        joint = probabilities * self.evidence
        total = joint.sum(axis=-1, keepdims=True)
        # What is too improbable for a number is as the evidence has it.
        said = self.evidence / self.evidence.sum(axis=-1, keepdims=True)
        result: Floats = np.divide(joint, total, out=said, where=total > 0)
        return result

    def derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return the gradient ``(J, D)`` of Σ_r log Σ_k p_rk e_rk and the curvature ``(J, D, D)`` of -Σ_r log p_rk.

        With p the probabilities, e the evidence and q ∝ p e, the gradient by block b is Σ_r (Σ_k (q_rk - p_rk) sign_bk)
        x_rb. The curvature, Σ_r Cov_p(sign_b, sign_c) x_rb x_rc', is that of a q that is held fixed: at least the true
        one, so a step by it climbs.
        """
        p = self.probabilities(coefficients)
        residual = (self.meant(p) - p) * self.counts[..., None]
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
