"""Every setting has its bounds, and an error names it, its value and what is allowed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairwise import PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.errors import FairwiseError, InputError
from fairwise.learning.settings import MAX_DEPTH, FitSettings

if TYPE_CHECKING:
    from tests.learning.conftest import Town

REFUSED = [
    ("gamma", -0.01, "from 0 to 1"),
    ("gamma", 1.01, "from 0 to 1"),
    ("gamma", float("nan"), "from 0 to 1"),
    ("gamma", "0.1", "from 0 to 1"),
    ("gamma", None, "from 0 to 1"),
    ("gamma", True, "from 0 to 1"),
    ("eta", -0.01, "from 0 to 1 or None for no panel budget"),
    ("eta", 2, "from 0 to 1 or None"),
    ("estimator", "forest", "'linear', 'linear-regression', 'tree' or a scikit-learn classifier or Pipeline"),
    ("estimator", 7, "cannot be fitted.*'linear'"),
    ("estimator", None, "cannot be fitted"),
    ("estimator", LogisticRegression, "cannot be fitted.*an instance"),
    ("solver", "simplex", "'column-generation', 'no-regret'"),
    ("weighting", "people", "'answers', 'panel'"),
    ("judge_budgets", 1.5, "1.5 for 'every judge' is not allowed"),
    ("judge_budgets", {"ann": 0.1, "bea": -1}, "-1 for 'bea' is not allowed"),
    ("judge_budgets", "ann", "'ann' for 'every judge'"),
    ("judge_budgets", {"relation": {"expert": 0.1, "affected": 1.5}}, "1.5 for 'relation' 'affected' is not allowed"),
    ("judge_budgets", {"relation": {"expert": {"deep": 0.1}}}, "for 'relation' 'expert' is not allowed"),
    ("max_depth", 0, "whole number from 1 to "),
    ("max_depth", MAX_DEPTH + 1, f"from 1 to {MAX_DEPTH}"),
    ("max_depth", 2.0, "whole number from 1 to "),
    ("max_thresholds", 0, "at least 1"),
    ("max_thresholds", 2.5, "whole number of at least 1, 'auto' or None"),
    ("max_thresholds", "all", "whole number of at least 1, 'auto' or None"),
    ("verbose", 3, "0, 1 or 2"),
    ("verbose", True, "0, 1 or 2"),
    ("n_rounds", 0, "at least 1"),
    ("n_rounds", True, "at least 1"),
    ("lambda_bound", 0, "above 0"),
    ("lambda_bound", float("inf"), "above 0"),
    ("tau_bound", -1.0, "above 0"),
    ("tol", 0.0, "above 0"),
    ("max_classifiers", 0, "at least 1"),
    ("max_classifiers", 2.5, "whole number of at least 1"),
    ("nu", 0.0, "above 0"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), REFUSED, ids=[f"{n}={v}" for n, v, _ in REFUSED])
def test_what_is_not_allowed_is_named_with_its_value(name: str, value: Any, allowed: str, town: Town) -> None:
    model = PairwiseFairClassifier(**{name: value})
    with pytest.raises(InputError, match=allowed) as refused:
        model.fit(town.people, town.outcome)
    assert name in str(refused.value)
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, FairwiseError)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0),
        ("gamma", 1.0),
        ("eta", None),
        ("eta", 1),
        ("judge_budgets", 0),
        ("judge_budgets", {"ann": 1.0}),
        ("judge_budgets", {}),
        ("judge_budgets", {"relation": {"affected": 0, "expert": 1.0}, "ann": 0.5}),
        ("max_depth", MAX_DEPTH),
        ("max_thresholds", 1),
        ("max_thresholds", None),
        ("max_thresholds", "auto"),
        ("verbose", 2),
        ("n_rounds", 1),
        ("max_classifiers", 1),
        ("nu", 5),
        ("estimator", LogisticRegression()),
    ],
)
def test_what_is_allowed_passes(name: str, value: Any) -> None:
    FitSettings.of(PairwiseFairClassifier(**{name: value}).get_params(deep=False))


def test_numbers_of_numpy_are_numbers() -> None:
    given: dict[str, Any] = {"gamma": np.float64(0.1), "eta": np.float32(0.5), "max_depth": np.int64(2)}
    FitSettings.of(PairwiseFairClassifier(**given).get_params(deep=False))


def test_typed_settings_are_those_of_the_estimator() -> None:
    classifier, regressor = PairwiseFairClassifier("tree", gamma=0.3), PairwiseFairRegressor("tree", grid=7)
    for model in (classifier, regressor):
        given = model.get_params(deep=False)
        settings = FitSettings.of(given)
        assert {name: getattr(settings, name) for name in given} == given
    names = {*classifier.get_params(deep=False), *regressor.get_params(deep=False)}
    assert {field.name for field in fields(settings)} == names
    with pytest.raises(FrozenInstanceError):
        settings.gamma = 0.5  # type: ignore[misc]
