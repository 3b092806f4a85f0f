"""Arms of a study: who was in which, and how one differs from the control arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing.agreement_changes import alpha_difference
from fairwise.auditing.randomisation import Assignments, Difference, compare, holm
from fairwise.errors import InputError
from fairwise.judgments.answer import SAME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.changes import Changes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

ARM, BLOCK, ROOM, CONTROL = "arm", "block", "room", "control"
IN_ROOMS = (
    "People talked in rooms. Intervals are over people as if each had answered alone, so for other rooms they are too "
    "narrow."
)

HYPOTHESES = {
    "changed": "The share of answers that people change when they are asked again is the same in both arms.",
    "towards_majority": "The share of answers changed to what most others said in round 1 is the same in both arms.",
    "towards_reasons": "The share of answers changed to what most of the reasons are for is the same in both arms.",
    "agreement": "Agreement (alpha) moves as far from round 1 to round 2 in both arms.",
}
"""What is tested, each as "no effect", by name; about reasons only where it is known which were shown."""

CHECKS = {
    "returned": "As large a share of people came back in both arms.",
    "same_before": "The two arms called two people the same equally often in round 1.",
}
"""What must hold, apart from chance, if arms differ in round 2 only; no effect of talking."""


def arms_of(attributes: pd.DataFrame) -> pd.Series[str]:
    """The arm of each judge, as text; missing where there is none."""
    if ARM not in attributes:
        return pd.Series(None, index=attributes.index, dtype=object)
    arm = attributes[ARM].astype(object)
    return arm.where(arm.isna(), arm.map(str)).replace("", None)


def blocks_of(attributes: pd.DataFrame) -> Ints | None:
    """A number for each judge's block; None where that of somebody in an arm is not known. Who is in no arm has -1."""
    if BLOCK not in attributes:
        return None
    assigned = arms_of(attributes).notna()
    if attributes.loc[assigned, BLOCK].isna().any():
        return None
    return pd.factorize(attributes[BLOCK].where(assigned))[0].astype(np.int64)


def rooms_of(attributes: pd.DataFrame) -> Ints | None:
    """A number for each judge's room, if arms fell to whole rooms; else None, as they fell to each judge.

    They did where everyone in a room has one arm, in every room, and no block tells that people were assigned one by
    one. Who is in no room is a room of their own.
    """
    if ROOM not in attributes or blocks_of(attributes) is not None:
        return None
    arm, room = arms_of(attributes), attributes[ROOM].astype(object).replace("", None)
    by_room = arm.groupby(room)
    mixed = arm.notna() & room.notna() & (arm != by_room.transform("first"))
    if not (by_room.count() > 1).any() or mixed.any():
        return None
    number = pd.factorize(room)[0].astype(np.int64)
    alone = number < 0
    number[alone] = len(number) + np.arange(alone.sum())
    return number


def control_arm(names: list[str], control: str | None) -> str | None:
    """The arm to compare with; None where there are no two arms."""
    if control is not None and control not in names:
        raise InputError(
            f"control={control!r}: nobody who answered is in that arm; the arms are {', '.join(names) or 'not known'}"
        )
    if len(names) < 2:
        return control
    if control is None and CONTROL not in names:
        raise InputError(f"control: which arm are the others to be compared with? Give one of {', '.join(names)}")
    return control or CONTROL


