"""Everyone's pairs: what is the study's is drawn once, what is a participant's follows from their number and slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.errors import InputError
from fairwise.study.designs.draws import Draws, Purpose
from fairwise.study.designs.order import ordered, with_active_places
from fairwise.study.designs.pairs import DifferingPairs, IdenticalPairs, ShownPair
from fairwise.study.designs.strata import StratifiedPairs, check_strata

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from fairwise.study.designs.pairs import TwoPeople
    from fairwise.study.settings import StudySettings

UNIFORM, FIXED, STRATIFIED, ANCHOR, CHECK = "uniform", "fixed", "stratified", "anchor", "check"


class Schedules:
    """Which pairs a study shows to whom.

    Fixed and anchor pairs are the study's, and never drawn again for someone. The others are each participant's own:
    stratified ones first, then uniform ones among all that are left. Active ones are chosen on the way, from what was
    answered so far; here is only decided where they come.
    """

    def __init__(self, records: Mapping[str, Sequence[Hashable]], settings: StudySettings, where: str) -> None:
        """`records` hold what is shown of each person, in the order of the settings' columns."""
        self._settings, self._design, seed = settings, settings.design, settings.seed
        shown = {person: tuple(record) for person, record in records.items()}
        self.pairs, self._identical = DifferingPairs(shown), IdenticalPairs(shown)
        self._check_enough(where)
        reserved: set[frozenset[str]] = set()
        self.fixed = tuple(Draws(Purpose.FIXED_SET, seed).pairs(self.pairs, self._design.fixed, reserved))
        self.anchor_pool = tuple(Draws(Purpose.ANCHOR_POOL, seed).pairs(self.pairs, self._design.pool, reserved))
        """All anchor pairs; the sides they are shown on are each participant's own."""

        self._reserved = frozenset(reserved)
        self._stratified = None
        if self._design.stratified:
            names = [column.name for column in settings.columns]
            places = [names.index(name) for name in self._design.strata]
            strata = {person: tuple(record[place] for place in places) for person, record in shown.items()}
            check_strata(strata, where)
            self._stratified = StratifiedPairs(shown, strata, self._design.stratified, self._reserved)

    def places(self, participant_number: int, slot: int) -> tuple[ShownPair | None, ...]:
        """Return what comes at each place of one participant, the first one first; None where an active pair does."""
        draws = self._draws(Purpose.ACTIVE_PLACES, participant_number)
        return tuple(with_active_places(self.of(participant_number, slot), self._design.active, draws))

    def of(self, participant_number: int, slot: int) -> tuple[ShownPair, ...]:
        """Return the pairs of one participant in order, without active ones; only anchors depend on the slot."""
        taken = set(self._reserved)
        stratified = self._stratified_pairs(participant_number, taken)
        uniform = self._uniform_pairs(participant_number, taken)
        if self._design.beside_uniform.keys() <= {"active"}:  # in the order in which they were drawn: chance already
            return tuple(uniform)
        originals = [*uniform, *stratified, *self._shared_pairs(participant_number, slot)]
        checks = self._draws(Purpose.CHECKS, participant_number).pairs(self._identical, self._design.checks, set())
        draws = self._draws(Purpose.ORDER, participant_number)
        checked = [ShownPair(*two, CHECK, None) for two in checks]
        return tuple(ordered(originals, checked, self._design.repeats, draws))

    def anchors(self, slot: int) -> list[TwoPeople]:
        """Return the anchor pairs of a slot: the next ones of the pool, and at its end from the start again.

        So any slots that follow each other use every anchor pair equally often, within one.
        """
        first = slot * self._design.anchors
        return [self.anchor_pool[(first + more) % len(self.anchor_pool)] for more in range(self._design.anchors)]

    def _draws(self, purpose: Purpose, participant_number: int) -> Draws:
        return Draws(purpose, self._settings.seed, participant_number)

    def _uniform_pairs(self, participant_number: int, taken: set[frozenset[str]]) -> list[ShownPair]:
        draws = self._draws(Purpose.UNIFORM, participant_number)
        drawn = draws.pairs(self.pairs, self._settings.uniform, taken)
        return [ShownPair(*two, UNIFORM, self._uniform_chance(two)) for two in drawn]

    def _uniform_chance(self, two: TwoPeople) -> float:
        """Whoever is not among the stratified is as likely as any other of those."""
        left = len(self.pairs) - len(self._reserved) - self._design.stratified
        chance = self._settings.uniform / left
        return chance if self._stratified is None else (1 - self._stratified.chance(*two)) * chance

    def _stratified_pairs(self, participant_number: int, taken: set[frozenset[str]]) -> list[ShownPair]:
        if self._stratified is None:
            return []
        drawn = self._stratified.draw(self._draws(Purpose.STRATIFIED, participant_number), taken)
        return [ShownPair(*two, STRATIFIED, self._stratified.chance(*two)) for two in drawn]

    def _shared_pairs(self, participant_number: int, slot: int) -> list[ShownPair]:
        """What others are shown too, on sides of one's own."""
        draws = self._draws(Purpose.SIDES, participant_number)
        fixed = [ShownPair(*draws.sided(two), FIXED, 1.0) for two in self.fixed]
        chance = self._design.anchors / max(1, len(self.anchor_pool))
        return fixed + [ShownPair(*draws.sided(two), ANCHOR, chance) for two in self.anchors(slot)]

    def _check_enough(self, where: str) -> None:
        """Refuse a study that has fewer pairs than it wants to show."""
        differing, identical = len(self.pairs), len(self._identical)
        wanted = self._settings.uniform + self._design.stratified + self._design.fixed + self._design.pool
        wanted += self._design.active
        if not differing:
            raise InputError(f"{where}: at least two people must differ in what is shown, but all look the same")
        if wanted > differing:
            raise InputError(
                f"{where}: {wanted} pairs wanted, but only {differing} pairs of people differ in what is shown; "
                f"ask for at most {differing}, of all kinds together"
            )
        if self._design.checks > identical:
            raise InputError(
                f"{where}: design.checks = {self._design.checks}, but only {identical} pairs of people are identical "
                f"in what is shown; ask for at most {identical}"
            )
