"""Scorers: minus the violation on the judged people, in scikit-learn's own model selection."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import audit, expected_accuracy, violation_scorer
from fairwise.errors import InputError


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=90), "z": rng.normal(size=90)})


@pytest.fixture(scope="module")
def outcome(people: pd.DataFrame) -> pd.Series:
    return (people["x"] + np.random.default_rng(1).normal(size=90) > 0).astype(int)


@pytest.fixture(scope="module")
def judgments(people: pd.DataFrame) -> Judgments:
    rows = [{"judge": i % 3, "a": i, "b": i + 30, "answer": ["same", "a_at_least_b"][i % 2]} for i in range(30)]
    return Judgments(rows, people=people)


@pytest.mark.parametrize("metric", ["mean_violation", "max_violation", "mean_excess"])
@pytest.mark.parametrize("favorable_label", [0, 1])
def test_the_score_is_minus_the_audits_number(
    metric: Any, favorable_label: int, people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    model = LogisticRegression().fit(people, outcome)
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    result = audit(scores, judgments, 0.05, favorable_label=favorable_label)
    scorer = violation_scorer(judgments, metric, gamma=0.05, favorable_label=favorable_label)
    assert scorer(model, people.iloc[:5], outcome.iloc[:5]) == pytest.approx(-result.overall[metric]["value"])


def test_other_labels_and_models_without_probabilities(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    words = outcome.map({0: "denied", 1: "granted"})
    model = LinearSVC().fit(people, words)
    scorer = violation_scorer(judgments, "max_violation", favorable_label="granted")
    assert scorer(model, people, words) == -1.0
    constant = DummyClassifier(strategy="most_frequent").fit(people, words)
    assert scorer(constant, people, words) == 0.0
    with pytest.raises(InputError, match="favorable_label=1 is not one of the outcomes: give 'denied' or 'granted'"):
        violation_scorer(judgments, favorable_label=1)(model, people, words)


def test_grid_search_chooses_the_gamma_that_keeps_the_judgments(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    search = GridSearchCV(
        PairwiseFairClassifier("tree", favorable_label=1),
        {"gamma": [0.0, 0.5, 1.0]},
        scoring={
            "accuracy": expected_accuracy,
            "violation": violation_scorer(judgments, "max_violation", favorable_label=1),
        },
        refit="violation",
        cv=2,
    )
    search.fit(people, outcome, judgments=judgments)
    assert search.best_params_ == {"gamma": 0.0}
    assert search.best_score_ == pytest.approx(0.0, abs=1e-6)
    violations = search.cv_results_["mean_test_violation"]
    assert violations[0] > violations[2]


def test_cross_validation_of_any_model_and_a_scorer_that_travels(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    scorer = violation_scorer(judgments, favorable_label=1)
    given = cross_val_score(LogisticRegression(), people, outcome, scoring=scorer, cv=3)
    assert (given < 0).all()
    again = pickle.loads(pickle.dumps(scorer))
    model = LogisticRegression().fit(people, outcome)
    assert again(model, people, outcome) == scorer(model, people, outcome)


def test_expected_accuracy_is_that_of_all_draws(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments) -> None:
    model = PairwiseFairClassifier("tree", gamma=0.3, favorable_label=1).fit(people, outcome, judgments=judgments)
    assert expected_accuracy(model, people, outcome) == pytest.approx(1 - model.certificate_.error)


def test_refusals(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments) -> None:
    wrong: Any
    with pytest.raises(InputError, match=r"use judgments\.about"):
        violation_scorer(Judgments([{"judge": 1, "a": 1, "b": 2, "answer": "same"}]))
    wrong = "violation"
    with pytest.raises(InputError, match=r"metric='violation' is not allowed\. Allowed: 'mean_violation'"):
        violation_scorer(judgments, wrong, favorable_label=1)
    with pytest.raises(InputError, match="Some answers are ordered"):
        violation_scorer(judgments)
    with pytest.raises(InputError, match="gamma=2"):
        violation_scorer(judgments, gamma=2, favorable_label=1)
    wrong = "judges"
    with pytest.raises(InputError, match="weighting='judges'"):
        violation_scorer(judgments, weighting=wrong, favorable_label=1)
    wrong = people
    with pytest.raises(InputError, match=r"a fairwise\.Judgments is needed, not DataFrame"):
        violation_scorer(wrong)
    three = LogisticRegression().fit(people, np.arange(90) % 3)
    with pytest.raises(InputError, match="two classes is needed"):
        violation_scorer(judgments, favorable_label=1)(three, people)
    more = people.assign(extra=1.0)
    model = LogisticRegression().fit(more, outcome)
    with pytest.raises(InputError, match="the judged people's table has no column 'extra'"):
        violation_scorer(judgments, favorable_label=1)(model, more)
