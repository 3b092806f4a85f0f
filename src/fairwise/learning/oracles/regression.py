"""The paper's oracle: least squares of the costs on the features ("linear threshold heuristic", Kearns et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.learning.oracles.base import Oracle
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray

_RELATIVE_RANK = 1e-10


class RegressionOracle(Oracle):
    """Regress ``c1 - c0`` on ``(1, x)`` and predict 1 where the fitted cost is negative.

    Two regressions, of ``c0`` and of ``c1``, are one regression of their difference. With the Gram matrix factorised
    once, ``beta = pinv(Z.T diag(multiplicity) Z) Z.T cost`` with ``Z = (1, X)``, a best response is one product.

    Parameters
    ----------
    rows
        ``(P, d)`` distinct encoded rows.
    multiplicity
        ``(P,)`` how often each stands in the table: every person is one observation of the regression.
    """

    exact = False
    cheap = True
    hypothesis_class = "linear thresholds, by least squares of the costs"

    def __init__(self, rows: FloatArray, multiplicity: FloatArray) -> None:
        self.rows = rows
        self.inverse_gram = inverse_gram(rows, multiplicity)

    def constants(self) -> LinearClassifiers:
        return LinearClassifiers.constants(self.rows.shape[1])

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:  # noqa: ARG002
        beta = self.inverse_gram @ self.moments(cost)
        return LinearClassifiers(-beta[None, 1:], -beta[:1])

    def moments(self, cost: FloatArray) -> FloatArray:
        """``Z.T cost``, ``(1 + d,)``."""
        return np.concatenate([[cost.sum()], cost @ self.rows])


def inverse_gram(rows: FloatArray, multiplicity: FloatArray) -> FloatArray:
    """``pinv(Z.T diag(multiplicity) Z)``, ``(1 + d, 1 + d)``."""
    d = rows.shape[1]
    gram = np.empty((1 + d, 1 + d))
    gram[0, 0] = multiplicity.sum()
    gram[0, 1:] = gram[1:, 0] = multiplicity @ rows
    gram[1:, 1:] = (rows * multiplicity[:, None]).T @ rows
    return inverted(gram)


def inverted(gram: FloatArray) -> FloatArray:
    """The pseudo-inverse of a Gram matrix, with columns brought to one scale first."""
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = values > _RELATIVE_RANK * max(values[-1], 0.0)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(inverse / np.outer(scale, scale))
