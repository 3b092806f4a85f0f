"""The console in other languages: everything it says is in their catalogues, and the browser says which one it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripts.console_words import CONSOLE, words
from tests.support.catalogues import catalogue, check

from fairwise.web.console.rendering import LANGUAGE_COOKIE, languages

if TYPE_CHECKING:
    from tests.support.operating import Operating


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
def test_a_catalogue_is_complete_and_right_in_form(code: str) -> None:
    """After a change of words: python scripts/console_words.py."""
    check(catalogue(CONSOLE / "locale", code), set(words()))


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
