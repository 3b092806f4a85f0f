"""Simpler models than the one found: fewer classifiers, or a single rule without chance."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.errors import InputError, shown
from fairwise.learning.mixture import Mixture

if TYPE_CHECKING:
    from fairwise.constraints.pairs import PairRows
    from fairwise.learning.certificate import Certificate
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.problem import Problem


def fewest_classifiers(problem: Problem, mixture: Mixture) -> tuple[Mixture, float]:
    """A vertex of the mixtures that are no worse, in error and on every pair: at most ``K + 1`` classifiers.

    ::

        minimise    errors @ p                              over p >= 0, sum p = 1
        subject to  differences_k @ p <= max(0, differences_k @ weights)    for every row k
    """
    from scipy.optimize import linprog

    errors, differences = problem.evaluate(mixture.classifiers)
    reached = np.maximum(mixture.weights @ differences, 0.0)
    found = linprog(
        errors,
        A_ub=differences.T if len(problem) else None,
        b_ub=reached if len(problem) else None,
        A_eq=np.ones((1, len(errors))),
        b_eq=[1.0],
        method="highs-ds",
    )
    if not found.success or found.x is None:
        return mixture, float(mixture.weights @ errors)
    support = np.flatnonzero(found.x > 1e-12)
    weights = found.x[support] / found.x[support].sum()
    return Mixture(mixture.classifiers.take(support), weights), float(weights @ errors[support])


@dataclass(frozen=True, eq=False)
class Rule:
    """A deterministic rule: label 1 where the mixture's probability of it is at least ``threshold``."""

    mixture: Mixture
    threshold: float | None
    error: float
    description: str


@dataclass(frozen=True)
class Derandomization:
    """What it takes to decide without chance: the rule, and what it adds to error and violations."""

    rule: str
    error: float
    error_added: float
    max_violation: float
    max_violation_added: float
    mean_violation: float
    mean_violation_added: float
    mean_excess: float
    mean_excess_added: float

    @classmethod
    def between(cls, rule: Rule, before: Certificate, after: Certificate) -> Derandomization:
        return cls(
            rule.description,
            after.error,
            after.error - before.error,
            after.max_violation,
            after.max_violation - before.max_violation,
            after.mean_violation,
            after.mean_violation - before.mean_violation,
            after.mean_excess,
            after.mean_excess - before.mean_excess,
        )


def best_deterministic_rule(problem: Problem, pairs: PairRows, mixture: Mixture, mean_violation: float | None) -> Rule:
    """Most accurate single classifier or threshold whose mean violation over the judgments is small enough.

    For thresholds, only the most accurate one between two neighbouring probabilities of judged people matters: within
    such an interval no pair changes. Both constants are thresholds, so something always qualifies.
    """
    if mean_violation is not None and not (isinstance(mean_violation, Real) and 0 <= mean_violation <= 1):
        raise InputError(f"mean_violation={shown(mean_violation)} is not allowed: it must be a number from 0 to 1.")

    def violation(of_label_1: np.ndarray[Any, Any]) -> float:
        judged = of_label_1[problem.judged].astype(float)
        return pairs.mean_answer_violation(judged if problem.sign > 0 else 1.0 - judged)

    labels = mixture.classifiers.labels(problem.points.rows)
    errors = problem.points.errors(labels)
    probability = mixture.probabilities(problem.points.rows)
    allowed = violation(probability) if mean_violation is None else mean_violation

    candidates = [
        Rule(
            Mixture(mixture.classifiers.take(np.array([t])), np.ones(1)),
            None,
            float(errors[t]),
            f"classifier {t + 1}",
        )
        for t in range(len(errors))
        if violation(labels[t]) <= allowed
    ]
    for threshold, error in _thresholds(problem, probability):
        if violation(probability >= threshold) <= allowed:
            text = f"label 1 where its probability is at least {threshold:.4g}"
            candidates.append(Rule(mixture, threshold, error, text))
    return min(candidates, key=lambda rule: rule.error)


def _thresholds(problem: Problem, probability: FloatArray) -> list[tuple[float, float]]:
    """Best threshold and its error in every interval between the judged people's probabilities."""
    values, position = np.unique(probability, return_inverse=True)
    cost_at = np.bincount(position, problem.points.error_cost)
    # Label 1 from values[i] on costs the tail from i; one more entry for "nobody".
    errors = problem.points.error_offset + np.append(np.cumsum(cost_at[::-1])[::-1], 0.0)
    thresholds = np.append(values, 2.0)
    interval = np.searchsorted(np.unique(probability[problem.judged]), thresholds)
    best: dict[int, int] = {}
    for i, piece in enumerate(interval):
        if piece not in best or errors[i] < errors[best[piece]]:
            best[int(piece)] = i
    return [(float(thresholds[i]), float(errors[i])) for i in best.values()]
