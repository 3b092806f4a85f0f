"""Rules of a committee side by side."""

from __future__ import annotations

import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import compare_rules
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.simulation import draw_pairs, simulate_panel

PEOPLE, OUTCOME = make_people(120, 3, 5)
MODEL = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1, favorable_label=1)


def panel() -> Judgments:
    pairs = draw_pairs(PEOPLE, 1, 10, seed=1)[0]
    simulated = simulate_panel(PEOPLE, n_judges=4, n_pairs=10, seed=2, answers="four", pairs=pairs)
    half = {judge: {"half": "first" if number < 2 else "second"} for number, judge in enumerate(simulated.judges)}
    return Judgments(simulated.frame, people=PEOPLE, judge_attributes=half)


def test_each_rule_is_its_own_fit_and_following_all_costs_most() -> None:
    judgments = panel()
    rules = {
        "all": None,
        "majority": "majority",
        "veto": {"veto": {"half": "first"}},
        "halves": {"one_vote_per": "half"},
    }
    table = compare_rules(MODEL, PEOPLE, OUTCOME, judgments, rules, by="half")
    assert table.index.tolist() == [(rule, group) for rule in rules for group in ("everyone", "first", "second")]
    majority = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1, favorable_label=1)
    majority.fit(PEOPLE, OUTCOME, judgments=judgments.aggregated("majority"))
    assert table.loc[("majority", "everyone"), "error"] == pytest.approx(majority.certificate_.error)
    errors = table.xs("everyone", level="group")["error"]
    assert errors.idxmax() == "all"  # what a rule puts in force, somebody asked for
    assert table["share_followed"].xs("all", level="rule").eq(1).all()
    assert (table["least_followed"] <= table["share_followed"] + 1e-9).all()
    assert table.xs("everyone", level="group")["pairs"].idxmax() == "all"
    shares = table["share_followed"].unstack()
    assert (shares[["first", "second"]].min(axis=1) <= shares["everyone"] + 1e-9).all()
    assert not hasattr(MODEL, "certificate_")


def test_an_attribute_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="by='relation': the judges have no such attribute; there is 'half'"):
        compare_rules(MODEL, PEOPLE, OUTCOME, panel(), {"all": None}, by="relation")


def test_no_rule_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="rules: none given"):
        compare_rules(MODEL, PEOPLE, OUTCOME, panel(), {})
