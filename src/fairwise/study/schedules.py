"""Pairs that each participant is shown: the study's are drawn once, a participant's own follow from number and slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from itertools import accumulate, combinations_with_replacement
from typing import NamedTuple, TypeVar

import numpy as np

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.study.design import Arm, common_columns
from fairwise.study.settings import StudySettings

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
    """Seconds until the answer, if known."""

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
    """Number of ordered pairs."""

    def __len__(self) -> int:
        """Return the number of pairs without regard to sides."""
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
    """Purpose of a stream of random numbers; more draws of one purpose change no other."""

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

    def pairs(self, source: NumberedPairs, count: int, used: set[frozenset[str]]) -> list[TwoPeople]:
        """Return so many pairs that are not taken yet, each as likely as any other, and take them."""
        chosen: list[TwoPeople] = []
        while len(chosen) < count:
            two = source[self.below(source.ordered)]
            if (both := frozenset(two)) not in used:
                used.add(both)
                chosen.append(two)
        return chosen


# Stratified pairs: spread evenly over the combinations of the two people's strata.

MOST_STRATA = 50


@dataclass(frozen=True)
class Cell:
    """One combination: its pairs, and how many of them are free."""

    pairs: NumberedPairs
    free: int


class StratifiedPairs:
    """Pairs of each participant, spread evenly over the combinations of strata.

    A combination with too few pairs gives all it has, and the others share the rest. Where it does not come out even,
    chance decides which combinations give one more; so each pair's chance is known exactly.
    """

    def __init__(
        self,
        records: Mapping[str, Hashable],
        strata: Mapping[str, Hashable],
        count: int,
        reserved: AbstractSet[frozenset[str]],
    ) -> None:
        members = list(grouped(strata).values())
        self._stratum = {person: number for number, group in enumerate(members) for person in group}
        kept = Counter(self._combination(*pair) for pair in reserved)
        self._cells: dict[tuple[int, int], Cell] = {}
        for one, other in combinations_with_replacement(range(len(members)), 2):
            pairs = _between(members[one], members[other], records)
            if (free := len(pairs) - kept[one, other]) > 0:
                self._cells[one, other] = Cell(pairs, free)
        self._level, self._more = _shared(count, [cell.free for cell in self._cells.values()])
        self._open = [combination for combination, cell in self._cells.items() if cell.free > self._level]

    def draw(self, draws: Draws, used: set[frozenset[str]]) -> list[TwoPeople]:
        """Return one participant's, and take them."""
        one_more = set(draws.shuffled(self._open)[: self._more])
        pairs_of_cells: list[TwoPeople] = []
        for combination, cell in self._cells.items():
            n_wanted = min(cell.free, self._level) + (combination in one_more)
            pairs_of_cells += draws.pairs(cell.pairs, n_wanted, used)
        return pairs_of_cells

    def chance(self, a: str, b: str) -> float:
        """Return the chance of a pair that is not reserved of being among one participant's."""
        cell = self._cells[self._combination(a, b)]
        if cell.free <= self._level:
            return 1.0
        return (self._level + self._more / len(self._open)) / cell.free

    def _combination(self, a: str, b: str) -> tuple[int, int]:
        one, other = sorted((self._stratum[a], self._stratum[b]))
        return one, other


def check_strata(strata: Mapping[str, Hashable], where: str) -> None:
    """Refuse strata so fine that a combination is hardly ever seen."""
    n_strata = len(set(strata.values()))
    if n_strata > MOST_STRATA:
        raise InputError(
            f"{where}: design.strata divide the people into {n_strata} groups; at most {MOST_STRATA} are allowed: "
            "choose columns with fewer values"
        )


def _between(here: Sequence[str], there: Sequence[str], records: Mapping[str, Hashable]) -> NumberedPairs:
    # Strata are part of what is shown: people of two strata always differ.
    return DifferingPairs({person: records[person] for person in here}) if here is there else CrossedPairs(here, there)


def _shared(count: int, capacities: Sequence[int]) -> tuple[int, int]:
    """Return how many each gives, as far as it can, and how many then give one more.

    >>> _shared(7, [1, 5, 5]), _shared(6, [3, 3]), _shared(0, [])
    ((3, 0), (3, 0), (0, 0))
    """
    level = 0
    while count > 0:
        able = sum(capacity > level for capacity in capacities)
        if able > count:
            break
        count -= able
        level += 1
    return level, count


# In which order pairs come: mixed, and every repeat a good while after its original.

