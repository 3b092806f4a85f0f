"""Every word of the pages is in every catalogue; numbers and dates are written as each language writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from gettext import NullTranslations
from pathlib import Path

import pytest
from tests.support.catalogues import catalogue, check, said_in

import fairwise
from fairwise.study.cards import value_text
from fairwise.study.texts import Language, available, consent_draft, language, left_to_fill_in, task_draft

SOURCE = Path(fairwise.__file__).parent
LOCALE = SOURCE / "study" / "locale"
OTHERS = [code for code in available() if code != "en"]
each_other = pytest.mark.parametrize("code", OTHERS)


@each_other
def test_a_catalogue_is_complete_and_right_in_form(code: str) -> None:
    check(catalogue(LOCALE, code), said_in((SOURCE / "study", SOURCE / "web", SOURCE / "languages.py"), LOCALE))


def test_plurals() -> None:
    german = language("de").catalogue
    texts = ("You have %(tries)s try left.", "You have %(tries)s tries left.")
    assert [german.ngettext(*texts, n) % {"tries": n} for n in (1, 2)] == [
        "Sie haben noch 1 Versuch.",
        "Sie haben noch 2 Versuche.",
    ]


def test_there_are_drafts_in_every_language() -> None:
    for code in available():
        assert [len(left_to_fill_in(draft(language(code)))) for draft in (consent_draft, task_draft)] == [2, 1]


def test_names_and_directions() -> None:
    assert {"English", "Deutsch"} <= {language(code).name for code in available()}
    assert {code for code in available() if language(code).direction == "rtl"} <= {"ar"}
    assert Language("he", NullTranslations()).direction == "rtl"


@pytest.mark.parametrize(
    ("code", "number", "share"),
    [("en", "1,234.5", "52%"), ("de", "1.234,5", "52\xa0%"), ("fr", "1\u202f234,5", "52\xa0%")],
)
def test_numbers(code: str, number: str, share: str) -> None:
    spoken = Language(code, NullTranslations())
    assert (spoken.number(1234.5), spoken.percent(0.52), spoken.number(7)) == (number, share, "7")


def test_dates() -> None:
    moment = datetime(2026, 3, 9, 14, 5, tzinfo=UTC)
    assert language("en").moment(moment) == "9 March 2026, 14:05 UTC"
    assert language("de").moment(moment) == "9. März 2026, 14:05 Uhr (UTC)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0,25 kg"),
        (-1234567.5, "-1234567,5 kg"),
        (3.0, "3 kg"),
        (12345, "12345 kg"),
        ("0.25", "0.25 kg"),
        (True, "ja kg"),
        (False, "nein kg"),
        (None, "nicht bekannt"),
    ],
)
def test_values_in_german(value: object, text: str) -> None:
    assert value_text(value, "kg", language("de")) == text


def test_nothing_said_stays_nothing() -> None:
    assert {language(code).translate("") for code in available()} == {""}
