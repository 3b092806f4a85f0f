"""Reports on models of several decisions, and of costs: every number from the probabilities themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.three_decisions import VALUES, Tiers

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import frontier, held_out
from fairwise.auditing.decisions import decision_table
from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.judgments.reliability import wilson
from fairwise.reporting import Findings, findings


def of(tiers: Tiers, **given: Any) -> Findings:
    return findings(tiers.model, tiers.people, tiers.judgments, tiers.outcome, groups=["town"], **given)


def test_what_is_audited_is_how_well_people_are_treated(tiers: Tiers) -> None:
    found, proved = of(tiers), tiers.model.certificate_
    assert found.audit.overall["max_violation"]["value"] == pytest.approx(proved.max_violation)
    assert found.audit.overall["mean_excess"]["value"] == pytest.approx(proved.mean_excess)
    value = tiers.model.predict_value(tiers.people)
    assert found.gains is not None
    assert found.gains["good"].iloc[0] == pytest.approx(value.mean())
    assert found.gains["wrong"].iloc[0] == pytest.approx(proved.error)
    assert found.audit.by_group is None  # rates of yes or no


def test_the_best_constant_is_the_one_that_costs_least(tiers: Tiers) -> None:
    found = of(tiers)
    assert found.guess_error == pytest.approx(1 - tiers.outcome.value_counts(normalize=True).max())
    assert found.guess_label == tiers.outcome.value_counts().idxmax()
    costly = of(tiers.with_loss())
    loss = tiers.loss
    means = {label: loss.loc[tiers.outcome, label].mean() for label in loss.columns}
    assert costly.guess_error == pytest.approx(min(means.values()))
    assert costly.guess_label == min(means, key=means.__getitem__)
    assert costly.measure == ErrorMeasure("cost", 2.0)


def test_the_table_of_decisions_counts_people(tiers: Tiers) -> None:
    chances = tiers.model.predict_proba(tiers.people)
    table = of(tiers).decisions
    assert table is not None
    classes = tiers.model.classes_.tolist()
    towns = tiers.people["town"].to_numpy()
    for line in table.to_dict("records"):
        members = np.ones(len(towns), dtype=bool) if not line["group"] else towns == line["group"]
        chance, right = chances[members, line["decision"]], tiers.outcome[members] == classes[line["decision"]]
        assert line["people"] == members.sum()
        assert line["given"] == pytest.approx(chance.mean())
        assert line["really"] == pytest.approx(right.mean())
        assert line["right"] == pytest.approx(chance[right].sum() / chance.sum())
        assert line["reached"] == pytest.approx(chance[right].mean())
    assert set(table["group"]) == {"", *towns}
    everyone = table[table["group"] == ""]
    # Who gets what is right for them is who is decided rightly.
    assert (everyone["given"] * everyone["right"]).sum() == pytest.approx(1 - tiers.model.certificate_.error)


def test_decisions_that_nobody_gets_or_that_are_right_for_nobody() -> None:
    table = decision_table(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 0]), None)
    assert np.isnan(table["right"].iloc[1])
    assert np.isnan(table["reached"].iloc[1])
    assert set(decision_table(np.array([[1.0, 0.0]]), None, None)) == {
        *("attribute", "group", "decision", "people", "given")
    }


def test_two_labels_of_other_values_than_0_and_1_are_told_by_value(tiers: Tiers) -> None:
    outcome = tiers.outcome.replace({"half": "full"})
    model = PairwiseFairClassifier("tree", gamma=0.05, label_values={"none": 0.5, "full": 1.0})
    model.fit(tiers.people, outcome, judgments=tiers.judgments)
    found = findings(model, tiers.people, tiers.judgments, outcome)
    assert found.labels.by_value == [("full", 1.0), ("none", 0.5)]
    assert found.audit.overall["max_violation"]["value"] == pytest.approx(model.certificate_.max_violation)


def test_values_of_1_and_0_are_a_favourable_label(tiers: Tiers) -> None:
    outcome = tiers.outcome.replace({"half": "full"})
    by_value, by_label = (
        PairwiseFairClassifier("tree", gamma=0.1, **settings).fit(tiers.people, outcome, judgments=tiers.judgments)
        for settings in ({"label_values": {"none": 0, "full": 1}}, {"favorable_label": "full"})
    )
    both = [findings(model, tiers.people, tiers.judgments, outcome, groups=["town"]) for model in (by_value, by_label)]
    assert both[0].labels == both[1].labels
    pd.testing.assert_frame_equal(both[0].audit.by_pair, both[1].audit.by_pair)
    assert both[0].decisions is None


def test_a_mean_cost_has_an_interval_that_scales_with_the_costs() -> None:
    of_share, of_cost = ErrorMeasure(), ErrorMeasure("cost", 8.0)
    assert of_cost.interval(8 * 0.3, 100) == pytest.approx([8 * end for end in of_share.interval(0.3, 100)])
    assert of_share.interval(0.3, 100) == pytest.approx([float(end) for end in wilson(30, 100, 0.95)])


@pytest.mark.parametrize("unit", [4.0, 3.0, 0.7, 1e4])
def test_held_out_measures_costs(tiers: Tiers, unit: float) -> None:
    errors = 1.0 - pd.DataFrame(np.eye(3), index=list(tiers.loss.index), columns=list(tiers.loss.index))
    settings: dict[str, Any] = {"gamma": 0.1, "label_values": VALUES, "max_depth": 1}
    data = tiers.people, tiers.outcome, tiers.judgments
    plain = held_out(PairwiseFairClassifier("tree", **settings), *data, n_repeats=2)
    costly = held_out(
        PairwiseFairClassifier("tree", loss=unit * errors, tol=unit * 1e-4, **settings), *data, n_repeats=2
    )
    scaled = ["training", "held_out", "low", "high", "hoeffding"]
    error, cost = (result.overall.loc["error", scaled].astype(float) for result in (plain, costly))
    np.testing.assert_allclose(cost, unit * error, rtol=1e-9)
    np.testing.assert_allclose(costly.by_split["error"], unit * plain.by_split["error"], rtol=1e-9)


def test_a_frontier_has_rates_of_groups_by_decision(tiers: Tiers) -> None:
    settings: dict[str, Any] = {"estimator": "tree", "label_values": VALUES, "max_depth": 1}
    weight = pd.Series(np.where(tiers.people["age"] > 30, 2.0, 1.0), index=tiers.people.index)
    table = frontier(
        *(tiers.people, tiers.outcome, tiers.judgments),
        gammas=[0.2],
        groups=tiers.people["town"],
        sample_weight=weight,
        **settings,
    )
    line = table.iloc[0]
    shares = {town: [line[f"share {label} {town}"] for label in VALUES] for town in ("Aix", "Bonn")}
    for town, share in shares.items():
        assert sum(share) == pytest.approx(1)
        assert line[f"value {town}"] == pytest.approx(np.dot(share, list(VALUES.values())))
    assert not [name for name in table.columns if name.startswith("false_positive_rate")]
    model = PairwiseFairClassifier(gamma=0.2, **settings)
    model.fit(tiers.people, tiers.outcome, judgments=tiers.judgments, sample_weight=weight)
    if np.isclose(line["error"], model.certificate_.error) and len(model.weights_) == 1:
        chance = model.predict_proba(tiers.people)[:, 0]
        here = tiers.people["town"] == "Aix"
        assert line["share full Aix"] == pytest.approx(np.average(chance[here], weights=weight[here]))


def test_an_outcome_that_only_looks_like_a_label_is_refused(tiers: Tiers) -> None:
    numbers = tiers.outcome.map({"none": 0, "half": 1, "full": 2})
    model = PairwiseFairClassifier("tree", gamma=0.3, label_values={0: 0, 1: 0.5, 2: 1})
    model.fit(tiers.people, numbers, judgments=tiers.judgments)
    with pytest.raises(ValueError, match="is no outcome of the model"):
        findings(model, tiers.people, tiers.judgments, numbers.astype(str))


def test_a_curve_of_costs_goes_into_a_report_with_its_intervals(tiers: Tiers) -> None:
    costly = tiers.with_loss()
    curve = frontier(
        *(tiers.people, tiers.outcome, tiers.judgments),
        gammas=[0.1, 1.0],
        **{name: value for name, value in costly.model.get_params(deep=False).items() if name not in ("gamma", "eta")},
    )
    found = of(costly, frontier=curve)
    assert found.curve is not None
    assert found.curve.has_interval
    assert (curve["error_low"] < curve["error"]).all()
    assert (curve["error_high"] > curve["error"]).all()
    assert found.plain_error == pytest.approx(curve["error"].iloc[-1])


def test_judgments_of_nobody_else_change_nothing(tiers: Tiers) -> None:
    nothing = Judgments([{"judge": "j", "a": 0, "b": 1, "answer": "no_constraint"}], people=tiers.people)
    model = PairwiseFairClassifier("tree", label_values=VALUES).fit(tiers.people, tiers.outcome, judgments=nothing)
    found = findings(model, tiers.people, nothing, tiers.outcome, groups=["town"])
    assert found.gains is not None
    assert found.gains["good_change"].abs().max() == 0
