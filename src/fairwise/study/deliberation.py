"""Deciding together: second rounds, rooms that talk, and votes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field

from fairwise.study.toml import Input, SettingsTable

MIN_OTHER_ANSWERS = 3
"""Fewest other people whose answers to a pair are shown: counts of fewer would
tell what one of them said."""

MOST_LISTED = 1000
"""Largest number of pairs in a second round."""


def _as_text(value: object) -> object:
    """TOML has dates of its own."""
    return value.isoformat() if type(value) is date else value


def _check_day(text: str) -> str:
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("no day of the calendar; allowed: a day such as 2026-12-31, or nothing") from None


Day = Annotated[str, BeforeValidator(_as_text), AfterValidator(_check_day)]


class Deliberation(SettingsTable):
    """Whether there is a second round, and when the first one ends."""

    on: Annotated[
        bool,
        Field(title="A second round, in which participants see how the others answered"),
        Input("It needs fixed pairs or anchors, as it is about pairs that several people answered."),
    ] = False
    """Whether participants come back to see how the others answered, and why, and keep or change what they said."""

    pairs: Annotated[
        int, Field(ge=1, le=MOST_LISTED, title="Pairs that everyone is shown again"), Input("At most.")
    ] = 10
    """Largest number of pairs that each participant sees again: the most disputed of those that they answered."""

    close_on: Annotated[
        Day,
        Field(title="Last day of the first round"),
        Input("Such as 2026-12-31, in UTC. Empty: it ends by hand, or by the number below."),
    ] = ""
    """The last day of the first round, such as 2026-12-31, in UTC; empty if no day ends it."""

    close_after: Annotated[
        int,
        Field(ge=0, le=10**6, title="Participants who end the first round when they have finished"),
        Input("0: it ends by hand, or on the day above."),
    ] = 0
    """The first round ends when so many have finished; 0 if no number ends it."""

    rooms: Annotated[
        bool,
        Field(title="Rooms talk"),
        Input("In a room all answer the same fixed pair, see the answers on the wall, talk, and answer it again."),
    ] = False
    """Whether people in a room answer the fixed pairs together, talk about each and answer again."""

    @property
    def until(self) -> datetime | None:
        """The moment at which the first round ends by itself, if there is one."""
        if not (self.on and self.close_on):
            return None
        return datetime.combine(date.fromisoformat(self.close_on), time(), UTC) + timedelta(days=1)

    def check(self, *, shared: int, fixed: int, second_look: bool) -> None:
        """Refuse a second round that has nothing to be about; `shared` pairs are answered by several people.

        Those of them that are `fixed` are answered by all.
        """
        if self.rooms and (second_look or self.on):
            raise ValueError(
                "deliberation.rooms: people answer again in their room, and are asked no third time; "
                "switch off second_look and deliberation.on"
            )
        if self.rooms and not fixed:
            raise ValueError(
                "deliberation.rooms: a room talks about pairs that all in it answer, and there are none; "
                "needed: design.fixed"
            )
        if self.on and second_look:
            raise ValueError("second_look is on as well, but deliberation has a second round of its own; choose one")
        if self.on and not shared:
            raise ValueError(
                "deliberation.on: no pairs are answered by several people, so there is nothing to talk about; "
                "needed: design.fixed or design.anchors"
            )


class Chosen(StrEnum):
    """Why a pair is on the list of the second round."""

    DISPUTED = "disputed"
    EXPENSIVE = "expensive"


def disagreement(counts: Collection[int]) -> float:
    """Return the probability that two people, drawn from those who answered a pair, gave different answers.

    With n_k people who gave answer k, and n in all: 1 - sum_k n_k (n_k - 1) / (n (n - 1)).

    >>> disagreement([2, 2]), disagreement([4, 0]), disagreement([1])
    (0.6666666666666667, 0.0, 0.0)
    """
    n = sum(counts)
    return 1 - sum(k * (k - 1) for k in counts) / (n * (n - 1)) if n > 1 else 0.0


def listed(
    disputed: Iterable[tuple[str, str]], expensive: Iterable[tuple[str, str]]
) -> list[tuple[tuple[str, str], Chosen]]:
    """The pairs of a second round, the most important first: of the two kinds by turns, none twice."""
    reasons: dict[tuple[str, str], Chosen] = {}
    for pairs in zip_longest(disputed, expensive):
        for pair, why in zip(pairs, Chosen, strict=True):
            if pair is not None:
                reasons.setdefault(pair, why)
    return [*reasons.items()][:MOST_LISTED]


FEWEST_COUNTED = 3
"""Counts are shown once so many have answered: those of fewer would tell what one of them said."""


class Step(StrEnum):
    """Step of a room."""

    WAITING = "waiting"
    """People come in."""

    ALONE = "alone"
    """Individual answers."""

    SHOWN = "shown"
    """The wall shows how many gave each answer, and people talk."""

    AGAIN = "again"
    """Second answers."""

    COMPARED = "compared"
    """The wall shows the answers before and after."""

    OVER = "over"
    """All pairs were talked about."""


_WITHIN_A_PAIR = {Step.ALONE: (Step.SHOWN,), Step.SHOWN: (Step.AGAIN,), Step.AGAIN: (Step.COMPARED,)}


class Turn(NamedTuple):
    """Position of a room: pairs count from 1, and 0 is before the first."""

    pair: int = 0
    step: Step = Step.WAITING

    def __str__(self) -> str:
        """Return the turn as forms and addresses write it.

        >>> str(Turn(3, Step.AGAIN)), Turn.read("3-again"), Turn.read("3-never")
        ('3-again', Turn(pair=3, step=<Step.AGAIN: 'again'>), None)
        """
        return f"{self.pair}-{self.step}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The turn of a text; None if it is none."""
        pair, _, step = text.partition("-")
        if not (pair.isascii() and pair.isdigit() and len(pair) < 6) or step not in tuple(Step):
            return None
        return cls(int(pair), Step(step))

    def following(self, pairs: int) -> tuple[Self, ...]:
        """Return the turns that an operator may choose next, the usual one first.

        >>> [str(turn) for turn in Turn(2, Step.SHOWN).following(pairs=2)]
        ['2-again', '2-over']
        """
        if self.step == Step.OVER:
            return ()
        within = tuple(type(self)(self.pair, step) for step in _WITHIN_A_PAIR.get(self.step, ()))
        if self.step == Step.ALONE:  # nobody skips a pair by pressing twice
            return within
        upcoming = (self.pair + 1, Step.ALONE) if self.pair < pairs else (self.pair, Step.OVER)
        return (*within, type(self)(*upcoming))


