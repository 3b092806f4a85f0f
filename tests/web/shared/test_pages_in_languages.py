"""The pages in other languages: no word is left in ours, and text may run from right to left."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from gettext import NullTranslations
from html.parser import HTMLParser
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from markupsafe import Markup

from fairwise.constraints.violations import Treatment
from fairwise.judgments import Answer
from fairwise.languages import Language
from fairwise.store.rooms import Room
from fairwise.study.cards import Card, Row
from fairwise.study.deliberation import Rule, Step, Turn
from fairwise.study.questions import Question
from fairwise.study.settings import StudySettings
from fairwise.study.texts import language
from fairwise.web.shared import requests
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import AskedQuestion, read_static_files
from fairwise.web.shared.views import (
    InTurn,
    NumberedAnswer,
    OnWall,
    OptionView,
    OthersAnswer,
    OthersReason,
    OwnPages,
    Pair,
    PairAgain,
    PairResult,
    PanelResult,
    Receipt,
    Result,
    Resume,
    ReviewPair,
    SecondLookGroup,
    SecondLookPair,
    VoteView,
    WayBack,
)

READ = {"aria-label", "title", "alt", "placeholder", "data-saving", "data-copied"}
# Everything that is not ours has no letters, so that all letters are ours.
NOT_OURS = {
    "title": "1",
    "question": "2",
    "treated_well": "3",
    "contact": "4",
    "answer_words": {"same": "5", "a_at_least_b": "6", "b_at_least_a": "7", "no_constraint": "8"},
    "relation_question": "27",
    "relations": [{"name": "28", "words": "29"}, {"name": "30", "words": "31"}],
    "columns": [{"name": "9", "label": "9"}, {"name": "10", "label": "10"}],
    **dict.fromkeys(("ask_why", "ask_confidence", "mark_differences"), True),
}
MOMENT = datetime(2026, 3, 9, 14, 5, tzinfo=UTC)


class Brackets(NullTranslations):
    """Says everything in brackets."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


