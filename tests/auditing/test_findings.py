"""What is gathered: whose columns, which judgments, which point of the curve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import PairwiseFairClassifier
from fairwise.auditing import followed_by_pair
from fairwise.auditing.decisions import Labels
from fairwise.auditing.prices import expensive_pairs
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.reporting import Findings, findings, write_report
from fairwise.reporting.page import render


def test_a_model_from_a_file_gives_the_same_report(
    complete: Findings, found: Callable[..., Findings], study: dict[str, Any], tmp_path: Path
) -> None:
    study["model"].save(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops", prices=tmp_path / "prices.parquet")
    assert render(found(model=loaded, question=complete.question, date=complete.date)) == render(complete)


def test_other_judgments_than_those_of_the_fit_are_refused(study: dict[str, Any]) -> None:
    some = study["judgments"].select(study["judgments"].judges[:2])
    with pytest.raises(InputError, match="fitted with other judgments"):
        findings(study["model"], study["people"], some)


def test_outcomes_in_words_are_called_by_them() -> None:
    people, outcome = make_people(60, 2, 0)
    in_words = outcome.map({0: "no", 1: "yes"})
    numbers, words = (PairwiseFairClassifier("tree").fit(people, labels) for labels in (outcome, in_words))
    assert Labels.of(numbers, None).words == ("label 0", "label 1")
    assert Labels.of(words, None).words == ("no", "yes")
    assert Labels.of(words, {"no": "refused"}).words == ("refused", "yes")


def test_groups_may_be_of_columns_the_model_never_sees(study: dict[str, Any]) -> None:
    people, outcome = study["people"], study["outcome"]
    without = people.drop(columns="race")
    judgments = study["judgments"].about(without)
    model = PairwiseFairClassifier("tree", gamma=0.3, eta=0.01, favorable_label=0, max_depth=1)
    model.fit(without, outcome, judgments=judgments)
    result = findings(model, people, judgments, outcome, groups=["race"])
    assert result.audit.by_group is not None
    assert set(result.audit.by_group["group"]) == set(people["race"])
    assert "race" not in [name for name, _, _ in result.dearest[0].features]


def test_groups_stand_in_their_order(found: Callable[..., Findings]) -> None:
    gains = found(groups=["age", "race"]).gains
    assert gains is not None
    ages = list(gains.loc[gains["attribute"] == "age", "group"])
    assert len(ages) > 2
    assert ages == sorted(ages, key=lambda band: float(band.split("–")[0]))
    races = list(gains.loc[gains["attribute"] == "race", "group"])
    assert races == sorted(races)


def test_columns_go_by_their_words(study: dict[str, Any], found: Callable[..., Findings]) -> None:
    named = found(groups=["race"], columns={"race": "Ethnic group", "priors_count": "Earlier offences"})
    assert named.audit.by_group is not None
    assert set(named.audit.by_group["attribute"]) == {"Ethnic group"}
    features = [name for name, _, _ in named.dearest[0].features]
    called = {"race": "Ethnic group", "priors_count": "Earlier offences"}
    assert features == [called.get(name, name) for name in study["people"].columns]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": ["height"]}, "no such column of people: 'height'"),
        ({"labels": {2: "perhaps"}}, "2 is no outcome of the model"),
        ({"frontier": pd.DataFrame({"judge": ["panel"]})}, "missing column gamma, eta, error"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str, found: Callable[..., Findings]) -> None:
    with pytest.raises(InputError, match=message):
        found(**given)


def test_outcomes_are_matched_by_id(complete: Findings, found: Callable[..., Findings], study: dict[str, Any]) -> None:
    turned = found(outcome=study["outcome"].iloc[::-1])
    assert turned.plain_error == complete.plain_error
    with pytest.raises(InputError, match="nothing for 1 people"):
        found(outcome=study["outcome"].iloc[1:])


def test_the_most_expensive_pairs_come_first_with_both_people(complete: Findings, study: dict[str, Any]) -> None:
    prices = [pair.price for pair in complete.dearest]
    assert prices == pytest.approx(sorted(prices, reverse=True), abs=1e-8)
    first, people = complete.dearest[0], study["people"]
    by_text = people.set_axis(people.index.astype(str))
    assert [name for name, _, _ in first.features] == list(people.columns)
    assert [value for _, value, _ in first.features] == by_text.loc[first.a].tolist()
    gets = study["model"].predict_proba(by_text.loc[[first.a, first.b]])[:, 0]
    assert [first.gets_a, first.gets_b] == pytest.approx(list(gets))


def test_answers_are_told_as_seen_from_the_first_person() -> None:
    rows = [("ann", 1, 3, "a_at_least_b", 0.2), ("bea", 3, 1, "a_at_least_b", 0.1), ("cal", 3, 1, "same", 0.0)]
    prices = pd.DataFrame(rows, columns=pd.Index(["judge", "a", "b", "answer", "price"]))
    prices = prices.assign(violation=0.5, excess=0.4, status="not followed")
    by_pair = pd.DataFrame({"a": [3], "b": [1], "favorable_a": [0.75], "favorable_b": [0.25]})
    people = pd.DataFrame({"age": [20, 30]}, index=pd.Index(["1", "3"]))  # ids as text are the same people
    (pair,) = expensive_pairs(followed_by_pair(prices), prices, by_pair, people, 5)
    told = {str(answer): judges for answer, judges in pair.answers}
    assert told == {"a_at_least_b": ("ann",), "b_at_least_a": ("bea",), "same": ("cal",)}
    assert (pair.a, pair.b, pair.gets_a, pair.gets_b) == ("1", "3", 0.25, 0.75)
    assert pair.features == (("age", 20, 30),)
    assert pair.price == pytest.approx(0.3)


class TestCurve:
    def test_finds_the_knob_that_varies_and_the_chosen_point(self, complete: Findings) -> None:
        curve = complete.curve
        assert curve is not None
        assert (curve.knob, curve.fixed) == ("gamma", 0.01)
        assert curve.chosen is not None
        assert curve.chosen.at == 0.3
        assert curve.chosen.error == pytest.approx(complete.certificate.error)
        assert curve.chosen.low < curve.chosen.error < curve.chosen.high

    def test_over_eta_with_judges_and_without_intervals(
        self, found: Callable[..., Findings], study: dict[str, Any]
    ) -> None:
        rows = [
            {"judge": judge, "gamma": 0.3, "eta": eta, "error": 0.5 - eta}
            for judge in ("panel", "ann")
            for eta in (0.02, 0.01, 0.0)
        ]
        curve = found(frontier=pd.DataFrame(rows)).curve
        assert curve is not None
        assert curve.chosen is not None
        own = study["model"].certificate_
        assert curve.chosen.error == own.error
        assert curve.panel["error"].tolist() == [0.5, own.error, 0.48]  # its own is the model's
        assert curve.panel["max_violation"].iloc[1] == own.max_violation
        assert curve.knob == "eta"
        assert curve.panel["eta"].tolist() == [0.0, 0.01, 0.02]
        assert set(curve.judges["judge"]) == {"ann"}
        assert not curve.has_interval
        assert curve.chosen is not None
        assert np.isnan(curve.chosen.low)

    def test_of_a_grid_takes_the_slice_through_the_chosen_point(self, found: Callable[..., Findings]) -> None:
        rows = [
            {"judge": "panel", "gamma": gamma, "eta": eta, "error": 0.5 - eta - gamma / 10}
            for gamma in (0.0, 0.3, 1.0)
            for eta in (0.0, 0.01)
        ]
        curve = found(frontier=pd.DataFrame(rows)).curve
        assert curve is not None
        assert curve.panel["eta"].tolist() == [0.01] * 3
        assert curve.panel["gamma"].tolist() == [0.0, 0.3, 1.0]

    @pytest.mark.parametrize(
        ("knob", "other", "own", "traced"), [("gamma", "eta", "0.01", 0.0), ("eta", "gamma", "0.3", 0.1)]
    )
    def test_beside_the_model_is_refused(
        self, found: Callable[..., Findings], knob: str, other: str, own: str, traced: float
    ) -> None:
        rows = [{"judge": "panel", knob: at, other: traced, "error": 0.6 - at / 10} for at in (0.0, 0.01, 0.3)]
        with pytest.raises(InputError, match=f"traced at {other} = {traced:g}.* has {other} = {own}"):
            found(frontier=pd.DataFrame(rows))

    def test_where_no_judgment_binds_is_without_judgments(self, found: Callable[..., Findings]) -> None:
        rows = [{"judge": "panel", "gamma": gamma, "eta": 0.01, "error": 0.5 - gamma / 5} for gamma in (0.0, 0.3, 1.0)]
        assert found(frontier=pd.DataFrame(rows)).plain_error == pytest.approx(0.3)

    def test_a_point_that_is_not_there_is_not_marked(self, found: Callable[..., Findings]) -> None:
        curve = found(chosen=(0.77, 0.01)).curve
        assert curve is not None
        assert curve.chosen is None

    def test_only_single_judges(self, found: Callable[..., Findings]) -> None:
        rows = [{"judge": judge, "gamma": g, "eta": 0.01, "error": 0.4} for judge in range(20) for g in (0.0, 0.3)]
        report = render(found(frontier=pd.DataFrame(rows)), case_details=True)
        assert "for each participant alone" in report
        assert "for everyone together</caption>" not in report


def test_rounding_of_a_solver_is_nobodys_disappointment(study: dict[str, Any]) -> None:
    """With eta = 0 all is followed, to a precision; what is left over has no curve."""
    people, outcome, judgments = study["people"], study["outcome"], study["judgments"]
    model = PairwiseFairClassifier("tree", gamma=0.3, eta=0.0, favorable_label=0, max_depth=1)
    result = findings(model.fit(people, outcome, judgments=judgments), people, judgments)
    assert result.lorenz_excess["total"].max() == 0
    assert "No pair is disappointed" in render(result)


def test_figures_and_numbers_as_files(complete: Findings, tmp_path: Path) -> None:
    written = write_report(complete, tmp_path / "report.html", figures=tmp_path / "figures")
    assert all(path.stat().st_size > 100 for path in written)
    names = {path.name for path in written}
    assert {"frontier.svg", "judges.svg", "lorenz.svg", "message.svg", "gains-good.svg"} <= names
    assert {
        "judges.csv",
        "pairs.csv",
        "judgments.csv",
        "lorenz.csv",
        "groups.csv",
        "frontier.csv",
        "group_gains.csv",
    } <= names
    judges = pd.read_csv(tmp_path / "figures" / "judges.csv")
    assert judges["price"].sum() == pytest.approx(complete.prices["price"].sum())


def test_a_place_that_cannot_be_written_is_told(complete: Findings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(complete, tmp_path / "file" / "report.html")
