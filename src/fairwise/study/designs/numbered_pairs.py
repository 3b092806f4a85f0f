"""Pairs of people, numbered from 0 without ever being listed, so that one can be drawn among millions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np

from fairwise.judgments.answer import Answer

TwoPeople = tuple[str, str]


@dataclass(frozen=True)
class ShownPair:
    """Two people as shown, `a` on the left, and why they are shown."""

    a: str
    b: str
    design: str
    selection_probability: float | None
    """The chance of these two, on whichever sides, of being shown to a participant under this design.

    Of an active pair it is the chance of the one draw that chose it, given all that came before; not, as of all others,
    that of being among all of the participant's pairs, which nobody can compute there. See docs/active.md.
    """


class PairAnswer(NamedTuple):
    """An answer to a pair as it is kept, `a` on the left."""

    position: int
    a: str
    b: str
    answer: Answer
    design: str = ""
    seconds: float | None = None
    """How long it took, if that is known."""

    version: int = 1
    """The largest of a pair is current."""

    round: int = 1
    """2 after the participant's second look."""

    why: str = ""
    confidence: int | None = None
    answered_at: datetime | None = None


class NumberedPairs(ABC):
    """Ordered pairs of people: two people on swapped sides have another number."""

    ordered: int
    """How many there are."""

    def __len__(self) -> int:
        """How many there are if sides do not matter."""
        return self.ordered // 2

    def __getitem__(self, number: int) -> TwoPeople:
        """Return the pair of this number: left, right."""
        if not 0 <= number < self.ordered:
            raise IndexError(number)
        return self._at(number)

    @abstractmethod
    def _at(self, number: int) -> TwoPeople: ...


class DifferingPairs(NumberedPairs):
    """All pairs of people whose records are not identical.

    People with identical records stand together. A person in a group of c among n has n - c partners, so that a
    group takes up c (n - c) numbers, and the quotient and the rest by n - c name the member and the partner.
    """

    def __init__(self, records: Mapping[str, Hashable]) -> None:
        alike = grouped(records).values()
        self._people = [person for group in alike for person in group]
        self._sizes = [len(group) for group in alike]
        self._starts = [0, *accumulate(self._sizes)]
        partners = (size * (len(self._people) - size) for size in self._sizes)
        self._numbers = [0, *accumulate(partners)]
        self.ordered = self._numbers[-1]

    def _at(self, number: int) -> TwoPeople:
        group = bisect_right(self._numbers, number) - 1
        start, size = self._starts[group], self._sizes[group]
        member, partner = divmod(number - self._numbers[group], len(self._people) - size)
        return self._people[start + member], self._people[partner if partner < start else partner + size]


class IdenticalPairs(NumberedPairs):
    """All pairs of two people whose records are identical: in a group of c, everyone has c - 1 partners."""

    def __init__(self, records: Mapping[str, Hashable]) -> None:
        self._groups = [group for group in grouped(records).values() if len(group) > 1]
        self._numbers = [0, *accumulate(len(group) * (len(group) - 1) for group in self._groups)]
        self.ordered = self._numbers[-1]

    def _at(self, number: int) -> TwoPeople:
        place = bisect_right(self._numbers, number) - 1
        group = self._groups[place]
        member, partner = divmod(number - self._numbers[place], len(group) - 1)
        return group[member], group[partner if partner < member else partner + 1]


class CrossedPairs(NumberedPairs):
    """All pairs of someone here with someone there, where nobody is in both."""

    def __init__(self, here: Sequence[str], there: Sequence[str]) -> None:
        self._here, self._there = here, there
        self.ordered = 2 * len(here) * len(there)

    def _at(self, number: int) -> TwoPeople:
        number, swapped = divmod(number, 2)
        one, other = divmod(number, len(self._there))
        two = self._here[one], self._there[other]
        return (two[1], two[0]) if swapped else two


def grouped(records: Mapping[str, Hashable]) -> dict[Hashable, list[str]]:
    """Return who has each record, in the order of their first."""
    alike: dict[Hashable, list[str]] = {}
    for person, record in records.items():
        alike.setdefault(record, []).append(person)
    return alike


# Chance that can be repeated years later.

T = TypeVar("T")
_WORD = 1 << 64


class Purpose(IntEnum):
    """What a stream decides. Each thing has a stream of its own, so that more of one thing leaves the others alone."""

    UNIFORM = 0
    FIXED_SET = 1
    ANCHOR_POOL = 2
    STRATIFIED = 3
    SIDES = 4
    CHECKS = 5
    ORDER = 6
    ACTIVE_PLACES = 7
    ACTIVE = 8
    ARMS = 9


def stream(purpose: Purpose, seed: int, *numbers: int) -> np.random.PCG64:
    """Return the chance of one purpose, for one participant by their number, or for one of their positions."""
    # Uniform pairs came first, without a key.
    key = (int(purpose),) if purpose else ()
    return np.random.PCG64(np.random.SeedSequence([seed, *numbers], spawn_key=key))


class Draws:
    """Whole numbers from the bare stream of PCG64, which numpy never changes; what it makes of it may change."""

    def __init__(self, purpose: Purpose, seed: int, *participant_number: int) -> None:
        self._stream = stream(purpose, seed, *participant_number)

    def below(self, limit: int) -> int:
        """Return a number from 0 to `limit` - 1, each as likely as any other."""
        fair = _WORD - _WORD % limit
        while (word := int(self._stream.random_raw())) >= fair:
            pass
        return word % limit

    def shuffled(self, things: Iterable[T]) -> list[T]:
        """Return them in an order that is as likely as any other."""
        mixed = list(things)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed

    def sided(self, two: TwoPeople) -> TwoPeople:
        """Return the two, on the other sides or not."""
        return (two[1], two[0]) if self.below(2) else two

    def pairs(self, among: NumberedPairs, count: int, taken: set[frozenset[str]]) -> list[TwoPeople]:
        """Return so many pairs that are not taken yet, each as likely as any other, and take them."""
        drawn: list[TwoPeople] = []
        while len(drawn) < count:
            two = among[self.below(among.ordered)]
            if (both := frozenset(two)) not in taken:
                taken.add(both)
                drawn.append(two)
        return drawn
