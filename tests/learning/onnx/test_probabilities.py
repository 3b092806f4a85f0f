"""A graph gives the probabilities of the model it was made from, as onnxruntime computes them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.datasets import load_compas, load_german_credit
from fairwise.errors import InputError, MissingExtraError
from fairwise.loading import EXTRAS
from fairwise.simulation import simulate_panel

pytestmark = pytest.mark.filterwarnings("ignore:The search ended:sklearn.exceptions.ConvergenceWarning")
WORDS = make_column_selector(dtype_exclude="number")
NUMBERS = make_column_selector(dtype_include="number")


def pipeline(last: Any) -> Any:
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), WORDS),
    )
    return make_pipeline(columns, last)


ESTIMATORS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "logistic pipeline": pipeline(LogisticRegression()),
    "encoded logistic": LogisticRegression(),
    "forest": pipeline(RandomForestClassifier(5, max_depth=3)),
}


@cache
def compas() -> tuple[pd.DataFrame, Any]:
    people, outcome = load_compas()
    return people.iloc[:400], outcome.iloc[:400]


@cache
def german_credit() -> tuple[pd.DataFrame, Any]:
    """With holes in numbers and in words."""
    people, outcome = load_german_credit()
    people, outcome = people.iloc[:400].copy(), outcome.iloc[:400]
    rng = np.random.default_rng(0)
    for name in people.columns[::3]:
        people[name] = people[name].astype(object if people[name].dtype.kind not in "iuf" else float)
        people.loc[rng.random(len(people)) < 0.1, name] = np.nan
    return people, outcome


TABLES = {"compas": compas, "german credit": german_credit}


@cache
def fitted(table: str, estimator: str) -> PairwiseFairClassifier:
    people, outcome = TABLES[table]()
    judged = people.iloc[:60]
    judgments = simulate_panel(judged, n_judges=3, n_pairs=10, seed=0)
    model = PairwiseFairClassifier(ESTIMATORS[estimator], gamma=0.1, max_thresholds=5, max_iter=20, random_state=0)
    return model.fit(people, outcome, judgments=judgments)


def computed(graph: Any, people: pd.DataFrame, missing: str = "") -> Any:
    """What onnxruntime gives for these people."""
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    columns = {}
    for entry in session.get_inputs():
        values = people[entry.name]
        if entry.type == "tensor(string)":
            values = values.astype(object).where(values.notna(), missing).astype(str)
        dtype = object if entry.type == "tensor(string)" else float
        columns[entry.name] = values.to_numpy(dtype=dtype).reshape(-1, 1)
    (result,) = session.run(None, columns)
    return result


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("table", TABLES)
def test_probabilities_are_those_of_the_model(table: str, estimator: str) -> None:
    model, (people, _) = fitted(table, estimator), TABLES[table]()
    expected = model.predict_proba(people)
    assert len(np.unique(expected)) > 2  # there is chance in it
    found = computed(model.to_onnx(), people)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    if estimator in {"tree", "linear"}:
        np.testing.assert_array_equal(found, expected)
    one_by_one = np.concatenate([computed(model.to_onnx(), people.iloc[[at]]) for at in range(2)])
    np.testing.assert_allclose(one_by_one, expected[:2], rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", ["tree", "linear", "logistic pipeline"])
def test_strangers_and_missing_values_are_met_as_the_model_meets_them(estimator: str) -> None:
    model, (people, _) = fitted("german credit", estimator), german_credit()
    strangers = people.iloc[:40].copy()
    for name in strangers.columns:
        is_number = strangers[name].dtype.kind in "iuf"
        strangers[name] = strangers[name].astype(float if is_number else object)
        strangers.loc[strangers.index[::3], name] = np.nan
        strangers.loc[strangers.index[1::3], name] = -1e6 if is_number else "never seen"
    expected = model.predict_proba(strangers)
    np.testing.assert_allclose(computed(model.to_onnx(), strangers), expected, rtol=0, atol=1e-6)
    marked = computed(model.to_onnx(missing="?"), strangers, missing="?")
    np.testing.assert_allclose(marked, expected, rtol=0, atol=1e-6)


def test_who_is_exactly_at_a_threshold_goes_the_same_way() -> None:
    """Thresholds of counts lie at halves."""
    model, (people, _) = fitted("compas", "tree"), compas()
    between = people.copy()
    for name in NUMBERS(people):
        between[name] = people[name] + 0.5
    features, thresholds = model.classifiers_.state()["feature"], model.classifiers_.state()["threshold"]
    assert any((model._rows(between)[:, features] == thresholds).any(axis=(1, 2)))
    np.testing.assert_array_equal(computed(model.to_onnx(), between), model.predict_proba(between))


@pytest.mark.parametrize("estimator", ["tree", "linear"])
def test_a_model_without_chance_decides_the_same(estimator: str) -> None:
    people, _ = compas()
    model = fitted("compas", estimator)
    for violation in (0.0, 0.02, 0.1, 1.0):
        single = model.derandomize(mean_violation=violation)
        np.testing.assert_array_equal(computed(single.to_onnx(), people), single.predict_proba(people))


def test_a_threshold_on_a_mixture_is_met_exactly() -> None:
    """Label 1 from one of the mixture's own probabilities on: adding them in another order would miss it."""
    people, _ = compas()
    model = fitted("compas", "tree").derandomize(mean_violation=1.0)
    model._mixture = fitted("compas", "tree")._mixture
    for threshold in np.unique(model._mixture.probabilities(model._rows(people)))[::3]:
        model._threshold = float(threshold)
        np.testing.assert_array_equal(computed(model.to_onnx(), people), model.predict_proba(people))


