"""What talking does to what is learned: against fits to the same answers, and where there is nothing to compare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import LearnedEffects, effects, learned_effects
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.simulation import SecondRound, draw_pairs, simulate_panel, simulate_second_round

PEOPLE, OUTCOME = make_people(80, 3, 5)
GROUPS = np.where(np.arange(80) % 3, "x", "y")
FEW = {"n_resamples": 10, "n_draws": 19}


def _model(**settings: Any) -> PairwiseFairClassifier:
    given = {"max_depth": 1, "gamma": 0.05, "eta": 0.01, "favorable_label": 1, "tol": 1e-7}
    return PairwiseFairClassifier("tree", **{**given, **settings})


def _second(**planted: Any) -> SecondRound:
    pairs = draw_pairs(PEOPLE, 1, 8, seed=3)[0]
    first = simulate_panel(PEOPLE, 10, answers="four", pairs=pairs, seed=3)
    return simulate_second_round(first, n_pairs=6, seed=3, **planted)


def _found(judgments: Judgments, **more: Any) -> LearnedEffects:
    given: dict[str, Any] = {"groups": GROUPS, **FEW, **more}
    model = given.pop("model", _model())
    return learned_effects(model, PEOPLE, OUTCOME, judgments, **given)


@pytest.mark.parametrize("eta", [0.0, 0.01, None])
def test_errors_and_rates_are_those_of_fits_to_the_same_answers(eta: float | None) -> None:
    judgments = _second(persuasion=0.6, returning=0.8).judgments
    found = _found(judgments, model=_model(eta=eta))
    frame, arm = judgments.frame, judgments.judge_attributes["arm"]
    back = set(frame.loc[frame["round"] == 2, "judge"])
    for name in ("control", "reasons", "everyone"):
        who = [judge for judge in judgments.judges if judge in back and name in (arm[judge], "everyone")]
        mine = frame[frame["judge"].isin(who)].reset_index(drop=True)
        for when, rows in (("before", mine[mine["round"] == 1].reset_index(drop=True)), ("after", mine)):
            fitted = _model(eta=eta).fit(PEOPLE, OUTCOME, judgments=Judgments(rows, people=PEOPLE))
            assert found.arms.loc[name, f"error_{when}"] == pytest.approx(fitted.certificate_.error, abs=1e-5)
        assert found.arms.loc[name, "returned"] == len(who)
        rates = found.rates[found.rates["arm"] == name]
        gap = np.ptp(rates["rate_before"].to_numpy())
        assert found.arms.loc[name, "group_gap_before"] == pytest.approx(gap)
    change = found.arms["error_after"] - found.arms["error_before"]
    assert found.arms["error_change"].to_numpy() == pytest.approx(change.to_numpy())
    test = {line["name"]: line for line in found.tests.to_dict("records")}["error"]
    assert test["effect"] == pytest.approx(change["reasons"] - change["control"])
    assert 0 < test["p_value"] <= 1


def test_where_nobody_changes_nothing_moves() -> None:
    found = _found(_second(wavering=0.0).judgments)
    for name in ("error_change", "price_change", "group_gap_change", "treated_differently"):
        assert np.abs(found.arms[name]).max() <= 1e-9
    assert found.tests["p_value"].tolist() == [1.0] * 4


def test_arms_that_are_empty_and_nobody_back() -> None:
    judgments = _second().judgments
    frame, arm = judgments.frame, judgments.judge_attributes
    control = arm.index[arm["arm"] == "control"]
    without = frame[(frame["round"] == 1) | ~frame["judge"].isin(control)]
    one = _found(Judgments(without, people=PEOPLE, judge_attributes=arm))
    assert one.arms.loc["control", "returned"] == 0
    assert one.tests["note"].unique().tolist() == ["nobody of one of the two arms came back"]
    assert one.tests["p_value"].isna().all()
    none = Judgments(frame[frame["round"] == 1], people=PEOPLE, judge_attributes=arm)
    nobody = _found(none)
    assert nobody.arms["returned"].tolist() == [0, 0, 0]
    shown = replace(effects(none), learned=nobody)
    assert "nan" not in shown._repr_html_().lower()
    assert "nan" not in str(shown).lower()


def test_without_groups_nothing_is_said_of_them() -> None:
    found = _found(_second().judgments, groups=None)
    assert found.tests["name"].tolist() == ["error", "price", "treated_differently"]
    assert not len(found.rates)


def test_it_tells_how_far_it_is_and_is_the_same_again() -> None:
    judgments, told = _second(persuasion=0.5).judgments, []
    found = _found(judgments, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == len(told)
    pd.testing.assert_frame_equal(found.arms, _found(judgments).arms)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"model": _model(solver="no-regret")}, "solver='no-regret'"),
        ({"model": _model(judge_budgets=0.1)}, "judge_budgets, group_constraints"),
        ({"groups": ["x"]}, "groups: 1 for 80 people"),
        ({"n_resamples": 2}, "n_resamples"),
        ({"control": "nobody"}, "nobody who answered is in that arm"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        _found(_second().judgments, **wrong)
