"""Every word of the pages is in every catalogue; numbers and dates are written as each language writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from gettext import NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

import fairwise
from fairwise.study.cards import value_text
from fairwise.study.languages import Language, available, language
from fairwise.study.texts import CONSENT_DRAFTS, TASK_DRAFTS

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

SOURCE = Path(fairwise.__file__).parent
LOCALE = SOURCE / "study" / "locale"
OTHERS = [code for code in available() if code != "en"]
each_other = pytest.mark.parametrize("code", OTHERS)


def catalogue(code: str) -> Catalog:
    with (LOCALE / code / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, code, abort_invalid=True)


def said_in_the_code() -> set[str | tuple[str, ...]]:
    """What ``pybabel extract`` finds, as babel.cfg tells it."""
    with (LOCALE / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file, "babel.cfg")  # type: ignore[no-untyped-call]
    keywords = {"_": None, "ngettext": (1, 2), "gettext": None, "say": None, "translate": None, "marked": None}
    found = [part for room in ("study", "web") for part in extract_from_dir(SOURCE / room, methods, options, keywords)]
    return {text for _, _, text, _, _ in found if text}


def forms(text: str | list[str] | tuple[str, ...] | None) -> list[str]:
    return [text] if isinstance(text, str) else list(text or ())


@each_other
def test_a_catalogue_has_what_the_code_says_and_nothing_else(code: str) -> None:
    assert {message.id for message in catalogue(code) if message.id} == said_in_the_code()
    assert not catalogue(code).obsolete


@each_other
def test_a_catalogue_is_complete_and_certain(code: str) -> None:
    found = catalogue(code)
    for message in found:
        if message.id:
            assert all(forms(message.string)), message.id
            assert not message.fuzzy, message.id
            assert len(forms(message.string)) == (found.num_plurals if message.pluralizable else 1), message.id
            assert not [str(error) for error in message.check(found)], message.id


@each_other
def test_translations_keep_placeholders_and_markup(code: str) -> None:
    kept = re.compile(r"%\(\w+\)s|\{\w+\}|<[^>]*>")
    for message in catalogue(code):
        if message.id:
            ours = forms(message.id)
            for number, text in enumerate(forms(message.string)):
                wanted = ours[min(number, len(ours) - 1)]
                assert sorted(kept.findall(text)) == sorted(kept.findall(wanted)), message.id
                assert "%" not in kept.sub("", text), message.id


@each_other
def test_sentences_end_as_ours_do(code: str) -> None:
    for message in catalogue(code):
        if message.id:
            for ours, text in zip(forms(message.id), forms(message.string), strict=True):
                assert text == text.strip(), message.id
                if re.search(r"[.:?]$", ours):
                    assert text[-1] == ours[-1], message.id


def test_plurals() -> None:
    german = language("de").catalogue
    texts = ("You have %(tries)s try left.", "You have %(tries)s tries left.")
    assert [german.ngettext(*texts, n) % {"tries": n} for n in (1, 2)] == [
        "Sie haben noch 1 Versuch.",
        "Sie haben noch 2 Versuche.",
    ]


def test_there_are_drafts_in_every_language() -> None:
    for drafts in (CONSENT_DRAFTS, TASK_DRAFTS):
        assert set(drafts) == set(available())
        assert len({text.count("[FILL IN: ") for text in drafts.values()}) == 1


def test_names_and_directions() -> None:
    assert [language(code).name for code in available()] == ["English", "Deutsch"]
    assert {language(code).direction for code in available()} == {"ltr"}
    assert Language("he", NullTranslations()).direction == "rtl"


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
    assert [language(code).translate("") for code in available()] == ["", ""]
