"""Simulated people asked again: each weakness does what it says, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.judgments.answer import orient
from fairwise.simulation import (
    SecondRound,
    SecondThoughts,
    draw_arms,
    draw_pairs,
    simulate_panel,
    simulate_second_round,
)


@pytest.fixture(scope="module")
def first() -> Judgments:
    people, _ = make_people(150, 3, 1)
    pairs = draw_pairs(people, 1, 15, seed=1)[0]
    return simulate_panel(people, 40, answers="four", pairs=pairs, seed=1)


def _both(judgments: Judgments) -> pd.DataFrame:
    """Codes of answers before and after, by judge and pair."""
    rounds = judgments.frame["round"]
    rows = orient(judgments.frame)
    table = pd.DataFrame({"judge": rows.judge, "pair": rows.pair, "answer": rows.answer, "round": rounds})
    return table.pivot_table(index=["judge", "pair"], columns="round", values="answer").dropna().astype(int)


def _changed(judgments: Judgments) -> float:
    both = _both(judgments)
    return float((both[1] != both[2]).mean())


def test_without_any_weakness_nobody_changes(first: Judgments) -> None:
    second = simulate_second_round(first, wavering=0.0)
    assert _changed(second.judgments) == 0
    frame = second.judgments.frame
    pd.testing.assert_frame_equal(frame[frame["round"] == 1].reset_index(drop=True), first.frame)
    assert (frame["round"] == 2).sum() == 40 * 10
    assert len(second.reasons) == 10


@pytest.mark.parametrize("cause", ["persuasion", "conformity"])
def test_who_is_shown_nothing_is_neither_persuaded_nor_follows(first: Judgments, cause: str) -> None:
    planted: dict[str, Any] = {cause: 1.0}
    second = simulate_second_round(first, wavering=0.0, seed=2, **planted)
    arm = second.judgments.judge_attributes["arm"]
    for name, share in (("control", 0.0), ("reasons", None)):
        changed = _changed(second.judgments.select(arm.index[arm == name]))
        assert changed == share if share is not None else changed > 0.2
    assert _changed(second.none_shown) == 0
    assert _changed(second.all_shown) > 0.2


def test_full_persuasion_ends_on_the_side_of_the_reasons(first: Judgments) -> None:
    second = simulate_second_round(first, persuasion=1.0)
    reasons = second.reasons.assign(judge="simulated-01", round=2)
    rows = pd.concat([second.all_shown.frame, reasons], ignore_index=True)
    coded = orient(rows)
    n = len(second.reasons)
    side = dict(zip(coded.pair[-n:], coded.answer[-n:], strict=True))
    both = _both(second.all_shown)
    again = rows["round"].to_numpy()[:-n] == 2
    assert len(both) == again.sum()
    assert all(
        side[pair] == answer for pair, answer in zip(coded.pair[:-n][again], coded.answer[:-n][again], strict=True)
    )


def test_full_conformity_leaves_less_disagreement(first: Judgments) -> None:
    both = _both(simulate_second_round(first, conformity=1.0, wavering=0.0).all_shown)
    before, after = (both[number].groupby("pair").nunique().mean() for number in (1, 2))
    assert after < before


def test_the_stubborn_never_change_and_wavering_is_as_often_as_planted(first: Judgments) -> None:
    assert _changed(simulate_second_round(first, persuasion=1.0, stubbornness=1.0).judgments) == 0
    assert _changed(simulate_second_round(first, wavering=1.0).judgments) == 1
    assert _changed(simulate_second_round(first, wavering=0.3).none_shown) == pytest.approx(0.3, abs=0.08)


def test_who_was_in_which_arm_gave_the_answers_of_that_arm(first: Judgments) -> None:
    second = simulate_second_round(first, persuasion=0.5, returning=0.8, seed=4)
    arm = second.judgments.judge_attributes["arm"]
    for name, would in (("control", second.none_shown), ("reasons", second.all_shown)):
        judges = arm.index[arm == name]
        pd.testing.assert_frame_equal(second.judgments.select(judges).frame, would.select(judges).frame)


def test_two_answers_stay_two() -> None:
    people, _ = make_people(100, 3, 1)
    first = simulate_panel(people, 12, answers="two", pairs=draw_pairs(people, 1, 12, seed=1)[0])
    second = simulate_second_round(first, wavering=0.5, persuasion=0.5)
    assert set(second.judgments.frame["answer"]) <= {"same", "no_constraint"}


def test_arms_are_balanced_in_every_block() -> None:
    table = draw_arms([f"simulated-{number}" for number in range(21)], ("x", "y", "z"), block=6, seed=3)
    counts = pd.crosstab(table["block"], table["arm"])
    assert (counts.iloc[:3] == 2).all(axis=None)
    assert draw_arms(range(8), seed=3)["arm"].tolist() == draw_arms(range(8), seed=3)["arm"].tolist()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"persuasion": 1.5}, "persuasion=1.5"),
        ({"n_pairs": 0}, "n_pairs=0"),
        ({"arms": {"simulated-01": "control"}}, "arms: none for simulated-02"),
    ],
)
def test_wrong_settings_are_named(first: Judgments, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        simulate_second_round(first, **wrong)


def test_pairs_that_nobody_shares_cannot_be_disputed() -> None:
    people, _ = make_people(400, 3, 1)
    alone = simulate_panel(people, 1, 5)
    with pytest.raises(InputError, match="no pair was answered by two people"):
        simulate_second_round(alone)


def test_the_result_is_of_the_named_kind(first: Judgments) -> None:
    assert isinstance(simulate_second_round(first), SecondRound)


def _second_answers(thoughts: SecondThoughts, **shown: Any) -> list[Answer]:
    luck = np.random.default_rng(0)
    return [thoughts.answer(Answer.SAME, tuple(Answer), luck, **shown) for _ in range(2000)]


def test_each_chance_is_as_large_as_it_says() -> None:
    """Within four standard deviations of 2000 draws."""
    other, counts = Answer.NO_CONSTRAINT, {Answer.NO_CONSTRAINT: 3, Answer.SAME: 1}
    for thoughts, shown, chance in (
        (SecondThoughts(persuasion=0.2, wavering=0.0), {"reasons": [other, other]}, 0.2),
        (SecondThoughts(persuasion=0.4, wavering=0.0), {"reasons": [other, Answer.SAME]}, 0.2),
        (SecondThoughts(conformity=0.2, wavering=0.0), {"others": counts}, 0.2),
        (SecondThoughts(1.0, 1.0, wavering=0.3), {}, 0.1),
    ):
        found = _second_answers(thoughts, **shown).count(other) / 2000
        assert abs(found - chance) < 4 * (chance * (1 - chance) / 2000) ** 0.5
    tied = _second_answers(SecondThoughts(conformity=1.0, wavering=0.0), others={other: 2, Answer.A_AT_LEAST_B: 2})
    assert set(tied) == {Answer.SAME}
    with pytest.raises(InputError, match=r"conformity=2; allowed: a number from 0 to 1"):
        SecondThoughts(conformity=2)
