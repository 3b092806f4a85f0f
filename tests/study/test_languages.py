"""Every word of the pages is in every catalogue; numbers and dates are written as each language writes them."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from gettext import NullTranslations, c2py
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

import fairwise
from fairwise.study.cards import value_text
from fairwise.study.languages import Language, available, language
from fairwise.study.texts import consent_draft, left_to_fill_in, task_draft

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
    own = extract_from_file("python", SOURCE / "languages.py", keywords=keywords)
    return {text for _, _, text, _, _ in found if text} | {text for _, text, _, _ in own}


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
    """Only a form that is for one number alone, such as "two" in Arabic, may say that number in a word."""
    kept = re.compile(r"%\(\w+\)s|\{\w+\}|<[^>]*>|\[FILL IN: |\]")
    found = catalogue(code)
    which = c2py(found.plural_expr)
    often = Counter(which(number) for number in range(1000))
    for message in found:
        if message.id:
            wanted = set(kept.findall(forms(message.id)[-1]))
            for number, text in enumerate(forms(message.string)):
                there = kept.findall(text)
                assert len(there) == len(set(there)) or "</" in text, message.id
                missing = wanted - set(there)
                in_a_word = len(missing) == 1 and message.pluralizable and often[number] == 1
                assert set(there) <= wanted, message.id
                assert not missing or in_a_word, message.id
                assert "%" not in kept.sub("", text), message.id


# How sentences end in scripts that have marks of their own.
ENDS = {".": ".\u3002", ":": ":\uff1a", "?": "?\uff1f\u061f"}


@each_other
def test_sentences_end_as_ours_do(code: str) -> None:
    for message in catalogue(code):
        for text in forms(message.string) if message.id else ():
            assert text == text.strip(), message.id
            for mark, same in ENDS.items():
                if forms(message.id)[-1].endswith(mark):
                    assert text[-1] in same, message.id
                    assert text[-1] == mark or code in ("ar", "ja", "zh"), message.id


@each_other
def test_a_catalogue_has_the_plural_forms_of_its_language(code: str) -> None:
    found = catalogue(code)
    assert (found.num_plurals, found.plural_expr) == tuple(get_plural(code)[:2])


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
