"""Sentences that a p-value or an interval decides: sentence, interval and p-value never contradict each other."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from fairwise.judgments.agreement import Agreement
from fairwise.judgments.reliability import PositionBias, Share, clopper_pearson, fair_coin

TRIED = 3000
_PERCENT = r"([\d.]+)%"


def bias(left: int, ordered: int, confidence: float = 0.95) -> PositionBias:
    share = Share.out_of(left, ordered, confidence, clopper_pearson)
    return PositionBias(share, float(fair_coin(left, ordered)), pd.DataFrame())


def counts() -> list[tuple[int, int]]:
    """Random ones, and for each number of answers those nearest to where the verdict turns."""
    rng = np.random.default_rng(0)
    ordered = rng.integers(1, 3000, TRIED)
    left = rng.binomial(ordered, rng.choice([0.5, 0.53, 0.6, 0.4], TRIED))
    found = list(zip(left.tolist(), ordered.tolist(), strict=True))
    for n in (*range(1, 150), 1000, 4321, 20_000):
        p = fair_coin(np.arange(n // 2 + 1), n)
        turn = int((p < 0.05).sum())
        found += [(k, n) for k in range(max(0, turn - 2), min(turn + 2, n // 2) + 1)]
        found += [(n - k, n) for k in range(max(0, turn - 2), min(turn + 2, n // 2) + 1)]
    return found


@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_a_preferred_side_is_one_whose_printed_interval_excludes_a_half(confidence: float) -> None:
    preferred = 0
    for left, ordered in counts():
        sides = bias(left, ordered, confidence)
        text = f"{sides} {sides.verdict}"
        printed = re.search(rf"interval {_PERCENT} to {_PERCENT}\); a fair coin does this with p = ([\d.e-]+)\.", text)
        assert printed is not None, text
        low, high, p = map(float, printed.groups())
        said = re.search("The (left|right) seems to be preferred", text)
        assert (said is None) == ("No clear sign that a side was preferred" in text)
        assert (said is not None) == (not low <= 50 <= high) == (p < round(1 - confidence, 9)), text
        if said is not None:
            assert said[1] == ("left" if low > 50 else "right"), text
        assert (sides.overall.low > 0.5 or sides.overall.high < 0.5) == (sides.preferred is not None)
        preferred += said is not None
    assert preferred > 100


def test_the_panel_of_the_report_that_contradicted_itself() -> None:
    sides = bias(62, 99)
    assert sides.preferred == "left"
    assert "63% (95% interval 52% to 72%)" in str(sides)
    assert "p = 0.015" in str(sides)
    assert (bias(0, 0).preferred, bias(0, 0).verdict) == (None, "")


def test_judges_are_said_to_agree_only_where_the_printed_interval_excludes_chance() -> None:
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(TRIED):
        spread = 10.0 ** rng.uniform(-7, 0)
        alpha, low, high = (float(number) for number in rng.normal(rng.choice([0.0, 0.3, 0.7]), spread, 3))
        low, high = min(low, high), max(low, high)
        found = Agreement("four answers", min(alpha, 1.0), low, high, 20, 20, 0.95, "")
        printed = re.search(r"alpha \(four answers\): (\S+) \(95% interval over judges (\S+) to (\S+)\),", str(found))
        assert printed is not None, str(found)
        shown_alpha, shown_low, shown_high = map(float, printed.groups())
        beyond = (shown_low > 0 and shown_alpha > 0) or (shown_high < 0 and shown_alpha < 0)
        assert ("no more clearly than chance" in found.in_words) == (not beyond), (str(found), found.in_words)
        assert ("disagree systematically" in found.in_words) == (beyond and shown_alpha < 0)
        kinds.add(found.in_words)
    assert len(kinds) >= 5


@pytest.mark.parametrize(
    ("alpha", "said"),
    [(0.9, "agree well"), (0.7, "fairly well"), (0.5, "somewhat"), (0.2, "little more"), (-0.4, "systematically")],
)
def test_the_marks_of_krippendorff(alpha: float, said: str) -> None:
    for low, high in ((np.nan, np.nan), (alpha - 0.1, alpha + 0.1)):
        assert said in Agreement("four answers", alpha, low, high, 3, 3, 0.95, "").in_words
    unclear = Agreement("four answers", alpha, -0.5, 0.95, 3, 3, 0.95, "")
    assert unclear.in_words == "agree no more clearly than chance might have it"
    assert "chance" in Agreement("four answers", 0.05, np.nan, np.nan, 3, 3, 0.95, "").in_words