Ballot = tuple[int, ...]
FEWEST = 5
"""Fewest ballots that are counted together: totals of fewer would tell what single people chose."""


class Rule(StrEnum):
    """Rules for counting ballots."""

    APPROVAL = "approval"
    """A ballot names all acceptable options; the option on most ballots wins."""

    BORDA = "borda"
    """A ballot ranks all options; an option gets a point for every option below it."""

    CONDORCET = "condorcet"
    """The option that a majority prefers to each other one; where there is none, that of :attr:`BORDA`."""

    @property
    def ranks(self) -> bool:
        """Whether a ballot puts all options in order."""
        return self != Rule.APPROVAL


def is_ballot(ballot: Sequence[int], options: int, rule: Rule) -> bool:
    """Whether a ballot may be counted by a rule: each option at most once, or each exactly once.

    >>> is_ballot((2, 0, 1), 3, Rule.BORDA), is_ballot((2, 0), 3, Rule.BORDA), is_ballot((2, 0), 3, Rule.APPROVAL)
    (True, False, True)
    """
    if rule.ranks:
        return sorted(ballot) == list(range(options))
    return len(set(ballot)) == len(ballot) and set(ballot) <= set(range(options))


def approvals(ballots: Iterable[Ballot], options: int) -> list[int]:
    """Return the number of approvals of each option.

    >>> approvals([(0, 1), (1,), ()], 3)
    [1, 2, 0]
    """
    counts = [0] * options
    for ballot in ballots:
        for option in ballot:
            counts[option] += 1
    return counts


def borda(ballots: Iterable[Ballot], options: int) -> list[int]:
    """Return the points of each option: the number of options below it, over all ballots.

    >>> borda([(0, 1, 2), (1, 0, 2)], 3)
    [3, 3, 0]
    """
    points = [0] * options
    for ballot in ballots:
        for place, option in enumerate(ballot):
            points[option] += options - 1 - place
    return points


def preferences(ballots: Iterable[Ballot], options: int) -> list[list[int]]:
    """Return in row i and column j the number of ballots that rank option i above option j.

    >>> preferences([(0, 1), (0, 1), (1, 0)], 2)
    [[0, 2], [1, 0]]
    """
    before = [[0] * options for _ in range(options)]
    for ballot in ballots:
        for place, better in enumerate(ballot):
            for worse in ballot[place + 1 :]:
                before[better][worse] += 1
    return before


def condorcet_winner(ballots: Sequence[Ballot], options: int) -> int | None:
    """The option that more people prefer than not, compared with each other one; there may be none.

    >>> condorcet_winner([(0, 1, 2), (1, 2, 0), (2, 0, 1)], 3) is None
    True
    """
    before = preferences(ballots, options)
    winner = (
        one
        for one in range(options)
        if all(before[one][two] > before[two][one] for two in range(options) if two != one)
    )
    return next(winner, None)


