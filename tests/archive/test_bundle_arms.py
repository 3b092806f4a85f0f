"""The order of arms in a bundle: what can have come about is accepted, and people who changed places are found."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

import pandas as pd
import pytest

from fairwise.archive.verify import _check_turn_order
from fairwise.errors import InputError
from fairwise.study.design import Arm
from fairwise.study.schedules import ArmTurns

TURNS = ArmTurns([Arm(name="a"), Arm(name="b", share=2, buttons="reversed"), Arm(name="c", text="Think.")], seed=3)
BUNDLE = Path("bundle.zip")


def history(seed: int, *, leaving: float, again: float) -> tuple[pd.DataFrame, int]:
    """People who begin, some of them again under an id that had an arm before, and leave; and how many are gone."""
    rng, there, arms, gone = Random(seed), list[dict[str, str]](), list[str](), 0
    for number in range(1, 40):
        free = (turn for turn in count() if str(turn) not in {one["arm_turn"] for one in there})
        first = turn = next(free)
        if arms and rng.random() < again:
            arm = rng.choice(arms)
            while TURNS[turn] != arm:
                turn = next(free)
        arms.append(TURNS[turn])
        kept = "yes" if turn != first else "no"
        there.append({"number": str(number), "arm_turn": str(turn), "arm": TURNS[turn], "arm_kept": kept})
        if rng.random() < leaving:
            there.pop(rng.randrange(len(there)))
            gone += 1
    return pd.DataFrame(there), gone


@pytest.mark.parametrize("seed", range(20))
def test_what_can_have_come_about_is_in_order(seed: int) -> None:
    people, gone = history(seed, leaving=0.2, again=0.4)
    _check_turn_order(BUNDLE, people, TURNS, gone, late=False)


@pytest.mark.parametrize("seed", range(20))
def test_two_who_changed_places_are_found(seed: int) -> None:
    """Also where others began again and stayed in their arm."""
    people, _ = history(seed, leaving=0, again=0.3)
    one, *_, other = people.index[people["arm_kept"] == "no"]
    with pytest.raises(InputError, match="passed over"):
        _check_turn_order(BUNDLE, exchanged(people, one, other), TURNS, 0, late=False)


def test_the_first_of_two_arms_who_changed_places_are_found() -> None:
    """Each of them has the lowest turn of an arm, but did not come again."""
    people, _ = history(0, leaving=0, again=0)
    other = people.index[people["arm"] != people["arm"].iloc[0]][0]
    with pytest.raises(InputError, match="passed over"):
        _check_turn_order(BUNDLE, exchanged(people, 0, other), TURNS, 0, late=False)


def test_of_one_arm_nobody_who_stayed_in_it_changes_places() -> None:
    """One person begins, and all others are the same person again."""
    turns = [turn for turn in range(60) if TURNS[turn] == TURNS[0]][:6]
    rows = [(str(number), str(turn), TURNS[0], "yes" if turn else "no") for number, turn in enumerate(turns, start=1)]
    people = pd.DataFrame(rows, columns=["number", "arm_turn", "arm", "arm_kept"])
    _check_turn_order(BUNDLE, people, TURNS, 0, late=False)
    with pytest.raises(InputError, match="passed over"):
        _check_turn_order(BUNDLE, exchanged(people, 1, 5), TURNS, 0, late=False)


def exchanged(people: pd.DataFrame, one: int, other: int) -> pd.DataFrame:
    changed, columns = people.copy(), ["arm_turn", "arm"]
    changed.loc[[one, other], columns] = people.loc[[other, one], columns].to_numpy()
    return changed


def test_a_turn_in_the_billions_is_refused_at_once() -> None:
    people, _ = history(0, leaving=0, again=0.5)
    people.loc[len(people) - 1, "arm_turn"] = "2147483000"
    with pytest.raises(InputError, match="passed over"):
        _check_turn_order(BUNDLE, people, TURNS, 5, late=False)
