"""Check the arms of a bundle: everyone is in the one that the seed asks for."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import pandas as pd

from fairwise.archive.bundle import PARTICIPANTS
from fairwise.errors import InputError
from fairwise.study.folder import StudyFolder
from fairwise.study.schedules import ArmTurns

_LATE_SECONDS = 60.0
"""So much later than the next one somebody's time may be who was kept before them."""


def check_arms(
    path: Path, study: StudyFolder, people: pd.DataFrame, versions: pd.DataFrame, last_number: int | None
) -> int:
    """Draw everyone's arm again from the seed and their turn, and check the turn; returns how many have one.

    `versions` are all answers and `last_number` the last that a participant was given, if it is known.
    """
    if not study.settings.arms:
        if (people[people.columns.intersection(["arm", "arm_turn"])] != "").any(axis=None):
            raise InputError(f"{path}: {PARTICIPANTS} has arms, but this study has none")
        return 0
    if missing := [name for name in ("arm", "arm_turn") if name not in people]:
        raise InputError(f"{path}: {PARTICIPANTS} has no column {missing[0]!r}: arms cannot be checked")
    late = study.arms_at_start is None
    if not late:
        _check_slots(path, people)
    _check_turns(path, study, people, late=late)
    if last_number is not None and (not late or _clock_ran_on(versions)):
        turns = study.arms_at_start or study.arms_at_end
        assert turns is not None
        _check_order(path, people, turns, last_number - len(people), late=late)
    return int((people["arm"] != "").sum())


def _check_turns(path: Path, study: StudyFolder, people: pd.DataFrame, *, late: bool) -> None:
    """Turns are those of the slots or, if `late`, of those who finished alone; each gives its arm."""
    turns = study.arms_at_start or study.arms_at_end
    assert turns is not None
    taken: dict[str, str] = {}
    for number, slot, ended, arm, turn in zip(
        *(people[name] for name in ("number", "slot", "finished_at", "arm", "arm_turn")), strict=True
    ):
        who = f"{path}: participant {number}"
        if late:
            if bool(turn) != bool(ended):
                needed = "one, as they finished" if ended else "none, as they did not finish"
                raise InputError(f"{who} has the turn {turn!r} in the order of the arms; needed: {needed}")
            if turn and taken.setdefault(turn, number) != number:
                raise InputError(
                    f"{who} has the turn {turn} in the order of the arms, as participant {taken[turn]} has"
                )
        elif turn != slot:
            raise InputError(f"{who} has the turn {turn!r} in the order of the arms; needed: their slot, {slot}")
        _check_arm(who, study.settings.seed, turns, turn, arm)


def _check_arm(who: str, seed: int, turns: ArmTurns, turn: str, arm: str) -> None:
    expected = turns[int(turn)] if turn else ""
    if arm != expected:
        raise InputError(f"{who} is in the arm {arm!r}, not in the one that seed {seed} asks for: {expected!r}")


def _check_slots(path: Path, people: pd.DataFrame) -> None:
    """A slot in which somebody has finished is never given again: else one could choose an arm by its slot."""
    finished: dict[str, tuple[datetime, str]] = {}
    for number, slot, ended in zip(people["number"], people["slot"], people["finished_at"], strict=True):
        if ended:
            at = datetime.fromisoformat(ended)
            finished[slot] = min(finished.get(slot, (at, number)), (at, number))
    for number, slot, begun in zip(people["number"], people["slot"], people["consented_at"], strict=True):
        begun_at = datetime.fromisoformat(begun)
        at, holder = finished.get(slot, (begun_at, number))
        if holder != number and at < begun_at:
            raise InputError(
                f"{path}: participant {number} has slot {slot}, in which participant {holder} had finished before"
            )


def _check_order(path: Path, people: pd.DataFrame, turns: ArmTurns, gone: int, *, late: bool) -> None:
    """Everyone took the lowest turn that nobody had: else people could be exchanged between arms by their turns.

    Who began again under the same id of a panel took the lowest turn of the arm that was kept for them. A turn is
    passed over if nobody is known who had it when somebody took a higher one. Only one of those who are `gone` can have
    had it then. Who began is numbered; who finished is in the order of times, which are not exact.
    """
    there = people[people["arm_turn"] != ""]
    moments = there["finished_at"].map(_seconds) if late else there["number"].map(float)
    kept = there["arm_kept"] == "yes" if "arm_kept" in there else pd.Series(data=False, index=there.index)
    later, first, first_not_kept = _LATE_SECONDS if late else 0.0, dict[int, float](), dict[int, float]()
    for turn, moment, is_kept in zip(there["arm_turn"].map(int), moments, kept, strict=True):
        first[turn] = min(first.get(turn, math.inf), moment)
        if not is_kept:
            first_not_kept[turn] = min(first_not_kept.get(turn, math.inf), moment)
    passed_over = max(first, default=-1) + 1 - len(first)
    if passed_over <= gone + int(kept.sum()) * turns.longest_wait:  # a made-up turn in the billions ends here
        passed_over, soonest, soonest_of = 0, math.inf, dict[str, float]()
        for turn in range(max(first, default=-1), -1, -1):
            arm = turns[turn]
            limit = min(soonest, soonest_of.get(arm, math.inf)) + later
            passed_over += limit < math.inf and first.get(turn, math.inf) > limit
            soonest = min(soonest, first_not_kept.get(turn, math.inf))
            soonest_of[arm] = min(soonest_of.get(arm, math.inf), first.get(turn, math.inf))
    if passed_over > gone:
        raise InputError(
            f"{path}: turns in the order of the arms that were passed over: {passed_over}; allowed: {gone}, as many as "
            "participants are gone. Somebody has another's turn, and so another's arm"
        )


def _clock_ran_on(versions: pd.DataFrame) -> bool:
    """Whether answers have times in the order in which they were kept; else times prove nothing."""
    if "sequence" not in versions:
        return False
    order = versions["sequence"].map(int).argsort()
    times = versions["answered_at"].iloc[order].map(_seconds)
    return bool((times >= times.cummax() - _LATE_SECONDS).all())


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
