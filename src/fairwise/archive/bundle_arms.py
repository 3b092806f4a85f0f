"""Check the arms of a bundle: everyone is in the one that the seed asks for."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pandas as pd

from fairwise.archive.bundle import PARTICIPANTS
from fairwise.errors import InputError
from fairwise.study.designs import ArmTurns
from fairwise.study.folder import StudyFolder


def check_arms(path: Path, study: StudyFolder, people: pd.DataFrame) -> int:
    """Draw everyone's arm again from the seed and their turn, and check the turn; returns how many have one."""
    if not study.settings.arms:
        if (people[people.columns.intersection(["arm", "arm_turn"])] != "").any(axis=None):
            raise InputError(f"{path}: {PARTICIPANTS} has arms, but this study has none")
        return 0
    if missing := [name for name in ("arm", "arm_turn") if name not in people]:
        raise InputError(f"{path}: {PARTICIPANTS} has no column {missing[0]!r}: arms cannot be checked")
    if study.arms_at_start is not None:
        _check_slots(path, people)
    late, turns = study.arms_at_end, study.arms_at_start or study.arms_at_end
    assert turns is not None
    taken: dict[str, str] = {}
    for number, slot, ended, arm, turn in zip(
        *(people[name] for name in ("number", "slot", "finished_at", "arm", "arm_turn")), strict=True
    ):
        who = f"{path}: participant {number}"
        if late is not None:
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
    return int((people["arm"] != "").sum())


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
