"""Every page of a study as text, and the elements in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fairwise.constraints.violations import Treatment
from fairwise.judgments import Answer
from fairwise.store.rooms import Room
from fairwise.study.cards import Card, Row
from fairwise.study.deliberation import Rule, Step, Turn
from fairwise.study.questions import Question
from fairwise.study.settings import ShownColumn, StudySettings
from fairwise.web.shared.requests import AskedQuestion
from fairwise.web.shared.views import (
    InTurn,
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
    VoteView,
    WayBack,
)

if TYPE_CHECKING:
    from fairwise.web.shared.pages import Pages

LABELS = ("Sex", "Age", "Race", "Juvenile felonies", "Prior offences", "Severity of the charge")
NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
VOID = {"meta", "link", "input", "img", "br", "hr", "wbr"}


def settings(**changes: object) -> StudySettings:
    columns = tuple(ShownColumn(name=label, label=label) for label in LABELS)
    return StudySettings.model_validate(
        {"title": "Fair decisions", "treated_well": "to be released", "columns": columns, "contact": "me@example.org"}
        | changes
    )


def card(*texts: str, labels: tuple[str, ...] = LABELS) -> Card:
    return Card("7", tuple(Row(label, text) for label, text in zip(labels, texts, strict=True)))


ALICE = card("Female", "34 years", "Asian", "0", "3", "Felony")
BELLA = card("Female", "24 years", "Asian", "0", "1", "Felony")


def pair(
    a: Card = ALICE,
    b: Card = BELLA,
    answer: Answer | None = None,
    why: str = "",
    confidence: int | None = None,
    number: int = 7,
) -> Pair:
    return Pair(number, 50, 6, a, b, answer, why, confidence, key="the-key", nonce="the-nonce", stamp="the-stamp")


def result(a: Card, b: Card) -> Result:
    pairs = (PairResult(1, a, b, Treatment(Answer.SAME, 0.4, 0.52, 0.1), counts=True),)
    return Result(pairs, PanelResult(2, 1, 3, 1, 0.3, 0.2), 0.1, is_newer=True)


def questions(text: str) -> list[AskedQuestion]:
    """One of each kind, with ``text`` as its words and options."""
    ends = {"options": [f"{text} 1", f"{text} 2"]}
    kinds: dict[str, dict[str, Any]] = {
        "choice": ends,
        "several": {"options": [f"{text} 1".replace(";", ","), f"{text} 2".replace(";", ",")]},
        "scale": ends,
        "number": {"least": -3, "required": True},
        "text": {},
    }
    return [
        AskedQuestion(Question(name=kind, kind=kind, words=f"{text} {kind}", **more), ("1",), text)  # type: ignore[arg-type]
        for kind, more in kinds.items()
    ]


def pair_again(a: Card, b: Card, text: str, *, others: bool = True) -> PairAgain:
    reasons = tuple(OthersReason(f"NAME-{number}", text) for number in range(5))
    told = tuple(OthersAnswer(answer, 2, reasons) for answer in Answer) if others else ()
    return PairAgain(7, pair(a, b, Answer.SAME, text), Answer.NO_CONSTRAINT, text, shows_others=True, others=told)


def all_pages(pages: Pages, prefix: str = "", text: str = "text", a: Card = ALICE, b: Card = BELLA) -> dict[str, str]:
    """Every page, with ``text`` wherever somebody's text may stand."""
    me = OwnPages(f"{prefix}/p/token", f"https://study.example{prefix}/p/token", "the-csrf")
    options = [OptionView(letter, text, text, 33.0, 60.0, 1) for letter in "ABC"]
    return {
        "consent": pages.render(
            "consent",
            start_key=text,
            csrf=text,
            resume=Resume(f"{prefix}/p/token", text, text),
            contests=True,
            problem=text,
        ),
        "whose_device": pages.render("whose_device", resume=Resume(f"{prefix}/p/token", text, text), way_here=""),
        "id_taken": pages.render("id_taken", start_key=text, csrf=text, panel=text, left=False, way_here=""),
        "no_place": pages.render("screened_out", me, full=True),
        "declined": pages.render("declined"),
        "withdrawn": pages.render("withdrawn"),
        "closed_door": pages.render(
            "closed_door", csrf=text, resume=Resume(f"{prefix}/p/token", text, text), problem=text, typed=text
        ),
        "wall": pages.render("wall", room=Room(1, text, text, True, 2, 1), address=text, qr=Markup("<svg></svg>")),
        "talking_wall": pages.render(
            "talking_wall",
            room=Room(1, text, text, True, 2, 1),
            shown=OnWall(Turn(2, Step.COMPARED), 4, 4, ({"same": 3}, {"same": 4})),
            cards=(a, b),
            total=5,
        ),
        "room": pages.render("room", me, state=InTurn(Turn(2, Step.AGAIN), Answer.SAME, asked=True, answered=True)),
        "pair in a room": pages.render("pair", me, pair=pair(a, b), turn=Turn(2, Step.ALONE), problem=text),
        "relation": pages.render("relation", me, problem=text),
        "questions": pages.render("questions", me, asked=questions(text), problem=text),
        "screened_out": pages.render("screened_out", me, back=WayBack(text, f"{prefix}/p/token/back")),
        "back": pages.render(
            "thanks", me, receipt=Receipt(text, 50, NOON), way_back=WayBack(text, f"{prefix}/p/token/back", text)
        ),
        "task": pages.render("task", me),
        "check": pages.render("check", me, tries=1, problem=text, wrong=["either"], chosen={"either": text}),
        "practice": pages.render("practice", me, problem=text),
        "pressed": pages.render("practice", me, pressed=Answer.SAME),
        "pair": pages.render(
            "pair", me, pair=pair(a, b, Answer.SAME, text, 4), undo=f"{prefix}/p/token/pair/6", problem=text
        ),
        "why": pages.render("why", me, pair=pair(a, b, Answer.SAME, text, 4)),
        "review": pages.render(
            "review",
            me,
            pairs=[ReviewPair(1, (a, b), Answer.SAME), ReviewPair(2, (a, b), None)],
            undo=me.path,
            problem=text,
        ),
        "round_over": pages.render(
            "round_over",
            None,
            way_on="",
            resume=Resume(f"{prefix}/p/token", text, text),
            sent=False,
            way_here=f"{prefix}/",
        ),
        "own_round_over": pages.render(
            "round_over", me, way_on="closing", resume=None, sent=True, way_here=f"{prefix}/p/token"
        ),
        "second_round": pages.render(
            "second_round",
            me,
            pairs=[pair_again(a, b, text), replace(pair_again(a, b, text), position=8, pair=pair(a, b))],
            done=False,
        ),
        "second_round_end": pages.render("second_round", me, pairs=[pair_again(a, b, text)], done=True),
        "pair_again": pages.render("pair_again", me, second=pair_again(a, b, text), reported=True, problem=text),
        "pair_again_alone": pages.render("pair_again", me, second=pair_again(a, b, text, others=False)),
        "report_reason": pages.render("report_reason", me, position=7, reason=OthersReason("NAME", text)),
        "second_round_now": pages.render("thanks", me, receipt=Receipt(text, 50, NOON), second_round="now"),
        "second_round_later": pages.render("thanks", me, receipt=Receipt(text, 50, NOON), second_round="later"),
        "check_failed": pages.render("check_failed", me),
        "closing": pages.render("closing", me),
        "thanks": pages.render("thanks", me, receipt=Receipt(text, 50, NOON)),
        "result": pages.render("result", me, result=result(a, b)),
        "result now": pages.render("thanks", me, receipt=Receipt(text, 50, NOON), result="now"),
        "vote": pages.render("vote", me, vote=VoteView(1, Rule.BORDA, options), problem=text),
        "approval": pages.render("vote", me, vote=VoteView(1, Rule.APPROVAL, options, saved=True), problem=text),
        "withdraw": pages.render("withdraw", me),
        "not_open": pages.render(
            "not_open", me, closed=False, here=f"{prefix}/p/token", resume=None, sent={text: text}
        ),
        "closed": pages.render(
            "not_open", None, closed=True, here=f"{prefix}/", resume=Resume(f"{prefix}/p/token", text, text), sent=None
        ),
        "message": pages.render("message", heading=text, text=text, back=f"{prefix}/"),
    }


class Parsed(HTMLParser):
    """The elements of a page; tags that are not closed in order fail at once."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.feed(page)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [had for name, had in self.elements if name == tag and wanted.items() <= had.items()]
