"""Numbers and measures as they are read."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from fairwise.messages import Message
from fairwise.reporting import words


def test_numbers() -> None:
    assert words.ENGLISH.percent(0.3456) == "34.6\N{NO-BREAK SPACE}%"
    assert words.ENGLISH.percent(math.nan) == words.ENGLISH.percent(None) == words.NOTHING
    assert words.ENGLISH.points(0.3) == "30 percentage points"
    assert words.ENGLISH.points(0.01) == "1 percentage point"
    assert words.ENGLISH.points(-1e-9) == "0 percentage points"
    assert words.decimal(-1e-9) == "0.00"
    assert words.decimal(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert words.ENGLISH.interval(0.1, math.nan) == ""


@pytest.mark.parametrize(
    ("price", "said"), [(0.05, "50"), (0.0052, "5.2"), (0.00019, "0.19"), (math.nan, words.NOTHING)]
)
def test_a_price_in_people(price: float, said: str) -> None:
    """0.05 of error per unit: 10 points are a tenth, so 0.005 of 10,000 people."""
    assert words.ENGLISH.price(price) == said


def test_names() -> None:
    assert words.ENGLISH.listed(["a", "b", "c"]) == "a, b and c"
    assert words.ENGLISH.listed(["a"]) == "a"
    assert words.ENGLISH.listed(list("abcdefgh"), 3) == "a, b, c and 5 more"
    assert words.shortened("x" * 20, 5) == "xxxx…"
    assert words.printable("a\x00b\ud800") == "a b "
    assert words.ENGLISH.value(2.0) == "2"
    assert all(words.ENGLISH.value(nothing) == "not known" for nothing in (None, math.nan, pd.NA, pd.NaT))


def test_numbers_are_written_as_the_language_writes_them() -> None:
    german = words.words_in("de")
    assert german.percent(0.3456) == "34,6\N{NO-BREAK SPACE}%"
    assert german.counted(5829) == "5.829"
    assert german.points(0.015) == "1,5 Prozentpunkte"
    assert german.points(0.01) == "1 Prozentpunkt"
    assert german.signed(0.29, 0.18) == "+11"
    assert german.signed(0.18, 0.29) == "\N{MINUS SIGN}11"
    assert german.value(2.5) == "2,5"


def test_messages_are_translated_with_their_numbers_and_other_text_is_not() -> None:
    german = words.words_in("de")
    trees = Message.plural(
        "decision trees of depth {depth} over all {thresholds} thresholds of {count:,} column",
        "decision trees of depth {depth} over all {thresholds} thresholds of {count:,} columns",
        1400,
        depth=2,
        thresholds=114,
    )
    assert german.sentence(trees) == "Entscheidungsbäumen der Tiefe 2 über alle 114 Schwellen von 1.400 Spalten"
    assert words.ENGLISH.sentence(trees) == str(trees)
    assert german.sentence(Message("judge {name}", name="1.5")) == "Befragte Person 1.5"
    assert german.sentence("judge 1.5") == "judge 1.5"
