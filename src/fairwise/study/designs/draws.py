"""Chance that can be repeated years later."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairwise.study.designs.pairs import NumberedPairs, TwoPeople

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