@dataclass(frozen=True, eq=False)
class Comparison:
    """An arm and the control arm: all who answered, for the checks, and those who came back."""

    changes: Changes
    by_judge: pd.DataFrame
    arm: pd.Series[str]
    blocks: Ints | None
    rooms: Ints | None
    control: str
    name: str
    n_draws: int
    seed: int

    def lines(self, confidence: float) -> list[dict[str, object]]:
        """A line for each hypothesis and check."""
        everyone = self._members & self.changes.answered_first
        shares = self.by_judge.reindex(self.changes.judges)
        return [
            self._line("returned", self.changes.returned.astype(float), everyone, confidence, check=True),
            self._line("same_before", self._same_before(), everyone, confidence, check=True),
            *(
                self._line(name, shares[name].to_numpy(dtype=np.float64), self.back, confidence)
                for name in HYPOTHESES
                if name in shares
            ),
            self._alpha(confidence),
        ]

    @property
    def _members(self) -> Bools:
        return self.arm.isin([self.control, self.name]).to_numpy()

    @property
    def back(self) -> Bools:
        """``(J,)`` who of the two arms came back."""
        return self._members & self.changes.returned

    def _same_before(self) -> Floats:
        """``(J,)`` share of ``same`` among all that each judge answered in round 1."""
        said = self.changes.first
        n = np.bincount(said.judge, minlength=len(self.arm))
        return np.bincount(said.judge, said.answer == SAME, minlength=len(self.arm)) / np.maximum(n, 1)

    def assignments(self, who: Bools) -> Assignments:
        """Other ways in which the two arms could have fallen to these judges ``(J,)``, or to their rooms."""
        return drawn_again((self.arm == self.name).to_numpy(), who, self.blocks, self.rooms, self.n_draws, self.seed)[0]

    def _line(
        self, name: str, values: Floats, who: Bools, confidence: float, *, check: bool = False
    ) -> dict[str, object]:
        treated = (self.arm == self.name).to_numpy()
        arm, control = (self._by_unit(values, who & side) for side in (treated, ~treated))
        if not len(arm) or not len(control):
            empty = self.name if not len(arm) else self.control
            found = Difference(np.nan, np.nan, np.nan, np.nan, f"nobody of the arm {empty} came back")
        else:
            found = compare(self._by_unit(values, who), self.assignments(who), confidence, (-1.0, 1.0))
        return line_of(self.name, name, _mean(arm), _mean(control), found, check=check)

    def _alpha(self, confidence: float) -> dict[str, object]:
        arm, control = (self.back & (self.arm == side).to_numpy() for side in (self.name, self.control))
        units, unit = drawn_again(
            (self.arm == self.name).to_numpy(), self.back, self.blocks, self.rooms, self.n_draws, self.seed
        )
        values, found = alpha_difference(self.changes, arm, control, units.of_members(unit), confidence, self.rooms)
        return line_of(self.name, "agreement", *values, found)

    def _by_unit(self, values: Floats, who: Bools) -> Floats:
        """Of each of these judges or, where arms fell to rooms, the mean over those of each room."""
        if self.rooms is None:
            return values[who]
        unit = np.unique(self.rooms[who], return_inverse=True)[1]
        return np.asarray(np.bincount(unit, values[who]) / np.bincount(unit))


def drawn_again(
    treated: Bools, who: Bools, blocks: Ints | None, rooms: Ints | None, n_draws: int, seed: int
) -> tuple[Assignments, Ints]:
    """Other ways in which an arm could have fallen to the judges ``who`` ``(J,)``, and the unit of each of these.

    A unit is a judge or, with ``rooms`` ``(J,)``, a room; ``treated`` and ``blocks`` are of all judges ``(J,)``.
    """
    of_each = np.arange(len(who)) if rooms is None else rooms
    _, first, unit = np.unique(of_each[who], return_index=True, return_inverse=True)
    within = None if blocks is None or rooms is not None else blocks[who]
    return Assignments.of(treated[who][first], within, n_draws, seed), unit


COLUMNS = [
    *("arm", "name", "statement", "check", "in_arm", "in_control"),
    *("effect", "low", "high", "p_value", "note"),
]


def line_of(
    arm: str, name: str, in_arm: float, in_control: float, found: Difference, *, check: bool = False
) -> dict[str, object]:
    """A line of tests."""
    return {
        "arm": arm,
        "name": name,
        "statement": (CHECKS if check else HYPOTHESES).get(name, ""),
        "check": check,
        "in_arm": in_arm,
        "in_control": in_control,
        "effect": found.effect,
        "low": found.low,
        "high": found.high,
        "p_value": found.p_value,
        "note": found.note,
    }


def with_holm(lines: list[dict[str, object]]) -> pd.DataFrame:
    """The lines as a table, with p-values for all of them at once, checks apart."""
    table = pd.DataFrame(lines, columns=COLUMNS)
    asked = ~table["check"].astype(bool) & table["p_value"].notna()
    table["p_adjusted"] = np.nan
    table.loc[asked, "p_adjusted"] = holm(table.loc[asked, "p_value"].to_numpy(dtype=np.float64))
    return table


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