def test_the_graph_says_which_classes_and_columns_it_is_about() -> None:
    graph = fitted("compas", "tree").to_onnx()
    assert [entry.name for entry in graph.graph.input] == list(compas()[0].columns)
    said = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(said["classes"]) == [0, 1]


def test_a_loaded_model_can_be_written(tmp_path: Any) -> None:
    model, (people, _) = fitted("compas", "logistic pipeline"), compas()
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert again.to_onnx().SerializeToString() == model.to_onnx().SerializeToString()
    np.testing.assert_allclose(computed(model.to_onnx(), people), again.predict_proba(people), rtol=0, atol=1e-6)


def test_a_plain_array_has_numbered_columns() -> None:
    rows = np.random.default_rng(0).normal(size=(80, 3))
    outcome = (rows[:, 0] > 0).astype(int)
    table = pd.DataFrame(rows, columns=list("012"))
    for estimator in ("tree", "linear", make_pipeline(StandardScaler(), LogisticRegression())):
        model = PairwiseFairClassifier(estimator).fit(rows, outcome)
        np.testing.assert_allclose(computed(model.to_onnx(), table), model.predict_proba(rows), rtol=0, atol=1e-6)


def test_a_marker_that_is_a_category_is_refused() -> None:
    with pytest.raises(InputError, match=r"missing='Male' is a category of column 'sex'"):
        fitted("compas", "tree").to_onnx(missing="Male")
    with pytest.raises(InputError, match="missing=None is not allowed"):
        fitted("compas", "tree").to_onnx(missing=None)  # type: ignore[arg-type]


def test_a_column_with_the_name_of_the_output_is_refused() -> None:
    people = pd.DataFrame({"probabilities": [0, 1, 2, 3]})
    model = PairwiseFairClassifier("tree").fit(people, [0, 0, 1, 1])
    with pytest.raises(InputError, match="A column is called 'probabilities'"):
        model.to_onnx()


def test_what_cannot_be_written_is_refused_in_a_sentence() -> None:
    people = pd.DataFrame({"a": ["x y", "y", "z x", "z"] * 5, "b": range(20)})
    outcome = [0, 1, 1, 0] * 5
    mixed = make_pipeline(OneHotEncoder(), LogisticRegression())
    with pytest.raises(InputError, match="text and numbers at once"):
        PairwiseFairClassifier(mixed).fit(people, outcome).to_onnx()
    words = make_pipeline(make_column_transformer((CountVectorizer(analyzer=str.split), "a")), LogisticRegression())
    with pytest.raises(InputError, match="CountVectorizer cannot be written as ONNX"):
        PairwiseFairClassifier(words).fit(people, outcome).to_onnx()
    powers = make_column_transformer((PolynomialFeatures(), ["b"]))
    with pytest.raises(InputError, match=r"PolynomialFeatures cannot be written as ONNX by skl2onnx: .*Concat"):
        PairwiseFairClassifier(make_pipeline(powers, LogisticRegression())).fit(people, outcome).to_onnx()
    boosted = PairwiseFairClassifier(GradientBoostingClassifier(n_estimators=2)).fit(people[["b"]], outcome)
    boosted._mixture.classifiers.thresholds[:] = 0.1  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="GradientBoostingClassifier cannot be written as ONNX"):
        boosted.to_onnx()


