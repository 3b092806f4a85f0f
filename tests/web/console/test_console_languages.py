"""The console in other languages: everything it says is in their catalogues, and the browser says which one it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scripts.console_words import CONSOLE, words
from tests.support.catalogues import catalogue, check
from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.watching import take_part

from fairwise.store.study_state import choose
from fairwise.study.quality import TOO_FAST, Flag
from fairwise.web.console.base import LANGUAGE_COOKIE, MENU, console_language, evidence, languages

if TYPE_CHECKING:
    from pathlib import Path

BELOW = """/fits/new /fits/1 /fits/1/links /fits/compare?a=1&b=2 /results/preview?participant=1 /live /try /study/words
/study/consent /participants/1 /participants/1/erase"""


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


@pytest.mark.parametrize("code", languages())
def test_every_page_of_a_study_with_answers_and_models_opens(make_study: Any, tmp_path: Path, code: str) -> None:
    study = make_study(design={"fixed": 2}, deliberation={"on": True})
    with operating(study.path, tmp_path / "study.sqlite") as console:
        console.set_up()
        take_part(console, 3)
        store = console.site.host.store
        for _ in range(2):
            done_job(store, study.path, dict.fromkeys(study.person_ids, 0.5))
        store.change_now(lambda c: choose(c, 1, shown=True))
        console.site.host.watch.forget()  # what was known before anybody had answered
        for path in (*(path for path, _, _ in MENU), *BELOW.split()):
            page = console.get(path, headers={"accept-language": code})
            assert page.status_code == 200, path
            assert f'lang="{code}"' in page.text or path == "/live" or "preview" in path


def test_values_and_flags_are_in_german_too(make_study: Any, tmp_path: Path) -> None:
    study = make_study()
    with operating(study.path, tmp_path / "study.sqlite") as console:
        console.set_up()
        take_part(console, 4)
        for _ in range(2):
            done_job(console.site.host.store, study.path, dict.fromkeys(study.person_ids, 0.5))
        german = {"accept-language": "de"}
        compared = console.get("/fits/compare?a=1&b=2", headers=german).text
        for words in (
            "Entscheidungsbaum, Fragen hintereinander",
            "entscheidet durch Los",
            "10,0 Punkte",
            "keine Grenze",
        ):
            assert words in compared
        assert " points" not in compared
        assert "Immer dieselbe Taste" in console.get("", headers=german).text  # a noun stays a noun
        assert "/fits/1/report?lang=de" in console.get("/fits/1", headers=german).text
        flag = Flag(TOO_FAST, {"fast": 5, "pairs": 6, "middle": "1.5"})
        assert evidence(flag, console_language("de")).endswith("das mittlere dauerte 1,5 Sekunden.")
        assert evidence(flag, console_language("en")).startswith("5 of 6 pairs took less than 2 seconds")