class Words(HTMLParser):
    """All that is read of a page, on the screen or aloud."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.read: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.read += [value or "" for name, value in attrs if name in READ]

    def handle_data(self, data: str) -> None:
        self.read.append(data)

    def unbracketed(self) -> str:
        text, before = "".join(self.read), ""
        while text != before:
            text, before = re.sub(r"⟦[^⟦⟧]*⟧", "", text), text
        return text


def made(spoken: Language, offered: tuple[Language, ...] = (), **changes: object) -> Pages:
    return Pages(StudySettings.model_validate(NOT_OURS | changes), "0", "0", spoken=spoken, offered=offered)


def result_of(one: Card, other: Card) -> Result:
    """With pairs of every kind, and differences of every size."""
    sizes = (0.4, 0.52), (0.4, 0.41), (0.4, 0.401), (0.4, 0.4), (0.4, 0.3)
    kinds = ((answer, good, counts) for answer in Answer for good in sizes for counts in (True, False))
    pairs = (
        PairResult(number, one, other, Treatment(answer, *good, 0.05), counts)
        for number, (answer, good, counts) in enumerate(kinds, start=1)
    )
    return Result(tuple(pairs), PanelResult(40, 3, 200, 170, 0.34, 0.31), 0.05, is_newer=True)


def second_thoughts(one: Card, other: Card) -> list[SecondLookGroup]:
    said = [SecondLookPair(1, NumberedAnswer(answer, 1, 2), NumberedAnswer(Answer.SAME, 1, 2)) for answer in Answer]
    fresh = SecondLookPair(1, NumberedAnswer(Answer.SAME, 1, 2), None)
    kinds = ("different", (one, other)), ("alike", (one, other)), ("circle", (one, other, one))
    groups = [SecondLookGroup(kind, people, (fresh,)) for kind, people in kinds]
    return [*groups, SecondLookGroup("different", (one, other), tuple(said))]


OPTIONS = [OptionView("1", "2", "3", 4, 5, 1)] * 3
LIMITED = [
    Question(name=f"n{number}", words=f"1{number}", kind="number", least=least, most=most)
    for number, (least, most) in enumerate([(1, 2), (1, None), (None, 2), (None, None)])
]


def questions(text: str) -> list[AskedQuestion]:
    ends = ("25", "26")
    kinds = {"choice": ends, "several": ends, "scale": ends, "number": (), "text": ()}
    asked = [Question.model_validate({"name": f"k{k}", "words": "27", "kind": k, "options": kinds[k]}) for k in kinds]
    return [AskedQuestion(question, (), text) for question in asked]


def all_pages(pages: Pages) -> dict[str, str]:
    me = OwnPages("/p/token", "://11", "")
    rows = tuple(Row(label, text) for label, text in (("9", ""), ("10", "1" * 500)))
    one, other = Card("a", rows), Card("b", (rows[0], Row("10", "13")))
    middle, last = (Pair(number, 2, number - 1, one, other, Answer.SAME, "12", 3) for number in (1, 2))
    one_answer = ReviewPair(1, (one, other), Answer.SAME)
    told = tuple(OthersAnswer(answer, 1, (OthersReason("27", "28"),) * 4) for answer in pages.settings.allowed_answers)
    again = PairAgain(3, middle, Answer.NO_CONSTRAINT, "29", others=told)
    open_pairs = [one_answer, *(ReviewPair(number, (one, other), None) for number in range(2, 20))]
    return {
        "consent": pages.render("consent", start_key="", csrf="", resume=Resume("/p/token", "33", ""), problem="14"),
        "whose_device": pages.render("whose_device", resume=Resume("/p/token", "33", ""), way_here=""),
        "id_taken": pages.render("id_taken", start_key="", csrf="x", panel="Prolific", left=False, way_here=""),
        "id left": pages.render("id_taken", start_key="", csrf=None, panel="Prolific", left=True, way_here=""),
        "id of someone who left": pages.render(
            "id_taken", start_key="", csrf="x", panel="Prolific", left=True, way_here=""
        ),
        "id vouched for": pages.render("id_taken", start_key="", csrf=None, panel="Prolific", left=False, way_here=""),
        "no place": pages.render("screened_out", me, full=True),
        "declined": pages.render("declined"),
        "withdrawn": pages.render("withdrawn"),
        "closed_door": pages.render("closed_door", csrf="", resume=Resume("/p/token"), problem="14", typed="18"),
        "wall": pages.render("wall", room=Room(1, "19", "20", True, 21, 22), address="://23", qr=Markup("")),
        "talking_wall": pages.render(
            "talking_wall",
            room=Room(1, "19", "20", True, 21, 22),
            shown=OnWall(Turn(2, Step.COMPARED), 4, 4, ({"same": 3}, {"same": 4})),
            cards=(one, other),
            total=5,
        ),
        "room": pages.render("room", me, state=InTurn(Turn(2, Step.AGAIN), Answer.SAME, asked=True, answered=True)),
        "closed wall": pages.render("wall", room=Room(1, "19", "20", False, 21, 22), address="://23", qr=Markup("")),
        "relation": pages.render("relation", me, problem="14"),
        "questions": pages.render("questions", me, asked=questions("14")),
        "limits": pages.render("questions", me, asked=[AskedQuestion(one) for one in LIMITED], after=True),
        "screened_out": pages.render("screened_out", me, back=WayBack("24", "://25")),
        "full": pages.render("screened_out", None, full=True, back=WayBack("24", None)),
        "task": pages.render("task", me),
        "check": pages.render("check", me, tries=0, problem="14", wrong=["either"]),
        "last check": pages.render("check", me, tries=1),
        "practice": pages.render("practice", me),
        "pressed": pages.render("practice", me, pressed=Answer.SAME),
        "why": pages.render("why", me, pair=middle),
        "check_failed": pages.render("check_failed", me),
        "pair": pages.render("pair", me, pair=middle, undo="/", problem="14"),
        "last pair": pages.render("pair", me, pair=last, problem="14"),
        "review": pages.render("review", me, pairs=[*open_pairs, ReviewPair(20, None, None)], undo="/", problem="14"),
        "whole review": pages.render("review", me, pairs=[one_answer]),
        "closing": pages.render("closing", me),
        "thanks": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT)),
        "back to the panel": pages.render(
            "thanks", me, receipt=Receipt("15", 2, MOMENT), way_back=WayBack("24", "://25", "26")
        ),
        "code for the panel": pages.render(
            "thanks", me, receipt=Receipt("15", 2, MOMENT), way_back=WayBack("24", None, "26")
        ),
        "result now": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT), result="now"),
        "result later": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT), result="later"),
        "result": pages.render("result", me, result=result_of(one, other)),
        "second_look": pages.render("second_look", me, groups=second_thoughts(one, other), saved="1", kept=True),
        "second_round": pages.render(
            "second_round", me, pairs=[again, replace(again, pair=replace(middle, answer=None))]
        ),
        "second round begun": pages.render(
            "second_round", me, pairs=[replace(again, pair=replace(middle, answer=None))]
        ),
        "end of the second round": pages.render("second_round", me, pairs=[again], done=True),
        "pair_again": pages.render("pair_again", me, second=again, reported=True, problem="14"),
        "pair again, too few others": pages.render("pair_again", me, second=replace(again, others=())),
        "pair again, without others": pages.render("pair_again", me, second=replace(again, shows_others=False)),
        "report_reason": pages.render("report_reason", me, position=3, reason=OthersReason("27", "28")),
        "round_over": pages.render("round_over", None, way_on="", resume=Resume("/p/token", "33", ""), sent=False),
        "own round over": pages.render("round_over", me, way_on="closing", resume=None, sent=True),
        "own way on": pages.render("round_over", me, way_on="second-round", resume=None, sent=False),
        "second round now": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT), second_round="now"),
        "second round later": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT), second_round="later"),
        **{
            f"vote {rule}": pages.render(
                "vote", me, vote=VoteView(1, rule, [OptionView("1", "2", "3", 4, 5, 1)] * 3, saved=True), problem="14"
            )
            for rule in Rule
        },
        "vote": pages.render("thanks", me, receipt=Receipt("15", 2, MOMENT), vote=True),
        "withdraw": pages.render("withdraw", me),
        "not_open": pages.render(
            "not_open", None, closed=False, here="/", resume=Resume("/p/token", "33", ""), sent=None
        ),
        "paused": pages.render("not_open", me, closed=False, here="/", resume=None, sent={"why": "32"}),
        "closed": pages.render("not_open", me, closed=True, here="/", resume=None, sent={"why": "32"}),
        "closed to others": pages.render("not_open", None, closed=True, here="/", resume=None, sent=None),
        "message": pages.render("message", heading="16", text="17", back="/"),
    }


def test_this_file_knows_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered, render = set[str](), Pages.render

    def record(pages: Pages, template: str, *own: Any, **values: Any) -> str:
        rendered.add(template)
        return render(pages, template, *own, **values)

    monkeypatch.setattr(Pages, "render", record)
    all_pages(made(language("en")))
    folder = Path(requests.__file__).parent / "templates"
    assert {file.stem for file in folder.glob("*.html")} - {"base", "parts", "pieces"} == rendered


@pytest.mark.parametrize("answers", ["four", "two"])
def test_no_word_of_any_page_is_outside_the_catalogue(answers: str) -> None:
    for name, page in all_pages(made(Language("en", Brackets()), answers=answers)).items():
        left = Words(page).unbracketed()
        assert not re.findall(r"[^\W\d_]+", left), name
        assert "⟦" in page, name


def test_other_languages_are_offered_by_their_own_names_where_there_are_any() -> None:
    both = (language("en"), language("de"))
    for name, page in all_pages(made(language("de"), both)).items():
        assert '<a href="?lang=en" lang="en" hreflang="en">English</a>' in page, name
        assert '<span lang="de" aria-current="true">Deutsch</span>' in page, name
        assert page.count("?lang=en") == (2 if name == "consent" else 1), name
    assert 'action="/consent?lang=de"' in all_pages(made(language("de"), both))["consent"]
    assert not [name for name, page in all_pages(made(language("de"))).items() if "?lang=" in page]


@pytest.mark.parametrize(("code", "direction"), [("en", "ltr"), ("de", "ltr"), ("ar", "rtl"), ("he", "rtl")])
def test_a_page_says_its_language_and_direction(code: str, direction: str) -> None:
    spoken = language(code) if direction == "ltr" else Language(code, NullTranslations())
    for name, page in all_pages(made(spoken)).items():
        assert f'<html lang="{code}" dir="{direction}">' in page, name


def test_what_is_written_from_left_to_right_stays_so() -> None:
    """An address in a page that runs from right to left; and what others wrote runs as it does."""
    page = all_pages(made(Language("ar", NullTranslations())))["pair"]
    assert '<p class="link-text" id="own-link" dir="ltr">' in page
    assert 'id="question" dir="auto"' in page
    assert "<bdi>3</bdi>" in page


def test_the_style_knows_no_left_and_right() -> None:
    style = read_static_files()["study.css"][0].decode()
    assert not re.findall(
        r"(?:margin|padding|border|inset)-(?:left|right)|text-align: *(?:left|right)|float: *(?:left|right)", style
    )


def test_a_receipt_in_german() -> None:
    page = made(language("de")).render("thanks", OwnPages("/p/t", "", ""), receipt=Receipt("15", 2, MOMENT))
    assert "9. März 2026, 14:05 Uhr (UTC)" in page
    assert 'datetime="2026-03-09T14:05:00+00:00"' in page


def test_a_pair_in_german_is_rendered_in_well_under_a_millisecond() -> None:
    pages = made(language("de"), (language("en"), language("de")))
    rows = tuple(Row(f"Label {k}", "Value") for k in range(8))
    me, shown = OwnPages("/p/t", "", ""), Pair(1, 2, 0, Card("a", rows), Card("b", rows))
    fastest = float("inf")
    for _ in range(200):
        begun = perf_counter()
        pages.render("pair", me, pair=shown, undo="/p/t/pair/0")
        fastest = min(fastest, perf_counter() - begun)
    assert fastest < 0.001
