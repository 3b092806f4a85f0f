"""In which order pairs come: mixed, and every repeat a good while after its original."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fairwise.study.designs.pairs import ShownPair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.study.designs.draws import Draws

T = TypeVar("T")
S = TypeVar("S")
REPEAT = "repeat"
PAUSE = 10
"""So many pairs at least lie between a pair and its repeat, if there are as many others."""


def ordered(originals: Sequence[ShownPair], checks: Sequence[ShownPair], repeats: int, draws: Draws) -> list[ShownPair]:
    """Return all of them mixed, and `repeats` of the originals once more with sides swapped.

    What is to be repeated comes in the first part, then a pause of other pairs; the repeats come among the rest, in the
    order of their originals. With r repeats, r - 1 of them or of their originals lie between as well.
    """
    mixed = draws.shuffled(originals)
    again = mixed[:repeats]
    others = draws.shuffled([*mixed[repeats:], *checks])
    pause = min(PAUSE, len(others))
    first = (len(others) - pause + 1) // 2
    opening = draws.shuffled([*again, *others[:first]])
    swapped = [ShownPair(pair.b, pair.a, REPEAT, None) for pair in opening if pair in again]
    closing = _merged(swapped, others[first + pause :], draws)
    return [*opening, *others[first : first + pause], *closing]


def with_active_places(laid_out: Sequence[ShownPair], active: int, draws: Draws) -> list[ShownPair | None]:
    """Return what is laid out, in its order, with None where a pair is chosen on the way; never at the beginning."""
    if not active:
        return [*laid_out]
    return [laid_out[0], *_merged(laid_out[1:], [None] * active, draws)]


def _merged(one: Sequence[T], other: Sequence[S], draws: Draws) -> list[T | S]:
    """Return both, each in its own order, every way of mixing them as likely as any other."""
    turns = draws.shuffled([True] * len(one) + [False] * len(other))
    ones, others = iter(one), iter(other)
    return [next(ones) if turn else next(others) for turn in turns]
