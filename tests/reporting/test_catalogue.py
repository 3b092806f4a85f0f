"""Every word of a report is in every catalogue of reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

import fairwise.reporting
from fairwise.reporting.words import languages

ROOM = Path(fairwise.reporting.__file__).parent
each_other = pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
_KEPT = re.compile(r"%\(\w+\)s|\{\w+\}|<[^>]*>")


def catalogue(code: str) -> Catalog:
    with (ROOM / "locale" / code / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, code, abort_invalid=True)


def forms(text: str | list[str] | tuple[str, ...] | None) -> list[str]:
    return [text] if isinstance(text, str) else list(text or ())


@each_other
def test_a_catalogue_has_what_the_code_says_and_nothing_else(code: str) -> None:
    with (ROOM / "locale" / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file, "babel.cfg")  # type: ignore[no-untyped-call]
    keywords = {"_": None, "ngettext": (1, 2), "gettext": None, "say": None, "translate": None, "marked": None}
    said = {text for _, _, text, _, _ in extract_from_dir(ROOM, methods, options, keywords) if text}
    assert {message.id for message in catalogue(code) if message.id} == said


@each_other
def test_a_catalogue_is_complete_and_keeps_placeholders(code: str) -> None:
    found = catalogue(code)
    for message in found:
        if message.id:
            assert all(forms(message.string)), message.id
            assert not message.fuzzy, message.id
            assert len(forms(message.string)) == (found.num_plurals if message.pluralizable else 1), message.id
            for number, text in enumerate(forms(message.string)):
                ours = forms(message.id)[min(number, len(forms(message.id)) - 1)]
                assert sorted(_KEPT.findall(text)) == sorted(_KEPT.findall(ours)), message.id


@each_other
def test_sentences_end_as_ours_do(code: str) -> None:
    for message in catalogue(code):
        if message.id:
            ours, theirs = forms(message.id)[0], forms(message.string)[0]
            assert (ours[-1] in ".:?") == (theirs[-1] in ".:?"), message.id
            assert ours.startswith(" ") == theirs.startswith(" "), message.id
