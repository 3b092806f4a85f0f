"""Judgments, weights and groups through scikit-learn's meta-estimators, with metadata routing and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fairlearn.reductions import DemographicParity
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import JudgmentsError

if TYPE_CHECKING:
    from tests.learning.conftest import Town

NUMBERS = ["age", "member"]


@pytest.fixture
def routing() -> Iterator[None]:
    with config_context(enable_metadata_routing=True):
        yield


def model(**settings: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier("tree", max_depth=1, **settings)


def asking(**requests: bool) -> PairwiseFairClassifier:
    """A model that asks for what it is to be given; only where routing is on."""
    asked: PairwiseFairClassifier = model().set_fit_request(judgments=True, **requests)
    if requests.get("sample_weight"):
        asked.set_score_request(sample_weight=True)
    return asked


def without_people(judgments: Judgments) -> Judgments:
    return Judgments(judgments.frame)


def outer(last: PairwiseFairClassifier) -> Pipeline:
    return Pipeline([("scale", StandardScaler().set_output(transform="pandas")), ("model", last)])


def same_as(fitted: PairwiseFairClassifier, town: Town, **more: Any) -> None:
    """Whatever was in between, the model is that of a direct fit with the same judgments."""
    direct = model(gamma=fitted.gamma).fit(town.people[NUMBERS], town.outcome, judgments=town.judgments, **more)
    assert fitted.certificate_.error == pytest.approx(direct.certificate_.error, abs=1e-9)
    assert fitted.certificate_.max_violation <= fitted.gamma + 1e-6
    assert len(fitted.prices_) == len(direct.prices_)


@pytest.mark.usefixtures("routing")
def test_grid_search_routes_judgments_and_weights(town: Town) -> None:
    weight = np.linspace(1, 2, len(town.people))
    search = GridSearchCV(asking(sample_weight=True), {"gamma": [0.1, 0.3]}, cv=3, error_score="raise")
    search.fit(town.people[NUMBERS], town.outcome, judgments=town.judgments, sample_weight=weight)
    same_as(search.best_estimator_, town, sample_weight=weight)


def test_grid_search_without_routing(town: Town) -> None:
    search = GridSearchCV(model(), {"gamma": [0.1, 0.3]}, cv=3, error_score="raise")
    search.fit(town.people[NUMBERS], town.outcome, judgments=town.judgments)
    same_as(search.best_estimator_, town)


@pytest.mark.usefixtures("routing")
def test_cross_validation_routes_judgments_and_groups(town: Town) -> None:
    rule = model(group_constraints=[DemographicParity(difference_bound=0.2)])
    rule.set_fit_request(judgments=True, sensitive_features=True)
    given = {"judgments": town.judgments, "sensitive_features": town.people["city"]}
    found = cross_validate(
        rule, town.people[NUMBERS], town.outcome, params=given, cv=3, return_estimator=True, error_score="raise"
    )
    for fitted in found["estimator"]:
        assert len(fitted.prices_) == 12
        assert (fitted.group_rules_["value"] <= fitted.group_rules_["limit"] + 1e-6).all()


def test_cross_validation_without_routing(town: Town) -> None:
    given = {"judgments": town.judgments}
    found = cross_validate(
        model(), town.people[NUMBERS], town.outcome, params=given, cv=3, return_estimator=True, error_score="raise"
    )
    assert [len(fitted.prices_) for fitted in found["estimator"]] == [12, 12, 12]


@pytest.mark.usefixtures("routing")
def test_an_outer_pipeline_routes_judgments_without_people(town: Town) -> None:
    pipeline = outer(asking()).fit(town.people[NUMBERS], town.outcome, judgments=without_people(town.judgments))
    same_as(pipeline[-1], town)


def test_an_outer_pipeline_without_routing(town: Town) -> None:
    given = {"model__judgments": without_people(town.judgments)}
    same_as(outer(model()).fit(town.people[NUMBERS], town.outcome, **given)[-1], town)


@pytest.mark.usefixtures("routing")
def test_what_was_not_asked_for_is_refused_and_never_dropped(town: Town) -> None:
    with pytest.raises(UnsetMetadataPassedError, match="judgments"):
        outer(model()).fit(town.people[NUMBERS], town.outcome, judgments=town.judgments)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_the_error_behind_an_outer_pipeline_says_what_works(town: Town, output: str) -> None:
    """Arrays have lost the ids, and judged people who bring their own rows bring them untransformed."""
    pipeline = outer(model())
    pipeline[0].set_output(transform=output)
    with pytest.raises(JudgmentsError) as caught:
        pipeline.fit(town.people[NUMBERS], town.outcome, model__judgments=town.judgments)
    for advice in (
        "give the whole Pipeline as estimator=",
        'set_output(transform="pandas")',
        "Judgments without people=",
    ):
        assert advice in str(caught.value)


@pytest.mark.usefixtures("routing")
def test_preprocessing_inside_needs_none_of_this(town: Town) -> None:
    inside = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier(max_depth=1))])
    search = GridSearchCV(
        PairwiseFairClassifier(inside, tol=0.01).set_fit_request(judgments=True), {"gamma": [0.3]}, cv=2
    )
    search.fit(town.people[NUMBERS], town.outcome, judgments=town.judgments)
    assert search.best_estimator_.certificate_.max_violation <= 0.3 + 1e-6
