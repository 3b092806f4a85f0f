"""Columns that a model may not use play no part in it, wherever it is fitted, kept and applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fairwise import Judgments, LargeTable, PairwiseFairClassifier
from fairwise.auditing import frontier, held_out
from fairwise.auditing.groups import FeatureUse, looks_protected
from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.learning.conftest import Town

USED = ["city", "age"]
PIPELINE = make_pipeline(
    make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"]), ("passthrough", ["age"])),
    LogisticRegression(max_iter=1000),
)
MODELS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "logistic": LogisticRegression(max_iter=1000),
    "pipeline": PIPELINE,
}


def fitted(town: Town, **given: Any) -> PairwiseFairClassifier:
    settings: dict[str, Any] = {"estimator": "tree", "gamma": 0.1, "features": USED, **given}
    return PairwiseFairClassifier(**settings).fit(town.people, town.outcome, judgments=town.judgments)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_a_table_without_the_others(town: Town, name: str) -> None:
    model = fitted(town, estimator=MODELS[name])
    narrow = PairwiseFairClassifier(MODELS[name], gamma=0.1).fit(
        town.people[["age", "city"]], town.outcome, judgments=town.judgments
    )
    expected = narrow.predict_proba(town.people[["age", "city"]])
    assert model.features_ == ["age", "city"]
    assert (model.n_features_in_, model.feature_names_in_.tolist()) == (4, list(town.people.columns))
    other = town.people.assign(income=-1.0, member=True)
    for table in (town.people, other, town.people[USED], town.people[town.people.columns[::-1]]):
        assert np.array_equal(model.predict_proba(table), expected)
        assert np.array_equal(model.predict(table), narrow.predict(town.people[["age", "city"]]))
    pd.testing.assert_frame_equal(model.prices_, narrow.prices_)


def test_judged_people_need_only_the_columns_that_are_used(town: Town) -> None:
    judgments = Judgments(town.judgments.frame, people=town.people[USED].assign(income="secret"))
    model = PairwiseFairClassifier("tree", gamma=0.1, features=USED).fit(town.people, town.outcome, judgments=judgments)
    assert np.array_equal(model.predict_proba(town.people), fitted(town).predict_proba(town.people))


def test_a_fitted_model_keeps_its_columns_whatever_is_set_later(town: Town) -> None:
    model = fitted(town)
    expected = model.predict_proba(town.people)
    assert np.array_equal(model.set_params(features=None).predict_proba(town.people), expected)
    names = list(USED)
    model = fitted(town, features=names)
    names.append("income")
    assert np.array_equal(model.predict_proba(town.people), expected)
    assert clone(fitted(town)).features == USED


@pytest.mark.parametrize("features", [USED, tuple(USED), pd.Index(USED), np.array(USED, dtype=object)])
def test_saved_and_loaded(town: Town, tmp_path: Path, features: Any) -> None:
    model = fitted(town, features=features)
    model.save(tmp_path / "m.skops")
    again = PairwiseFairClassifier.load(tmp_path / "m.skops")
    assert (again.features, again.features_) == (USED, ["age", "city"])
    for table in (town.people, town.people[USED]):
        assert np.array_equal(again.predict_proba(table), model.predict_proba(town.people))


def test_columns_of_arrays_are_numbers(town: Town, tmp_path: Path) -> None:
    table = town.people[["age", "member"]].assign(noise=np.arange(len(town.people)) % 7).astype(float)
    for people in (table.to_numpy(), table.set_axis([0, 1, 2], axis="columns")):
        model = PairwiseFairClassifier("tree", features=[2, 0]).fit(people, town.outcome.to_numpy())
        narrow = PairwiseFairClassifier("tree").fit(table.to_numpy()[:, [0, 2]], town.outcome.to_numpy())
        model.save(tmp_path / "m.skops")
        for one in (model, PairwiseFairClassifier.load(tmp_path / "m.skops")):
            assert one.features_ == [0, 2]
            assert np.array_equal(one.predict_proba(people), narrow.predict_proba(table.to_numpy()[:, [0, 2]]))
    with pytest.raises(ValueError, match=r"2 features, but .* expecting 3"):
        model.predict(table.to_numpy()[:, :2])


@pytest.mark.parametrize(
    ("features", "part"),
    [
        ("age", "features='age' is not allowed: give a list of columns"),
        ([], "give a list of columns"),
        (["age", "age"], "each once"),
        (3, "give a list of columns"),
        (["age", "citty"], r"features: there is no column 'citty' \(did you mean 'city'\?\); allowed: 'age', 'income'"),
    ],
)
def test_what_is_no_list_of_columns_is_refused(town: Town, features: Any, part: str) -> None:
    with pytest.raises(InputError, match=part):
        fitted(town, features=features)


def test_a_table_without_a_column_that_is_used_is_refused(town: Town) -> None:
    with pytest.raises(InputError, match="features: there is no column 'city'; allowed: 'age'"):
        fitted(town).predict(town.people[["age"]])


def test_in_blocks_as_in_memory(town: Town) -> None:
    settings: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 50}
    table = LargeTable(iter([town.people.assign(paid=town.outcome)]), outcome="paid")
    answers = Judgments(town.judgments.frame)
    for features in (USED, None):  # the table itself stays as it was
        model = PairwiseFairClassifier(**settings, features=features).fit(table, None, judgments=answers)
        plain = fitted(town, **settings, features=features)
        assert model.features_ == plain.features_
        assert model.feature_names_in_.tolist() == plain.feature_names_in_.tolist()
        assert np.array_equal(model.predict_proba(town.people), plain.predict_proba(town.people))
    ours = frontier(table, None, answers, gammas=[0.1], **settings, features=USED)
    theirs = frontier(town.people, town.outcome, town.judgments, gammas=[0.1], **settings, features=USED)
    assert ours["error"].tolist() == pytest.approx(theirs["error"].tolist())
    with pytest.raises(InputError, match="features: there is no column 'shoe'"):
        PairwiseFairClassifier(**settings, features=["shoe"]).fit(table, None, judgments=answers)


def test_held_out(town: Town) -> None:
    measured = held_out(
        PairwiseFairClassifier("tree", features=USED), town.people, town.outcome, town.judgments, n_repeats=1
    )
    assert measured.overall["held_out"]["error"] >= 0


def test_protected_columns_are_told(town: Town) -> None:
    model = fitted(town, estimator=KNeighborsClassifier())  # goes by name: whatever it may use counts as used
    use = FeatureUse.of(model, ["city", "member"], {"city": "Town", "income": "Income"})
    assert use == FeatureUse(("age", "Town"), (), ("Income", "member"), ("Town",), ("age",))
    assert FeatureUse.of(fitted(town, features=["income"]), ["city"]).suspected == ()


def test_what_no_rule_asks_about_is_not_called_used() -> None:
    people = pd.DataFrame({"age": [30, 31, 32, 33], "sex": ["f", "m", "m", "f"], "id": [4, 3, 2, 1]})
    for estimator, used, idle in (
        ("tree", ("sex",), ("age",)),
        (LogisticRegression(), ("age", "sex"), ()),  # points for each column
        (KNeighborsClassifier(1), ("age", "sex"), ()),  # by name alone: nobody knows
    ):
        model = PairwiseFairClassifier(estimator, max_depth=1, features=["age", "sex"]).fit(people, [0, 1, 1, 0])
        use = FeatureUse.of(model, ["age"])
        assert (use.used, use.idle, use.unused) == (used, idle, ("id",))
        assert (use.protected, use.suspected) == (("age",) if "age" in used else (), ("sex",))


@pytest.mark.parametrize(
    "name", ["sex", "Race", "age_cat", "ageAtArrest", "personal_status_sex", "Marital status", "AGE"]
)
def test_names_that_look_protected(name: str) -> None:
    assert looks_protected(name)


@pytest.mark.parametrize("name", ["mileage", "percentage", "racing", "income", "priors_count", "sexton", ""])
def test_names_that_do_not(name: str) -> None:
    assert not looks_protected(name)
