"""Every kind of estimator, fitted to a town."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from fairwise import PairwiseFairClassifier

if TYPE_CHECKING:
    from tests.learning.conftest import Town

ESTIMATORS: dict[str, dict[str, Any]] = {
    "linear": {"estimator": "linear"},
    "linear-regression": {"estimator": "linear-regression"},
    "tree": {"estimator": "tree"},
    "stump": {"estimator": "tree", "max_depth": 1},
    "logistic": {"estimator": LogisticRegression()},
    "neighbours": {"estimator": KNeighborsClassifier(5)},
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def fit(town: Town, **given: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(**given).fit(town.people, town.outcome, judgments=town.judgments)


def of_label_1(model: PairwiseFairClassifier, people: Any) -> Any:
    return model.predict_proba(people)[:, 1]
