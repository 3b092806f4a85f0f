"""Draws are keyed: the same in any batch and order, and as frequent as the probabilities say."""

from __future__ import annotations

from copy import copy
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import load_compas
from fairwise.errors import InputError

if TYPE_CHECKING:
    from tests.learning.conftest import Town

MODELS: dict[str, Any] = {
    "tree": "tree",
    "linear": "linear",
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, town: Town) -> PairwiseFairClassifier:
    people = town.people[["age", "member"]]
    judgments = Judgments(town.judgments.frame, people=people)
    return PairwiseFairClassifier(MODELS[request.param], gamma=0.3).fit(people, town.outcome, judgments=judgments)


@pytest.fixture(scope="module")
def crowd() -> pd.DataFrame:
    """Many more people than were ever trained on, no two alike."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.uniform(18, 70, size=4000), "member": rng.random(4000) < 0.5})


def test_a_draw_is_the_same_in_any_batch_and_order(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    some = crowd[:200]
    whole = model.predict(some)
    order = np.random.default_rng(1).permutation(200)
    assert np.array_equal(model.predict(some.iloc[order]), whole[order])
    assert np.array_equal(np.concatenate([model.predict(some[i : i + 1]) for i in range(50)]), whole[:50])
    assert np.array_equal(model.predict(some), whole)
    assert np.array_equal(model.predict_proba(some.iloc[order]), model.predict_proba(some)[order])


def test_equals_get_equal_draws_whatever_they_are_called(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    renamed = crowd[:100].set_axis([f"somebody else {i}" for i in range(100)])
    assert np.array_equal(model.predict(renamed), model.predict(crowd[:100]))


def test_draws_are_as_frequent_as_the_probabilities_say(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    probability, drawn = model.predict_proba(crowd)[:, 1], model.predict(crowd)
    assert ((probability > 0.01) & (probability < 0.99)).any()  # there is chance in it
    for level in np.unique(probability.round(9)):
        here = np.isclose(probability, level)
        n, frequency = here.sum(), drawn[here].mean()
        assert abs(frequency - level) <= 4.5 * np.sqrt(level * (1 - level) / n) + 1e-9


def test_those_who_are_certain_are_not_drawn(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    probability, drawn = model.predict_proba(crowd)[:, 1], model.predict(crowd)
    assert (drawn[probability == 0.0] == 0).all()
    assert (drawn[probability == 1.0] == 1).all()


def test_draws_of_two_people_have_nothing_to_do_with_each_other(crowd: pd.DataFrame, town: Town) -> None:
    even = PairwiseFairClassifier("tree", gamma=0.3).fit(
        town.people[["age", "member"]],
        town.outcome,
        judgments=Judgments(town.judgments.frame, people=town.people[["age", "member"]]),
    )
    probability, drawn = even.predict_proba(crowd)[:, 1], even.predict(crowd)
    surprise = (drawn - probability)[(probability > 0.05) & (probability < 0.95)]
    assert len(surprise) > 500
    assert abs(np.corrcoef(surprise[:-1], surprise[1:])[0, 1]) < 4.5 / np.sqrt(len(surprise))


def test_another_random_state_draws_anew(town: Town, crowd: pd.DataFrame) -> None:
    people = town.people[["age", "member"]]
    judgments = Judgments(town.judgments.frame, people=people)

    def drawn(random_state: Any) -> Any:
        model = PairwiseFairClassifier("tree", gamma=0.3, random_state=random_state)
        return model.fit(people, town.outcome, judgments=judgments).predict(crowd)

    assert np.array_equal(drawn(3), drawn(3))
    assert np.array_equal(drawn(np.random.RandomState(3)), drawn(3))
    assert np.array_equal(drawn(None), drawn(None))
    assert not np.array_equal(drawn(3), drawn(4))


def test_a_table_and_its_numbers_are_drawn_alike() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 9, size=(80, 2)).astype(float)
    outcome = (numbers[:, 0] + rng.normal(size=80) > 4).astype(int)
    said = [{"judge": "j", "a": i, "b": i + 40, "answer": "same"} for i in range(10)]
    by_position = Judgments(said, people=numbers, by="position")
    model = PairwiseFairClassifier("tree").fit(numbers, outcome, judgments=by_position)
    table = pd.DataFrame(numbers, columns=["x", "z"])
    named = PairwiseFairClassifier("tree").fit(table, outcome, judgments=Judgments(said, people=table))
    assert np.array_equal(model.predict(numbers), named.predict(table))
    assert np.array_equal(model.predict_proba(numbers), named.predict_proba(table))


def drawn_together(model: PairwiseFairClassifier, people: pd.DataFrame, n_seeds: int) -> Any:
    """Shared draws ``(seeds, n)`` under many random states, of which nothing but draws depends."""
    twin, rows = copy(model), []
    for seed in range(n_seeds):
        twin._seed = seed
        rows.append(twin.predict(people, draw="shared"))
    return np.array(rows)


def test_a_shared_draw_tells_two_people_apart_no_more_often_than_their_probabilities_do(
    model: PairwiseFairClassifier, crowd: pd.DataFrame
) -> None:
    probability = model.predict_proba(crowd)[:, 1]
    levels, first = np.unique(probability.round(9), return_index=True)
    n_seeds = 400
    labels = drawn_together(model, crowd.iloc[first], n_seeds)
    for one, other in combinations(range(len(levels)), 2):
        apart = abs(levels[one] - levels[other])
        frequency = (labels[:, one] != labels[:, other]).mean()
        assert abs(frequency - apart) <= 4.5 * np.sqrt(apart * (1 - apart) / n_seeds) + 1e-9
    for level, own in zip(levels, labels.T, strict=True):
        assert abs(own.mean() - level) <= 4.5 * np.sqrt(level * (1 - level) / n_seeds) + 1e-9
    assert ((labels.mean(axis=0) > 0) & (labels.mean(axis=0) < 1)).any()


def test_a_shared_draw_never_prefers_the_lower_probability(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    order = np.argsort(model.predict_proba(crowd)[:, 1], kind="stable")
    assert (np.diff(drawn_together(model, crowd.iloc[order], 40).astype(int), axis=1) >= 0).all()


def test_a_shared_draw_is_the_same_in_any_batch_and_order(model: PairwiseFairClassifier, crowd: pd.DataFrame) -> None:
    some, order = crowd[:60], np.random.default_rng(1).permutation(60)
    whole = model.predict(some, draw="shared")
    assert np.array_equal(model.predict(some.iloc[order], draw="shared"), whole[order])
    assert np.array_equal(np.concatenate([model.predict(some[i : i + 1], draw="shared") for i in range(60)]), whole)


@pytest.mark.parametrize("draw", ["together", None, 1, ["shared"]])
def test_another_way_to_draw_is_refused(model: PairwiseFairClassifier, crowd: pd.DataFrame, draw: Any) -> None:
    with pytest.raises(InputError, match=r"^draw=.* is not allowed\. Allowed: 'independent', 'shared'\.$"):
        model.predict(crowd[:3], draw=draw)


def test_numbers_are_numbers_also_in_empty_tables(town: Town) -> None:
    plain = PairwiseFairClassifier("tree", max_depth=1).fit(town.people, town.outcome)
    assert set(plain.group_rules_[["value", "limit", "price"]].dtypes) == {np.dtype(float)}
    assert set(plain.trajectory_.dtypes) == {np.dtype(float)}
    assert plain.trajectory_.index.name == "round"


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_many_people_get_the_probabilities_that_few_get(depth: int, as_array: bool) -> None:
    people, outcome = load_compas()
    table: Any = people.select_dtypes("number").to_numpy(dtype=float) if as_array else people
    pairs = pd.DataFrame({"judge": "u", "a": people.index[:40], "b": people.index[40:80], "answer": "same"})
    judgments = Judgments(pairs, people=people)
    if as_array:
        at = pairs.assign(a=np.arange(40), b=np.arange(40, 80))
        judgments = Judgments(at, by="position")
    model = PairwiseFairClassifier("tree", max_depth=depth, gamma=0.3).fit(table, outcome, judgments=judgments)
    assert len(model.weights_) > 1
    few = model.predict_proba(table)
    many = np.concatenate([table] * 4) if as_array else pd.concat([table] * 4)
    assert len(many) > 20_000
    assert np.array_equal(model.predict_proba(many), np.concatenate([few] * 4))
    whole = model._probability(model._rows(table))  # every column encoded
    assert np.array_equal(few[:, 1], whole)