S = TypeVar("S")
PAUSE = 10
"""Least number of pairs between a pair and its repeat, if there are as many others."""


def ordered(originals: Sequence[ShownPair], checks: Sequence[ShownPair], repeats: int, draws: Draws) -> list[ShownPair]:
    """Return all of them mixed, and `repeats` of the originals once more with sides swapped.

    What is to be repeated comes in the first part, then a pause of other pairs; the repeats come among the rest, in the
    order of their originals. With r repeats, r - 1 of them or of their originals lie between as well.
    """
    mixed = draws.shuffled(originals)
    repeated = mixed[:repeats]
    fillers = draws.shuffled([*mixed[repeats:], *checks])
    pause = min(PAUSE, len(fillers))
    first = (len(fillers) - pause + 1) // 2
    opening = draws.shuffled([*repeated, *fillers[:first]])
    swapped = [ShownPair(pair.b, pair.a, PairDesign.REPEAT, None) for pair in opening if pair in repeated]
    closing = _merged(swapped, fillers[first + pause :], draws)
    return [*opening, *fillers[first : first + pause], *closing]


def with_active_places(laid_out: Sequence[ShownPair], active: int, draws: Draws) -> list[ShownPair | None]:
    """Return what is laid out, in its order, with None where a pair is chosen on the way; never at the beginning."""
    if not active:
        return [*laid_out]
    return [laid_out[0], *_merged(laid_out[1:], [None] * active, draws)]


def _merged(one: Sequence[T], other: Sequence[S], draws: Draws) -> list[T | S]:
    """Return both, each in its own order, every way of mixing them as likely as any other."""
    turns = draws.shuffled([True] * len(one) + [False] * len(other))
    ones, second = iter(one), iter(other)
    return [next(ones) if turn else next(second) for turn in turns]


# Arms: who comes to which of them, in blocks.


_PLACES = 2


def block_size(arms: Sequence[Arm]) -> int:
    """Return the number of turns in a block of the arms' order."""
    return sum(_PLACES * arm.share for arm in arms)


class ArmTurns:
    """The arms in the order in which they are given: a block has two places for each share, in an order of chance.

    So after any number of turns two arms of one share differ by at most 2, and what comes next is hard to guess. With
    shares s and t, the sizes divided by the shares differ by at most 2.
    """

    def __init__(self, arms: Sequence[Arm], seed: int) -> None:
        self._block, self._seed = [arm.name for arm in arms for _ in range(_PLACES * arm.share)], seed

    def __contains__(self, arm: str | None) -> bool:
        return arm in self._block

    @property
    def longest_wait(self) -> int:
        """No arm comes again later than after so many turns."""
        return 2 * len(self._block)

    def __getitem__(self, turn: int) -> str:
        """Return the arm of a turn; the first is 0."""
        block, place = divmod(turn, len(self._block))
        return Draws(Purpose.ARMS, self._seed, block).shuffled(self._block)[place]


