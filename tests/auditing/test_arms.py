"""Arms are reassigned as they were drawn: to rooms within blocks where there are rooms, and never as recorded later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.arm_studies import null_study

from fairwise import PairwiseFairClassifier
from fairwise.auditing import Effects, effects, learned_effects
from fairwise.auditing.effects import Assigned
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments import Judgments

if TYPE_CHECKING:
    from tests.support.arm_studies import Design

CASES = 200


def _layout(rng: np.random.Generator) -> pd.DataFrame:
    """Rooms within blocks, each with the arm that was drawn for it."""
    lines = []
    for block in range(int(rng.integers(4, 7))):
        arms = rng.permutation(["talk", "control"] * int(rng.integers(1, 3)))
        for place, arm in enumerate(arms.tolist()):
            size = int(rng.integers(4, 6))
            lines += [{"arm": arm, "room": f"{block}-{place}", "block": block} for _ in range(size)]
    known = pd.DataFrame(lines, index=pd.Index([f"j{number:03}" for number in range(len(lines))], name="judge"))
    return known if rng.random() < 0.5 else known.drop(columns="block")


def _recorded(drawn: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The same after one or two people moved to the other arm, each from another room."""
    moved = drawn.drop_duplicates("room").sample(int(rng.integers(1, 3)), random_state=rng).index
    other = drawn["arm"].map({"talk": "control", "control": "talk"})
    return drawn.assign(arm=drawn["arm"].mask(drawn.index.isin(moved), other))


def _said(known: pd.DataFrame, rng: np.random.Generator) -> Judgments:
    """Everyone in a room says the same about two pairs, in both rounds; some rooms do not come back."""
    rows = []
    for room, members in known.groupby("room").groups.items():
        answers, back = rng.choice(["same", "no_constraint"], (2, 2)), rng.random() < 0.9
        for judge in [*members, f"room {room}"]:
            for number, pair in np.ndindex(1 + back, 2):
                about = {"judge": judge, "a": pair, "b": 10 + pair}
                rows.append({**about, "answer": answers[number, pair], "round": number + 1})
    return Judgments(rows)


def _of_judges(said: Judgments, known: pd.DataFrame) -> Effects:
    rows = said.frame[said.frame["judge"].isin(known.index)]
    return effects(Judgments(rows, judge_attributes=known), n_draws=99)


def _numbers(found: Effects) -> pd.DataFrame:
    """What does not depend on how many say it."""
    tests = found.tests.set_index("name").loc[["returned", "same_before", "changed"]]
    return tests[["in_arm", "in_control", "effect", "low", "high", "p_value"]]


@pytest.mark.slow
def test_rooms_whose_members_agree_are_as_good_as_one_person_each() -> None:
    rng = np.random.default_rng(0)
    for case in range(CASES):
        drawn = _layout(rng)
        said, recorded = _said(drawn, rng), _recorded(drawn, rng)
        one_each = drawn.drop_duplicates("room")
        one_each = one_each.set_index("room " + one_each["room"]).drop(columns="room")
        found, expected = _of_judges(said, recorded), _of_judges(said, one_each)
        pd.testing.assert_frame_equal(_numbers(found), _numbers(expected))
        if case % 4 == 0:
            pd.testing.assert_frame_equal(found.tests, _of_judges(said, drawn).tests)
        assert found.permuted is not None
        assert expected.permuted is not None
        assert found.permuted == replace(expected.permuted, unit="room")
        assert expected.permuted.unit == "judge"
        assert str(found.permuted) in found.notes
        assert str(found.permuted) in str(found)
        n_moved = int((recorded["arm"] != drawn["arm"]).sum())
        assert any(note.startswith(f"{n_moved} ") and "in the arm of the room" in note for note in found.notes)


