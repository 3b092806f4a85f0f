"""Bad input gets a clear error that says what and where, and leaves nothing half done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import FairwiseError, InputError, JudgmentsError, SolverError
from fairwise.learning.solvers import highs, master

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town

SAME = {"judge": "ann", "a": "p000", "b": "p001", "answer": "same"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([SAME | {"a": "nobody"}], "row 0.*column a: 'nobody' is not the id of anyone in people"),
        ([SAME | {"answer": "equal"}], "column answer: 'equal' is not an answer.*allowed: same"),
        ([SAME | {"b": "p000"}], "column b: 'p000' is also a"),
        ([SAME, SAME | {"a": "p001", "b": "p000"}], "row 1.*'ann' already answered about 'p001' and 'p000'"),
    ],
    ids=["unknown id", "unknown answer", "a = b", "duplicate row"],
)
def test_judgments_that_cannot_be_used(town: Town, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(JudgmentsError, match=message):
        Judgments(rows, people=town.people)


def test_an_unknown_id_without_people_is_found_when_fitting(town: Town) -> None:
    with pytest.raises(JudgmentsError, match="'nobody' is not the id of anyone in people"):
        PairwiseFairClassifier().fit(town.people, town.outcome, judgments=Judgments([SAME | {"a": "nobody"}]))


@pytest.mark.filterwarnings("ignore:judgments holds no answer")
def test_no_judgments_are_allowed(town: Town) -> None:
    for judgments in (None, Judgments([]), Judgments([], people=town.people)):
        model = PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=judgments)
        assert len(model.weights_) == 1


def test_a_bare_table_of_judgments_is_refused_with_advice(town: Town) -> None:
    with pytest.raises(JudgmentsError, match=r"bare DataFrame: wrap it in Judgments\(frame, people=people\)"):
        PairwiseFairClassifier().fit(town.people, town.outcome, judgments=town.judgments.frame)  # type: ignore[arg-type]
    with pytest.raises(JudgmentsError, match=r"must be a fairwise\.Judgments, not list"):
        PairwiseFairClassifier().fit(town.people, town.outcome, judgments=[SAME])  # type: ignore[arg-type]


def test_an_ordered_answer_needs_a_favourable_label(make_town: Callable[..., Town]) -> None:
    town = make_town(ordered=True)
    with pytest.raises(InputError, match=r"Some answers are ordered.*give favorable_label=0 or 1"):
        PairwiseFairClassifier().fit(town.people, town.outcome, judgments=town.judgments)
    for label in (0, 1):
        PairwiseFairClassifier("tree", favorable_label=label).fit(town.people, town.outcome, judgments=town.judgments)


def test_the_favourable_label_must_be_one_of_the_outcomes(town: Town) -> None:
    with pytest.raises(InputError, match="favorable_label='good' is not one of the outcomes: give 0 or 1"):
        PairwiseFairClassifier(favorable_label="good").fit(town.people, town.outcome, judgments=town.judgments)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (
            lambda y: y + np.arange(60) % 2,
            r"3 different outcomes, 0, 1, 2: .* give label_values=\{0: 0, 1: 0.5, 2: 1\}",
        ),
        (lambda y: y * 0, "Everyone has the same outcome, 0"),
        (lambda y: y + 0.5 * np.arange(60), "Unknown label type|binary"),
        (lambda y: y[:-1], "There are 60 people but 59 outcomes"),
        (lambda y: y.where(y.index != "p007"), r"missing \(NaN\) for person 'p007'"),
        (lambda y: y.where(y.index != "p007").to_numpy(), "Input y contains NaN"),
        (lambda y: [None, *y[1:]], "missing|None"),
        (lambda _: ["yes", None, *(["no"] * 58)], "missing|None"),
        (lambda _: None, "the target y is None"),
        (lambda y: y.iloc[::-1], r"same people in another order: use outcome\.loc\[people\.index\]"),
    ],
    ids=["three", "one", "continuous", "too few", "nan", "nan in array", "none", "none in text", "nothing", "order"],
)
def test_outcomes_that_are_not_binary(town: Town, outcome: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        PairwiseFairClassifier("tree").fit(town.people, outcome(town.outcome), judgments=town.judgments)
    assert isinstance(refused.value, FairwiseError)


def test_nan_in_an_array_is_refused_with_its_place() -> None:
    rows = np.zeros((5, 3))
    rows[3, 1] = np.nan
    with pytest.raises(InputError, match=r"contains NaN \(row 3, column 1.*Give a DataFrame"):
        PairwiseFairClassifier("tree").fit(rows, [0, 1, 0, 1, 0])
    rows[3, 1] = np.inf
    with pytest.raises(InputError, match=r"contains infinity \(row 3, column 1"):
        PairwiseFairClassifier("tree").fit(rows, [0, 1, 0, 1, 0])


def test_a_pipeline_that_fills_them_may_be_given_nan() -> None:
    """As the error above advises."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    outcome = (rows[:, 0] > 0).astype(int)
    rows[3, 1] = np.nan
    filling = make_pipeline(SimpleImputer(), LogisticRegression())
    model = PairwiseFairClassifier(filling).fit(rows, outcome)
    assert np.array_equal(model.predict(rows), filling.fit(rows, outcome).predict(rows))


