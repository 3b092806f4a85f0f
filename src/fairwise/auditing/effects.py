"""Effects of a second round: how answers changed, and how that differs between the arms of a study.

Arms are drawn for people or for whole rooms. Inference reassigns them the same way, within blocks where there are
blocks. Judges are analysed in the arm that was drawn for them, not in one they moved to. The hypotheses,
:data:`fairwise.results.effects.HYPOTHESES`, are the same in every study, so that none is chosen after the answers are
seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.changes import Changes, alpha_changes, alpha_difference
from fairwise.auditing.randomisation import N_DRAWS, Assignments, Difference, compare, line_of, with_holm
from fairwise.errors import InputError, quote
from fairwise.judgments.answer import SAME
from fairwise.messages import Message
from fairwise.numbers import counted
from fairwise.results.effects import HYPOTHESES, Effects, Permuted
from fairwise.tables.rows import encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.judgments import Judgments

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


EVERYONE = "everyone"


def effects(
    judgments: Judgments,
    *,
    control: str | None = None,
    unit: Unit | None = None,
    reasons: pd.DataFrame | None = None,
    confidence: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Effects:
    """Compare the answers of round 1 and round 2, by arm.

    Parameters
    ----------
    judgments : Judgments
        With rounds 1 and 2. The judges' attribute ``arm`` is the arm that was drawn for them; ``block``, if there is
        one, says that arms were drawn within blocks; ``room``, who was in which room. Without arms, only the change
        itself is told.
    control : str, optional
        The arm that others are compared with; by default the one called "control".
    unit : "judge" or "room", optional
        What arms were drawn for; by default inferred from rooms, blocks and arms, if there are rooms.
    reasons : DataFrame, optional
        Columns a, b and answer: a line for each reason that was shown in round 2, and the answer that it is for.
    confidence : float
        Of intervals.
    n_draws : int
        How many other assignments are drawn; where there are fewer, all of them are looked at.
    seed : int
        The same seed draws the same assignments.

    Notes
    -----
    Judge ``j`` came back for ``n_j`` pairs and changed ``c_j`` of the answers in a certain way: ``y_j = c_j / n_j``.
    The effect is the mean of ``y`` in the arm less that in the control arm, and estimates what the arm does to these
    judges on average, each counting as one. The majority is the answer that most *others* gave in round 1, whether they
    came back or not. The p-value is the share of assignments, drawn as the arms were, with a Welch's t as far from 0;
    the interval holds the shifts of the arm that are not refused so (:mod:`fairwise.auditing.randomisation`).

    Of alpha, the statistic is the difference of the two arms' changes, and the interval is the jackknife's over judges.

    Where arms were drawn for rooms, assignments are of rooms, within blocks where there are blocks: ``y`` is the mean
    over a room's judges, and each room counts as one, also in intervals. Who is recorded in another arm than most of
    their room is analysed in the arm of the room. Without ``unit``, arms count as drawn for rooms if each room has one
    arm, or if people of a room agree in their arms far more than chance would make them. If rooms are as mixed as if
    arms had been drawn for people, or hold people of several blocks, assignments are of people. If neither can be told,
    this is an error that asks for ``unit``.

    The p-values are right if people answer for themselves, or talk to those of their own arm and room alone: what
    others said in round 1 may be shown to them. If people of several arms talk to each other in round 2, a p-value is
    still that of "no arm changes anything for anyone", but intervals are about something else.
    """
    checks.some_judgments(judgments)
    confidence = checks.fraction("confidence", confidence, ends=False)
    n_draws = checks.whole("n_draws", n_draws, 99, 1_000_000)
    seed = checks.whole("seed", seed, 0)
    changes = Changes.of(judgments, reasons)
    assigned = Assigned.of(judgments.judge_attributes, unit).among(changes.judges)
    arm, rooms = assigned.arm, assigned.rooms
    names = [str(name) for name in dict.fromkeys(sorted(arm.dropna()))]
    chosen = control_arm(names, control)
    if chosen is not None:
        names = [chosen, *(name for name in names if name != chosen)]
    by_judge = changes.by_judge()
    lines = {name: _arm_line(changes, by_judge, (arm == name).to_numpy(), confidence, rooms) for name in names}
    lines[EVERYONE] = _arm_line(changes, by_judge, np.ones(len(arm), dtype=bool), confidence, rooms)
    tests, exact = [], True
    for name in names:
        if chosen is not None and name != chosen:
            compared = Comparison(changes, by_judge, assigned, chosen, name, n_draws, seed)
            tests += compared.lines(confidence)
            exact &= compared.assignments(compared.back).exact
    permuted = assigned.permuted(arm.notna().to_numpy() & changes.returned) if tests else None
    return Effects(
        arms=pd.DataFrame.from_dict(lines, orient="index").rename_axis("arm"),
        tests=with_holm(tests),
        judges=by_judge.assign(arm=arm.reindex(by_judge.index)),
        control=chosen,
        confidence=confidence,
        exact=exact,
        n_draws=n_draws,
        notes=(
            *_notes(changes, arm, names, chosen),
            *([] if permuted is None else [*assigned.notes, permuted.sentence]),
        ),
        permuted=permuted,
        hypotheses={
            name: text for name, text in HYPOTHESES.items() if name != "towards_reasons" or reasons is not None
        },
    )


def _arm_line(
    changes: Changes, by_judge: pd.DataFrame, members: Bools, confidence: float, rooms: Ints | None
) -> dict[str, float]:
    """Return the line of ``arms`` about these judges."""
    back = by_judge[members[changes.returned]]
    line: dict[str, float] = {
        "judges": int(members.sum()),
        "returned": len(back),
        "answers": int(back["answers"].sum()),
    }
    line |= {str(name): float(share) for name, share in back.drop(columns="answers").mean().items()}
    return line | alpha_changes(changes, members, confidence, rooms)


def _notes(changes: Changes, arm: pd.Series[str], names: list[str], control: str | None) -> tuple[str, ...]:
    """Sentences about who is not counted, and why something is not told."""
    n_back, only_first = int(changes.returned.sum()), int((changes.answered_first & ~changes.returned).sum())
    only_later, without = int((~changes.answered_first).sum()), int(arm.isna().sum())
    notes = []
    if not n_back:
        notes.append(Message("Nobody came back for a second round, so no change can be told."))
    elif only_first:
        notes.append(
            Message.plural(
                "{count:,} person came back; {left:,} answered only round 1.",
                "{count:,} people came back; {left:,} answered only round 1.",
                n_back,
                left=only_first,
            )
        )
    if only_later:
        notes.append(
            Message.plural(
                "{count:,} person answered only round 2: their answers are not compared.",
                "{count:,} people answered only round 2: their answers are not compared.",
                only_later,
            )
        )
    if n_back == 1:
        notes.append(Message("Only one person came back, so nothing can be said beyond that person."))
    if n_back and not changes.changed.any():
        notes.append(Message("Nobody changed an answer."))
    if len(names) < 2:
        notes.append(Message("There are no two arms, so talking cannot be told apart from being asked twice."))
    elif without:
        notes.append(
            Message.plural(
                "{count:,} person has no arm and is in no comparison.",
                "{count:,} people have no arm and are in no comparison.",
                without,
            )
        )
    empty = [name for name in names if not (changes.returned & (arm == name).to_numpy()).any()]
    if n_back and control is not None:
        notes += [Message("Nobody of the arm {name} came back.", name=name) for name in empty]
    return tuple(notes)


ARM, BLOCK, ROOM, CONTROL = "arm", "block", "room", "control"
Unit = Literal["judge", "room"]

LEAST_AGREEMENT = 0.5
"""Agreement of arms within rooms from which on arms may have been drawn for rooms."""

NOT_CHANCE, MAYBE_CHANCE = 0.001, 0.05
"""Chances of such an agreement if arms were drawn for people: at most this excludes it, and more than this does not."""

_N_PERMUTATIONS = 1999
_CELLS = 1_000_000  # permuted at once

IN_ROOMS = Message(
    "People talked in rooms. Intervals are over people as if each had answered alone, so for other rooms they are too "
    "narrow."
)


def arms_of(attributes: pd.DataFrame) -> pd.Series[str]:
    """The arm of each judge, as text; missing where there is none."""
    if ARM not in attributes:
        return pd.Series(None, index=attributes.index, dtype=object)
    arm = attributes[ARM].astype(object)
    return arm.where(arm.isna(), arm.map(str)).replace("", None)


@dataclass(frozen=True, eq=False)
class Assigned:
    """The arm that was drawn for each of ``J`` judges, and the units and blocks for which arms were drawn.

    Attributes
    ----------
    arm
        By judge, missing for judges without an arm.
    blocks
        ``(J,)`` numbers of blocks, None where everyone is in one. The units of a block exchange arms.
    rooms
        ``(J,)`` numbers of rooms, if arms were drawn for rooms, else None. A judge in no room is a room of their own.
    notes
        Sentences about judges whose record does not fit.
    """

    arm: pd.Series[str]
    blocks: Ints | None
    rooms: Ints | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, attributes: pd.DataFrame, unit: Unit | None = None) -> Assigned:
        """Read the draw from all judges of a study, also those who did not come back; None infers the unit."""
        if unit is not None:
            checks.one_of("unit", unit, get_args(Unit))
        arm = arms_of(attributes)
        rooms, arm, moved = _rooms(arm, attributes, unit)
        blocks, unknown = _blocks(arm, attributes, rooms)
        notes = []
        if moved:
            notes.append(
                Message.plural(
                    "{count:,} person is recorded in another arm than most of their room and is analysed in the arm of "
                    "the room.",
                    "{count:,} people are recorded in another arm than most of their room and are analysed in the arm "
                    "of the room.",
                    moved,
                )
            )
        if unknown:
            notes.append(
                Message.plural(
                    "{count:,} person without a known block keeps their arm whenever arms are reassigned.",
                    "{count:,} people without a known block keep their arms whenever arms are reassigned.",
                    unknown,
                )
            )
        return cls(arm, blocks, rooms, tuple(notes))

    def among(self, judges: pd.Index) -> Assigned:
        """Return the same about some of the judges."""
        place = self.arm.index.get_indexer(judges)
        blocks, rooms = (None if numbers is None else numbers[place] for numbers in (self.blocks, self.rooms))
        return replace(self, arm=self.arm.iloc[place], blocks=blocks, rooms=rooms)

    def reassigned(self, treated: Bools, who: Bools, n_draws: int, seed: int) -> tuple[Assignments, Ints]:
        """Other ways in which an arm could have fallen to the judges ``who`` ``(J,)``, and the unit of each of these.

        A unit is a judge or a room; ``treated`` is of all judges ``(J,)``.
        """
        of_each = np.arange(len(who)) if self.rooms is None else self.rooms
        _, first, unit = np.unique(of_each[who], return_index=True, return_inverse=True)
        within = None if self.blocks is None else self.blocks[who][first]
        return Assignments.of(treated[who][first], within, n_draws, seed), unit

    def permuted(self, who: Bools) -> Permuted:
        """Say what arms are reassigned to among these judges ``(J,)``."""
        n_blocks = 1 if self.blocks is None else len(np.unique(self.blocks[who]))
        if self.rooms is None:
            return Permuted("judge", int(who.sum()), n_blocks)
        return Permuted("room", len(np.unique(self.rooms[who])), n_blocks)


def _rooms(arm: pd.Series[str], attributes: pd.DataFrame, unit: Unit | None) -> tuple[Ints | None, pd.Series[str], int]:
    """Return the rooms if arms were drawn for rooms, the drawn arm of each judge, and how many are recorded in another.

    Rooms of one arm each need no test: where arms were drawn for people, reassigning such rooms is valid, too, and no
    arm is changed. Mixed rooms must agree far more than arms of people do by chance, because their minority is moved.
    """
    if unit == "room" and ROOM not in attributes:
        raise InputError("unit='room': the judges have no attribute room, so it is not known who was in which")
    if unit == "judge" or ROOM not in attributes:
        return None, arm, 0
    room, names = encode(attributes[ROOM])
    has_both = arm.notna().to_numpy() & (room >= 0)
    of_arm, arms = pd.factorize(arm[has_both])
    counts = np.zeros((len(names), len(arms)), dtype=np.int64)
    np.add.at(counts, (room[has_both], of_arm), 1)
    sizes = counts.sum(axis=1)
    if sizes.max(initial=0) < 2:
        return None, arm, 0
    mixed = (counts > 0).sum(axis=1) > 1
    if unit is None and mixed.any():
        block = encode(attributes[BLOCK])[0] if BLOCK in attributes else np.full(len(arm), -1)
        agreement, p_value, one_block = _agreement(of_arm, room[has_both], block[has_both])
        if agreement < LEAST_AGREEMENT or p_value > NOT_CHANCE:
            if not one_block or (agreement < LEAST_AGREEMENT and p_value > MAYBE_CHANCE):
                return None, arm, 0
            raise InputError(
                f"judge attribute room: {counted(int(mixed.sum()))} of {counted(int((sizes > 0).sum()))} rooms hold "
                "people of several arms, so it is not known whether arms were drawn for people or for rooms. If "
                "for rooms, give unit='room'; if for people, give unit='judge' or leave out the column room."
            )
    most = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1)
    tied = np.flatnonzero((most > 1) & (sizes > 0))
    if len(tied):
        raise InputError(
            f"judge attribute room: as many people of room {quote(names[tied[0]])} are in one arm as in another, so "
            "the arm that was drawn for a room is not known. Give everyone the arm that was drawn for their room; if "
            "arms were drawn for people, give unit='judge' or leave out the column room."
        )
    drawn = arm.copy()
    drawn[has_both] = arms[counts.argmax(axis=1)[room[has_both]]]
    alone = room < 0
    room[alone] = len(names) + np.arange(alone.sum())
    return room.astype(np.int64), drawn, int((drawn != arm)[has_both].sum())


def _agreement(arm: NDArray[np.intp], room: NDArray[np.intp], block: NDArray[np.intp]) -> tuple[float, float, bool]:
    """Compare how alike arms are within rooms with arms that are permuted among people, within their blocks.

    All are numbers ``(n,)``, of blocks -1 where unknown. Of two people in a room, the share with the same arm is put on
    a scale on which 0 is the mean of permuted arms and 1 is that all have the same: about ``(1 - 2 q)^2`` if arms were
    drawn for rooms and a share ``q`` moved between two arms. Return that, the share of permutations that are at least
    as alike, and whether each room is in one block. A room then has the block of its members.
    """
    n_arms, n_rooms = int(arm.max()) + 1, int(room.max()) + 1
    of_room = np.full(n_rooms, -1)
    np.maximum.at(of_room, room, block)
    one_block = bool(((block < 0) | (block == of_room[room])).all())
    within = of_room[room] if one_block else block

    def pairs_alike(arms: NDArray[np.intp]) -> Ints:
        """``(B,)`` ordered pairs of one room and one arm, of arms ``(B, n)``."""
        n = n_rooms * n_arms
        cell = np.arange(len(arms))[:, None] * n + room * n_arms + arms
        counts = np.bincount(cell.ravel(), minlength=len(arms) * n).reshape(len(arms), n)
        return np.asarray((counts * (counts - 1)).sum(axis=1))

    rng, sorted_arm = np.random.default_rng(0), arm[np.argsort(within, kind="stable")]
    size = max(1, _CELLS // max(len(arm), n_rooms * n_arms))
    parts = []
    for start in range(0, _N_PERMUTATIONS, size):
        keys = rng.random((min(size, _N_PERMUTATIONS - start), len(arm))) + within
        permuted = np.empty(keys.shape, dtype=np.intp)
        np.put_along_axis(permuted, keys.argsort(axis=1), np.broadcast_to(sorted_arm, keys.shape), axis=1)
        parts.append(pairs_alike(permuted))
    others, own = np.concatenate(parts), int(pairs_alike(arm[None])[0])
    sizes = np.bincount(room)
    by_chance, possible = float(others.mean()), int((sizes * (sizes - 1)).sum())
    agreement = (own - by_chance) / (possible - by_chance) if possible > by_chance else 0.0
    return agreement, (1 + int((others >= own).sum())) / (1 + _N_PERMUTATIONS), one_block


def _blocks(arm: pd.Series[str], attributes: pd.DataFrame, rooms: Ints | None) -> tuple[Ints | None, int]:
    """Return each judge's block, -1 without an arm, and how many with an arm have no known block: theirs is their own.

    A room has the block of its judges.
    """
    if BLOCK not in attributes:
        return None, 0
    assigned = arm.notna().to_numpy()
    block, names = encode(attributes[BLOCK].where(assigned))
    if not len(names):
        return None, 0
    block = block.astype(np.int64)
    unit = np.arange(len(arm)) if rooms is None else np.unique(rooms, return_inverse=True)[1]
    of_unit = np.full(unit.max() + 1, -1)
    np.maximum.at(of_unit, unit, block)
    other = (block >= 0) & (block != of_unit[unit])
    if other.any():
        place = int(np.flatnonzero(other)[0])
        both = quote(names[block[place]]), quote(names[of_unit[unit[place]]])
        raise InputError(
            f"judge attribute block: room {quote(attributes[ROOM].iloc[place])} is in blocks {both[0]} and {both[1]}. "
            "Arms that are drawn for rooms need one block for each room; if they were drawn for people, give "
            "unit='judge' or leave out the column room."
        )
    unknown = of_unit < 0
    of_unit[unknown] = len(names) + np.arange(unknown.sum())
    return np.where(assigned, of_unit[unit], -1), int((unknown[unit] & assigned).sum())


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
    assigned: Assigned
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
        return self.assigned.arm.isin([self.control, self.name]).to_numpy()

    @property
    def _treated(self) -> Bools:
        return (self.assigned.arm == self.name).to_numpy()

    @property
    def back(self) -> Bools:
        """``(J,)`` who of the two arms came back."""
        return self._members & self.changes.returned

    def _same_before(self) -> Floats:
        """``(J,)`` share of ``same`` among all that each judge answered in round 1."""
        said = self.changes.first
        n_judges = len(self.changes.judges)
        n = np.bincount(said.judge, minlength=n_judges)
        return np.bincount(said.judge, said.answer == SAME, minlength=n_judges) / np.maximum(n, 1)

    def assignments(self, who: Bools) -> Assignments:
        """Other ways in which the two arms could have fallen to these judges ``(J,)``, or to their rooms."""
        return self.assigned.reassigned(self._treated, who, self.n_draws, self.seed)[0]

    def _line(
        self, name: str, values: Floats, who: Bools, confidence: float, *, check: bool = False
    ) -> dict[str, object]:
        arm, control = (self._by_unit(values, who & side) for side in (self._treated, ~self._treated))
        if not len(arm) or not len(control):
            empty = self.name if not len(arm) else self.control
            found = Difference(np.nan, np.nan, np.nan, np.nan, f"nobody of the arm {empty} came back")
        else:
            found = compare(self._by_unit(values, who), self.assignments(who), confidence, (-1.0, 1.0))
        return line_of(self.name, name, _mean(arm), _mean(control), found, check=check)

    def _alpha(self, confidence: float) -> dict[str, object]:
        arm, control = self.back & self._treated, self.back & ~self._treated
        units, unit = self.assigned.reassigned(self._treated, self.back, self.n_draws, self.seed)
        again = units.of_members(unit)
        values, found = alpha_difference(self.changes, arm, control, again, confidence, self.assigned.rooms)
        return line_of(self.name, "agreement", *values, found)

    def _by_unit(self, values: Floats, who: Bools) -> Floats:
        """Return the value of each of these judges or, where arms fell to rooms, the mean of each room."""
        if self.assigned.rooms is None:
            return values[who]
        unit = np.unique(self.assigned.rooms[who], return_inverse=True)[1]
        return np.asarray(np.bincount(unit, values[who]) / np.bincount(unit))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
