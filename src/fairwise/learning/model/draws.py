"""From a mixture's probabilities to those of all labels, and to labels drawn by them."""

from __future__ import annotations

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.deduplication import row_keys, uniforms
from fairwise.learning.labels import class_values
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray, Rows
from fairwise.learning.problem import mean_value
from fairwise.learning.settings import LabelValues


def of_all_labels(probability: FloatArray) -> FloatArray:
    """Probabilities ``(n, k)``, from those of all labels but the first ``(n, k - 1)``, or ``(n,)`` of two."""
    others = probability[:, None] if probability.ndim == 1 else probability
    first = 1.0 - sum(others.T)
    return np.concatenate([np.maximum(first, 0.0)[:, None], others], axis=1)


def treatment(
    probability: FloatArray, label_values: LabelValues | None, favorable_label: object, classes: ClassArray
) -> FloatArray:
    """How well people are treated ``(n,)``: the mean value of their labels, or the probability of the favourable."""
    if label_values is not None:
        return mean_value(probability, class_values(label_values, classes))
    if favorable_label is None:
        raise InputError("How good each label is was not said: fit with label_values= or favorable_label=.")
    return 1.0 - probability if favorable_label == classes.tolist()[0] else probability


def best_first(label_values: LabelValues | None, classes: ClassArray) -> IntArray:
    """The labels by their values, of equal ones the last first; so all, where nothing is said of values."""
    last_first = np.arange(len(classes))[::-1]
    if label_values is None:
        return last_first
    values = class_values(label_values, classes)[last_first]
    return np.asarray(last_first[np.argsort(-values, kind="stable")])


def draw_labels(rows: Rows, seed: int, draw: str, probability: FloatArray, order: IntArray) -> IntArray:
    """A label ``(n,)`` for each row, where ``probability`` is that of all labels but the first.

    Of two, label 1 below its probability. Of more, what one uniform number leaves after those before it in ``order``.
    """
    keyed = np.empty((len(rows), 0)) if draw == "shared" else rows
    drawn = uniforms(row_keys(keyed, seed))
    if probability.ndim == 1:
        return (drawn < probability).astype(np.intp)
    reached = np.cumsum(of_all_labels(probability)[:, order], axis=1)[:, :-1]
    return np.asarray(order[(drawn[:, None] >= reached).sum(axis=1)])