def scores(ballots: Sequence[Ballot], options: int, rule: Rule) -> list[int]:
    """Return approvals or points of each option."""
    return borda(ballots, options) if rule.ranks else approvals(ballots, options)


def winners(ballots: Sequence[Ballot], options: int, rule: Rule) -> tuple[int, ...]:
    """The options that a rule chooses: one, or several that are equal; none where nobody said anything.

    >>> winners([(0, 1), (1,)], 2, Rule.APPROVAL)
    (1,)
    """
    if not any(ballots):
        return ()
    if rule == Rule.CONDORCET and (winner := condorcet_winner(ballots, options)) is not None:
        return (winner,)
    counts = scores(ballots, options, rule)  # the points of a single option are 0, and it is chosen
    return tuple(option for option, count in enumerate(counts) if count == max(counts))


class CastBallot(NamedTuple):
    """A ballot, and who cast it."""

    number: int
    relation: str | None
    arm: str | None
    ballot: Ballot


Groups = Mapping[str | None, Sequence[CastBallot]]
"""A partition of all ballots by name of the group; None are all others together."""


def grouped(cast: Iterable[CastBallot], by: str) -> Groups:
    """Ballots by relation or arm, the largest group first; None are all others together.

    No group is smaller than five, also not those left: what they chose would follow from the sum of all.
    """
    groups: dict[str, list[CastBallot]] = {}
    rest: list[CastBallot] = []
    for one in cast:
        value = getattr(one, by)
        (rest if value is None else groups.setdefault(value, [])).append(one)
    for value in sorted(groups, key=lambda value: (len(groups[value]), value)):
        if len(groups[value]) < FEWEST or 0 < len(rest) < FEWEST:
            rest += groups.pop(value)
    if not groups:  # also where the others are too few, as all are among them then
        return {}
    largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return {**dict(largest), **({None: rest} if rest else {})}


def partitions(cast: Sequence[CastBallot]) -> dict[str, Groups]:
    """Partitions of the ballots that may be shown together: by relation and, if that gives nobody away, by arm.

    The difference between two groups of two partitions consists of intersections, so none of these may be small.
    """
    allowed: dict[str, Groups] = {}
    for by in ("relation", "arm"):
        groups = grouped(cast, by)
        overlaps = (
            len(set(ours) & set(theirs))
            for earlier in allowed.values()
            for ours in earlier.values()
            for theirs in groups.values()
        )
        if groups and all(overlap == 0 or overlap >= FEWEST for overlap in overlaps):
            allowed[by] = groups
    return allowed


@dataclass(frozen=True)
class GroupTally:
    """Totals of everyone, or of a group."""

    name: str | None
    count: int
    scores: list[int]
    winners: list[int]


@dataclass(frozen=True)
class Tally:
    """Published result of a vote that has ended."""

    count: int
    """Number of ballots."""

    everyone: GroupTally | None = None
    """Tally; None for fewer than five ballots, of which only the number is shown."""

    majority: int | None = None
    """The option that a majority prefers to each other one."""

    groups: Mapping[str, Sequence[GroupTally]] = field(default_factory=dict)
    """Totals by relation and by arm, as far as :func:`partitions` allows them."""

    @classmethod
    def of(cls, cast: Sequence[CastBallot], options: int, rule: Rule) -> Tally:
        """Count the ballots of a vote."""

        def total(name: str | None, group: Sequence[CastBallot]) -> GroupTally:
            ballots = [one.ballot for one in group]
            chosen = list(winners(ballots, options, rule))
            return GroupTally(name, len(ballots), scores(ballots, options, rule), chosen)

        if len(cast) < FEWEST:
            return cls(len(cast))
        majority = condorcet_winner([one.ballot for one in cast], options) if rule.ranks else None
        groups = {by: [total(*group) for group in parts.items()] for by, parts in partitions(cast).items()}
        return cls(len(cast), total(None, cast), majority, groups)

    @property
    def winners(self) -> Sequence[int]:
        """Options that the rule chooses; none where nothing is shown."""
        return () if self.everyone is None else self.everyone.winners

    def as_json(self) -> str:
        """Return the tally as the database and bundles hold it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Read what :meth:`as_json` returned."""
        content = json.loads(text)
        everyone = content["everyone"] and GroupTally(**content["everyone"])
        groups = {by: [GroupTally(**group) for group in parts] for by, parts in content["groups"].items()}
        return cls(content["count"], everyone, content["majority"], groups)
