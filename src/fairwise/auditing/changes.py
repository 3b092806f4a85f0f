"""Changes between two rounds: who changed which answer and towards what, and how agreement moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairwise.auditing.randomisation import Difference
from fairwise.errors import InputError
from fairwise.judgments.agreement import AnswerCounts, Level, agreement_of, jackknife
from fairwise.judgments.answer import Answer, Oriented, PairDesign, orient
from fairwise.judgments.table import MEASURED_ONLY
from fairwise.tables.rows import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.randomisation import Assignments
    from fairwise.judgments import Judgments

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


NO_SIDE = -1
_ANSWERS = len(Answer)


@dataclass(frozen=True, eq=False)
class Changes:
    """``R`` answers that were asked for twice, of ``J`` judges; codes are those of :class:`Oriented`.

    Attributes
    ----------
    judges
        Everyone who answered in round 1 or later, ``(J,)``.
    answered_first, returned
        ``(J,)`` who answered in round 1, and who answered again what they had answered there.
    first
        All answers of round 1.
    before, after
        The same judges and pairs in the same order, ``(R,)``.
    majority
        ``(R,)`` the answer that most of the others gave in round 1, -1 where no single one was the most frequent.
    reasons
        ``(R,)`` the answer for which most reasons were shown, or -1; None where it is not known what was shown.
    """

    judges: pd.Index
    answered_first: Bools
    returned: Bools
    first: Oriented
    before: Oriented
    after: Oriented
    majority: Ints
    reasons: Ints | None

    @classmethod
    def of(cls, judgments: Judgments, reasons: pd.DataFrame | None = None) -> Changes:
        """Compare round 1 with each judge's last later round about the pair.

        Repeats, checks and predicted answers are not counted. ``reasons`` has columns a, b and answer, a line for each
        reason that was shown.
        """
        frame = judgments.frame
        frame = frame[~frame["design"].isin([*MEASURED_ONLY, PairDesign.PREDICTED])]
        n_answers = len(frame)
        if reasons is not None:
            frame = pd.concat([frame, _as_rows(reasons, frame)], ignore_index=True)
        rows = orient(frame[["judge", "a", "b", "answer"]])
        shown = rows.only(np.arange(len(frame)) >= n_answers)
        rows, rounds = rows.only(np.arange(len(frame)) < n_answers), frame["round"].to_numpy(dtype=np.int64)[:n_answers]
        judges = pd.Index(sorted(set(rows.judge.tolist())), dtype=np.int64)

        first, later = _last(rows, rounds, rounds == 1), _last(rows, rounds, rounds > 1)
        key = pd.MultiIndex.from_arrays([rows.judge, rows.pair])
        place = key[first].get_indexer(key[later])
        before, after = rows.only(first[place[place >= 0]]), rows.only(later[place >= 0])
        pairs, of_row = np.unique(rows.pair, return_inverse=True)
        said = np.zeros((len(pairs), _ANSWERS), dtype=np.int64)
        np.add.at(said, (of_row[first], rows.answer[first]), 1)
        pair = np.searchsorted(pairs, before.pair)
        others = said[pair]
        others[np.arange(len(pair)), before.answer] -= 1
        sides = None
        if reasons is not None:
            given = np.zeros((len(pairs), _ANSWERS), dtype=np.int64)
            known = np.isin(shown.pair, pairs)
            np.add.at(given, (np.searchsorted(pairs, shown.pair[known]), shown.answer[known]), 1)
            sides = _most_frequent(given[pair])
        return cls(
            judges=rows.judges.take(judges.to_numpy()),
            answered_first=np.isin(judges, rows.judge[first]),
            returned=np.isin(judges, before.judge),
            first=_coded(rows.only(first), judges),
            before=_coded(before, judges),
            after=_coded(after, judges),
            majority=_most_frequent(others),
            reasons=sides,
        )

    @property
    def changed(self) -> Bools:
        """``(R,)`` where the answer is another one."""
        return np.asarray(self.before.answer != self.after.answer)

    def marks(self) -> dict[str, Bools]:
        """``(R,)`` each: changed; towards the majority, away from it; towards the side of most reasons, if known."""
        return {
            "changed": self.changed,
            "towards_majority": self.changed & (self.after.answer == self.majority),
            "away": self.changed & (self.before.answer == self.majority),
        } | ({} if self.reasons is None else {"towards_reasons": self.changed & (self.after.answer == self.reasons)})

    def by_judge(self) -> pd.DataFrame:
        """A line for each judge who came back: ``answers`` asked for twice, and shares of them, see :meth:`marks`."""
        n = np.bincount(self.before.judge, minlength=len(self.judges))
        table = pd.DataFrame({"answers": n}, index=self.judges.rename("judge"))
        for name, mark in self.marks().items():
            table[name] = np.bincount(self.before.judge, mark, minlength=len(self.judges)) / np.maximum(n, 1)
        return table[self.returned]


def _as_rows(reasons: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Reasons as rows of answers, about people as they are called there; those about other people are left out."""
    missing = [name for name in ("a", "b", "answer") if name not in reasons]
    if missing:
        raise InputError(f"reasons: no column {' and no column '.join(missing)}; needed: a, b and answer")
    wrong = [value for value in reasons["answer"] if value not in list(Answer)]
    if wrong:
        raise InputError(f"reasons: answer {wrong[0]!r}; allowed: {', '.join(Answer)}")
    called = {text_of(person): person for side in ("a", "b") for person in answers[side]}
    sides = {side: [called.get(text_of(person)) for person in reasons[side]] for side in ("a", "b")}
    rows = pd.DataFrame(sides | {"answer": reasons["answer"].tolist()}, dtype=object).dropna()
    judge = answers["judge"].iloc[:1].tolist() or [""]
    return rows.assign(judge=judge[0], round=0).astype({side: answers[side].dtype for side in ("a", "b")})


def _last(rows: Oriented, rounds: Ints, chosen: Bools) -> Ints:
    """Positions of each judge's last of the chosen rows about each pair."""
    places = np.flatnonzero(chosen)
    places = places[np.argsort(rounds[places], kind="stable")]
    kept = pd.DataFrame({"judge": rows.judge[places], "pair": rows.pair[places]}).duplicated(keep="last").to_numpy()
    return np.asarray(np.sort(places[~kept]), dtype=np.int64)


def _most_frequent(counts: Ints) -> Ints:
    """``(R,)`` the answer with most of ``(R, 4)``, -1 where several have, or none is there."""
    most = counts.max(axis=1, initial=0)
    single = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(single & (most > 0), counts.argmax(axis=1), NO_SIDE)


def _coded(rows: Oriented, judges: pd.Index) -> Oriented:
    """Return the rows with judges numbered from 0."""
    codes = judges.get_indexer(pd.Index(rows.judge)).astype(np.int64)
    return replace(rows, judges=rows.judges.take(judges.to_numpy()), judge=codes)


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
        """Return the agreement of these judges ``(J,)`` alone; with the room of each ``(J,)``, or None."""
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
