"""Every word of a report is in every catalogue of reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.catalogues import catalogue, check, said_in

import fairwise.results
from fairwise.reporting.words import languages

ROOM = Path(fairwise.results.__file__).parent


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
def test_a_catalogue_is_complete_and_right_in_form(code: str) -> None:
    packages = ("auditing", "constraints", "jobs", "judgments", "learning", "reporting", "results")
    check(catalogue(ROOM / "locale", code), said_in([ROOM.parent / name for name in packages], ROOM / "locale"))


def test_an_arm_has_one_german_word_in_reports_and_in_the_console() -> None:
    console = ROOM.parent / "web" / "console"
    for locale in (ROOM / "locale", console / "locale"):
        about = [message for message in catalogue(locale, "de") if re.search(r"\b[Aa]rms?\b", str(message.id))]
        assert len(about) >= 6
        for message in about:
            if not re.search(r"[Gg]roup", str(message.id)):
                assert not re.search(r"[Gg]ruppe|Studienarm", str(message.string)), message.id