@pytest.mark.parametrize("at", [0.9999999976, 2.3e-8])
def test_thresholds_beyond_single_precision_are_refused(at: float) -> None:
    people, outcome = pd.DataFrame({"b": range(20)}), [0, 1, 1, 0] * 5
    bayes = PairwiseFairClassifier(GaussianNB()).fit(people, outcome)
    bayes._mixture.classifiers.thresholds[:] = at  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=f"GaussianNB cannot be written as ONNX: .* at a probability of {at!r}"):
        bayes.to_onnx()
    for usual in (-0.5, 0.25, 1.0):
        bayes._mixture.classifiers.thresholds[:] = usual  # type: ignore[attr-defined]
        assert np.array_equal(computed(bayes.to_onnx(), people), bayes.predict_proba(people))


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("compas", "tree")
    monkeypatch.setitem(EXTRAS, "onnx", ("no_such_module",))
    monkeypatch.delitem(__import__("sys").modules, "fairwise.learning.onnx", raising=False)
    with pytest.raises(
        MissingExtraError, match=r"An ONNX graph needs the extra onnx .* pip install 'fairwise\[onnx\]'"
    ):
        model.to_onnx()


VALUES = {"high": 0.0, "medium": 0.5, "low": 1.0, "unknown": 0.7}
OF_LABELS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "linear-regression": "linear-regression",
    "logistic": LogisticRegression(max_iter=1000),
    "pipeline": pipeline(LogisticRegression()),
    "decision tree": DecisionTreeClassifier(max_depth=3),
    "forest": pipeline(RandomForestClassifier(5, max_depth=3)),
}


@pytest.mark.parametrize("estimator", OF_LABELS)
def test_several_labels_have_a_column_each(estimator: str) -> None:
    """Also one that is nobody's outcome."""
    people, risk = load_compas(outcome="risk")
    people, risk = people.iloc[:400], risk.iloc[:400]
    judgments = simulate_panel(people.iloc[:60], n_judges=3, n_pairs=10, seed=0)
    model = PairwiseFairClassifier(
        OF_LABELS[estimator], gamma=0.1, max_thresholds=5, max_iter=8, label_values=VALUES, random_state=0
    ).fit(people, risk, judgments=judgments)
    graph = model.to_onnx()
    assert json.loads(graph.metadata_props[0].value) == sorted(VALUES)
    rng = np.random.default_rng(1)
    others = people.apply(lambda column: rng.permutation(column.to_numpy()))  # people whom the fit has not seen
    for table in (people, others):
        expected = model.predict_proba(table)
        found = computed(graph, table)
        assert found.shape == (400, 4)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
        if estimator in {"tree", "linear", "linear-regression"}:
            np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected, axis=0)) > 3
    certain = model.derandomize(mean_violation=0.3)
    np.testing.assert_allclose(computed(certain.to_onnx(), others), certain.predict_proba(others), rtol=0, atol=1e-6)


@pytest.mark.parametrize("estimator", ["tree", "linear-regression"])
@pytest.mark.parametrize("grid", [2, 12])
def test_amounts_are_those_of_the_model(estimator: str, grid: int) -> None:
    people, _ = german_credit()
    amount = load_german_credit(outcome="amount")[1].iloc[:400]
    people = people.drop(columns=[name for name in people if name == "credit_amount"])
    model = PairwiseFairRegressor(
        estimator, grid=grid, gamma=0.05, max_thresholds=5, max_iter=8, outcome_range=(0, 2e4)
    )
    model.fit(people, amount, judgments=some_judgments(people))
    graph = model.to_onnx()
    expected = model.predict(people)
    assert len(np.unique(expected)) >= (2 if grid == 2 else 4)
    found = computed(graph, people)
    assert found.shape == (400, 1)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    assert json.loads(graph.metadata_props[0].value) == [0.0, 2e4]
    with pytest.raises(InputError, match="A column is called 'amounts'"):
        PairwiseFairRegressor().fit(pd.DataFrame({"amounts": range(9)}), np.arange(9.0)).to_onnx()


def some_judgments(people: pd.DataFrame) -> Judgments:
    rows = [{"judge": "j", "a": people.index[a], "b": people.index[a + 30], "answer": "same"} for a in range(8)]
    return Judgments(rows, people=people)
