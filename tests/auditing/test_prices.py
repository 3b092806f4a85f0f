"""Prices summed, how uneven they are, and the inequality between a price and the real saving."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing.prices import (
    error_without_dearest,
    lorenz,
    pair_prices,
    price_by_judge,
    price_by_person,
    removal_saving,
)
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.simulation import simulate_panel

PEOPLE, OUTCOME = make_people(300, 3, 5)


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    return simulate_panel(PEOPLE, n_judges=4, n_pairs=8, seed=2, answers="four")


@pytest.fixture(scope="module", params=[{"gamma": 0.1}, {"gamma": 0.0, "eta": 0.02}], ids=["gamma", "eta"])
def model(request: pytest.FixtureRequest, judgments: Judgments) -> PairwiseFairClassifier:
    learner = PairwiseFairClassifier("tree", favorable_label=1, tol=1e-9, **request.param)
    return learner.fit(PEOPLE, OUTCOME, judgments=judgments)


def test_sums_are_complete(model: PairwiseFairClassifier) -> None:
    total = model.prices_["price"].sum()
    assert price_by_judge(model.prices_).sum() == pytest.approx(total)
    assert price_by_person(model.prices_).sum() == pytest.approx(2 * total)
    assert pair_prices(model.prices_)["price"].sum() == pytest.approx(total)


def test_the_real_saving_is_at_most_what_the_price_says(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    table = removal_saving(model, PEOPLE, OUTCOME, judgments, n=4)
    assert len(table) == 4
    assert (table["saving"] >= -1e-7).all()
    assert (table["saving"] <= table["bound"] + 1e-7).all()
    assert (table["price"] > 0).any()


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
    found = pair_prices(prices)
    assert found.index.tolist() == [(1, 2)]
    assert found["price"].tolist() == pytest.approx([0.3])
