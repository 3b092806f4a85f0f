"""Scores for choosing among models: how far each is from the judgments, and how often it errs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from fairwise.auditing import checks, probabilities
from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import excess
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.constraints.pairs import Weighting
    from fairwise.judgments import Judgments

Metric = Literal["mean_violation", "max_violation", "mean_excess"]


@dataclass(frozen=True, eq=False)
class ViolationScorer:
    """``scorer(model, X, y)``: minus the model's violation on everyone the judgments are about, whatever X and y."""

    judgments: Judgments
    rows: PairRows
    metric: Metric
    gamma: float
    favorable_label: Any
    weighting: Weighting

    def __call__(self, model: Any, X: Any, y: Any = None) -> float:
        """Larger is better, as scikit-learn wants it."""
        del y
        rows = self.rows
        if not len(rows):  # nothing is asked of anyone
            return 0.0
        given = probabilities.second_class_probability(model, probabilities.judged_rows(self.judgments, rows.people, X))
        classes = probabilities.binary_classes(model)
        second = probabilities.favorable_is_second(self.favorable_label, classes, self.judgments)
        favorable = given if second else 1.0 - given
        if self.metric == "mean_violation":
            return -rows.mean_violation(favorable)
        violations = rows.violations(favorable)
        if self.metric == "max_violation":
            return -float(violations.max(initial=0.0))
        return -float(rows.shares(self.weighting) @ excess(violations, self.gamma))


def violation_scorer(
    judgments: Judgments,
    metric: Metric = "mean_violation",
    *,
    gamma: float = 0.1,
    favorable_label: Any = None,
    weighting: Weighting = "answers",
) -> ViolationScorer:
    """A scorer for ``cross_val_score``, ``GridSearchCV`` and the like, for any classifier of two classes.

    Parameters
    ----------
    judgments : Judgments
        What people said, with the people they said it about. To choose a model honestly, use judgments that none of
        the candidates is fitted to.
    metric : {"mean_violation", "max_violation", "mean_excess"}
        As defined for audits; the score is its negative.
    gamma, weighting
        For mean_excess.
    favorable_label
        The good outcome's label, in the model's own terms; needed as soon as an answer is ordered.
    """
    judgments = checks.some_judgments(judgments)
    if judgments.people is None:
        raise InputError("judgments: made without people=, so nobody's row is known; use judgments.about(people)")
    checks.one_of("metric", metric, get_args(Metric))
    checks.one_of("weighting", weighting, ("answers", "panel"))
    if favorable_label is None:
        checks.direction(None, ("one of the two labels",), judgments)
    rows = PairRows.from_judgments(judgments)
    return ViolationScorer(judgments, rows, metric, checks.fraction("gamma", gamma), favorable_label, weighting)


def expected_accuracy(model: Any, X: Any, y: Any) -> float:
    """A scorer for mixtures: the probability of a right label, without the noise of a single draw per person."""
    of_second = probabilities.second_class_probability(model, X)
    is_second = np.asarray(y) == probabilities.binary_classes(model)[1]
    return float(np.mean(np.where(is_second, of_second, 1.0 - of_second)))
