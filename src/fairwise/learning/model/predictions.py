"""Fitted models of labels and of amounts: what they predict, and what only one of them can do."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from fairwise.errors import InputError
from fairwise.learning import inputs
from fairwise.learning.deduplication import row_keys, uniforms
from fairwise.learning.model.fitted import FittedModel
from fairwise.learning.model.rules import AmountExplanation, AmountRules, ModelRules
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray, Rows
from fairwise.learning.preparation import PreparedFit
from fairwise.learning.problem import mean_value
from fairwise.learning.settings import DRAWS, LabelValues
from fairwise.learning.target import AmountTarget, class_values


def of_all_labels(probability: FloatArray) -> FloatArray:
    """Probabilities ``(n, k)``, from those of all labels but the first ``(n, k - 1)``, or ``(n,)`` of two."""
    others = probability[:, None] if probability.ndim == 1 else probability
    first = 1.0 - sum(others.T)
    return np.concatenate([np.maximum(first, 0.0)[:, None], others], axis=1)


def treatment(
    probability: FloatArray, label_values: LabelValues | None, favorable_label: object, classes: ClassArray
) -> FloatArray:
    """Return how well people are treated ``(n,)``: mean value of their labels, or probability of the favourable one."""
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


class FittedClassifier(ClassifierMixin, FittedModel):
    """A fitted mixture that decides between labels."""

    favorable_label: object
    label_values: LabelValues | None

    @property
    def classes_(self) -> ClassArray:
        """The labels that may be decided, sorted."""
        return np.asarray(self._fitted("_target").classes)

    def predict_proba(self, X: object) -> FloatArray:
        """Probability of each class, ``(n, k)``: how likely the mixture is to draw it."""
        return of_all_labels(self.label_probabilities(X))

    def predict_value(self, X: object) -> FloatArray:
        """Return how well each person is treated ``(n,)``: probability of the favourable label, or mean value."""
        return treatment(self.label_probabilities(X), self.label_values, self.favorable_label_, self.classes_)

    def predict(self, X: object, draw: str = "independent") -> ClassArray:
        """Labels drawn with these probabilities, the same in any batch and order.

        ``"independent"``: one draw per person, keyed on ``random_state`` and their encoded row. ``"shared"``: one draw
        for everyone, keyed on ``random_state`` alone (it is that of a row without columns). Two people whose
        probabilities are equal then have the same label. Of two labels, theirs differ with a probability that is the
        difference of their probabilities. Of more, labels are ordered by value: for each level of value, the
        probability that just one of two people reaches it is the difference of their probabilities of reaching it.
        The values of their labels then differ as little on average as they can, but the labels may differ more often
        than the mean values do (``docs/concepts/randomised.md``).
        """
        DRAWS.check("draw", draw)
        rows = self._rows(X)
        order = best_first(self.label_values, self.classes_)
        return np.asarray(self.classes_[draw_labels(rows, self._seed, draw, self._probability(rows), order)])

    @property
    def favorable_label_(self) -> object:
        """The good one of ``classes_``, of several the best; None where nothing says so."""
        classes = self._fitted("classes_")
        if len(classes) > 2:
            return None if self.label_values is None else classes.tolist()[best_first(self.label_values, classes)[0]]
        place = inputs.favorable_class(self.favorable_label, self.label_values, classes)
        return None if place is None else classes.tolist()[place]


class FittedRegressor(RegressorMixin, FittedModel):
    """A fitted mixture that decides between the amounts of a grid, of which the mean is predicted."""

    _target: AmountTarget
    _rules_class = AmountRules

    @property
    def amounts(self) -> AmountTarget:
        """The grid, its range, and what missing an amount costs."""
        return self._fitted("_target")  # type: ignore[no-any-return]

    @property
    def amounts_(self) -> FloatArray:
        """``(k,)`` the amounts of the grid."""
        return self.amounts.classes

    def predict(self, X: object) -> FloatArray:
        """Return the mean amount of the mixture for each person ``(n,)``; people with equal columns get the same."""
        return self.amounts.mean_amounts(self.label_probabilities(X))

    def amount_probabilities(self, X: object) -> FloatArray:
        """Return how likely the mixture draws each of ``amounts_`` ``(n, k)``; :meth:`predict` is its mean."""
        return of_all_labels(self.label_probabilities(X))

    def predict_value(self, X: object) -> FloatArray:
        """Return how well each person is treated ``(n,)``: their amount as a share of the range, or 1 less it."""
        return self.amounts.treatment(self.predict(X))

    def explain(self, person: object, rules: ModelRules | None = None) -> AmountExplanation:  # type: ignore[override]
        """Return which rules apply to this person, and which amounts they say."""
        return super().explain(person, rules)  # type: ignore[return-value]

    def derandomize(self, *_: object, **__: object) -> NoReturn:
        """Refuse: what :meth:`predict` gives is no matter of chance."""
        raise InputError(
            "derandomize is for labels, which are drawn by lot. A model of amounts predicts the mean of its mixture, "
            "which is no matter of chance already."
        )

    def _mean_error(self) -> float:
        prepared, _ = self._after_fit()
        assert isinstance(prepared, PreparedFit), "amounts are not read in blocks"
        amounts = self.amounts.mean_amounts(self._probability(prepared.problem.points.rows)[prepared.people])
        return float(np.average(self.amounts.person_losses(prepared.outcomes, amounts), weights=prepared.weights))
