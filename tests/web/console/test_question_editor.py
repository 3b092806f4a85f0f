"""Own questions in the console: added, moved, taken out, seen beforehand, and fixed once people have begun."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.editing import change, fields, served
from tests.support.operating import Operating, operating
from tests.support.visits import hidden

from fairwise.store.study_state import set_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOWN = {"questions.0.name": "town", "questions.0.words": "Where?", "questions.0.options": "Here\n\n There \n"}


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study(languages=["en", "de"], pairs=6).path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        opened.site.host.store.change_now(lambda c: set_state(c, "paused"))
        yield opened


def added(console: Operating) -> None:
    """Two questions, one before and one after the pairs."""
    assert change(console, "questions", **TOWN).status_code == 200
    trust = {"name": "trust", "words": "How much?", "kind": "scale", "least": "-3", "most": "3", "when": "after"}
    page = change(console, "questions", **{f"questions.1.{name}": value for name, value in trust.items()})
    assert page.status_code == 200


def names(console: Operating) -> list[str]:
    return [question.name for question in served(console).settings.questions]


def test_added_moved_and_taken_out(console: Operating) -> None:
    added(console)
    town, trust = served(console).settings.questions
    assert (town.options, town.required, town.when) == (("Here", "There"), False, "before")
    assert (trust.steps, trust.when) == (range(-3, 4), "after")
    change(console, "questions", **{"questions.0.place": "9", "questions.0.required": "yes"})
    assert names(console) == ["trust", "town"]
    assert served(console).settings.questions[1].required
    change(console, "questions", **{"questions.0.remove": "yes"})
    assert names(console) == ["town"]


def test_what_is_wrong_is_said_and_what_was_typed_stays(console: Operating) -> None:
    page = change(console, "questions", **{**TOWN, "questions.0.name": "My town"})
    assert page.status_code == 422
    assert fields(page)["questions.0.name"] == "My town"
    assert 'id="questions.0.name-problem"' in page.text
    page = change(console, "questions", **{**TOWN, "questions.0.options": "Here"})
    assert "a question of kind choice needs two options or more" in unescape(page.text)
    assert names(console) == []


def test_words_in_another_language_go_with_what_is_taken_out(console: Operating) -> None:
    added(console)
    german = {"questions.0.words": "Wo?", "questions.0.options.0": "Hier", "questions.0.options.1": "Dort"}
    assert change(console, "words-de", **german, **{"questions.1.words": "Wie sehr?"}).status_code == 200
    edition = served(console).editions["de"].settings
    assert [question.words for question in edition.questions] == ["Wo?", "Wie sehr?"]
    assert edition.questions[0].options == ("Hier", "Dort")
    change(console, "questions", **{"questions.0.options": "There\nElsewhere"})
    assert served(console).editions["de"].settings.questions[0].options == ("Dort", "Elsewhere")
    change(console, "questions", **{"questions.0.remove": "yes"})
    file = (console.site.host.path / "study.de.toml").read_text(encoding="utf-8")
    assert "Wo?" not in file
    assert "Wie sehr?" in file


def test_the_page_can_be_seen_before_it_is_saved(console: Operating) -> None:
    assert "There are no questions before the pairs yet." in console.get("/study/questions/preview").text
    sent = fields(console.get("/study/questions")) | TOWN
    seen = console.client.post("/admin/study/questions/preview", data=sent)
    assert "Where?" in seen.text
    assert "form-action 'none'" in seen.headers["content-security-policy"]
    after = console.client.post("/admin/study/questions/preview", data={**sent, "show": "after"})
    assert "There are no questions after the pairs yet." in after.text
    wrong = console.client.post("/admin/study/questions/preview", data={**sent, "questions.0.options": "Here"})
    assert "needs two options" in wrong.text
    assert names(console) == []


def test_once_people_take_part_only_words_and_order_change(console: Operating) -> None:
    added(console)
    console.site.host.store.change_now(lambda c: set_state(c, "open"))
    served(console)
    page = console.client.get("/")
    console.client.post("/consent", data={**hidden(page), "decision": "agree"})
    page = console.get("/study/questions")
    assert "questions.0.options" not in fields(page), "what is fixed is not sent"
    assert "Questions can be added, taken out" in page.text
    change(console, "questions", **{"questions.0.words": "Where, please?", "questions.0.place": "9"})
    assert [question.words for question in served(console).settings.questions] == ["How much?", "Where, please?"]
    before = served(console).settings
    for late in ({"questions.0.remove": "yes"}, {"questions.0.most": "2"}, {"questions.0.when": "before"}):
        change(console, "questions", **late)
        assert served(console).settings == before
    more = change(console, "questions", **{"questions.2.name": "more", "questions.2.words": "More?"})
    assert more.status_code == 422
    assert served(console).settings == before


def test_an_operator_sees_what_someone_answered(console: Operating) -> None:
    added(console)
    console.site.host.store.change_now(lambda c: set_state(c, "open"))
    served(console)
    page = console.client.get("/")
    page = console.client.post("/consent", data={**hidden(page), "decision": "agree"})
    console.client.post(page.url.path, data={**hidden(page), "q-town": "1"})
    page = console.get("/participants/1")
    assert "Where?" in page.text
    assert "There" in page.text
