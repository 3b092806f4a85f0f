"""scikit-learn's conventions, with judgments given by id through all of its machinery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairwise import PairwiseFairClassifier
from fairwise.datasets import make_people
from fairwise.errors import JudgmentsError
from fairwise.learning.settings import ESTIMATORS
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        *(PairwiseFairClassifier(name) for name in ESTIMATORS),
        PairwiseFairClassifier(LogisticRegression()),
        PairwiseFairClassifier("linear-regression", solver="no-regret"),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", ["tree", "linear", "linear-regression"])
def test_grid_search_over_gamma_with_judgments_by_id(town: Town, estimator: str) -> None:
    search = GridSearchCV(PairwiseFairClassifier(estimator), {"gamma": [0.0, 0.2, 1.0]}, cv=3, error_score="raise")
    search.fit(town.people, town.outcome, judgments=town.judgments)
    best = search.best_estimator_
    assert best.gamma == search.best_params_["gamma"]
    assert len(best.prices_) == 12
    assert best.certificate_.max_violation <= best.gamma + 1e-6
    assert len(search.cv_results_["mean_test_score"]) == 3


def test_cross_validation_loses_and_mismatches_no_judgment(town: Town) -> None:
    """Every fold keeps the rule for all judged people, most of whom it was not trained on."""
    found = cross_validate(
        PairwiseFairClassifier("tree", gamma=0.1),
        town.people,
        town.outcome,
        params={"judgments": town.judgments},
        cv=KFold(4, shuffle=True, random_state=0),
        return_estimator=True,
        error_score="raise",
    )
    judged = town.judgments.counted()
    for model in found["estimator"]:
        assert model.prices_[["a", "b"]].equals(judged[["a", "b"]])
        probability = pd.Series(model.predict_proba(town.people)[:, 1], index=town.people.index)
        apart = (probability[judged["a"]].to_numpy() - probability[judged["b"]].to_numpy()).tolist()
        assert np.abs(apart).max() <= 0.1 + 1e-6
        assert model.prices_["violation"].tolist() == pytest.approx(np.abs(apart).tolist())


def test_cross_val_score_takes_judgments_and_weights(town: Town) -> None:
    scores = cross_val_score(
        PairwiseFairClassifier("tree", gamma=0.1),
        town.people,
        town.outcome,
        params={"judgments": town.judgments, "sample_weight": np.ones(len(town.people))},
        cv=3,
        error_score="raise",
    )
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_a_clone_is_unfitted_and_fits_the_same(town: Town) -> None:
    given: dict[str, Any] = {"gamma": 0.2, "eta": 0.01, "judge_budgets": {"ann": 0.3}, "random_state": 3}
    model = PairwiseFairClassifier("tree", **given).fit(town.people, town.outcome, judgments=town.judgments)
    twin = clone(model)
    assert not hasattr(twin, "classes_")
    assert twin.get_params() == model.get_params()
    twin.fit(town.people, town.outcome, judgments=town.judgments)
    assert np.array_equal(twin.predict(town.people), model.predict(town.people))


@pytest.mark.parametrize("solver", ["column-generation", "no-regret"])
def test_fitting_overwrites_no_parameter(town: Town, solver: str) -> None:
    inner = LogisticRegression(C=0.5)
    model = PairwiseFairClassifier(inner, solver=solver, nu=0.9, n_rounds=5, judge_budgets={"ann": 0.5}, eta=0.2)
    before = dict(model.get_params())
    model.fit(town.people, town.outcome, judgments=town.judgments)
    assert model.get_params() == before
    assert model.estimator is inner
    assert not hasattr(inner, "coef_")


def test_parameters_reach_into_the_estimator(town: Town) -> None:
    model = PairwiseFairClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    model.set_params(estimator__logisticregression__C=0.01, gamma=0.5)
    assert model.get_params()["estimator__logisticregression__C"] == 0.01
    model.fit(town.people[["age", "member"]], town.outcome)
    assert model.classifiers_.state()["members"][0].named_steps["logisticregression"].C == 0.01


def test_it_is_a_classifier_of_any_number_of_labels() -> None:
    model = PairwiseFairClassifier()
    assert is_classifier(model)
    assert model.__sklearn_tags__().classifier_tags.multi_class


def test_behind_an_outer_pipeline_the_advice_is_to_put_it_inside(town: Town) -> None:
    outer = make_pipeline(StandardScaler(), PairwiseFairClassifier("tree"))
    numbers = town.people[["age", "member"]]
    with pytest.raises(JudgmentsError, match="Preprocessing belongs inside: give the whole Pipeline as estimator="):
        outer.fit(numbers, town.outcome, pairwisefairclassifier__judgments=town.judgments)


def test_behind_an_outer_pipeline_that_renames_columns_too(town: Town) -> None:
    outer = make_pipeline(StandardScaler().set_output(transform="pandas"), PairwiseFairClassifier("tree"))
    outer.steps.insert(0, ("rename", _Renaming()))
    with pytest.raises(JudgmentsError, match=r"no column 'AGE'.*Preprocessing belongs inside"):
        outer.fit(town.people[["age"]], town.outcome, pairwisefairclassifier__judgments=town.judgments)


class _Renaming(StandardScaler):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        return self

    def transform(self, X: Any) -> Any:
        return X.rename(columns=str.upper)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        return self.transform(X)


def test_scoring_takes_sample_weights(town: Town) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=town.judgments)
    labels = model.predict(town.people)
    weight = np.linspace(0.1, 1, len(labels))
    assert model.score(town.people, town.outcome) == pytest.approx(np.mean(labels == town.outcome))
    expected = np.average(labels == town.outcome, weights=weight)
    assert model.score(town.people, town.outcome, sample_weight=weight) == pytest.approx(expected)


def test_a_stack_which_learns_to_predict_by_fitting_is_a_classifier() -> None:
    people, outcome = make_people(60, 2, seed=0)
    said = simulate_panel(people, n_judges=2, n_pairs=5, seed=0)
    stack = StackingClassifier([("tree", DecisionTreeClassifier(max_depth=1))], cv=2)
    model = PairwiseFairClassifier(stack, gamma=0.5, favorable_label=1, tol=0.1)
    assert model.fit(people, outcome, judgments=said).predict(people).shape == (60,)
