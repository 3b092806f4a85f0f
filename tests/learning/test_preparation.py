"""Whose rows are judged: ids, positions, people inside and outside of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import JudgmentsError
from fairwise.learning.preparation import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town

ESTIMATORS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "linear-regression": "linear-regression",
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


@pytest.fixture(scope="module")
def numbers(town: Town) -> pd.DataFrame:
    return town.people[["age", "member"]].astype(float)


def model(name: str, **given: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(ESTIMATORS[name], **({"gamma": 0.1} | given))


@each_estimator
def test_ids_are_found_with_and_without_people(town: Town, numbers: pd.DataFrame, name: str) -> None:
    carried = Judgments(town.judgments.frame, people=numbers)
    bare = Judgments(town.judgments.frame)
    one = model(name).fit(numbers, town.outcome, judgments=carried)
    two = model(name).fit(numbers, town.outcome, judgments=bare)
    assert np.array_equal(one.predict_proba(numbers), two.predict_proba(numbers))


@each_estimator
def test_positions_are_the_rows_of_an_array(town: Town, numbers: pd.DataFrame, name: str) -> None:
    frame = town.judgments.frame
    where = {person: position for position, person in enumerate(numbers.index)}
    by_position = frame.assign(a=frame["a"].map(where), b=frame["b"].map(where))
    array = numbers.to_numpy()
    expected = model(name).fit(numbers, town.outcome, judgments=Judgments(frame, people=numbers)).predict_proba(numbers)
    for judgments in (
        Judgments(by_position, by="position"),
        Judgments(by_position, by="position", people=array),
    ):
        found = model(name).fit(array, town.outcome.to_numpy(), judgments=judgments)
        assert np.allclose(found.predict_proba(array), expected, atol=1e-9)


@each_estimator
def test_judged_people_need_not_be_in_training(town: Town, numbers: pd.DataFrame, name: str) -> None:
    judged = Judgments(town.judgments.frame, people=numbers)
    training = town.outsiders.index
    found = model(name).fit(numbers.loc[training], town.outcome.loc[training], judgments=judged)
    assert found.certificate_.max_violation <= 0.1 + 1e-6
    probability = pd.Series(found.predict_proba(numbers)[:, 1], index=numbers.index)
    a, b = (probability[judged.frame[side]].to_numpy() for side in "ab")
    assert np.abs(a - b).max() <= 0.1 + 1e-6
    # Their outcomes are not known, so nobody's error is about them.
    p = probability[training]
    assert found.certificate_.error == pytest.approx(np.where(town.outcome[training] == 1, 1 - p, p).mean())


@each_estimator
def test_some_may_be_in_and_some_not(town: Town, numbers: pd.DataFrame, name: str) -> None:
    judged = Judgments(town.judgments.frame, people=numbers)
    training = numbers.index[::2]
    found = model(name).fit(numbers.loc[training], town.outcome.loc[training], judgments=judged)
    assert found.certificate_.max_violation <= 0.1 + 1e-6


def test_without_people_an_id_that_is_not_in_training_is_refused(town: Town) -> None:
    bare = Judgments(town.judgments.frame)
    with pytest.raises(JudgmentsError, match="is not the id of anyone in people"):
        model("tree").fit(town.outsiders, town.outcome[town.outsiders.index], judgments=bare)


def test_ids_with_an_array_are_refused_never_matched_to_positions(town: Town, numbers: pd.DataFrame) -> None:
    said = [{"judge": "j", "a": 0, "b": 1, "answer": "same"}]
    for judgments in (Judgments(said), Judgments(town.judgments.frame, people=numbers)):
        with pytest.raises(JudgmentsError, match=r'name people by id, but X is a plain array.*by="position"'):
            model("tree").fit(numbers.to_numpy(), town.outcome.to_numpy(), judgments=judgments)


def test_columns_of_judged_people_may_stand_in_another_order(town: Town) -> None:
    turned = Judgments(town.judgments.frame, people=town.people[town.people.columns[::-1]])
    one = model("tree").fit(town.people, town.outcome, judgments=turned)
    two = model("tree").fit(town.people, town.outcome, judgments=town.judgments)
    assert np.array_equal(one.predict_proba(town.people), two.predict_proba(town.people))


def test_further_columns_of_judged_people_do_not_matter(town: Town) -> None:
    more = Judgments(town.judgments.frame, people=town.people.assign(shoe_size=42))
    model("tree").fit(town.people, town.outcome, judgments=more)


def test_a_missing_column_of_judged_people_is_named(town: Town) -> None:
    fewer = Judgments(town.judgments.frame, people=town.people.drop(columns="city"))
    with pytest.raises(JudgmentsError, match="no column 'city', which X has"):
        model("tree").fit(town.people, town.outcome, judgments=fewer)


def test_an_array_of_other_width_is_refused(town: Town, numbers: pd.DataFrame) -> None:
    said = [{"judge": "j", "a": 0, "b": 1, "answer": "same"}]
    wide = Judgments(said, people=np.zeros((2, 5)), by="position")
    with pytest.raises(JudgmentsError, match="The judged people have 5 columns, X has 2"):
        model("tree").fit(numbers.to_numpy(), town.outcome.to_numpy(), judgments=wide)


def test_a_judged_person_of_a_rare_category_is_one_of_none_as_when_predicting(make_town: Callable[..., Town]) -> None:
    """The same wherever somebody comes from: judged, or to be predicted."""
    rng = np.random.default_rng(0)
    for seed in range(200):
        town = make_town(seed % 8, n=24)
        person = str(rng.choice(pd.unique(town.judgments.frame[["a", "b"]].to_numpy().ravel())))
        rare = None if seed % 5 == 0 else f"rare {seed}"
        moved = town.people.astype({"city": object})
        moved.loc[person, "city"] = rare
        judgments = Judgments(town.judgments.frame, people=moved)
        words = "a missing value" if rare is None else f"'{rare}'"
        with pytest.warns(UserWarning, match=rf"Column 'city': {words} was never seen in training \(1 row\)"):
            prepared = prepare(model("tree").get_params(), moved.drop(person), town.outcome.drop(person), judgments)
        encoder, row = prepared.encoder, prepared.pairs.people.get_loc(person)
        assert encoder is not None
        cities = [name.startswith("city = ") for name in encoder.outputs]
        assert not np.asarray(prepared.judged_rows)[row][cities].any()
        with pytest.warns(UserWarning, match="was never seen in training"):
            assert np.array_equal(encoder.encode(moved.loc[[person]])[0], np.asarray(prepared.judged_rows)[row])


def test_cross_validation_with_a_rare_category_has_a_score_for_every_fold(town: Town) -> None:
    people = town.people.copy()
    people.loc[town.judgments.frame["a"].iloc[0], "city"] = "Rome"
    judgments = Judgments(town.judgments.frame, people=people)
    with pytest.warns(UserWarning, match="'Rome' was never seen in training"):
        scores = cross_val_score(model("tree"), people, town.outcome, params={"judgments": judgments}, cv=4)
    assert np.isfinite(scores).all()


def test_a_judged_person_must_look_as_in_training(town: Town) -> None:
    person = town.judgments.frame["a"].iloc[0]
    moved = town.people.copy()
    moved.loc[person, "city"] = "Rome"
    judgments = Judgments(town.judgments.frame, people=moved)
    with pytest.raises(JudgmentsError, match=f"Judged person {person!r} is 'Rome' in column 'city' .* in X"):
        model("tree").fit(town.people, town.outcome, judgments=judgments)


def test_a_judged_row_of_an_array_must_be_finite(town: Town, numbers: pd.DataFrame) -> None:
    said = [{"judge": "j", "a": 0, "b": 1, "answer": "same"}]
    broken = Judgments(said, people=np.array([[1.0, np.nan], [1.0, 0.0]]), by="position")
    with pytest.raises(JudgmentsError, match="Judged person 0 has NaN or infinity"):
        model("tree").fit(numbers.to_numpy(), town.outcome.to_numpy(), judgments=broken)


def test_people_who_are_alike_are_treated_alike_at_no_cost(town: Town) -> None:
    """Two ids with one row: 'same' about them is kept by every classifier."""
    twins = pd.concat([town.people, town.people.iloc[[0]].set_axis(["twin"])])
    outcome = pd.concat([town.outcome, pd.Series([1 - town.outcome.iloc[0]], index=["twin"])])
    said = [{"judge": "j", "a": twins.index[0], "b": "twin", "answer": "same"}]
    found = model("tree", gamma=0.0).fit(twins, outcome, judgments=Judgments(said, people=twins))
    plain = model("tree").fit(twins, outcome)
    assert found.certificate_.error == pytest.approx(plain.certificate_.error)
    assert found.prices_["price"].tolist() == [0.0]
