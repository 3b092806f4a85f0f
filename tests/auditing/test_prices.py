"""What was followed and what it cost, how unevenly, and the inequality between a price and the real saving."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import (
    audit,
    error_without_dearest,
    followed_by_judge,
    followed_by_pair,
    lorenz,
    price_by_person,
    removal_saving,
)
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.simulation import simulate_panel

PEOPLE, OUTCOME = make_people(300, 3, 5)


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    simulated = simulate_panel(PEOPLE, n_judges=4, n_pairs=8, seed=2, answers="four")
    half = {judge: {"half": "first" if number < 2 else "second"} for number, judge in enumerate(simulated.judges)}
    return Judgments(simulated.frame, people=PEOPLE, judge_attributes=half)


RULES = {
    "gamma": {"gamma": 0.1},
    "eta": {"gamma": 0.0, "eta": 0.02},
    "attribute": {"gamma": 0.0, "eta": None, "judge_budgets": {"half": {"first": 0.01, "second": 0.03}}},
}


@pytest.fixture(scope="module", params=RULES.values(), ids=list(RULES))
def model(request: pytest.FixtureRequest, judgments: Judgments) -> PairwiseFairClassifier:
    learner = PairwiseFairClassifier("tree", favorable_label=1, tol=1e-9, **request.param)
    return learner.fit(PEOPLE, OUTCOME, judgments=judgments)


def test_sums_are_complete(model: PairwiseFairClassifier) -> None:
    total = model.prices_["price"].sum()
    assert total > 0
    assert price_by_person(model.prices_).sum() == pytest.approx(2 * total)
    for table in (followed_by_judge(model.prices_), followed_by_pair(model.prices_)):
        assert table["price"].sum() == pytest.approx(total)
        assert table["price"].is_monotonic_decreasing
        assert table[["followed", "not_followed", "asks_nothing"]].to_numpy().sum() == len(model.prices_)


def test_what_was_followed_is_what_an_audit_finds(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    scores = pd.Series(model.predict_proba(PEOPLE)[:, 1], index=PEOPLE.index)
    found = audit(scores, judgments, model.gamma, favorable_label=1)
    columns = ["pairs", "followed", "not_followed", "mean_excess"]
    by_judge = followed_by_judge(model.prices_).sort_index()
    pd.testing.assert_frame_equal(by_judge[columns], found.by_judge.set_index("judge")[columns])
    by_pair = found.by_pair.set_index([found.by_pair[["a", "b"]].min(axis=1), found.by_pair[["a", "b"]].max(axis=1)])
    ours = followed_by_pair(model.prices_)
    assert len(ours) == len(by_pair)
    for pair, excess in ours["excess"].items():
        assert isinstance(pair, tuple)
        assert by_pair["excess"][tuple(sorted(pair))] == pytest.approx(excess)


def test_the_real_saving_is_at_most_what_the_price_says(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    table = removal_saving(model, PEOPLE, OUTCOME, judgments, n=4)
    assert len(table) == 4
    assert (table["saving"] >= -1e-7).all()
    assert (table["saving"] <= table["bound"] + 1e-7).all()
    assert (table["price"] > 0).any()


def test_the_dynamics_promise_nothing_about_a_saving(judgments: Judgments) -> None:
    learner = PairwiseFairClassifier("tree", gamma=0.0, favorable_label=1, solver="no-regret", n_rounds=40)
    model = learner.fit(PEOPLE, OUTCOME, judgments=judgments)
    assert model.certificate_.kind == "exact"
    assert removal_saving(model, PEOPLE, OUTCOME, judgments, n=1)["bound"].isna().all()


def test_giving_up_more_never_costs(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    table = error_without_dearest(model, PEOPLE, OUTCOME, judgments, shares=(0.0, 0.2, 1.0))
    assert table["error"].iloc[0] == pytest.approx(model.certificate_.error, abs=1e-7)
    assert (np.diff(table["error"]) <= 1e-7).all()
    plain = PairwiseFairClassifier("tree").fit(PEOPLE, OUTCOME)
    assert table["error"].iloc[-1] == pytest.approx(plain.certificate_.error, abs=1e-7)


def test_a_lorenz_curve_runs_from_nothing_to_everything_and_bends_one_way() -> None:
    curve = lorenz(np.random.default_rng(0).exponential(size=50))
    assert curve.iloc[0].tolist() == [0.0, 0.0]
    assert curve.iloc[-1].tolist() == pytest.approx([1.0, 1.0])
    assert (np.diff(curve["total"], n=2) <= 1e-12).all()
    assert (curve["total"] >= curve["share"] - 1e-12).all()
    assert lorenz([0.0, 0.0])["total"].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="not negative"):
        lorenz([1.0, -1.0])


def test_sides_do_not_matter() -> None:
    prices = pd.DataFrame({"a": [1, 2], "b": [2, 1], "price": [0.1, 0.2], "violation": [0.3, 0.4]})
    prices = prices.assign(judge=["u", "v"], excess=[0.2, 0.3], status=["followed", "not followed"])
    found = followed_by_pair(prices)
    assert found.index.tolist() == [(1, 2)]
    assert found.iloc[0].to_dict() == pytest.approx(
        {"followed": 1, "not_followed": 1, "asks_nothing": 0, "violation": 0.4, "excess": 0.3, "price": 0.3}
    )


def test_a_pair_answered_in_two_rounds_counts_once_for_its_judge() -> None:
    prices = pd.DataFrame({"judge": ["u", "u"], "a": [1, 2], "b": [2, 1], "price": [0.1, 0.1], "violation": 1.0})
    prices = prices.assign(excess=[1.0, 1.0], status="not followed")
    found = followed_by_judge(prices)
    assert found[["pairs", "not_followed", "excess", "mean_excess"]].to_numpy().tolist() == [[1, 2, 1.0, 0.5]]
    assert found["price"].tolist() == pytest.approx([0.2])


def test_without_judgments_the_tables_are_empty_but_have_their_columns() -> None:
    nothing = PairwiseFairClassifier("tree").fit(PEOPLE, OUTCOME).prices_
    assert {"followed", "not_followed", "excess", "price"} <= set(followed_by_judge(nothing).columns)
    assert {"followed", "not_followed", "excess", "price"} <= set(followed_by_pair(nothing).columns)
    assert len(followed_by_judge(nothing)) == len(followed_by_pair(nothing)) == 0
