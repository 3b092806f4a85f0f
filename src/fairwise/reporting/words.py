"""Numbers as people read them, and measures in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pandas as pd

from fairwise.judgments import Answer, agreement
from fairwise.judgments.answer import PairDesign
from fairwise.numbers import digits_beside, rounded, share_difference

NOTHING = "\N{EN DASH}"
_SPACE = "\N{NO-BREAK SPACE}"
_ANSWERS = {
    Answer.SAME: "treat the two the same",
    Answer.A_AT_LEAST_B: "treat A at least as well as B",
    Answer.B_AT_LEAST_A: "treat B at least as well as A",
    Answer.NO_CONSTRAINT: "no constraint",
}
_DESIGNS: dict[str, str] = {
    PairDesign.UNIFORM: "drawn at random, every pair equally likely (also assumed where nothing was recorded)",
    PairDesign.STRATIFIED: "spread evenly over the combinations of the groups that two people are of",
    PairDesign.FIXED: "the same pairs for every judge",
    PairDesign.ANCHOR: "shown to several judges, to compare them",
    PairDesign.REPEAT: "shown again with sides swapped, to see how steady an answer is; asks for nothing",
    PairDesign.CHECK: "two identical records, to see whether a judge pays attention; asks for nothing",
    PairDesign.ACTIVE: "chosen because earlier answers left them open",
}


def percent(share: float | None, digits: int = 1) -> str:
    """0.345 is 34.5 %."""
    return NOTHING if _missing(share) else f"{100 * share:.{digits}f}{_SPACE}%"  # type: ignore[operator]


def points(width: float, digits: int = 1) -> str:
    """So much of a share, which is no share itself."""
    return _points(rounded(100 * width, digits))


def points_above(one: float, other: float, digits: int = 1) -> str:
    """How much more one share is than another, to stand beside both as `percent` prints them with so many decimals."""
    return _points(share_difference(one, other, digits))


def largest_difference(shares: Sequence[float], digits: int = 1) -> str:
    """How many percentage points the largest and the smallest of some shares are apart, as printed."""
    numbers = [share for share in shares if not _missing(share)]
    return str(share_difference(max(numbers), min(numbers), digits)) if numbers else NOTHING


def _points(number: Decimal) -> str:
    text = _minus(f"{number.normalize() + 0:f}")
    return f"{text} percentage {'point' if text == '1' else 'points'}"


def decimal(number: float | None, digits: int = 2) -> str:
    """So many decimals, and no minus before zero."""
    return NOTHING if _missing(number) else _minus(f"{round(float(number), digits) + 0.0:.{digits}f}")  # type: ignore[arg-type]


def interval(low: float | None, high: float | None, digits: int = 1, beside: float | None = None) -> str:
    """The words to follow a share whose interval is known, and none otherwise.

    Each end gets as many decimals as it takes to see on which side of ``beside`` it is.
    """
    if low is None or high is None or _missing(low) or _missing(high):
        return ""
    decimals = [digits if beside is None else digits_beside(100 * end, 100 * beside, digits) for end in (low, high)]
    return f" (between {percent(low, decimals[0])} and {percent(high, decimals[1])})"


def wrong_per_ten_thousand(price: float) -> str:
    """A price in people: how many decisions in 10,000 ten percentage points more on the pair would put right."""
    if _missing(price):
        return NOTHING
    people = 1000 * price
    return decimal(people, 0 if people >= 10 else 1 if people >= 1 else 2)


def listed(names: Sequence[object], most: int = 5) -> str:
    """Some names, and how many more there are."""
    some, more = [str(name) for name in names[:most]], len(names) - most
    if more > 0:
        return f"{', '.join(some)} and {more} more"
    return " and ".join(filter(None, [", ".join(some[:-1]), *some[-1:]]))


def shortened(name: object, most: int) -> str:
    """A name that fits beside a figure."""
    text = printable(str(name))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Without control characters, which no page and no figure may hold."""
    return "".join(char if char.isprintable() else " " for char in text)


def capitalised(text: str) -> str:
    """With a capital to begin with, and the rest as it is."""
    return text[:1].upper() + text[1:]


def value_text(value: Any) -> str:
    """A value of a person's record: no needless decimals, and words for nothing."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "not known"
    return f"{value:g}" if isinstance(value, float) else str(value)


def answer_words(answer: str) -> str:
    """What an answer asks for."""
    return _ANSWERS[Answer(answer)]


def design_words(design: str) -> str:
    """How pairs of a design come about, where that is known."""
    return _DESIGNS.get(design, "a design of the study's own")


def coefficient(number: float | None) -> str:
    """A measure of agreement, with as many decimals as it takes to see whether it is above chance."""
    return NOTHING if _missing(number) else _minus(agreement.decimals(float(number)))  # type: ignore[arg-type]


def _minus(number: str) -> str:
    """A minus that is as wide as a plus, and read aloud as one."""
    return number.replace("-", "\N{MINUS SIGN}")


def _missing(number: float | None) -> bool:
    return number is None or math.isnan(number)
