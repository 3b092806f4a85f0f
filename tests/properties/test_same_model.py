"""Ways to say the same thing give the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier

MODELS: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree"},
    "linear": {"estimator": "linear"},
    "linear-regression": {"estimator": "linear-regression"},
    "no-regret": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 100, "lambda_bound": 3.0},
    "with slack": {"estimator": "tree", "eta": 0.02, "judge_budgets": 0.2},
}
each_model = pytest.mark.parametrize("given", MODELS.values(), ids=MODELS)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, size=70),
            "income": np.where(rng.random(70) < 0.15, np.nan, rng.lognormal(3, 1, size=70)),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], size=70),
        },
        index=pd.Index([f"p{number:02}" for number in range(70)]),
    )


@pytest.fixture(scope="module")
def outcome(people: pd.DataFrame) -> pd.Series[int]:
    chance = 0.1 + 0.6 * (people["age"] > 40)
    return pd.Series((np.random.default_rng(1).random(70) < chance).astype(int), index=people.index)


@pytest.fixture(scope="module")
def said(people: pd.DataFrame) -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    old, young = people.index[people["age"] > 40], people.index[people["age"] <= 40]
    answers = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    return [
        {
            "judge": "uvw"[number % 3],
            "a": old[number % len(old)],
            "b": young[number * 3 % len(young)],
            "answer": "same" if number < 6 else str(rng.choice(answers)),
            "weight": float(rng.choice([1.0, 2.0])),
        }
        for number in range(14)
    ]


def fitted(given: dict[str, Any], people: pd.DataFrame, outcome: Any, said: Any, **fit: Any) -> PairwiseFairClassifier:
    model = PairwiseFairClassifier(**({"gamma": 0.1, "favorable_label": 1} | given))
    return model.fit(people, outcome, judgments=Judgments(said, people=people), **fit)


def probability(model: PairwiseFairClassifier, people: pd.DataFrame) -> Any:
    return model.predict_proba(people)[:, 1]


@each_model
def test_permuting_people_changes_nothing(
    given: dict[str, Any], people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]]
) -> None:
    order = np.random.default_rng(3).permutation(70)
    one = fitted(given, people, outcome, said)
    two = fitted(given, people.iloc[order], outcome.iloc[order], said)
    assert np.array_equal(probability(one, people), probability(two, people))
    assert one.certificate_.error == pytest.approx(two.certificate_.error, abs=1e-12)


@each_model
def test_permuting_people_changes_no_draw(
    given: dict[str, Any], people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]]
) -> None:
    """Also of those with something missing, whose place is filled with a mean."""
    one = fitted(given, people, outcome, said)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(70)
        two = fitted(given, people.iloc[order], outcome.iloc[order], said)
        assert np.array_equal(one.predict(people), two.predict(people))


@each_model
def test_renaming_people_changes_nothing(
    given: dict[str, Any], people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]]
) -> None:
    names = {person: 1000 - number for number, person in enumerate(people.index)}
    renamed = [row | {"a": names[row["a"]], "b": names[row["b"]]} for row in said]
    one = fitted(given, people, outcome, said)
    two = fitted(given, people.rename(index=names), outcome.rename(index=names), renamed)
    assert np.array_equal(probability(one, people), probability(two, people))
    assert np.array_equal(one.predict(people), two.predict(people))


@pytest.mark.parametrize("eta", [0.0, 0.02])
def test_swapping_sides_and_answers_changes_nothing(
    people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]], eta: float
) -> None:
    given = {"estimator": "tree", "eta": eta, "tol": 1e-8}
    swap = {"a_at_least_b": "b_at_least_a", "b_at_least_a": "a_at_least_b"}
    swapped = [row | {"a": row["b"], "b": row["a"], "answer": swap.get(row["answer"], row["answer"])} for row in said]
    one, two = fitted(given, people, outcome, said), fitted(given, people, outcome, swapped)
    assert one.certificate_.error == pytest.approx(two.certificate_.error, abs=1e-6)


@pytest.mark.parametrize("weighting", ["answers", "panel"])
@pytest.mark.parametrize("eta", [0.0, 0.02])
def test_a_judgment_of_two_judges_equals_one_of_double_weight(
    people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]], eta: float, weighting: str
) -> None:
    """With the panel's letter a judge more also counts in the number of judges, so all of them are doubled."""
    given = {"estimator": "tree", "eta": eta, "weighting": weighting, "tol": 1e-8}
    twins = [*said, *(row | {"judge": row["judge"] * 2} for row in said)]
    heavy = [row | {"weight": 2 * row["weight"]} for row in said]
    one = fitted(given, people, outcome, twins)
    two = fitted(given, people, outcome, said if weighting == "panel" else heavy)
    assert one.certificate_.error == pytest.approx(two.certificate_.error, abs=1e-6)
    assert one.certificate_.mean_excess == pytest.approx(two.certificate_.mean_excess, abs=1e-6)
    by_judge = one.prices_.groupby("judge")["price"].sum()
    assert by_judge["u"] == pytest.approx(by_judge["uu"])
    assert one.prices_["price"].sum() == pytest.approx(two.prices_["price"].sum(), abs=1e-4)


@each_model
def test_answers_that_count_for_nothing_change_nothing(
    given: dict[str, Any], people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]]
) -> None:
    measured = [row | {"design": "repeat", "answer": "same"} for row in said]
    checks = [{**said[0], "a": "p00", "b": "p69", "design": "check"}]
    plain = [row | {"design": "uniform"} for row in said]
    one, two = fitted(given, people, outcome, plain), fitted(given, people, outcome, [*plain, *measured, *checks])
    assert np.array_equal(probability(one, people), probability(two, people))


@each_model
def test_every_row_twice_is_every_row_once(
    given: dict[str, Any], people: pd.DataFrame, outcome: pd.Series[int], said: list[dict[str, Any]]
) -> None:
    judgments = Judgments(said, people=people)
    model = PairwiseFairClassifier(**({"gamma": 0.1, "favorable_label": 1} | given))
    twice = model.fit(pd.concat([people, people]), [*outcome, *outcome], judgments=judgments)
    once = fitted(given, people, outcome, said)
    assert twice.certificate_.error == pytest.approx(once.certificate_.error, abs=1e-6)
    assert np.allclose(probability(twice, people), probability(once, people), atol=1e-6)
