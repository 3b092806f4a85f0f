"""Linear scores for more than two labels: each label but the first has a sum, the first has 0, the largest decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.oracles.base import FloatArray, by_label

if TYPE_CHECKING:
    from fairwise.learning.oracles.descent_kernels import Columns

MAX_SWEEPS = 30
LEAST_GAIN = 1e-5  # in units of error: a sweep that gains less is the last
_MAX_ROUNDS = 8  # over all labels
_ROUNDING = 1e-9
_NEVER = -1e6  # the sum of a label that is nowhere wanted


def label_scores(coef: FloatArray, intercept: FloatArray, rows: FloatArray) -> FloatArray:
    """The sum of every label ``(t, k, n)``, for ``coef`` ``(t, k - 1, d)`` and ``intercept`` ``(t, k - 1)``.

    Added in the order of the columns, so that it is the same in any batch.
    """
    columns = np.ascontiguousarray(np.asarray(rows, dtype=float).T)
    scores = np.zeros((len(coef), 1 + coef.shape[1], columns.shape[1]))
    scores[:, 1:] = intercept[:, :, None]
    for weights, column in zip(np.moveaxis(coef, 2, 0), columns, strict=True):
        scores[:, 1:] += weights[:, :, None] * column
    return scores


def descend_labels(
    columns: Columns, cost: FloatArray, coef: FloatArray, intercept: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Descend on the sum of one label after the other, each against the best of all others, while that helps.

    A point gets label ``j`` where its sum is above the largest other one, ``m``; and so it does where ``x . w + b -
    c m > 0`` for any ``c > 0``, after a division by ``c``: ``m`` is one more column to descend along. ``cost`` is
    ``(P, k - 1)``, ``coef`` ``(k - 1, d)``.
    """
    from fairwise.learning.oracles.descent_kernels import descend  # numba is slow to load

    costs, everyone, least = by_label(cost), np.arange(len(cost)), np.inf
    for _ in range(_MAX_ROUNDS):
        scores = label_scores(coef[None], intercept[None], columns.values.T)[0]
        total = float(costs[everyone, scores.argmax(axis=0)].sum())
        if total > least - LEAST_GAIN:
            break
        least = total
        for label in range(1, len(scores)):
            others = np.delete(scores, label, axis=0)
            which = others.argmax(axis=0)
            margin = costs[:, label] - costs[everyone, which + (which >= label)]
            with_others = columns.with_one_more(others[which, everyone])
            own = np.append(coef[label - 1], -1.0)
            start = descend(with_others, margin, own, intercept[label - 1], MAX_SWEEPS, LEAST_GAIN, None)
            if own[-1] < 0.0:
                coef, intercept = coef.copy(), intercept.copy()
                coef[label - 1], intercept[label - 1] = own[:-1] / -own[-1], start / -own[-1]
                scores = label_scores(coef[None], intercept[None], columns.values.T)[0]
    return coef, intercept


def multinomial_regression(rows: FloatArray, error_cost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logistic regression of all labels, each by how much it costs less than the dearest: one ``coef``, ``intercept``.

    ``sum_k weight_k [h != k]`` with ``weight_k = dearest - cost_k`` is the cost of ``h`` and a constant.
    """
    from sklearn.linear_model import LogisticRegression  # scikit-learn's models are slow to load

    costs = by_label(error_cost)
    weight = costs.max(axis=1, keepdims=True) - costs
    point, label = np.nonzero(weight > _ROUNDING * weight.max())
    coef, intercept = np.zeros((costs.shape[1], rows.shape[1])), np.full(costs.shape[1], _NEVER)
    wanted = np.unique(label)
    intercept[wanted if len(wanted) else 0] = 0.0
    if len(wanted) > 1:
        kept = weight[point, label]
        fitted = LogisticRegression().fit(rows[point], label, sample_weight=kept * (len(rows) / kept.sum()))
        # Of two labels scikit-learn has one sum, that of the second.
        coef[wanted[-len(fitted.coef_) :]], intercept[wanted[-len(fitted.coef_) :]] = fitted.coef_, fitted.intercept_
    return (coef[1:] - coef[0])[None], (intercept[1:] - intercept[0])[None]
