"""What a participant reads of the result, where decisions are not yes or no: points of 100, in every language."""

from __future__ import annotations

from typing import Any

import pytest

from fairwise.constraints.violations import Treatment
from fairwise.judgments import Answer
from fairwise.results.fits import Absence
from fairwise.study.cards import Card, Row
from fairwise.study.settings import StudySettings
from fairwise.study.texts import language
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.views import PairResult, PanelResult, Result

NAMES = (("deny", 0.0), ("conditions", 0.6), ("release", 1.0))
KINDS: dict[str, dict[str, Any]] = {
    "tiers": {"decisions": [{"label": name, "words": name, "value": value} for name, value in NAMES]},
    "amount": {"amount": {"unit": "€", "least": 0, "most": 600, "better": "more"}},
}
GOOD = (0.4, 0.52), (0.4, 0.401), (0.4, 0.4)


def page(code: str, changed: int = 3, **kind: Any) -> str:
    settings = StudySettings.model_validate({"title": "t", "columns": [{"name": "age", "label": "Age"}]} | kind)
    one, other = Card("a", (Row("Age", "1"),)), Card("b", (Row("Age", "2"),))
    pairs = [PairResult(k, one, other, Treatment(Answer.SAME, *good, 0.05), counts=True) for k, good in enumerate(GOOD)]
    absence = Absence("p1", 0.3, 0.01, 20, changed, 0.06)
    result = Result(tuple(pairs), PanelResult(4, 0, 20, 17, 0.34, 0.31), 0.05, is_newer=False, absence=absence)
    return Pages(settings, "0", "0", spoken=language(code)).render("result", None, result=result)


@pytest.mark.parametrize("kind", KINDS)
def test_differences_are_told_in_points_of_100(kind: str) -> None:
    told = page("en", **KINDS[kind])
    assert "percent" not in told
    assert "more often than person" not in told
    assert "Person B would be treated better than person A. Difference, in points of 100: 12." in told
    assert "Person B would be treated a little better than person A, by less than one of 100 points." in told
    assert "Both would be treated equally well." in told
    assert "40 / 100" in told
    assert "The largest change, in points of 100: 6." in told
    assert "(in points of 100, at most: 5)" in told
    assert "differently by one of 100 points or more" in page("en", changed=0, **KINDS[kind])


def test_of_two_decisions_it_is_said_as_before() -> None:
    told = page("en")
    assert "by 12 percentage points." in told
    assert "points of 100" not in told
    assert "40 %" in told.replace("\N{NO-BREAK SPACE}", " ").replace("40%", "40 %")


@pytest.mark.parametrize("code", ["ar", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "tr", "uk", "zh"])
def test_no_english_is_left(code: str) -> None:
    told = page(code, **KINDS["tiers"])
    for words in ("would be treated", "points of 100", "of 100 points", "largest change"):
        assert words not in told
