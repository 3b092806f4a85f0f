"""Numbers as people read them, and measures in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.judgments import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.judgments.agreement import Agreement

NOTHING = "\N{EN DASH}"
_SPACE = "\N{NO-BREAK SPACE}"
_ANSWERS = {
    Answer.SAME: "treat the two the same",
    Answer.A_AT_LEAST_B: "treat A at least as well as B",
    Answer.B_AT_LEAST_A: "treat B at least as well as A",
    Answer.NO_CONSTRAINT: "no constraint",
}
# Krippendorff's own rule of thumb for 0.8 and 0.667; below that no convention is worth much.
_AGREEMENT = (
    (0.8, "agree well"),
    (0.667, "agree fairly well, enough for tentative conclusions"),
    (0.4, "agree somewhat"),
    (0.1, "agree only a little more than chance would have it"),
    (-0.1, "agree about as often as chance would have it"),
)
_DESIGNS = {
    "uniform": "drawn at random, every pair equally likely (also assumed where nothing was recorded)",
    "fixed": "the same pairs for every judge",
    "anchor": "shown to several judges, to compare them",
    "repeat": "shown again with sides swapped, to see how steady an answer is; asks for nothing",
    "check": "two identical records, to see whether a judge pays attention; asks for nothing",
    "active": "chosen because earlier answers left them open",
}


def percent(share: float | None, digits: int = 1) -> str:
    """0.345 is 34.5 %."""
    return NOTHING if _missing(share) else f"{100 * share:.{digits}f}{_SPACE}%"  # type: ignore[operator]


def points(difference: float) -> str:
    """A difference of two shares, which is no share itself."""
    number = f"{round(100 * difference, 1) + 0.0:g}"
    return f"{number} percentage {'point' if number == '1' else 'points'}"


def decimal(number: float | None, digits: int = 2) -> str:
    """So many decimals, and no minus before zero."""
    return NOTHING if _missing(number) else _minus(f"{round(float(number), digits) + 0.0:.{digits}f}")  # type: ignore[arg-type]


def counted(number: float, one: str | None = None, many: str | None = None) -> str:
    """5829 is 5,829; with words, "1 judge" and "5,829 judges"."""
    figure = f"{int(number):,}"
    if one is None:
        return figure
    return f"{figure} {one if int(number) == 1 else many or one + 's'}"


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """The words to follow a share whose interval is known, and none otherwise."""
    if _missing(low) or _missing(high):
        return ""
    return f" (between {percent(low, digits)} and {percent(high, digits)})"


def wrong_per_ten_thousand(price: float) -> str:
    """A price in people: how many decisions in 10,000 ten percentage points more on the pair would put right."""
    if _missing(price):
        return NOTHING
    people = 1000 * price
    return decimal(people, 0 if people >= 10 else 1 if people >= 1 else 2)


def setting(value: float | None) -> str:
    """0.3 rather than 0.300; None where a limit is off."""
    return "none" if _missing(value) else f"{value:g}"


def listed(names: Sequence[Any], most: int = 5) -> str:
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


def shown(value: Any) -> str:
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


def agreement_words(agreement: Agreement) -> str:
    """What a value of alpha means, in the words a reader needs."""
    for least, words in _AGREEMENT:
        if agreement.alpha >= least:
            return words
    return "agree less often than chance would have it: they disagree systematically"


def _minus(number: str) -> str:
    """A minus that is as wide as a plus, and read aloud as one."""
    return number.replace("-", "\N{MINUS SIGN}")


def _missing(number: float | None) -> bool:
    return number is None or math.isnan(number)
