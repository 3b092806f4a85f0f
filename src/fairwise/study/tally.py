"""Counting ballots: what a panel chooses among a few options, by a rule that was stated before, and what may be shown.

An option is a number from 0. A ballot is a tuple of options: those that somebody approves of, in any order
(:func:`approvals`), or all of them with the best first (:func:`borda`, :func:`condorcet_winner`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import NamedTuple

Ballot = tuple[int, ...]
FEWEST = 5
"""Fewest ballots that are counted together: totals of fewer would tell what single people chose."""


class Rule(StrEnum):
    """How ballots are counted."""

    APPROVAL = "approval"
    """Everyone names all options that they find acceptable; the option that most people name is chosen."""

    BORDA = "borda"
    """Everyone puts all options in order; an option gets a point for every option below it."""

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
    """How many approve of each option.

    >>> approvals([(0, 1), (1,), ()], 3)
    [1, 2, 0]
    """
    counts = [0] * options
    for ballot in ballots:
        for option in ballot:
            counts[option] += 1
    return counts


def borda(ballots: Iterable[Ballot], options: int) -> list[int]:
    """How many options stand below each one, over all ballots.

    >>> borda([(0, 1, 2), (1, 0, 2)], 3)
    [3, 3, 0]
    """
    points = [0] * options
    for ballot in ballots:
        for place, option in enumerate(ballot):
            points[option] += options - 1 - place
    return points


def preferences(ballots: Iterable[Ballot], options: int) -> list[list[int]]:
    """In row i and column j, how many put option i before option j.

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
    found = (
        one
        for one in range(options)
        if all(before[one][two] > before[two][one] for two in range(options) if two != one)
    )
    return next(found, None)


def scores(ballots: Sequence[Ballot], options: int, rule: Rule) -> list[int]:
    """What each option gets: approvals, or points."""
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
    others: list[CastBallot] = []
    for one in cast:
        value = getattr(one, by)
        (others if value is None else groups.setdefault(value, [])).append(one)
    for value in sorted(groups, key=lambda value: (len(groups[value]), value)):
        if len(groups[value]) < FEWEST or 0 < len(others) < FEWEST:
            others += groups.pop(value)
    if not groups:  # also where the others are too few, as all are among them then
        return {}
    largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return {**dict(largest), **({None: others} if others else {})}


def partitions(cast: Sequence[CastBallot]) -> dict[str, Groups]:
    """Partitions of the ballots that may be shown together: by relation and, if that gives nobody away, by arm.

    The difference between two groups of two partitions consists of intersections, so none of these may be small.
    """
    shown: dict[str, Groups] = {}
    for by in ("relation", "arm"):
        groups = grouped(cast, by)
        overlaps = (
            len(set(ours) & set(theirs))
            for earlier in shown.values()
            for ours in earlier.values()
            for theirs in groups.values()
        )
        if groups and all(overlap == 0 or overlap >= FEWEST for overlap in overlaps):
            shown[by] = groups
    return shown


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
