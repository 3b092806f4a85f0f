"""What a classifier of any make gives people, and scores for choosing among several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import excess
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray, Weighting
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

    def __call__(self, model: object, X: object, y: object = None) -> float:
        """Larger is better, as scikit-learn wants it."""
        del y
        rows = self.rows
        if not len(rows):  # nothing is asked of anyone
            return 0.0
        probability = second_class_probability(model, judged_rows(self.judgments, rows.people, X))
        classes = binary_classes(model)
        second = favorable_is_second(self.favorable_label, classes, self.judgments)
        favorable = probability if second else 1.0 - probability
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
    favorable_label: object = None,
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


def expected_accuracy(model: object, X: object, y: object) -> float:
    """A scorer for mixtures: the probability of a right label, without the noise of a single draw per person."""
    of_second = second_class_probability(model, X)
    is_second = np.asarray(y) == binary_classes(model)[1]
    return float(np.mean(np.where(is_second, of_second, 1.0 - of_second)))


def second_class_probability(model: Any, rows: Any) -> FloatArray:
    """``predict_proba`` of the second class where there is one, else 1 where ``predict`` says so."""
    classes = binary_classes(model)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=float)[:, 1]
    return np.asarray(model.predict(rows) == classes[1], dtype=float)


def binary_classes(model: object) -> list[object]:
    """The two labels, in the model's own order."""
    classes: list[object] = np.asarray(getattr(model, "classes_", [])).tolist()
    if len(classes) != 2:
        raise InputError(f"{type(model).__name__}: a fitted classifier with two classes is needed; it has {classes!r}")
    return classes


def favorable_is_second(favorable_label: object, classes: list[object], judgments: Judgments) -> bool:
    """Whether the second class is the good one; answers that are all the same do not notice."""
    checks.direction(favorable_label, classes, judgments)
    return favorable_label is None or bool(favorable_label == classes[1])


def judged_rows(judgments: Judgments, ids: pd.Index, like: object) -> Any:
    """The judged people's rows, with the columns of the table ``like``."""
    if judgments.people is None:
        raise InputError("judgments: made without people=, so nobody's row is known; use judgments.about(people)")
    rows = judgments.people_rows(ids)
    if isinstance(rows, pd.DataFrame) and isinstance(like, pd.DataFrame):
        missing = [column for column in like.columns if column not in rows.columns]
        if missing:
            raise InputError(f"judgments: the judged people's table has no column {missing[0]!r}")
        return rows[list(like.columns)]
    return rows
