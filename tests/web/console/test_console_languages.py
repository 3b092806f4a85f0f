"""The console in other languages: everything it says is in their catalogues, and the browser says which one it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from babel.messages.pofile import read_po
from scripts.console_words import CONSOLE, words

from fairwise.web.console.rendering import LANGUAGE_COOKIE, languages

if TYPE_CHECKING:
    from tests.support.operating import Operating

CATALOGUES = sorted((CONSOLE / "locale").glob("*/LC_MESSAGES/messages.po"))
PLACES = re.compile(r"%\(\w+\)|\{\w+\}|<[^>]+>")


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parts[-3])
def test_a_catalogue_says_what_the_console_says_and_nothing_else(file: Path) -> None:
    """After a change of words: python scripts/console_words.py."""
    with file.open("rb") as opened:
        messages = [message for message in read_po(opened, file.parts[-3]) if message.id]
    first = [text if isinstance(text, str) else text[0] for text in words()]
    assert {message.id if isinstance(message.id, str) else message.id[0] for message in messages} == set(first)
    for message in messages:
        ours, theirs = ([text] if isinstance(text, str) else list(text) for text in (message.id, message.string or ""))
        assert all(theirs), message.id
        assert sorted(PLACES.findall(ours[-1])) == sorted(PLACES.findall(theirs[-1])), message.id


def test_the_console_is_in_english_and_german() -> None:
    assert languages() == ("en", "de")


def test_the_browser_decides_until_somebody_chooses(plain_console: Operating) -> None:
    english, german = plain_console.get("").text, plain_console.get("", headers={"accept-language": "de"}).text
    assert '<html lang="en"' in english
    assert "Make a study" in english
    assert '<html lang="de"' in german
    assert "Eine Studie anlegen" in german
    assert "Make a study" not in german
    assert "Eine Studie anlegen" in plain_console.get("?lang=de").text
    assert plain_console.client.cookies[LANGUAGE_COOKIE] == "de"
    assert "Eine Datei mit einer Zeile" in plain_console.get("/new").text  # kept
    assert "Make a study" in plain_console.get("?lang=en").text
