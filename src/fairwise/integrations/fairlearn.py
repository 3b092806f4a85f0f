"""Judgments as a fairlearn moment, for fairlearn's own ExponentiatedGradient and GridSearch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from fairlearn.reductions import ClassificationMoment, ErrorRate
from numpy.typing import ArrayLike

from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments import Judgments


class _Errors(ErrorRate):
    """fairlearn's error rate, which asks for groups that judgments do not need."""

    def load_data(self, X: pd.DataFrame, y: pd.Series, *, sensitive_features: ArrayLike | None = None) -> None:
        groups = np.zeros(len(y)) if sensitive_features is None else sensitive_features
        super().load_data(X, y, sensitive_features=groups)


class PairwiseJudgments(ClassificationMoment):
    """Every judgment kept up to ``gamma``: one constraint per ordered pair in force.

    ``gamma(h)_ij = s (h_i - h_j)`` with bound ``gamma``, where person j is owed at least the treatment of person i and
    ``s`` is +1 where label 1 is favourable, -1 where label 0 is. There is no slack: this is the paper's problem at
    eta = 0. The judged people must be among the rows given to ``fit``, as a DataFrame indexed by their ids.

    Parameters
    ----------
    judgments : Judgments
    gamma : float
        By how much the probabilities of the favourable label may differ against a judgment.
    favorable_label : {0, 1} or None
        The good outcome; needed as soon as an answer is ordered.

    Examples
    --------
    >>> from fairlearn.reductions import ExponentiatedGradient
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairwise import Judgments
    >>> said = Judgments([{"judge": "j", "a": 0, "b": 1, "answer": "same"}])
    >>> learner = ExponentiatedGradient(LogisticRegression(), PairwiseJudgments(said, gamma=0.1))
    """

    short_name = "PairwiseJudgments"
    default_objective_lambda_vec = None  # for GridSearch: errors are no combination of the constraints

    def __init__(self, judgments: Judgments, gamma: float = 0.1, favorable_label: int | None = None) -> None:
        super().__init__()
        if favorable_label not in {0, 1, None}:
            raise InputError(f"favorable_label={favorable_label!r} is not allowed: give 0, 1 or None.")
        if favorable_label is None and judgments.has_ordered:
            raise InputError("Some answers are ordered, so give favorable_label=0 or 1: which outcome is the good one.")
        if not 0 <= gamma <= 1:
            raise InputError(f"gamma={gamma!r} is not allowed: it must be a number from 0 to 1.")
        self._pairs = PairRows.from_judgments(judgments)
        self._sign = -1.0 if favorable_label == 0 else 1.0
        self._limit = float(gamma)

    def load_data(self, X: object, y: ArrayLike, *, sensitive_features: object = None) -> None:  # noqa: ARG002
        """Find the judged people among the rows of ``X``."""
        if not isinstance(X, pd.DataFrame):
            raise JudgmentsError("PairwiseJudgments needs X as a DataFrame indexed by the people's ids.")
        super().load_data(X, pd.Series(np.asarray(y).ravel()))  # fairlearn numbers people by position
        place = X.index.get_indexer_for(self._pairs.people) if X.index.is_unique else None
        if place is None or (place < 0).any():
            who = "ids appear twice in X" if place is None else f"{self._pairs.people[place < 0][0]!r} is not in X"
            raise JudgmentsError(f"PairwiseJudgments: every judged person must be one row of X, but {who}.")
        self._place = place
        ids = self._pairs.people
        self._index = pd.MultiIndex.from_arrays(
            [ids[self._pairs.reference], ids[self._pairs.owed]], names=["reference", "owed"]
        )
        self._lay_out_grid()

    def _lay_out_grid(self) -> None:
        """One dimension per pair of people for GridSearch: up charges one direction, down the other if in force."""
        n = len(self._pairs)
        reverse = self._index.get_indexer(self._index.swaplevel())
        first = np.flatnonzero((reverse < 0) | (np.arange(n) < reverse))
        up, down = np.zeros((n, len(first))), np.zeros((n, len(first)))
        up[first, np.arange(len(first))] = 1.0
        both = reverse[first] >= 0
        down[reverse[first[both]], np.flatnonzero(both)] = 1.0
        self.pos_basis = pd.DataFrame(up, index=self._index)
        self.neg_basis = pd.DataFrame(down, index=self._index)
        self.neg_basis_present = pd.Series(both)

    @property
    def index(self) -> pd.MultiIndex:
        """The ordered pairs in force."""
        return self._index

    def default_objective(self) -> ErrorRate:
        """Errors."""
        return _Errors()

    def gamma(self, predictor: Callable[[pd.DataFrame], ArrayLike]) -> pd.Series[float]:
        """``s (h_i - h_j)`` of every pair."""
        labels = np.asarray(predictor(self.X), dtype=float).ravel()[self._place]
        return pd.Series(self._sign * self._pairs.differences(labels), index=self._index)

    def bound(self) -> pd.Series[float]:
        """Gamma for every pair."""
        return pd.Series(self._limit, index=self._index)

    def project_lambda(self, lambda_vec: pd.Series[float]) -> pd.Series[float]:
        """Charge only the difference where both directions of a pair are charged: the same costs, and less bound."""
        reverse = self._index.get_indexer(self._index.swaplevel())
        values = np.asarray(lambda_vec, dtype=float)
        opposite = np.where(reverse >= 0, values[reverse], 0.0)
        return pd.Series(values - np.minimum(values, opposite), index=self._index)

    def signed_weights(self, lambda_vec: pd.Series[float]) -> pd.Series[float]:
        """Minus ``n`` times the cost that these multipliers put on label 1 of every person."""
        weights = np.zeros(self.total_samples)
        on_people = self._pairs.adjoint(np.asarray(lambda_vec, dtype=float))
        weights[self._place] = -self.total_samples * self._sign * on_people
        return pd.Series(weights)
