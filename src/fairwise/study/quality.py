"""Data quality: signs that someone may not have answered with care, and answers that contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from statistics import median
from typing import NamedTuple

import pandas as pd

from fairwise.judgments.answer import Answer, PairDesign, orient
from fairwise.judgments.conflicts import cycles
from fairwise.study.schedules import PairAnswer

FAST_SECONDS = 2.0
"""Least seconds in which someone can read two people's details."""

FEWEST_TIMED = 5
"""Fewest known times for the flag `too_fast`."""

FEWEST_ALIKE = 10
ALIKE_SHARE = 0.95
"""Share of equal answers that counts as always the same."""

FEWEST_DIFFERING = 2
DIFFERING_SHARE = 0.5
"""A single repeat that differs is common among careful people."""

TOO_FAST, ONE_KEY, FAILED_CHECK, UNSTEADY = "too_fast", "one_key", "failed_check", "unsteady"
NAMES = {
    TOO_FAST: "too fast",
    ONE_KEY: "always the same key",
    FAILED_CHECK: "failed check",
    UNSTEADY: "inconsistent repeats",
}
EXPLAINED = {
    TOO_FAST: f"At least half of the pairs took less than {FAST_SECONDS:g} seconds each, of at least {FEWEST_TIMED} "
    "pairs whose time is known.",
    ONE_KEY: f"At least {100 * ALIKE_SHARE:g} % of the answers were the same button, of at least {FEWEST_ALIKE} "
    "answers. Sides are drawn by lot, so always the left person is no view; always “the same” may well be one. Pairs "
    "of identical people are not counted.",
    FAILED_CHECK: "Two people with identical details were shown, and the answer was not “the same”.",
    UNSTEADY: f"Of the pairs that were shown once more with sides swapped, at least {FEWEST_DIFFERING} got another "
    f"answer than the first time, and these are at least {100 * DIFFERING_SHARE:g} % of them.",
}
"""Explanation of each flag for pages and documents."""

EVIDENCE = {
    TOO_FAST: f"%(fast)d of %(pairs)d pairs took less than {FAST_SECONDS:g} seconds; the middle one took %(middle)s "
    "seconds.",
    ONE_KEY: "%(times)d of %(answers)d answers are “%(said)s”.",
    FAILED_CHECK: "%(failed)d of %(checks)d checks were not answered “%(said)s”.",
    UNSTEADY: "%(differing)d of %(repeats)d repeats got another answer.",
}
"""Evidence for each flag, a template; ``said`` is an answer in :data:`WORDS`."""


@dataclass(frozen=True)
class Flag:
    """One sign, and what it rests on."""

    kind: str
    values: Mapping[str, object]
    """Values of the template :attr:`evidence`."""

    positions: tuple[int, ...] = ()
    """Positions of the pairs that the flag is about, if any."""

    @property
    def evidence(self) -> str:
        """Template of the evidence, to be formatted with :attr:`values`."""
        return EVIDENCE[self.kind]

    @property
    def name(self) -> str:
        return NAMES[self.kind]


def flags(answers: Sequence[PairAnswer]) -> tuple[Flag, ...]:
    """Every flag of one person, from their answers in any order."""
    flags_of_all = (_too_fast(answers), _one_key(answers), _failed_checks(answers), _unsteady(answers))
    return tuple(flag for flag in flags_of_all if flag is not None)


def _too_fast(answers: Iterable[PairAnswer]) -> Flag | None:
    times = [one.seconds for one in answers if one.seconds is not None]
    fast = sum(seconds < FAST_SECONDS for seconds in times)
    if len(times) < FEWEST_TIMED or 2 * fast < len(times):
        return None
    return Flag(TOO_FAST, {"fast": fast, "pairs": len(times), "middle": f"{median(times):.1f}"})


def _one_key(answers: Iterable[PairAnswer]) -> Flag | None:
    counts = Counter(one.answer for one in answers if one.design != PairDesign.CHECK)
    if counts.total() < FEWEST_ALIKE:
        return None
    answer, times = counts.most_common(1)[0]
    if times < ALIKE_SHARE * counts.total():
        return None
    return Flag(ONE_KEY, {"times": times, "answers": counts.total(), "said": WORDS[answer]})


def _failed_checks(answers: Iterable[PairAnswer]) -> Flag | None:
    checks = [one for one in answers if one.design == PairDesign.CHECK]
    failed = sorted(one.position for one in checks if one.answer != Answer.SAME)
    if not failed:
        return None
    return Flag(FAILED_CHECK, {"failed": len(failed), "checks": len(checks), "said": WORDS[Answer.SAME]}, tuple(failed))


