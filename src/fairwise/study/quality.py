"""Signs that someone may not have answered with care, each a plain rule about their own answers.

A flag is a reason to look, never a verdict: nobody is left out by it. Rules look at answers as they were before a
second look, and at the time that each pair took when it was first answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fairwise.judgments.answer import Answer, PairDesign
from fairwise.study.designs import PairAnswer

FAST_SECONDS = 2.0
"""Nobody reads two people's details in less."""

FEWEST_TIMED = 5
"""Of so few times nothing is said."""

FEWEST_ALIKE = 10
ALIKE_SHARE = 0.95
"""The same answer so often is called always."""

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
"""What participants' pages and documents say each flag means."""

EVIDENCE = {
    TOO_FAST: f"%(fast)d of %(pairs)d pairs took less than {FAST_SECONDS:g} seconds; the middle one took %(middle)s "
    "seconds.",
    ONE_KEY: "%(times)d of %(answers)d answers are “%(said)s”.",
    FAILED_CHECK: "%(failed)d of %(checks)d checks were not answered “%(said)s”.",
    UNSTEADY: "%(differing)d of %(repeats)d repeats got another answer.",
}
"""What each rests on; ``said`` is an answer in :data:`WORDS`."""


@dataclass(frozen=True)
class Flag:
    """One sign, and what it rests on."""

    kind: str
    values: Mapping[str, object]
    """What its :attr:`evidence` names."""

    positions: tuple[int, ...] = ()
    """Of the pairs it is about, where it is about some."""

    @property
    def evidence(self) -> str:
        """What it rests on, a text to be formatted with :attr:`values`."""
        return EVIDENCE[self.kind]

    @property
    def name(self) -> str:
        return NAMES[self.kind]


def flags(answers: Sequence[PairAnswer]) -> tuple[Flag, ...]:
    """Every flag of one person, from their answers in any order."""
    found = (_too_fast(answers), _one_key(answers), _failed_checks(answers), _unsteady(answers))
    return tuple(flag for flag in found if flag is not None)


def _too_fast(answers: Iterable[PairAnswer]) -> Flag | None:
    times = [one.seconds for one in answers if one.seconds is not None]
    fast = sum(seconds < FAST_SECONDS for seconds in times)
    if len(times) < FEWEST_TIMED or 2 * fast < len(times):
        return None
    return Flag(TOO_FAST, {"fast": fast, "pairs": len(times), "middle": f"{median(times):.1f}"})


def _one_key(answers: Iterable[PairAnswer]) -> Flag | None:
    said = Counter(one.answer for one in answers if one.design != PairDesign.CHECK)
    if said.total() < FEWEST_ALIKE:
        return None
    answer, times = said.most_common(1)[0]
    if times < ALIKE_SHARE * said.total():
        return None
    return Flag(ONE_KEY, {"times": times, "answers": said.total(), "said": WORDS[answer]})


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
    known = [(one, first[one.a, one.b]) for one in repeats if (one.a, one.b) in first]
    differing = sorted(one.position for one, before in known if one.answer != before)
    if len(differing) < FEWEST_DIFFERING or len(differing) < DIFFERING_SHARE * len(known):
        return None
    return Flag(UNSTEADY, {"differing": len(differing), "repeats": len(known)}, tuple(differing))


WORDS = {
    str(Answer.SAME): "treat the two the same",
    str(Answer.A_AT_LEAST_B): "A at least as well as B",
    str(Answer.B_AT_LEAST_A): "B at least as well as A",
    str(Answer.NO_CONSTRAINT): "either may be treated better",
}
"""The answers in a few words, for whoever runs a study."""
