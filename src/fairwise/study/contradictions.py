"""Where someone's own answers do not fit together, as they could see it themselves; nobody else's answers matter.

People are who they look like: two with the same details are one to whoever saw nothing else. There are three kinds:

- *different*: the same two people were compared several times, with different answers, whichever sides they were on.
- *alike*: of two people who look exactly alike, one is put before the other, for which nothing shown can be the reason.
  That either may be treated better asks for nothing, and is a view one may well hold (let chance decide): left alone.
- *circle*: three or four people of whom each is to be treated at least as well as the next, and the last as the first.
  All of it can be kept by treating them the same, which at least one of the answers did not ask for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

import pandas as pd

from fairwise.judgments.answer import Answer, orient
from fairwise.judgments.cycles import cycles
from fairwise.study.designs import PairAnswer

MOST_SHOWN = 5
LONGEST_CIRCLE = 4
"""More people than that are too many to keep in mind."""


class ContradictionKind(StrEnum):
    """Why answers are looked at together."""

    DIFFERENT = "different"
    ALIKE = "alike"
    CIRCLE = "circle"


class Compared(NamedTuple):
    """A pair, with the places that its two people have in a list of people."""

    position: int
    a: int
    b: int


@dataclass(frozen=True)
class Contradiction:
    """Answers to be looked at together."""

    kind: ContradictionKind
    people: tuple[str, ...]
    """Each once: two, or those of a circle in its order."""

    pairs: tuple[Compared, ...]
    """In the order in which they were shown; of a circle, in its order."""


def contradictions(
    said: Sequence[PairAnswer], looks: Mapping[str, Hashable], most: int | None = MOST_SHOWN
) -> tuple[Contradiction, ...]:
    """Return what someone may want to look at again, the plainest first; a pair is in one of them at most.

    Parameters
    ----------
    said
        Their answers, in the order in which the pairs were shown.
    looks
        What is shown of each person.
    most
        How many to return; None for all.
    """
    alike: dict[frozenset[Hashable], list[PairAnswer]] = {}
    for one in said:
        alike.setdefault(frozenset((looks[one.a], looks[one.b])), []).append(one)
    plain: list[tuple[int, Contradiction]] = []
    consistent: list[PairAnswer] = []
    for two, those in alike.items():
        answers = {_as_first(one, those[0], looks) for one in those}
        if len(two) == 1 and any(answer.ordered for answer in answers):
            plain.append((1, _about_two(ContradictionKind.ALIKE, those, looks)))
        elif len(answers) > 1:
            opposed = all(answer.ordered for answer in answers)
            plain.append((0 if opposed else 2, _about_two(ContradictionKind.DIFFERENT, those, looks)))
        elif len(two) > 1:
            consistent.append(those[0])
    found = [thought for _, thought in sorted(plain, key=lambda ranked: ranked[0])]
    if most is None or len(found) < most:
        found += islice(_circles(consistent, looks), None if most is None else most - len(found))
    return tuple(found[:most])


def _as_first(one: PairAnswer, first: PairAnswer, looks: Mapping[str, Hashable]) -> Answer:
    """Return the answer as if the two were on the sides of the first time."""
    return one.answer if looks[one.a] == looks[first.a] else one.answer.swapped()


def _about_two(kind: ContradictionKind, those: Sequence[PairAnswer], looks: Mapping[str, Hashable]) -> Contradiction:
    first = those[0]
    as_first = [looks[one.a] == looks[first.a] for one in those]
    pairs = (Compared(one.position, *((0, 1) if same else (1, 0))) for one, same in zip(those, as_first, strict=True))
    return Contradiction(kind, (first.a, first.b), tuple(pairs))


def _circles(said: Sequence[PairAnswer], looks: Mapping[str, Hashable]) -> Iterator[Contradiction]:
    """Yield circles that have no pair in common, shortest first, given one answer about any two people."""
    number = {look: place for place, look in enumerate(dict.fromkeys(looks[who] for one in said for who in one[1:3]))}
    left = {frozenset((number[looks[one.a]], number[looks[one.b]])): one for one in said}
    while left:
        rows = [(0, number[looks[one.a]], number[looks[one.b]], str(one.answer)) for one in left.values()]
        frame = pd.DataFrame(rows, columns=["judge", "a", "b", "answer"])
        shortest = min(cycles(orient(frame), within_judges=True), key=lambda cycle: len(cycle.links), default=None)
        if shortest is None or len(shortest.links) > LONGEST_CIRCLE:
            return
        members = [link.better for link in shortest.links]
        taken = [left.pop(frozenset((link.better, link.worse))) for link in shortest.links]
        places = [(members.index(number[looks[one.a]]), members.index(number[looks[one.b]])) for one in taken]
        names = [one.a if a == turn else one.b for turn, (one, (a, _)) in enumerate(zip(taken, places, strict=True))]
        pairs = (Compared(one.position, *place) for one, place in zip(taken, places, strict=True))
        yield Contradiction(ContradictionKind.CIRCLE, tuple(names), tuple(pairs))
