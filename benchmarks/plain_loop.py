"""The paper's dynamics as one would first write them: refit scikit-learn's LinearRegression in every round."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LinearRegression

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, IntArray


def plain_loop(
    features: FloatArray,
    labels: IntArray,
    reference: IntArray,
    owed: IntArray,
    *,
    gamma: float,
    n_rounds: int = 1000,
    lambda_bound: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Error and largest violation of the running average after each round, at eta = 0.

    ``reference`` and ``owed`` are positions among the ``n`` rows of ``features``; step sizes and updates are those of
    :func:`fairwise.learning.solvers.no_regret.solve_no_regret`.
    """
    n = len(labels)
    step = sqrt(8 * log(len(reference) + 1) / n_rounds) / 2
    theta, favored = np.zeros(len(reference)), np.zeros(n)
    errors, violations = np.empty(n_rounds), np.empty(n_rounds)
    for t in range(n_rounds):
        top = max(0.0, theta.max())
        powers = np.exp(theta - top)
        charged = lambda_bound * powers / (np.exp(-top) + powers.sum())
        cost = (1 - 2 * labels) / n
        np.add.at(cost, reference, charged)
        np.subtract.at(cost, owed, charged)
        label = (LinearRegression().fit(features, cost).predict(features) < 0).astype(float)
        favored += label
        theta += step * (label[reference] - label[owed] - gamma)
        errors[t] = np.mean(label != labels)
        violations[t] = max(0.0, (favored[reference] - favored[owed]).max()) / (t + 1)
    return np.cumsum(errors) / np.arange(1, n_rounds + 1), violations
