"""What a model is fitted to: weights, labels and tables count as they should, and stay as they were."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.estimators import ESTIMATORS, each_estimator, fit, of_label_1

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import InputError
from fairwise.learning.inputs import outcome_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("name", ["linear", "linear-regression", "tree", "stump"])
def test_a_weight_is_so_many_people(make_town: Callable[..., Town], name: str, outside: bool) -> None:
    """For our own classes; other estimators see rows as they are, and may draw among them."""
    town = make_town(missing=False)
    training = town.outsiders.index if outside else town.people.index
    weight = np.random.default_rng(0).integers(0 if not outside else 1, 4, size=len(training))
    given = {**ESTIMATORS[name], "gamma": 0.1}
    weighted = PairwiseFairClassifier(**given).fit(
        town.people.loc[training], town.outcome.loc[training], judgments=town.judgments, sample_weight=weight
    )
    repeated = PairwiseFairClassifier(**given).fit(
        town.people.loc[training.repeat(weight)],
        town.outcome.loc[training.repeat(weight)],
        judgments=town.judgments,
    )
    assert weighted.certificate_.error == pytest.approx(repeated.certificate_.error, abs=1e-9)
    assert np.allclose(of_label_1(weighted, town.people), of_label_1(repeated, town.people), atol=1e-9)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("estimator", ["linear", "linear-regression", "tree"])
def test_only_proportions_of_weights_matter(town: Town, estimator: str, outside: bool) -> None:
    """Also where judged people, who have no weight of their own, are none of the training people."""
    training = town.outsiders.index if outside else town.people.index
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(training))
    one, other = (
        PairwiseFairClassifier(estimator, gamma=0.1).fit(
            town.people.loc[training],
            town.outcome.loc[training],
            judgments=town.judgments,
            sample_weight=factor * weight,
        )
        for factor in (1.0, 1024.0)
    )
    assert np.allclose(of_label_1(one, town.people), of_label_1(other, town.people), atol=1e-9)


def test_the_favourable_label_turns_an_ordered_answer_round(make_town: Callable[..., Town]) -> None:
    """'A at least as well as B' with 0 as the good label is 'B at least as well as A' with 1."""
    town = make_town(ordered=True)
    frame = town.judgments.frame
    swap = {"a_at_least_b": "b_at_least_a", "b_at_least_a": "a_at_least_b"}
    mirrored = Judgments(frame.assign(answer=frame["answer"].replace(swap)), people=town.people)
    for estimator in ("tree", "linear", "linear-regression"):
        one = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=1)
        other = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=0)
        wrong = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=0)
        one.fit(town.people, town.outcome, judgments=town.judgments)
        other.fit(town.people, town.outcome, judgments=mirrored)
        wrong.fit(town.people, town.outcome, judgments=town.judgments)
        assert np.allclose(of_label_1(one, town.people), of_label_1(other, town.people), atol=1e-9)
        assert not np.allclose(of_label_1(one, town.people), of_label_1(wrong, town.people), atol=1e-3)


def test_swapping_the_labels_and_the_good_one_mirrors_the_optimum(make_town: Callable[..., Town]) -> None:
    town = make_town(ordered=True)
    one = fit(town, estimator="tree", gamma=0.1, favorable_label=1, tol=1e-8)
    other = PairwiseFairClassifier("tree", gamma=0.1, favorable_label=0, tol=1e-8)
    other.fit(town.people, 1 - town.outcome, judgments=town.judgments)
    assert other.certificate_.error == pytest.approx(one.certificate_.error, abs=1e-6)


def test_symmetric_answers_do_not_notice_the_favourable_label(town: Town) -> None:
    found = [of_label_1(fit(town, estimator="tree", favorable_label=label), town.people) for label in (None, 0, 1)]
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)


@pytest.mark.parametrize("labels", [("bad", "good"), (False, True), (-1, 1), (2.0, 3.0)])
def test_labels_may_be_anything_binary(town: Town, labels: tuple[Any, Any]) -> None:
    outcome = [labels[value] for value in town.outcome]
    model = PairwiseFairClassifier("tree", favorable_label=labels[1])
    model.fit(town.people, outcome, judgments=town.judgments)
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(town.people).tolist()) <= set(labels)
    expected = of_label_1(fit(town, estimator="tree", favorable_label=1), town.people)
    assert np.allclose(of_label_1(model, town.people), expected, atol=1e-9)


def test_probabilities_are_those_of_the_classes(town: Town) -> None:
    probability = fit(town, estimator="linear").predict_proba(town.people)
    assert probability.shape == (len(town.people), 2)
    assert probability.sum(axis=1) == pytest.approx(np.ones(len(town.people)))
    assert probability.min() >= 0.0


@each_estimator
def test_fitting_twice_gives_the_same_model(town: Town, name: str) -> None:
    one, two = (fit(town, **ESTIMATORS[name], gamma=0.3) for _ in range(2))
    assert np.array_equal(one.predict_proba(town.people), two.predict_proba(town.people))


def test_a_copy_in_another_process_has_no_training_people(town: Town) -> None:
    model = fit(town, estimator="tree")
    again = pickle.loads(pickle.dumps(model))
    assert again._training is None
    with pytest.raises(InputError, match="no training people in memory"):
        again.simplify()
    assert np.array_equal(again.predict(town.people), model.predict(town.people))
    assert len(model.simplify().weights_) >= 1  # the model itself still has them


def test_the_table_given_to_fit_stays_as_it_was(town: Town) -> None:
    before, outcome = town.people.copy(), town.outcome.copy()
    said = town.judgments.frame
    fit(town, estimator="linear").predict(town.people)
    pd.testing.assert_frame_equal(town.people, before)
    pd.testing.assert_series_equal(town.outcome, outcome)
    pd.testing.assert_frame_equal(town.judgments.frame, said)


def test_a_pipeline_gets_the_peoples_own_columns(town: Town) -> None:
    seen: list[list[str]] = []

    class Watching(StandardScaler):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            seen.append(list(X.columns))
            return super().fit(X, y, sample_weight)

    numbers = town.people[["age", "member"]]
    PairwiseFairClassifier(make_pipeline(Watching(), LogisticRegression())).fit(
        numbers, town.outcome, judgments=town.judgments
    )
    assert seen
    assert all(columns == ["age", "member"] for columns in seen)


def test_labels_of_any_type_stay_what_they_are() -> None:
    rng = np.random.default_rng(0)
    whole = ["Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]", object, "category", "polars"]
    truths = ["boolean", "bool[pyarrow]", "category", "polars", "bool"]
    for case in range(240):
        labels = np.sort(rng.integers(2**53, 2**60, size=2)) if case % 2 else np.array([2**53, 2**53 + 1])
        kinds: list[Any] = whole
        if case % 3 == 0:
            labels, kinds = np.array([False, True]), truths
        y = labels[rng.permutation([0, 1, *rng.integers(0, 2, size=6)])]
        kind = kinds[rng.integers(len(kinds))]
        column: Any = pl.Series(y) if kind == "polars" else pd.Series(y).astype(kind)
        column = [column, column.to_frame(), column.array][rng.integers(3)] if kind != "polars" else column
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataConversionWarning)  # a column where a row is meant
            codes, classes = outcome_labels(column, pd.DataFrame(index=range(8)))
        assert classes.tolist() == labels.tolist()
        assert all(type(label) is type(labels.tolist()[0]) for label in classes.tolist())
        assert labels[codes].tolist() == y.tolist()


def test_labels_that_are_dates_are_refused_with_advice(town: Town) -> None:
    when = pd.Series(np.where(town.outcome == 1, "2020-01-01", "2021-01-01"), index=town.outcome.index)
    for dates in (pd.to_datetime(when), pd.to_datetime(when).dt.date, pd.to_datetime(when).dt.to_period("M")):
        with pytest.raises(InputError, match=r"The outcomes are dates or times.*outcome\.astype\(str\)"):
            PairwiseFairClassifier("tree").fit(town.people, dates)