@pytest.mark.slow
def test_reassigned_arms_are_those_of_rooms_and_keep_their_numbers_in_every_block() -> None:
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        drawn = _layout(rng)
        known = _recorded(drawn, rng).sample(frac=1, random_state=rng)
        if "block" in known and rng.random() < 0.5:  # the block of a room is known from one of its members
            known["block"] = known["block"].where(~known["room"].duplicated() | (rng.random(len(known)) < 0.5))
        drawn = drawn.loc[known.index[rng.random(len(known)) < 0.8]]
        assigned = Assigned.of(known).among(drawn.index)
        assert assigned.arm.tolist() == drawn["arm"].tolist()
        treated = (drawn["arm"] == "talk").to_numpy()
        units, unit = assigned.reassigned(treated, np.ones(len(drawn), dtype=bool), 19, 0)
        again = units.of_members(unit).drawn
        rooms, first, room = np.unique(drawn["room"].to_numpy(str), return_index=True, return_inverse=True)
        assert (again == again[:, first][:, room]).all()
        blocks = drawn["block"].to_numpy()[first] if "block" in drawn else np.zeros(len(rooms))
        for block in np.unique(blocks):
            there = first[blocks == block]
            assert (again[:, there].sum(axis=1) == treated[there].sum()).all()


@pytest.mark.slow
def test_what_cannot_be_told_is_refused() -> None:
    rng = np.random.default_rng(2)
    for _ in range(CASES):
        drawn = _layout(rng).assign(block=0)
        room = str(rng.choice(drawn["room"]))
        whose = drawn["room"] == room
        split = drawn.assign(block=np.where(whose & whose.duplicated(), 1, 0))
        with pytest.raises(InputError, match=rf"room '{room}' is in blocks '\d' and '\d'"):
            Assigned.of(split.sample(frac=1, random_state=rng))


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        (["0 0", "0 1"], "as many people of room '0' are in one arm as in another"),
        ([f"{room} 0" for room in range(6)], "6 of 10 rooms hold people of several arms"),
    ],
)
def test_rooms_whose_arm_is_not_known_are_refused(moved: list[str], words: str) -> None:
    names = [f"{room} {member}" for room in range(10) for member in range(4)]
    known = pd.DataFrame({"arm": ["talk"] * 20 + ["control"] * 20, "room": np.arange(40) // 4}, index=names)
    other = known["arm"].map({"talk": "control", "control": "talk"})
    recorded = known.assign(arm=known["arm"].mask(known.index.isin(moved), other))
    with pytest.raises(InputError, match=f"{words}, so .* not known.*unit='judge'"):
        Assigned.of(recorded)
    of_people = Assigned.of(recorded, "judge")
    assert of_people.rooms is None
    assert of_people.arm.tolist() == recorded["arm"].tolist()


@pytest.mark.parametrize(("n_rooms", "size"), [(8, 3), (10, 3), (6, 5), (12, 5), (20, 3)])
def test_arms_that_were_drawn_for_people_stay_those_of_people(n_rooms: int, size: int) -> None:
    rng, changed, refused = np.random.default_rng([3, n_rooms]), 0, 0
    for _ in range(CASES):
        arms = rng.permutation(np.arange(n_rooms * size) % 2).astype(str)
        known = pd.DataFrame({"arm": arms, "room": np.arange(len(arms)) // size})
        assert Assigned.of(known, "judge").arm.tolist() == known["arm"].tolist()
        try:
            changed += Assigned.of(known).arm.tolist() != known["arm"].tolist()
        except InputError:
            refused += 1
    assert changed <= 0.01 * CASES
    assert refused <= 0.1 * CASES


def test_mixed_rooms_with_people_of_several_blocks_are_never_asked_about() -> None:
    rng = np.random.default_rng(5)
    for _ in range(CASES):
        known = pd.DataFrame(
            {"block": np.arange(24) // 2, "arm": np.concatenate([rng.permutation(2) for _ in range(12)])}
        )
        known = known.sample(frac=1, random_state=rng).astype({"arm": str}).assign(room=np.arange(24) // 3)
        assigned = Assigned.of(known)
        assert assigned.rooms is None
        assert assigned.blocks is not None
        assert assigned.arm.tolist() == known["arm"].tolist()


@pytest.mark.slow
def test_effects_on_people_do_not_hang_on_the_rooms_they_sat_in() -> None:
    rng, refused = np.random.default_rng(6), 0
    for _ in range(CASES // 8):
        said = null_study("blocks", int(rng.integers(10**6)))
        known = said.judge_attributes.drop(columns="block").assign(arm=rng.permutation(["talk", "control"] * 24))
        seated = known.assign(room=rng.permutation(48) // 3)
        alone = effects(Judgments(said.frame, judge_attributes=known), n_draws=99)
        try:
            found = effects(Judgments(said.frame, judge_attributes=seated), n_draws=99)
        except InputError:
            refused += 1
            found = effects(Judgments(said.frame, judge_attributes=seated), n_draws=99, unit="judge")
        pd.testing.assert_frame_equal(found.tests, alone.tests)
    assert refused <= CASES // 80


def test_a_unit_that_is_given_is_used() -> None:
    known = pd.DataFrame({"arm": ["talk", "talk", "control"] * 4, "room": np.arange(12) // 3})
    of_rooms = Assigned.of(known, "room")
    assert set(of_rooms.arm) == {"talk"}
    assert of_rooms.rooms is not None
    assert of_rooms.notes[0].startswith("4 people are recorded in another arm")
    with pytest.raises(InputError, match="unit='room': the judges have no attribute room"):
        Assigned.of(known.drop(columns="room"), "room")
    with pytest.raises(InputError, match="unit='team'"):
        Assigned.of(known, "team")  # type: ignore[arg-type]


def test_few_rooms_of_one_arm_each_are_rooms() -> None:
    known = pd.DataFrame({"arm": ["talk"] * 4 + ["control"] * 4, "room": np.arange(8) // 2})
    assigned = Assigned.of(known)
    assert assigned.rooms is not None
    assert assigned.arm.tolist() == known["arm"].tolist()


def test_a_person_without_a_block_keeps_their_arm() -> None:
    known = pd.DataFrame({"arm": ["talk", "control"] * 6, "block": [0.0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, np.nan]})
    assigned = Assigned.of(known)
    assert assigned.notes == ("1 person without a known block keeps their arm whenever arms are reassigned.",)
    units, _ = assigned.reassigned((known["arm"] == "talk").to_numpy(), np.ones(12, dtype=bool), 199, 0)
    assert not units.drawn[:, -1].any()
    assert units.drawn[:, :11].std(axis=0).all()


@pytest.mark.slow
def test_what_is_learned_is_analysed_as_assigned() -> None:
    people, outcome = make_people(30, 2, 3)
    rng = np.random.default_rng(4)
    drawn = pd.concat(
        [
            pd.DataFrame({"arm": arm, "room": f"{arm} {room}"}, index=range(3))
            for arm in ("talk", "control")
            for room in range(3)
        ]
    )
    drawn.index = pd.Index([f"j{number:02}" for number in range(len(drawn))])
    rows = [
        {"judge": judge, "a": a, "b": a + 5, "answer": rng.choice(["same", "no_constraint"]), "round": number}
        for judge in drawn.index
        for a in range(3)
        for number in (1, 2)
        if number == 1 or judge[-1] not in "12"  # of some rooms only the person who moved comes back
    ]
    moved = drawn.assign(arm=drawn["arm"].mask(drawn.index == "j00", "control"))
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1, eta=0.05)
    people.index = pd.RangeIndex(len(people))
    one, other = (
        learned_effects(
            model,
            people,
            outcome,
            Judgments(rows, people=people, judge_attributes=known),
            unit="room",
            n_resamples=10,
            n_draws=19,
        )
        for known in (drawn, moved)
    )
    pd.testing.assert_frame_equal(one.tests, other.tests)
    assert str(one.permuted) == "For p-values, arms are reassigned at random to 6 rooms; each room counts as one."


@pytest.mark.slow
@pytest.mark.parametrize("design", ["rooms in blocks", "non-compliers", "drop-outs"])
def test_false_alarms_are_rare_and_intervals_hold_no_effect(design: Design) -> None:
    """A cheap version of ``python -m benchmarks arm-effects``."""
    alarms: list[Any] = []
    for seed in range(40):
        tests = effects(null_study(design, seed), n_draws=99).tests.set_index("name")
        alarms.append((tests["p_value"] <= 0.05) | (tests["low"] > 0) | (tests["high"] < 0))
    assert pd.DataFrame(alarms).mean().max() <= 0.15
