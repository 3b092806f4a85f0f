"""What changed between two rounds, and what arms have to do with it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing import Effects, effects
from fairwise.auditing.changes import Changes
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments import Judgments, krippendorff_alpha
from fairwise.simulation import SecondRound, draw_pairs, simulate_panel, simulate_second_round

SAME, LEFT, RIGHT, FREE = "same", "a_at_least_b", "b_at_least_a", "no_constraint"


def _judgments(said: Mapping[str, tuple[str, str | None]], arms: dict[str, str] | None = None) -> Judgments:
    """What each judge said about one pair in both rounds, or in the first alone."""
    rows = []
    for judge, (before, after) in said.items():
        rows.append({"judge": judge, "a": 1, "b": 2, "answer": before, "round": 1})
        if after is not None:
            rows.append({"judge": judge, "a": 1, "b": 2, "answer": after, "round": 2})
    attributes = None if arms is None else {judge: {"arm": arm} for judge, arm in arms.items()}
    return Judgments(rows, judge_attributes=attributes)


def _study(seed: int = 0, n_judges: int = 24, n_pairs: int = 12, **planted: Any) -> SecondRound:
    people, _ = make_people(200, 3, seed)
    pairs = draw_pairs(people, 1, n_pairs, seed=seed)[0]
    first = simulate_panel(people, n_judges, answers="four", pairs=pairs, seed=seed)
    return simulate_second_round(first, seed=seed, **planted)


def _tests(found: Effects) -> dict[str, dict[Hashable, Any]]:
    """The lines of tests of a study of two arms, by name."""
    return {line["name"]: line for line in found.tests.to_dict("records")}


def test_the_majority_is_that_of_the_others() -> None:
    said = {"ann": (FREE, SAME), "bea": (SAME, FREE), "cal": (SAME, SAME), "dan": (SAME, LEFT), "eve": (SAME, None)}
    table = Changes.of(_judgments(said)).by_judge()
    assert table["changed"].to_dict() == {"ann": 1, "bea": 1, "cal": 0, "dan": 1}
    assert table["towards_majority"].to_dict() == {"ann": 1, "bea": 0, "cal": 0, "dan": 0}
    assert table["away"].to_dict() == {"ann": 0, "bea": 1, "cal": 0, "dan": 1}
    # Without bea's own answer, one says same and one does not: nothing is the majority.
    tie = Changes.of(_judgments({"ann": (FREE, SAME), "bea": (SAME, FREE), "cal": (SAME, SAME)})).by_judge()
    assert tie["away"].to_dict() == {"ann": 0, "bea": 0, "cal": 0}
    assert tie.loc["ann", "towards_majority"] == 1


def test_sides_do_not_matter() -> None:
    rows = [
        {"judge": "ann", "a": 1, "b": 2, "answer": LEFT, "round": 1},
        {"judge": "ann", "a": 2, "b": 1, "answer": RIGHT, "round": 2},
        {"judge": "bea", "a": 2, "b": 1, "answer": LEFT, "round": 1},
        {"judge": "bea", "a": 1, "b": 2, "answer": LEFT, "round": 2},
    ]
    reasons = pd.DataFrame([{"a": "2", "b": "1", "answer": RIGHT}])  # ids as text, as files have them
    table = Changes.of(Judgments(rows), reasons).by_judge()
    assert table["changed"].to_dict() == {"ann": 0, "bea": 1}
    assert table["towards_majority"].to_dict() == {"ann": 0, "bea": 1}
    assert table["towards_reasons"].to_dict() == {"ann": 0, "bea": 1}


def test_the_last_round_counts_and_repeats_do_not() -> None:
    rows = [
        {"judge": "ann", "a": 1, "b": 2, "answer": SAME, "round": 1, "design": "fixed"},
        {"judge": "ann", "a": 1, "b": 2, "answer": FREE, "round": 1, "design": "repeat"},
        {"judge": "ann", "a": 1, "b": 2, "answer": FREE, "round": 2, "design": "fixed"},
        {"judge": "ann", "a": 1, "b": 2, "answer": SAME, "round": 3, "design": "fixed"},
        {"judge": "bea", "a": 3, "b": 4, "answer": SAME, "round": 2, "design": "fixed"},
    ]
    changes = Changes.of(Judgments(rows))
    assert changes.by_judge()["changed"].to_dict() == {"ann": 0}
    assert changes.returned.tolist() == [True, False]
    assert changes.answered_first.tolist() == [True, False]


def test_agreement_is_that_of_the_answers_asked_for_twice() -> None:
    second = _study(persuasion=0.5, returning=0.8)
    found = effects(second.judgments)
    frame = second.judgments.frame
    key = ["judge", "a", "b"]
    twice = frame[frame.duplicated(key, keep=False)]
    for name, number in (("alpha_before", 1), ("alpha_after", 2)):
        expected = krippendorff_alpha(Judgments(twice[twice["round"] == number]))
        line = found.arms[[name, f"{name}_low", f"{name}_high"]].to_numpy()[-1]
        assert line == pytest.approx([expected.alpha, expected.low, expected.high])
    change = found.arms["alpha_after"] - found.arms["alpha_before"]
    assert found.arms["alpha_change"].to_numpy() == pytest.approx(change.to_numpy())
    test = _tests(found)["agreement"]
    assert test["effect"] == pytest.approx(change["reasons"] - change["control"])
    assert test["low"] < test["effect"] < test["high"]


def test_planted_persuasion_is_found_and_nothing_is_where_nothing_is() -> None:
    second = _study(n_judges=60, persuasion=0.5, returning=0.9)
    found = effects(second.judgments, reasons=second.reasons)
    tests = _tests(found)
    assert tests["towards_reasons"]["p_value"] < 0.01
    assert tests["towards_reasons"]["low"] > 0
    assert tests["changed"]["p_adjusted"] >= tests["changed"]["p_value"]
    assert set(found.hypotheses) == {name for name, test in tests.items() if not test["check"]}
    still = effects(_study(n_judges=60, wavering=0.0).judgments)
    assert still.arms[["changed", "towards_majority", "away"]].to_numpy().max() == 0
    assert "Nobody changed an answer." in still.notes
    assert [_tests(still)[name]["p_value"] for name in ("changed", "towards_majority")] == [1.0, 1.0]


def test_intervals_hold_the_planted_effect() -> None:
    held = 0
    for seed in range(40):
        second = _study(seed, n_judges=32, persuasion=0.2)
        shown, alone = (Changes.of(one, second.reasons).by_judge() for one in (second.all_shown, second.none_shown))
        truth = float((shown - alone)["towards_reasons"].mean())
        test = _tests(effects(second.judgments, reasons=second.reasons, n_draws=199))["towards_reasons"]
        held += test["low"] <= truth <= test["high"]
    assert held >= 36  # of 40


def test_the_order_of_rows_and_judges_does_not_matter() -> None:
    second = _study(persuasion=0.4)
    one = effects(second.judgments, reasons=second.reasons)
    frame = second.judgments.frame.sample(frac=1, random_state=0)
    mixed = Judgments(frame, judge_attributes=second.judgments.judge_attributes.iloc[::-1])
    other = effects(mixed, reasons=second.reasons.iloc[::-1])
    pd.testing.assert_frame_equal(one.tests, other.tests)
    pd.testing.assert_frame_equal(one.arms, other.arms)


def test_nobody_came_back() -> None:
    found = effects(_judgments({"ann": (SAME, None), "bea": (FREE, None)}, {"ann": "control", "bea": "talk"}))
    assert "Nobody came back for a second round, so no change can be told." in found.notes
    assert found.arms["returned"].tolist() == [0, 0, 0]
    assert _tests(found)["changed"]["note"] == "nobody of the arm talk came back"
    _shows_no_nan(found)


def test_one_came_back_and_an_arm_is_empty() -> None:
    arms = {"ann": "control", "bea": "talk", "cal": "talk"}
    found = effects(_judgments({"ann": (SAME, None), "bea": (FREE, SAME), "cal": (SAME, None)}, arms))
    assert any("Only one person came back" in note for note in found.notes)
    assert "Nobody of the arm control came back." in found.notes
    assert found.arms.loc["talk", "changed"] == 1
    _shows_no_nan(found)


def test_uneven_arms_and_people_without_one() -> None:
    said = {f"j{number:02}": (SAME, SAME if number % 3 else FREE) for number in range(14)}
    arms = {judge: "talk" if number < 11 else "control" for number, judge in enumerate(said)}
    del arms["j00"]
    found = effects(_judgments(said, arms))
    assert "1 person has no arm and is in no comparison." in found.notes
    assert found.arms["judges"].to_dict() == {"control": 3, "talk": 10, "everyone": 14}
    assert found.tests["p_value"].dropna().between(0, 1).all()
    _shows_no_nan(found)


def test_somebody_in_no_arm_takes_the_blocks_from_nobody() -> None:
    said = {f"j{number:02}": (SAME, FREE if number % 4 == 1 else SAME) for number in range(12)}
    known: dict[str, dict[str, Any]] = {
        judge: {"arm": "talk" if number % 2 else "control", "block": number // 4} for number, judge in enumerate(said)
    }
    blocked = effects(Judgments(_judgments(said).frame, judge_attributes=known))
    assert blocked.exact, "three blocks of four are 6 × 6 × 6 assignments, all twelve together 924"
    rows = _judgments({**said, "unfinished": (SAME, SAME)}).frame
    with_one_more = effects(Judgments(rows, judge_attributes={**known, "unfinished": {"arm": None, "block": None}}))
    assert _p_values(with_one_more) == _p_values(blocked)
    unknown = {**known, "j03": {"arm": "talk", "block": None}}
    assert _p_values(effects(Judgments(rows, judge_attributes=unknown))) != _p_values(blocked)


def _p_values(found: Effects) -> dict[Hashable, float]:
    known = found.tests.dropna(subset="p_value")
    return dict(zip(known["name"], known["p_value"].round(12), strict=True))


def _in_rooms(rng: np.random.Generator, n_rooms: int, size: int) -> Judgments:
    """No arm does anything, but everyone in a room does what the room does; half of the rooms are of each arm."""
    rows, known = [], {}
    arms = rng.permutation(["talk", "control"] * (n_rooms // 2))
    for room, arm in enumerate(arms):
        moved = rng.random() < 0.5
        for member in range(size):
            judge = f"j{room:02}-{member}"
            known[judge] = {"arm": arm, "room": f"room {room}"}
            for pair in range(4):
                after = FREE if moved and rng.random() < 0.8 else SAME
                about = {"judge": judge, "a": pair, "b": 10 + pair}
                rows += [{**about, "answer": SAME, "round": 1}, {**about, "answer": after, "round": 2}]
    return Judgments(rows, judge_attributes=known)


def test_arms_that_fell_to_rooms_are_drawn_again_by_room() -> None:
    rng, by_room, by_judge = np.random.default_rng(0), [], []
    for _ in range(40):
        said = _in_rooms(rng, 8, 5)
        found = effects(said, n_draws=99)
        assert found.exact, "there are 70 ways to choose four of eight rooms"
        by_room.append(_tests(found)["changed"]["p_value"])
        assert "For p-values, arms are reassigned at random to 8 rooms; each room counts as one." in found.notes
        alone = Judgments(said.frame, judge_attributes=said.judge_attributes[["arm"]])
        by_judge.append(_tests(effects(alone, n_draws=99))["changed"]["p_value"])
    assert np.mean(np.array(by_judge) <= 0.05) > 0.3, "what a room does looks like what its arm does"
    assert np.mean(np.array(by_room) <= 0.05) <= 0.1


def test_each_room_counts_as_one_also_in_intervals() -> None:
    said = _in_rooms(np.random.default_rng(1), 12, 4)
    known = said.judge_attributes
    found, alone = (effects(Judgments(said.frame, judge_attributes=about)) for about in (known, known[["arm"]]))
    of_room = found.judges.join(known["room"]).groupby(["arm", "room"])["changed"].mean().groupby("arm").mean()
    line, other = _tests(found)["changed"], _tests(alone)["changed"]
    assert line["effect"] == pytest.approx(of_room["talk"] - of_room["control"])
    assert line["high"] - line["low"] > other["high"] - other["low"]


def test_agreement_is_known_less_well_if_all_in_a_room_say_the_same() -> None:
    said = _study(n_judges=12).judgments.frame
    first = said[said["round"] == 1]
    copies = [first.assign(judge=first["judge"].astype(str) + f" {copy}") for copy in range(3)]
    rows = pd.concat([part.assign(round=number) for part in copies for number in (1, 2)], ignore_index=True)
    known = pd.DataFrame(index=rows["judge"].unique())
    known["room"] = known.index.str.rsplit(n=1).str[0]
    rooms = known["room"].unique().tolist()
    known["arm"] = ["talk" if rooms.index(room) % 2 else "control" for room in known["room"]]
    by_room, by_judge = (
        effects(Judgments(rows, judge_attributes=about), n_draws=99).arms.loc["everyone"]
        for about in (known, known[["arm"]])
    )
    for name in ("alpha_before", "alpha_after"):
        assert by_room[name] == by_judge[name]
        widths = [one[f"{name}_high"] - one[f"{name}_low"] for one in (by_room, by_judge)]
        assert widths[0] > 1.3 * widths[1], "three of a kind are one"


def test_people_who_were_assigned_one_by_one_are_drawn_again_one_by_one() -> None:
    said = _in_rooms(np.random.default_rng(1), 6, 4)
    known = said.judge_attributes
    mixed = known.assign(arm=["talk", "control"] * (len(known) // 2))
    for about, words in ((mixed, "24 people"), (mixed.assign(block=np.arange(24) // 4), "24 people within 6 blocks")):
        found = effects(Judgments(said.frame, judge_attributes=about))
        same = effects(Judgments(said.frame, judge_attributes=about.drop(columns="room")))
        assert _p_values(found) == _p_values(same)
        assert f"For p-values, arms are reassigned at random to {words}." in found.notes


def test_people_who_join_only_round_2_are_counted_and_not_compared() -> None:
    rows = _judgments({"ann": (SAME, FREE), "bea": (SAME, SAME)}).frame
    late = rows[rows["round"] == 2].head(1).assign(judge="cal")
    found = effects(Judgments(pd.concat([rows, late])))
    assert "1 person answered only round 2: their answers are not compared." in found.notes
    assert list(found.judges.index) == ["ann", "bea"]
    assert "There are no two arms, so talking cannot be told apart from being asked twice." in found.notes
    _shows_no_nan(found)


def test_no_judgments_at_all() -> None:
    found = effects(Judgments([]))
    assert found.arms.loc["everyone", "judges"] == 0
    _shows_no_nan(found)


def test_several_arms_are_each_compared_with_the_control() -> None:
    second = _study(n_judges=30)
    names = np.resize(["control", "reasons", "wording"], 30)
    attributes = pd.DataFrame({"arm": names}, index=second.judgments.judges)
    found = effects(Judgments(second.judgments.frame, judge_attributes=attributes))
    assert found.tests.groupby("arm").size().to_dict() == {"reasons": 5, "wording": 5}
    assert list(found.arms.index) == ["control", "reasons", "wording", "everyone"]


def test_which_arm_is_the_control_must_be_known() -> None:
    judgments = _judgments({"ann": (SAME, SAME), "bea": (SAME, SAME)}, {"ann": "x", "bea": "y"})
    with pytest.raises(InputError, match=r"which arm are the others to be compared with\? Give one of x, y"):
        effects(judgments)
    with pytest.raises(InputError, match="nobody who answered is in that arm; the arms are x, y"):
        effects(judgments, control="z")
    assert effects(judgments, control="y").control == "y"
    with pytest.raises(InputError, match="no column answer"):
        effects(judgments, control="y", reasons=pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(InputError, match="n_draws"):
        effects(judgments, control="y", n_draws=3)


def _shows_no_nan(found: Effects) -> None:
    assert "nan" not in str(found).lower()
    assert "nan" not in found._repr_html_().lower()
