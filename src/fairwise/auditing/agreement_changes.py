"""How far agreement moved between two rounds: alpha of the same judges about the same pairs, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fairwise.auditing.randomisation import Difference
from fairwise.judgments.reliability import AnswerCounts, Level, agreement_of, jackknife

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.changes import Changes
    from fairwise.auditing.randomisation import Assignments

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

_LEVEL: Level = "four answers"
_ROUNDING = 1e-9
_BOUNDS = (-2.0, 2.0)  # of a change of alpha
UNDEFINED = "alpha is not defined: too few came back, or all gave the same answer"


@dataclass(frozen=True)
class Change:
    """A change of alpha, its middle and standard deviation by the jackknife over ``n`` judges; NaN where undefined.

    Where arms fell to whole rooms, it is over ``n`` rooms.
    """

    value: float
    middle: float
    deviation: float
    n: int

    @classmethod
    def of(cls, changes: Changes, members: Bools, rooms: Ints | None) -> Change:
        """Of these judges ``(J,)``, without any of the others; with the room of each ``(J,)``, or None."""
        chosen = members[changes.before.judge]
        before, after = (AnswerCounts.of(rows.only(chosen), _LEVEL) for rows in (changes.before, changes.after))
        n = before.n_judges
        if not n:
            return cls(np.nan, np.nan, np.nan, 0)
        everyone = np.ones((n, 1))
        value = float((after.alpha(everyone) - before.alpha(everyone))[0])
        without = np.concatenate(list(after.left_out(rooms))) - np.concatenate(list(before.left_out(rooms)))
        if np.isnan(value) or np.isnan(without).any() or len(without) < 3:
            return cls(value, np.nan, np.nan, n)
        return cls(value, *jackknife(value, without), len(without))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Both ends, NaN where judges do not differ or are too few."""
        if np.isnan(self.deviation) or self.deviation <= _ROUNDING:
            return np.nan, np.nan
        half = float(stdtrit(self.n - 1, (1 + confidence) / 2)) * self.deviation
        return _ends(self.middle, half, self.value)


def alpha_changes(changes: Changes, members: Bools, confidence: float, rooms: Ints | None) -> dict[str, float]:
    """Alpha of these judges about the pairs they were asked about twice, before and after, and its change."""
    chosen = members[changes.before.judge]
    line: dict[str, float] = {}
    for name, rows in (("alpha_before", changes.before), ("alpha_after", changes.after)):
        found = agreement_of(rows.only(chosen), _LEVEL, confidence, rooms)
        line |= {name: found.alpha, f"{name}_low": found.low, f"{name}_high": found.high}
    change = Change.of(changes, members, rooms)
    low, high = change.interval(confidence)
    return line | {"alpha_change": change.value, "alpha_change_low": low, "alpha_change_high": high}


def alpha_difference(
    changes: Changes,
    arm: Bools,
    control: Bools,
    assignments: Assignments,
    confidence: float,
    rooms: Ints | None = None,
) -> tuple[tuple[float, float], Difference]:
    """Changes of alpha in an arm and in the control arm ``(J,)`` each, and how the two differ.

    ``assignments`` are about the judges of both, in their order.
    """
    in_arm, in_control = (Change.of(changes, side, rooms) for side in (arm, control))
    values, effect = (in_arm.value, in_control.value), in_arm.value - in_control.value
    if np.isnan(effect):
        return values, Difference(np.nan, np.nan, np.nan, np.nan, UNDEFINED)
    both = arm | control
    chosen = both[changes.before.judge]
    before, after = (AnswerCounts.of(rows.only(chosen), _LEVEL) for rows in (changes.before, changes.after))
    place = np.cumsum(both) - 1
    drawn = assignments.drawn[:, place[before.judges]].T
    rise = [after.alpha(times) - before.alpha(times) for times in (drawn, 1.0 - drawn)]
    p_value = assignments.p_value(effect, rise[0] - rise[1])
    deviation = float(np.hypot(in_arm.deviation, in_control.deviation))
    if np.isnan(deviation) or deviation <= _ROUNDING:
        return values, Difference(effect, np.nan, np.nan, p_value, "too few for an interval")
    parts = [(one.deviation**2) ** 2 / (one.n - 1) for one in (in_arm, in_control)]
    half = float(stdtrit(deviation**4 / sum(parts), (1 + confidence) / 2)) * deviation
    low, high = _ends(in_arm.middle - in_control.middle, half, effect)
    return values, Difference(effect, low, high, p_value)


def _ends(middle: float, half: float, value: float) -> tuple[float, float]:
    least, most = _BOUNDS
    return max(min(middle - half, value), least), min(max(middle + half, value), most)