def test_nan_where_the_estimator_cannot_take_it_is_told_as_the_estimators_problem(town: Town) -> None:
    numbers = town.people[["age", "income"]]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(InputError, match=r"Pipeline could not be fitted to these people: .*NaN"):
        PairwiseFairClassifier(pipeline).fit(numbers, town.outcome)


def test_infinity_in_a_table_is_refused_with_its_place(town: Town) -> None:
    people = town.people.copy()
    people.loc["p013", "income"] = np.inf
    with pytest.raises(InputError, match="Column 'income' is infinity for person 'p013'"):
        PairwiseFairClassifier("tree").fit(people, town.outcome)


def test_places_are_named_by_plain_numbers_where_ids_are_numbers(town: Town) -> None:
    people = town.people.set_axis(range(100, 160))
    people.loc[113, "income"] = np.inf
    with pytest.raises(InputError, match="is infinity for person 113"):
        PairwiseFairClassifier("tree").fit(people, town.outcome.to_numpy())


@pytest.mark.parametrize(
    "estimator",
    [object(), LogisticRegression, StandardScaler(), LinearRegression(), KMeans(2), make_pipeline(LinearRegression())],
    ids=["no fit", "a class", "a transformer", "a regressor", "a clusterer", "a pipeline to a regressor"],
)
def test_an_estimator_that_is_no_classifier_is_refused(town: Town, estimator: Any) -> None:
    people = town.people[["age", "member"]]
    with pytest.raises(InputError, match=r"estimator=.*(\n.*)*classifier"):
        PairwiseFairClassifier(estimator).fit(people, town.outcome, judgments=Judgments(town.judgments.frame))


