"""What a report says of a model of amounts: the same numbers as the model's own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.sums import Sums

from fairwise import PairwiseFairRegressor
from fairwise.auditing import frontier
from fairwise.auditing.findings import findings
from fairwise.errors import InputError


def test_everyone_and_each_group_get_what_is_predicted(sums: Sums) -> None:
    found = findings(
        sums.model, sums.people, sums.judgments, sums.outcome.sample(frac=1, random_state=0), groups=["town"]
    )
    assert found.amounts is not None
    given, own = sums.model.predict(sums.people), sums.outcome.to_numpy()
    table = found.amounts.table.set_index("group")
    assert table.loc["", "loss"] == pytest.approx(sums.model.certificate_.mean_error)
    for town in ("Aix", "Bonn"):
        here = (sums.people["town"] == town).to_numpy()
        line = table.loc[town]
        assert line["people"] == here.sum()
        assert line["given"] == pytest.approx(given[here].mean())
        assert line["recorded"] == pytest.approx(own[here].mean())
        assert line["value"] == pytest.approx(given[here].mean() / 600)
        assert line["loss"] == pytest.approx(((given - own)[here] ** 2).mean())
    assert found.decisions is None
    assert found.audit.by_group is None


def test_errors_and_violations_are_those_of_the_certificate(sums: Sums) -> None:
    found, proved = (
        findings(sums.model, sums.people, sums.judgments, sums.outcome, groups=["town"]),
        sums.model.certificate_,
    )
    assert found.audit.overall["max_violation"].loc["value"] == pytest.approx(proved.max_violation)
    assert found.audit.overall["mean_excess"].loc["value"] == pytest.approx(proved.mean_excess, abs=1e-9)
    assert found.plain_error == proved.plain_error
    assert found.guess_error == pytest.approx(proved.constant_error)
    assert found.gains is not None
    everyone = found.gains.iloc[0]
    assert everyone["wrong"] == pytest.approx(proved.error)
    assert everyone["wrong_without"] == pytest.approx(proved.plain_error)
    assert everyone["good"] == pytest.approx(sums.model.predict_value(sums.people).mean())
    low, high = found.interval(proved.error)
    assert 0 < low < proved.error < high < 600**2


def test_the_most_expensive_pairs_are_those_of_the_prices(sums: Sums) -> None:
    found = findings(sums.model, sums.people, sums.judgments)
    prices = sums.model.prices_
    assert found.dearest[0].price == pytest.approx(prices["price"].max())
    amounts = dict(zip(sums.people.index.astype(str), sums.model.predict(sums.people), strict=True))
    assert found.amounts is not None
    for pair in found.dearest:
        assert pair.price > 1e-6 * 600**2
        assert found.amounts.amount(pair.gets_a) == pytest.approx(amounts[pair.a])
        assert found.amounts.amount(pair.gets_b) == pytest.approx(amounts[pair.b])
    assert "recorded" not in found.amounts.table


def test_less_may_be_better(sums: Sums) -> None:
    model = PairwiseFairRegressor(gamma=0.1, max_depth=1, loss="absolute", larger_is_better=False, grid=5)
    model.fit(sums.people, sums.outcome, judgments=sums.judgments)
    found = findings(model, sums.people, sums.judgments, sums.outcome, groups=["town"], unit="€")
    assert found.amounts is not None
    assert found.measure.unit == "€"
    assert found.amounts.table["value"].iloc[0] == pytest.approx(model.predict_value(sums.people).mean())
    assert found.amounts.amount(1.0) == pytest.approx(sums.outcome.min())
    assert found.amounts.table["loss"].iloc[0] == pytest.approx(
        np.abs(model.predict(sums.people) - sums.outcome).mean()
    )
    assert found.gains is not None
    assert found.gains["wrong"].iloc[0] == pytest.approx(model.certificate_.error)


def test_what_cannot_be_told(sums: Sums) -> None:
    given = (sums.model, sums.people, sums.judgments)
    with pytest.raises(InputError, match="a model of amounts has none"):
        findings(*given, labels={0: "none"})
    with pytest.raises(InputError, match="'much' is no amount"):
        findings(*given, sums.outcome.astype(object).where(sums.outcome.index != 3, "much"))
    other = PairwiseFairRegressor(**{**sums.model.get_params(), "grid": 7})
    curve = frontier(sums.people, sums.outcome, sums.judgments, gammas=[0.1, 1.0], model=other)
    with pytest.raises(InputError, match="grid = 7, where the model has 32"):
        findings(*given, sums.outcome, frontier=curve)