class Schedules:
    """Pairs that a study shows to each participant.

    Fixed and anchor pairs are the study's, and never drawn again for someone. The others are each participant's own:
    stratified ones first, then uniform ones among all that are left. Active ones are chosen on the way, from what was
    answered so far; here is only decided where they come.
    """

    def __init__(self, records: Mapping[str, Sequence[Hashable]], settings: StudySettings, where: str) -> None:
        """`records` hold what is shown of each person, in the order of the settings' columns."""
        self._settings, self._design, seed = settings, settings.design, settings.seed
        card_of = {person: tuple(record) for person, record in records.items()}
        names = [column.name for column in settings.columns]
        # Whoever differs in what every arm shows differs in each arm; who is identical in all columns is so in each.
        common = [names.index(name) for name in common_columns(settings.arms, names)]
        self._hides = len(common) < len(names)
        compared = card_of
        if self._hides:
            compared = {person: tuple(record[place] for place in common) for person, record in card_of.items()}
        self.pairs, self._identical = DifferingPairs(compared), IdenticalPairs(card_of)
        self._check_enough(where)
        reserved: set[frozenset[str]] = set()
        self.fixed = tuple(Draws(Purpose.FIXED_SET, seed).pairs(self.pairs, self._design.fixed, reserved))
        self.anchor_pool = tuple(Draws(Purpose.ANCHOR_POOL, seed).pairs(self.pairs, self._design.pool, reserved))
        """All anchor pairs; the sides they are shown on are each participant's own."""

        self._reserved = frozenset(reserved)
        self._stratified = None
        if self._design.stratified:
            places = [names.index(name) for name in self._design.strata]
            strata = {person: tuple(record[place] for place in places) for person, record in card_of.items()}
            check_strata(strata, where)
            self._stratified = StratifiedPairs(compared, strata, self._design.stratified, self._reserved)

    def places(self, participant_number: int, slot: int) -> tuple[ShownPair | None, ...]:
        """Return what comes at each place of one participant, the first one first; None where an active pair does."""
        draws = self._draws(Purpose.ACTIVE_PLACES, participant_number)
        return tuple(with_active_places(self.of(participant_number, slot), self._design.active, draws))

    def of(self, participant_number: int, slot: int) -> tuple[ShownPair, ...]:
        """Return the pairs of one participant in order, without active ones; only anchors depend on the slot."""
        used = set(self._reserved)
        stratified = self._stratified_pairs(participant_number, used)
        uniform = self._uniform_pairs(participant_number, used)
        if self._design.other_kinds.keys() <= {"active"}:  # in the order in which they were drawn: chance already
            return tuple(uniform)
        originals = [*uniform, *stratified, *self._shared_pairs(participant_number, slot)]
        checks = self._draws(Purpose.CHECKS, participant_number).pairs(self._identical, self._design.checks, set())
        draws = self._draws(Purpose.ORDER, participant_number)
        checked = [ShownPair(*two, PairDesign.CHECK, None) for two in checks]
        return tuple(ordered(originals, checked, self._design.repeats, draws))

    def anchors(self, slot: int) -> list[TwoPeople]:
        """Return the anchor pairs of a slot: the next ones of the pool, and at its end from the start again.

        So any slots that follow each other use every anchor pair equally often, within one.
        """
        first = slot * self._design.anchors
        return [self.anchor_pool[(first + more) % len(self.anchor_pool)] for more in range(self._design.anchors)]

    def _draws(self, purpose: Purpose, participant_number: int) -> Draws:
        return Draws(purpose, self._settings.seed, participant_number)

    def _uniform_pairs(self, participant_number: int, used: set[frozenset[str]]) -> list[ShownPair]:
        draws = self._draws(Purpose.UNIFORM, participant_number)
        pairs = draws.pairs(self.pairs, self._settings.uniform, used)
        return [ShownPair(*two, PairDesign.UNIFORM, self._uniform_chance(two)) for two in pairs]

    def _uniform_chance(self, two: TwoPeople) -> float:
        """Return the chance of a pair among those that are not stratified."""
        left = len(self.pairs) - len(self._reserved) - self._design.stratified
        chance = self._settings.uniform / left
        return chance if self._stratified is None else (1 - self._stratified.chance(*two)) * chance

    def _stratified_pairs(self, participant_number: int, used: set[frozenset[str]]) -> list[ShownPair]:
        if self._stratified is None:
            return []
        pairs = self._stratified.draw(self._draws(Purpose.STRATIFIED, participant_number), used)
        return [ShownPair(*two, PairDesign.STRATIFIED, self._stratified.chance(*two)) for two in pairs]

    def _shared_pairs(self, participant_number: int, slot: int) -> list[ShownPair]:
        """Return fixed and anchor pairs, on sides of the participant's own."""
        draws = self._draws(Purpose.SIDES, participant_number)
        fixed = [ShownPair(*draws.sided(two), PairDesign.FIXED, 1.0) for two in self.fixed]
        chance = self._design.anchors / max(1, len(self.anchor_pool))
        return fixed + [ShownPair(*draws.sided(two), PairDesign.ANCHOR, chance) for two in self.anchors(slot)]

    def _check_enough(self, where: str) -> None:
        """Refuse a study that has fewer pairs than it wants to show."""
        differing, identical = len(self.pairs), len(self._identical)
        n_wanted = self._settings.uniform + self._design.stratified + self._design.fixed + self._design.pool
        n_wanted += self._design.active
        what = "what every arm shows" if self._hides else "what is shown"
        if not differing:
            raise InputError(f"{where}: at least two people must differ in {what}, but all look the same")
        if n_wanted > differing:
            raise InputError(
                f"{where}: {n_wanted} pairs wanted, but only {differing} pairs of people differ in {what}; "
                f"ask for at most {differing}, of all kinds together"
            )
        if self._design.checks > identical:
            raise InputError(
                f"{where}: design.checks = {self._design.checks}, but only {identical} pairs of people are identical "
                f"in what is shown; ask for at most {identical}"
            )
