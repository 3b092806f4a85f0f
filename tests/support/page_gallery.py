"""Every page of a study as people may meet it, and a browser's tab on one of them.

No server is needed: the browser's requests are answered from memory, with the headers that the app sends.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from gettext import NullTranslations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from fairwise.judgments import Answer
from fairwise.languages import Language
from fairwise.store.votes import Option
from fairwise.study.cards import Card, Row
from fairwise.study.deliberation import Rule
from fairwise.study.design import usual_meaning
from fairwise.study.questions import Question
from fairwise.study.settings import AnswerWords, ShownColumn, StudySettings
from fairwise.study.texts import language
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import AskedQuestion, read_static_files
from fairwise.web.shared.views import (
    NumberedAnswer,
    OthersAnswer,
    OthersReason,
    OwnPages,
    Pair,
    PairAgain,
    Receipt,
    Resume,
    ReviewPair,
    SecondLookGroup,
    SecondLookPair,
    VoteView,
    options_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Browser, Page, Route

DESKTOP, PHONE, NARROWEST = (1280, 900), (390, 844), (320, 640)
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HOST, PREFIX = "http://localhost", "/study1"
LABELS = ("Sex", "Age", "Race", "Juvenile felonies", "Juvenile misdemeanours", "Prior offences", "Severity of charge")
ALICE = ("Male", "34 years", "African-American", "0", "0", "3", "Felony")
BELLA = ("Male", "24 years", "Caucasian", "0", "1", "4", "Misdemeanour")
ODD = ("<b>後藤</b>", "x" * 10_000, "=SUM(A1:A9)", "👩🏽‍🚀 emoji", "שלום עולם (abc) 123", "", "many words\n" * 200)
ME = OwnPages(f"{PREFIX}/p/token", f"https://study.example{PREFIX}/p/3q8ZkV0r7bYwS9f2nLxQdA", "the-csrf")
CONSENT = "<p>We want to know what people think.</p><h2>What we keep</h2><ul><li>Your answers.</li></ul>"


def study(**changes: Any) -> Pages:
    columns = tuple(ShownColumn(name=label, label=label) for label in LABELS)
    told = {
        "title": "Fair decisions",
        "treated_well": "to be released",
        "columns": columns,
        "contact": "me@example.org",
    }
    settings = StudySettings.model_validate(told | changes)
    offered = [language(code) for code in settings.languages] if len(settings.languages) > 1 else []
    return Pages(settings, CONSENT, "<p>You will see two people.</p>", PREFIX, offered=offered)


def card(texts: tuple[str, ...]) -> Card:
    return Card("7", tuple(Row(label, text) for label, text in zip(LABELS, texts, strict=True)))


def pair(
    a: tuple[str, ...] = ALICE,
    b: tuple[str, ...] = BELLA,
    answer: Answer | None = None,
    why: str = "",
    confidence: int | None = None,
    number: int = 7,
) -> Pair:
    return Pair(
        number, 50, 6, card(a), card(b), answer, why, confidence, key="the-key", nonce="the-nonce", stamp="the-stamp"
    )


def reviewed(answers: dict[int, Answer | None]) -> list[ReviewPair]:
    return [ReviewPair(number, (card(ALICE), card(BELLA)), answer) for number, answer in answers.items()]


# What may be decided beside yes and no, with the words of a loan.
TIERS = {
    "decisions": [
        {"label": "0", "words": "no loan", "value": 0},
        {"label": "1", "words": "a loan with a guarantor", "value": 0.6},
        {"label": "2", "words": "a loan without conditions", "value": 1},
    ]
}
AMOUNT = {"amount": {"unit": "euros", "least": 0, "most": 20_000}}
GERMAN = study(languages=["de", "en"], mark_differences=True, ask_why=True, ask_confidence=True)
ARABIC = Pages(GERMAN.settings, CONSENT, "", PREFIX, spoken=Language("ar", NullTranslations()))
PLAIN, FULL = study(), study(mark_differences=True, ask_why=True, ask_confidence=True)
LONG = study(title="a_name_without_any_end_" * 12, question="Fair? " * 60, treated_well="שלום" * 30, ask_why=True)
ALL = reviewed({number: list(Answer)[number % 4] for number in range(1, 51)})
OPEN = reviewed({1: Answer.SAME, 2: None})
GALLERY = {
    "consent": PLAIN.render("consent", start_key="s", csrf="c", resume=None),
    "consent-again": PLAIN.render(
        "consent", start_key="s", csrf="c", resume=Resume(ME.path, "c", "s"), problem="Choose one of the two"
    ),
    "whose-device": PLAIN.render("whose_device", resume=Resume(ME.path, "c", "s"), way_here=""),
    "id-taken": PLAIN.render("id_taken", start_key="s", csrf="c", panel="Prolific", left=False, way_here=""),
    "id-taken-left": PLAIN.render("id_taken", start_key="s", csrf="c", panel="Prolific", left=True, way_here=""),
    "id-vouched-for": PLAIN.render("id_taken", start_key="s", csrf=None, panel="Prolific", left=False, way_here=""),
    "not-open": PLAIN.render(
        "not_open", None, closed=False, here=f"{PREFIX}/", resume=Resume(ME.path, "c", "s"), sent=None
    ),
    "closed": PLAIN.render(
        "not_open", None, closed=True, here=f"{PREFIX}/", resume=Resume(ME.path, "c", "s"), sent=None
    ),
    "no-place": PLAIN.render("screened_out", ME, full=True),
    "declined": PLAIN.render("declined"),
    "withdrawn": PLAIN.render("withdrawn"),
    "task": PLAIN.render("task", ME),
    "check": PLAIN.render("check", ME, tries=0),
    "check-again": PLAIN.render(
        "check", ME, tries=1, problem="Not right yet", wrong=["order"], chosen={"order": "same"}
    ),
    "practice": FULL.render("practice", ME),
    "practice-pressed": FULL.render("practice", ME, pressed=Answer.A_AT_LEAST_B),
    "pair": PLAIN.render("pair", ME, pair=pair(), undo="/p/token/pair/6"),
    "pair-simulated": study(simulated=True).render("pair", ME, pair=pair(), undo="/p/token/pair/6"),
    "pair-two": study(answers="two").render("pair", ME, pair=pair(ALICE, BELLA, Answer.SAME)),
    "pair-full": FULL.render(
        "pair", ME, pair=pair(ALICE, BELLA, Answer.A_AT_LEAST_B, "because", 4), undo="/p/token/pair/6"
    ),
    "why": FULL.render("why", ME, pair=pair(ALICE, BELLA, Answer.A_AT_LEAST_B, "because", 4)),
    "pair-problem": FULL.render("pair", ME, pair=pair(), problem="Choose an answer"),
    "pair-odd": LONG.render("pair", ME, pair=pair(ODD, ODD[::-1]), problem="Too long"),
    "review": PLAIN.render("review", ME, pairs=ALL),
    "review-open": PLAIN.render("review", ME, pairs=OPEN, problem="One pair is open"),
    "closing": PLAIN.render("closing", ME),
    "thanks": PLAIN.render("thanks", ME, receipt=Receipt("FW-7K3M-92QD", 50, datetime(2026, 3, 9, 14, 5, tzinfo=UTC))),
    "withdraw": PLAIN.render("withdraw", ME),
    "de-consent": GERMAN.render("consent", start_key="s", csrf="c", resume=Resume(ME.path), problem="Bitte wählen"),
    "de-task": GERMAN.render("task", ME),
    "de-check": GERMAN.render("check", ME, tries=1, problem="Noch nicht", wrong=["order"], chosen={"order": "same"}),
    "de-practice": GERMAN.render("practice", ME),
    "de-pair": GERMAN.render(
        "pair", ME, pair=pair(ALICE, BELLA, Answer.A_AT_LEAST_B, "weil", 4), undo="/p/token/pair/6"
    ),
    "de-why": GERMAN.render("why", ME, pair=pair(ALICE, BELLA, Answer.A_AT_LEAST_B, "weil", 4)),
    "de-review": GERMAN.render("review", ME, pairs=OPEN),
    "de-closing": GERMAN.render("closing", ME),
    "de-thanks": GERMAN.render(
        "thanks", ME, receipt=Receipt("FW-7K3M-92QD", 50, datetime(2026, 3, 9, 14, 5, tzinfo=UTC))
    ),
    "de-withdraw": GERMAN.render("withdraw", ME),
    "ar-pair": ARABIC.render("pair", ME, pair=pair(ODD, BELLA, Answer.A_AT_LEAST_B), undo="/p/token/pair/6"),
    "message": PLAIN.render("message", heading="This page does not exist", text="Check the link.", back=f"{PREFIX}/"),
}
POINTS = [Option(0.0, 0.44, 120, 0), Option(0.02, 0.38, 96, 24), Option(0.1, 0.33, 60, 60)]
OPTIONS = options_of(POINTS, language("en"), {0: 1})
QUESTIONS = [
    Question(name="home", words="Where do you live?", options=("In a town", "In the country", "Elsewhere")),
    Question(name="speaks", words="What do you speak?", kind="several", options=("Dutch", "العربية", "x" * 90)),
    Question(name="trust", words="Do you trust courts?", kind="scale", options=("not at all", "completely"), most=7),
    Question(name="long", words="From 0 to 10?", kind="scale", least=0, most=10, required=True),
    Question(name="age", words="How old are you?", kind="number", least=16, most=120, required=True),
    Question(name="more", words="What else should we know about you? " * 4, kind="text"),
]
TOGETHER = [
    SecondLookGroup("different", (card(ALICE), card(BELLA)), (
        SecondLookPair(7, NumberedAnswer(Answer.A_AT_LEAST_B, 1, 2), None),
        SecondLookPair(31, NumberedAnswer(Answer.SAME, 1, 2), NumberedAnswer(Answer.A_AT_LEAST_B, 2, 1)),
    )),
    SecondLookGroup("alike", (card(ALICE), card(ALICE)), (
        SecondLookPair(18, NumberedAnswer(Answer.A_AT_LEAST_B, 2, 1), None),
    )),
    SecondLookGroup("circle", (card(ALICE), card(BELLA), card(ODD)), (
        SecondLookPair(3, NumberedAnswer(Answer.A_AT_LEAST_B, 1, 2), None),
        SecondLookPair(9, NumberedAnswer(Answer.A_AT_LEAST_B, 2, 3), None),
        SecondLookPair(40, NumberedAnswer(Answer.NO_CONSTRAINT, 1, 3), NumberedAnswer(Answer.SAME, 1, 3)),
    )),
    SecondLookGroup("circle", (card(ALICE), card(BELLA), card(ALICE[::-1]), card(BELLA[::-1])), tuple(
        SecondLookPair(20 + turn, NumberedAnswer(Answer.A_AT_LEAST_B, 1 + turn, 1 + (turn + 1) % 4), None)
        for turn in range(4)
    )),
]  # fmt: skip
_REASONS = (
    "She is much younger, and has far fewer offences behind her.",
    "Both have done nearly the same.\nWhat else should count?",
    "I know people like this.",
    "Age is no merit.",
)
_SAID = tuple(
    OthersAnswer(
        answer, count, tuple(OthersReason(f"AAAA-{place}", text) for place, text in enumerate(_REASONS[:shown]))
    )
    for answer, count, shown in zip(Answer, (5, 4, 0, 2), (4, 1, 0, 1), strict=True)
)
_FIRST, _LAST = (replace(one, total=2, answered=1) for one in (pair(ALICE, BELLA, Answer.SAME), pair(ALICE, BELLA)))
AGAIN = [
    PairAgain(7, replace(_FIRST, number=1), Answer.NO_CONSTRAINT, "No idea.", others=_SAID),
    PairAgain(9, replace(_LAST, number=2), Answer.SAME),
]
GALLERY |= {
    "pair-tiers": study(**TIERS, mark_differences=True).render("pair", ME, pair=pair(ALICE, BELLA)),
    "task-tiers": study(**TIERS).render("task", ME),
    "de-pair-tiers": study(languages=["de"], **TIERS).render("pair", ME, pair=pair(ALICE, BELLA)),
    "pair-amount": study(**AMOUNT).render("pair", ME, pair=pair(ALICE, BELLA)),
    "task-amount": study(languages=["de"], **AMOUNT).render("task", ME),
    "second-look": study(second_look=True).render("second_look", ME, groups=TOGETHER[1:2]),
    "second-look-full": FULL.render("second_look", ME, groups=TOGETHER, saved="31", kept=True),
    "de-second-look": GERMAN.render("second_look", ME, groups=TOGETHER, saved="40"),
    "ar-second-look": ARABIC.render("second_look", ME, groups=TOGETHER),
    "pair-again": PLAIN.render("pair", ME, pair=pair(ALICE, BELLA, Answer.SAME), again=True),
    "second-round": study(deliberation={"on": True}, design={"fixed": 5}).render("second_round", ME, pairs=AGAIN),
    "second-round-end": PLAIN.render("second_round", ME, pairs=AGAIN[:1], done=True),
    "second-round-pair": PLAIN.render("pair_again", ME, second=AGAIN[0]),
    "second-round-problem": FULL.render(
        "pair_again", ME, second=AGAIN[1], reported=True, problem="Choose one of the answers"
    ),
    "de-second-round-pair": GERMAN.render("pair_again", ME, second=AGAIN[0]),
    "ar-second-round-pair": ARABIC.render("pair_again", ME, second=AGAIN[0]),
    "second-round-alone": PLAIN.render("pair_again", ME, second=replace(AGAIN[1], shows_others=False)),
    "report-reason": PLAIN.render("report_reason", ME, position=7, reason=AGAIN[0].others[0].reasons[0]),
    "round-over": PLAIN.render("round_over", None, way_on="", resume=None, sent=False),
    "own-round-over": PLAIN.render("round_over", ME, way_on="closing", resume=None, sent=True),
    "thanks-second-round": PLAIN.render(
        "thanks", ME, receipt=Receipt("FW-7K3M-92QD", 50, datetime(2026, 3, 9, 14, 5, tzinfo=UTC)), second_round="now"
    ),
    "review-second-look": study(second_look=True).render("review", ME, pairs=ALL),
    "closing-again": PLAIN.render("closing", ME, again=True),
    "vote": PLAIN.render("vote", ME, vote=VoteView(1, Rule.CONDORCET, OPTIONS)),
    "vote-approval": GERMAN.render("vote", ME, vote=VoteView(1, Rule.APPROVAL, OPTIONS, saved=True)),
    "ar-vote": ARABIC.render("vote", ME, vote=VoteView(1, Rule.BORDA, OPTIONS), problem="Look again"),
    "questions": PLAIN.render("questions", ME, asked=[AskedQuestion(one) for one in QUESTIONS]),
    "questions-problem": PLAIN.render(
        "questions", ME, asked=[AskedQuestion(one, ("1",), "Look again") for one in QUESTIONS]
    ),
    "de-questions": GERMAN.render("questions", ME, asked=[AskedQuestion(one) for one in QUESTIONS], after=True),
    "ar-questions": ARABIC.render("questions", ME, asked=[AskedQuestion(one, ("2",)) for one in QUESTIONS], after=True),
}
# Two people with nine short columns, as on many forms of applicants, in any language; and "longer", where each word of
# ours in German is two fifths longer still.
SHORT = {
    "Age": ("34", "24"),
    "Sex": ("female", "male"),
    "Married": ("yes", "no"),
    "Children": ("2", "0"),
    "Schooling": ("12 years", "10 years"),
    "Income": ("2,400 euros", "1,950 euros"),
    "Savings": ("none", "5,000 euros"),
    "In this job for": ("6 years", "1 year"),
    "Unpaid loans": ("1", "0"),
}


class Longer(NullTranslations):
    """German with two fifths more letters."""

    def gettext(self, message: str) -> str:
        text = language("de").catalogue.gettext(message)
        letters = re.sub(r"%\(\w+\)s|<[^>]*>", "", text)
        return f"{text} {letters[: len(letters) * 2 // 5].strip()}"


def nine_columns(code: str, decided: Mapping[str, Any] = MappingProxyType({})) -> str:
    spoken = Language("de", Longer()) if code == "longer" else language(code)
    say = spoken.translate
    ours = StudySettings.model_fields
    told = {
        "title": "Loans",
        "question": say(ours["question"].default),
        "treated_well": say(usual_meaning(decided)),
        "answer_words": {name: say(field.default) for name, field in AnswerWords.model_fields.items()},
        "columns": tuple(ShownColumn(name=label, label=label) for label in SHORT),
        "mark_differences": True,
        **decided,
    }
    pages = Pages(StudySettings.model_validate(told), CONSENT, "", PREFIX, spoken=spoken)
    a, b = (Card("7", tuple(Row(label, both[side]) for label, both in SHORT.items())) for side in (0, 1))
    shown = Pair(7, 50, 6, a, b, key="the-key", nonce="the-nonce", stamp="the-stamp")
    return pages.render("pair", ME, pair=shown, undo=f"{ME.path}/pair/6")


def many_columns() -> str:
    labels = [f"Column {number}" for number in range(60)]
    pages = study(columns=tuple(ShownColumn(name=label, label=label) for label in labels))
    someone = Card("7", tuple(Row(label, "a value") for label in labels))
    return pages.render("pair", ME, pair=Pair(7, 50, 6, someone, someone))


STATIC = {f"{PREFIX}/static/{name}": file for name, file in read_static_files().items()}
NEXT = PLAIN.render("pair", ME, pair=pair(number=8), undo="/p/token/pair/6")


class Visit:
    """A tab on one page of the gallery; every form that is sent is kept, and answered with the next pair."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.complaints: list[str] = []
        self._other = ""
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.route("**/*", self._answer)

    def open(self, name: str) -> Page:
        self.page.goto(f"{HOST}{PREFIX}/{name}")
        return self.page

    def show(self, page: str) -> Page:
        """Open a page that is not in the gallery."""
        self._other = page
        return self.open("other")

    def answers(self) -> list[str]:
        return [fields.get("answer", "none") for _, fields in self.sent]

    def _answer(self, route: Route) -> None:
        asked = urlsplit(route.request.url)
        if asked.netloc != "localhost":
            self.complaints.append(route.request.url)
            route.abort()
        elif asked.path in STATIC:
            content, kind = STATIC[asked.path]
            route.fulfill(body=content, content_type=kind)
        elif route.request.method == "POST":
            fields = parse_qs(route.request.post_data or "", keep_blank_values=True)
            self.sent.append((asked.path, {name: " and ".join(values) for name, values in fields.items()}))
            self._show(route, NEXT)
        else:
            name = asked.path.removeprefix(f"{PREFIX}/")
            self._show(route, self._other if name == "other" else GALLERY[name])

    @staticmethod
    def _show(route: Route, page: str) -> None:
        headers = {"Content-Security-Policy": POLICY, "Content-Type": "text/html; charset=utf-8"}
        route.fulfill(body=page, headers=headers)


@contextmanager
def visiting(browser: Browser, size: tuple[int, int] = DESKTOP, **context: Any) -> Iterator[Visit]:
    """A visit; whatever the browser complains about, or asks of another host, fails the test."""
    with browser.new_context(viewport={"width": size[0], "height": size[1]}, **context) as session:
        visit = Visit(session.new_page())
        yield visit
        assert visit.complaints == []