class Broken(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: ARG002
        raise ValueError("cannot learn on a Sunday")

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def test_an_error_inside_the_estimator_is_told_as_such(town: Town) -> None:
    with pytest.raises(InputError, match="Broken could not be fitted to these people: cannot learn on a Sunday"):
        PairwiseFairClassifier(Broken()).fit(town.people, town.outcome, judgments=town.judgments)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(60, -1.0), r"sample_weight is -1.0 for row 0: weights must not be negative"),
        (np.zeros(60), "zero"),
        (np.ones(59), "sample_weight"),
        (np.full(60, np.nan), "NaN"),
    ],
    ids=["negative", "all zero", "too few", "nan"],
)
def test_weights_that_are_none(town: Town, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairwiseFairClassifier("tree").fit(town.people, town.outcome, sample_weight=weight)


def test_tables_that_are_none(town: Town) -> None:
    tables: list[tuple[pd.DataFrame, str]] = [
        (town.people.iloc[:0], r"0 sample\(s\)"),
        (town.people[[]], r"0 feature\(s\)"),
        (pd.concat([town.people, town.people[["age"]]], axis=1), "two columns called 'age'"),
    ]
    for people, message in tables:
        with pytest.raises(InputError, match=message):
            PairwiseFairClassifier("tree").fit(people, town.outcome[: len(people)])


@pytest.mark.parametrize("dtype", [object, str])
def test_an_array_of_text_is_refused_with_advice(dtype: Any) -> None:
    cities = np.array([["Ulm", "a"], ["Bonn", "b"]] * 5, dtype=dtype)
    with pytest.raises(InputError, match=r"must hold numbers\. Give a DataFrame"):
        PairwiseFairClassifier("tree").fit(cities, [0, 1] * 5)


def test_column_names_of_mixed_types_are_an_error_of_our_own(town: Town) -> None:
    people = town.people.set_axis(["age", 1, "city", "member"], axis=1)
    with pytest.raises(InputError, match="column"):
        PairwiseFairClassifier("tree").fit(people, town.outcome)


def test_a_judge_who_is_not_there_is_named(town: Town) -> None:
    with pytest.raises(InputError, match="judge_budgets names 'zoe'"):
        PairwiseFairClassifier(judge_budgets={"zoe": 0.1}).fit(town.people, town.outcome, judgments=town.judgments)


@pytest.mark.parametrize(
    "given", [{}, {"eta": 0.1}, {"judge_budgets": 0.2, "eta": 0.1}, {"judge_budgets": 0.2, "eta": None}]
)
def test_answers_that_all_weigh_nothing_are_no_trouble(town: Town, given: dict[str, Any]) -> None:
    weightless = Judgments(town.judgments.frame.assign(weight=0.0), people=town.people)
    model = PairwiseFairClassifier("tree", **given).fit(town.people, town.outcome, judgments=weightless)
    assert model.certificate_.gap <= 1e-4
    assert model.certificate_.mean_excess == 0.0


def test_answers_that_ask_for_nothing_are_no_trouble(town: Town) -> None:
    nothing = Judgments(town.judgments.frame.assign(answer="no_constraint"), people=town.people)
    settings: list[dict[str, Any]] = [{}, {"eta": 0.1, "judge_budgets": 0.1}]
    for given in settings:
        model = PairwiseFairClassifier("tree", **given).fit(town.people, town.outcome, judgments=nothing)
        assert len(model.weights_) == 1
        assert len(model.prices_) == 12


def test_a_programme_that_highs_reports_as_failed(monkeypatch: pytest.MonkeyPatch, town: Town) -> None:
    quiet = highs.quiet_highs

    def impatient() -> Any:
        lp = quiet()
        lp.setOptionValue("simplex_iteration_limit", 0)
        return lp

    monkeypatch.setattr(master, "quiet_highs", impatient)
    model = PairwiseFairClassifier("tree")
    with pytest.raises(SolverError, match="HiGHS reports"):
        model.fit(town.people, town.outcome, judgments=town.judgments)
    assert not hasattr(model, "classes_")


def test_what_was_not_fitted_says_so(town: Town) -> None:
    model = PairwiseFairClassifier()
    for ask in (
        lambda: model.predict(town.people),
        lambda: model.predict_proba(town.people),
        lambda: model.prices_,
        lambda: model.trajectory_,
        lambda: model.weights_,
        lambda: model.classifiers_,
        model.simplify,
        model.derandomize,
    ):
        with pytest.raises((ValueError, AttributeError), match="not fitted"):
            ask()


def test_predicting_for_another_table_is_refused(town: Town) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome)
    with pytest.raises(ValueError, match="city"):
        model.predict(town.people.drop(columns="city"))
    with pytest.raises(ValueError, match="order"):
        model.predict(town.people[town.people.columns[::-1]])
    with pytest.raises(InputError, match="Column 'age' was numbers in training, but now holds text"):
        model.predict(town.people.astype({"age": str}).assign(age="old"))


def test_an_unseen_category_is_predicted_with_a_warning(town: Town) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome)
    with pytest.warns(UserWarning, match="'Rome' was never seen in training"):
        assert len(model.predict(town.people.assign(city="Rome"))) == 60


FAILURES: dict[str, Callable[[PairwiseFairClassifier, Town], object]] = {
    "gamma": lambda m, t: m.set_params(gamma=2).fit(t.people, t.outcome),
    "judgments": lambda m, t: m.fit(t.people, t.outcome, judgments=Judgments([SAME | {"a": "nobody"}])),
    "outcome": lambda m, t: m.fit(t.people, t.outcome * 0),
    "other labels": lambda m, t: m.set_params(favorable_label=7).fit(t.people, t.outcome + 5),
    "dates": lambda m, t: m.fit(t.people, t.outcome.astype("M8[s]")),
    "names": lambda m, t: m.fit(t.people.set_axis(["age", 1, "city", "member"], axis=1), t.outcome),
    "estimator": lambda m, t: m.set_params(estimator=Broken()).fit(t.people[["age"]], t.outcome),
    "array": lambda m, t: m.fit(np.full((60, 2), np.nan), t.outcome),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_fit_that_fails_leaves_the_earlier_one_untouched(town: Town, failure: str) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome, judgments=town.judgments)
    before = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    probability = model.predict_proba(town.people)
    with pytest.raises((ValueError, TypeError)):
        FAILURES[failure](model, town)
    after = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert np.array_equal(model.predict_proba(town.people), probability)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_first_fit_that_fails_leaves_nothing(town: Town, failure: str) -> None:
    model = PairwiseFairClassifier("tree")
    with pytest.raises((ValueError, TypeError)):
        FAILURES[failure](model, town)
    assert set(vars(model)) == set(model.get_params(deep=False))
