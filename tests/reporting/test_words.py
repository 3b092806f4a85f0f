"""Numbers and measures as they are read."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from fairwise.reporting import words


def test_numbers() -> None:
    assert words.percent(0.3456) == "34.6\N{NO-BREAK SPACE}%"
    assert words.percent(math.nan) == words.percent(None) == words.NOTHING
    assert words.points(0.3) == "30 percentage points"
    assert words.points(0.01) == "1 percentage point"
    assert words.points(-1e-9) == "0 percentage points"
    assert words.decimal(-1e-9) == "0.00"
    assert words.decimal(-0.5, 1) == "\N{MINUS SIGN}0.5"
    assert words.interval(0.1, math.nan) == ""


@pytest.mark.parametrize(
    ("price", "said"), [(0.05, "50"), (0.0052, "5.2"), (0.00019, "0.19"), (math.nan, words.NOTHING)]
)
def test_a_price_in_people(price: float, said: str) -> None:
    """0.05 of error per unit: 10 points are a tenth, so 0.005 of 10,000 people."""
    assert words.wrong_per_ten_thousand(price) == said


def test_names() -> None:
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(["a"]) == "a"
    assert words.listed(list("abcdefgh"), 3) == "a, b, c and 5 more"
    assert words.shortened("x" * 20, 5) == "xxxx…"
    assert words.printable("a\x00b\ud800") == "a b "
    assert words.value_text(2.0) == "2"
    assert all(words.value_text(nothing) == "not known" for nothing in (None, math.nan, pd.NA, pd.NaT))