def _unsteady(answers: Iterable[PairAnswer]) -> Flag | None:
    repeats = [one for one in answers if one.design == PairDesign.REPEAT]
    if not repeats:
        return None
    first = {(one.a, one.b): one.answer for one in answers if one.design not in (PairDesign.REPEAT, PairDesign.CHECK)}
    first |= {(b, a): answer.swapped() for (a, b), answer in first.items() if (b, a) not in first}
    pairs = [(one, first[one.a, one.b]) for one in repeats if (one.a, one.b) in first]
    differing = sorted(one.position for one, before in pairs if one.answer != before)
    if len(differing) < FEWEST_DIFFERING or len(differing) < DIFFERING_SHARE * len(pairs):
        return None
    return Flag(UNSTEADY, {"differing": len(differing), "repeats": len(pairs)}, tuple(differing))


WORDS = {
    str(Answer.SAME): "treat the two the same",
    str(Answer.A_AT_LEAST_B): "A at least as well as B",
    str(Answer.B_AT_LEAST_A): "B at least as well as A",
    str(Answer.NO_CONSTRAINT): "either may be treated better",
}
"""The answers in a few words, for whoever runs a study."""


MAX_CONTRADICTIONS = 5
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
    """Pairs in the order in which they were shown; of a circle, in its order."""


def contradictions(
    answers: Sequence[PairAnswer], looks: Mapping[str, Hashable], most: int | None = MAX_CONTRADICTIONS
) -> tuple[Contradiction, ...]:
    """Return what someone may want to look at again, the plainest first; a pair is in one of them at most.

    Parameters
    ----------
    answers
        Answers of one person, in the order in which the pairs were shown.
    looks
        What is shown of each person.
    most
        How many to return; None for all.
    """
    by_looks: dict[frozenset[Hashable], list[PairAnswer]] = {}
    for answer in answers:
        by_looks.setdefault(frozenset((looks[answer.a], looks[answer.b])), []).append(answer)
    plain: list[tuple[int, Contradiction]] = []
    consistent: list[PairAnswer] = []
    for two, group in by_looks.items():
        kinds = {_as_first(answer, group[0], looks) for answer in group}
        if len(two) == 1 and any(kind.ordered for kind in kinds):
            plain.append((1, _about_two(ContradictionKind.ALIKE, group, looks)))
        elif len(kinds) > 1:
            opposed = all(kind.ordered for kind in kinds)
            plain.append((0 if opposed else 2, _about_two(ContradictionKind.DIFFERENT, group, looks)))
        elif len(two) > 1:
            consistent.append(group[0])
    plainest_first = [contradiction for _, contradiction in sorted(plain, key=lambda ranked: ranked[0])]
    return tuple(islice(chain(plainest_first, _circles(consistent, looks)), most))


def _as_first(answer_row: PairAnswer, first: PairAnswer, looks: Mapping[str, Hashable]) -> Answer:
    """Return the answer as if the two were on the sides of the first time."""
    return answer_row.answer if looks[answer_row.a] == looks[first.a] else answer_row.answer.swapped()


def _about_two(kind: ContradictionKind, those: Sequence[PairAnswer], looks: Mapping[str, Hashable]) -> Contradiction:
    first = those[0]
    as_first = [looks[one.a] == looks[first.a] for one in those]
    pairs = (Compared(one.position, *((0, 1) if same else (1, 0))) for one, same in zip(those, as_first, strict=True))
    return Contradiction(kind, (first.a, first.b), tuple(pairs))


def _circles(answers: Sequence[PairAnswer], looks: Mapping[str, Hashable]) -> Iterator[Contradiction]:
    """Yield circles that have no pair in common, shortest first, given one answer about any two people."""
    number = {
        look: place for place, look in enumerate(dict.fromkeys(looks[who] for one in answers for who in one[1:3]))
    }
    left = {frozenset((number[looks[one.a]], number[looks[one.b]])): one for one in answers}
    while left:
        rows = [(0, number[looks[one.a]], number[looks[one.b]], str(one.answer)) for one in left.values()]
        frame = pd.DataFrame(rows, columns=["judge", "a", "b", "answer"])
        shortest = min(cycles(orient(frame), within_judges=True), key=lambda cycle: len(cycle.links), default=None)
        if shortest is None or len(shortest.links) > LONGEST_CIRCLE:
            return
        members = [link.better for link in shortest.links]
        removed = [left.pop(frozenset((link.better, link.worse))) for link in shortest.links]
        places = [(members.index(number[looks[one.a]]), members.index(number[looks[one.b]])) for one in removed]
        names = [one.a if a == turn else one.b for turn, (one, (a, _)) in enumerate(zip(removed, places, strict=True))]
        pairs = (Compared(one.position, *place) for one, place in zip(removed, places, strict=True))
        yield Contradiction(ContradictionKind.CIRCLE, tuple(names), tuple(pairs))
