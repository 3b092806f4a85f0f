"""Counting ballots: what a panel chooses among a few options, by a rule that was stated before.

An option is a number from 0. A ballot is a tuple of options: those that somebody approves of, in any order
(:func:`approvals`), or all of them with the best first (:func:`borda`, :func:`condorcet_winner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

Ballot = tuple[int, ...]


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
