"""One rule instead of a mixture: the best that decides without chance, and what it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import NOT_FOLLOWED, PRECISION, status_of
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray
from fairwise.learning.problem import Problem
from fairwise.messages import Message

_EQUAL = 1e-9  # smaller differences between two rules are rounding
_NOBODY = 2.0  # a threshold above every probability
_AT_ONCE = 1 << 22  # labels and differences in memory


@dataclass(frozen=True, eq=False)
class Rule:
    """A deterministic rule: label 1 where the mixture's probability of it is at least ``threshold``."""

    mixture: Mixture
    threshold: float | None
    error: float
    mean_violation: float
    description: str

    @property
    def outside_class(self) -> bool:
        """Whether it is a threshold on a mixture: neither one of its classifiers nor a constant."""
        return self.threshold is not None and 0.0 < self.threshold < _NOBODY


def best_deterministic_rule(
    problem: Problem,
    pairs: PairRows,
    mixture: Mixture,
    pool: Classifiers | None,
    allowed: float,
    labels: tuple[str, ...] = ("label 0", "label 1"),
    constants: Classifiers | None = None,
) -> Rule:
    """The best single rule: a classifier of the mixture or of the pool, a threshold on its probability, a constant.

    Of more than two labels there is no threshold to choose, and ``constants`` are what gives everyone each label in
    turn; of two these are the outermost thresholds.

    Best is what keeps every statistical rule, or breaks them by the least in total where nothing keeps all; of these
    what has a mean violation of at most ``allowed``, or the least above it; of these the most accurate; and of equals
    what breaks the fewest judgments.

    To choose one of a list is a mixed-integer programme with a binary variable for each and their sum 1. Looking at
    each of them solves it exactly and at once, so there is nothing to set a time limit for. Votes of several
    classifiers would be a larger class, but the best of so many would fit these people rather than the next ones, and
    what is to be answered for should be one rule.
    """
    classifiers = mixture.classifiers if pool is None else mixture.classifiers.joined(pool)
    n_found, n_labels = len(classifiers), mixture.n_labels
    thresholds, of_judged = np.empty(0), np.empty(0)
    if n_labels == 2:
        probability = mixture.probabilities(problem.points.rows)
        distinct, position = np.unique(probability, return_inverse=True)
        # Label 1 from a distinct probability on, or for nobody. The outer two are the constants, for anybody else too.
        thresholds, of_judged = np.concatenate([[0.0], distinct[1:], [_NOBODY]]), probability[problem.judged]
    elif constants is not None:
        classifiers = classifiers.joined(constants)
    judged, both = _of_classifiers(problem, pairs, classifiers)
    if n_labels == 2:
        both = _Measures(*map(np.concatenate, zip(both, _of_thresholds(problem, pairs, position), strict=True)))

    def judgments_broken(rule: int) -> int:
        cut = rule - len(classifiers)
        given = judged[rule] if cut < 0 else (of_judged >= thresholds[cut]).astype(np.uint8)
        violation = pairs.answer_violations(_treatment(problem, given))
        answers = pairs.answers["answer"].astype(str).to_numpy()
        return int((status_of(answers, violation, problem.gamma) == NOT_FOLLOWED).sum())

    left = np.arange(len(both.error))
    for measure in (both.over, np.maximum(both.mean_violation - allowed, 0.0), both.error):
        left = left[measure[left] <= measure[left].min() + _EQUAL]
    best: int = left[0] if len(left) == 1 else min(left.tolist(), key=judgments_broken)

    error, mean_violation = float(both.error[best]), float(both.mean_violation[best])
    if best >= len(classifiers):
        threshold = float(thresholds[best - len(classifiers)])
        return Rule(mixture, threshold, error, mean_violation, _threshold_in_words(threshold, labels))
    words = Message("a classifier found, without weight in the mixture")
    if best < len(mixture.weights):
        words = Message("classifier {number} of the mixture", number=int(best) + 1)
    elif best >= n_found:
        words = Message("{leaf} for everyone", leaf=labels[best - n_found])
    return Rule(Mixture(classifiers.take(np.array([best])), np.ones(1), n_labels), None, error, mean_violation, words)


class _Measures(NamedTuple):
    """Of ``k`` rules, each ``(k,)``: error, by how much statistical rules are broken in total, mean violation."""

    error: FloatArray
    over: FloatArray
    mean_violation: FloatArray


def _of_classifiers(problem: Problem, pairs: PairRows, classifiers: Classifiers) -> tuple[LabelArray, _Measures]:
    """What each classifier reaches, and its labels of the judged people ``(k, m)``."""
    step = max(1, _AT_ONCE // max(len(problem.points.error_cost), len(pairs), 1))
    judged, parts = [], []
    for start in range(0, len(classifiers), step):
        part = classifiers.take(np.arange(start, min(start + step, len(classifiers))))
        labels = part.labels(problem.points.rows)
        errors, values = problem.evaluate_labels(labels)
        judged.append(labels[:, problem.judged])
        mean_violation = pairs.mean_answer_violation(_treatment(problem, judged[-1]))
        parts.append((errors, _total_over(problem, values[:, problem.n_pairs :]), mean_violation))
    return np.concatenate(judged), _Measures(*map(np.concatenate, zip(*parts, strict=True)))


def _of_thresholds(problem: Problem, pairs: PairRows, position: IntArray) -> _Measures:
    """What label 1 from the ``i``-th distinct probability on reaches, for every ``i``; ``position`` is ``(P,)``.

    A pair is violated from the cut just above one of the two up to that at the other, by as much as label 1 is better
    than label 0 or worse.
    """
    size = int(position.max()) + 1

    def from_each_on(amounts: FloatArray) -> FloatArray:
        return np.append(np.cumsum(np.bincount(position, amounts, size)[::-1])[::-1], 0.0)

    errors = problem.points.error_offset + from_each_on(problem.points.error_cost)
    rows = [] if problem.groups is None else [from_each_on(row) for row in problem.groups.matrix]
    group_values = np.array(rows).reshape(len(rows), size + 1).T
    judged = position[problem.judged]
    ends = judged[pairs.owed], judged[pairs.reference]
    values = _treatment(problem, np.arange(2, dtype=np.uint8))
    low, high = ends if values[1] > values[0] else ends[::-1]
    mass = np.where(low < high, pairs.mass, 0.0) * abs(values[1] - values[0])
    begun, ended = (np.bincount(end + 1, mass, size + 1) for end in (low, high))
    whole = pairs.weight_in_force
    violated = np.cumsum(begun - ended) / whole if whole > 0 else np.zeros(size + 1)
    return _Measures(errors, _total_over(problem, group_values), violated)


def _total_over(problem: Problem, values: FloatArray) -> FloatArray:
    """By how much the values ``(k, Q)`` of statistical rules are over their limits in total; 0 where all are kept."""
    if problem.groups is None:
        return np.zeros(len(values))
    over = values - problem.groups.limits
    return np.asarray(np.where(over > PRECISION, over, 0.0).sum(axis=1))


def _treatment(problem: Problem, given: LabelArray) -> FloatArray:
    """How good each of these labels is for the person."""
    if problem.label_values is not None:
        return np.asarray(problem.label_values[given])
    favored = given.astype(float)
    return favored if problem.sign > 0 else 1.0 - favored


def _threshold_in_words(threshold: float, labels: tuple[str, ...]) -> Message:
    if 0.0 < threshold < _NOBODY:
        return Message(
            "{label} where its probability is at least {threshold:.4g}", label=labels[1], threshold=threshold
        )
    return Message("{leaf} for everyone", leaf=labels[threshold == 0.0])
