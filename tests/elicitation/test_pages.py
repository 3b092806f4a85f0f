"""The pages of a study as text: everything escaped, every address under the prefix, nothing inline, little weight."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from time import perf_counter

import pytest
from markupsafe import Markup

from fairwise.elicitation.cards import Card, Row
from fairwise.elicitation.recruitment_settings import Relation
from fairwise.elicitation.settings import AnswerWords, Column, StudySettings
from fairwise.elicitation.store.rooms import Room
from fairwise.elicitation.treatment import Treatment
from fairwise.elicitation.web.assets import read_static_files, version_of
from fairwise.elicitation.web.pages import Pages
from fairwise.elicitation.web.rehearsal import check_questions, practice_pair, wrong_answers
from fairwise.elicitation.web.views import (
    Answered,
    Closing,
    Given,
    Me,
    Pair,
    PairResult,
    PanelResult,
    Receipt,
    Result,
    WayBack,
)
from fairwise.judgments import Answer

LABELS = ("Sex", "Age", "Race", "Juvenile felonies", "Prior offences", "Severity of the charge")
EVIL = "<script>alert('1')</script>\"' onclick=x {{ 7*7 }} </textarea><img src=x>"
NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
VOID = {"meta", "link", "input", "img", "br", "hr", "wbr"}

# What participants load; the rest is the console's.
OURS = ("study.css", "study.js")
# Pages on which nothing is asked.
NO_PROBLEMS = {"declined", "withdrawn", "thanks", "back", "wall", "screened_out", "not_open", "closed", "message"}
NO_PROBLEMS |= {"result", "result now"}


def settings(**changes: object) -> StudySettings:
    columns = tuple(Column(name=label, label=label) for label in LABELS)
    return StudySettings.model_validate(
        {"title": "Fair decisions", "treated_well": "to be released", "columns": columns, "contact": "me@example.org"}
        | changes
    )


def card(*texts: str, labels: tuple[str, ...] = LABELS) -> Card:
    return Card("7", tuple(Row(label, text) for label, text in zip(labels, texts, strict=True)))


ALICE = card("Female", "34 years", "Asian", "0", "3", "Felony")
BELLA = card("Female", "24 years", "Asian", "0", "1", "Felony")


def pair(a: Card = ALICE, b: Card = BELLA, given: Given | None = None, number: int = 7) -> Pair:
    return Pair(number, 50, 6, a, b, given, key="the-key", nonce="the-nonce", stamp="the-stamp")


def result(a: Card, b: Card) -> Result:
    pairs = (PairResult(1, a, b, Treatment(Answer.SAME, 0.4, 0.52, 0.1), counts=True),)
    return Result(pairs, PanelResult(2, 3, 1, 0.3, 0.2), 0.1, is_newer=True)


def all_pages(pages: Pages, prefix: str = "", text: str = "text", a: Card = ALICE, b: Card = BELLA) -> dict[str, str]:
    """Every page, with ``text`` wherever somebody's text may stand."""
    me = Me(f"{prefix}/p/token", f"https://study.example{prefix}/p/token", "the-csrf")
    given = Given(Answer.SAME, why=text, confidence=4)
    return {
        "consent": pages.consent(start_key=text, csrf=text, resume=f"{prefix}/p/token", problem=text),
        "declined": pages.declined(),
        "withdrawn": pages.withdrawn(),
        "closed_door": pages.closed_door(code_csrf=text, resume=f"{prefix}/p/token", problem=text, typed=text),
        "wall": pages.wall(Room(1, text, text, True, 2, 1), address=text, qr=Markup("<svg></svg>")),
        "relation": pages.relation(me, problem=text),
        "screened_out": pages.screened_out(me, back=WayBack(text, f"{prefix}/p/token/back")),
        "back": pages.thanks(me, Receipt(text, 50, NOON), WayBack(text, f"{prefix}/p/token/back", text)),
        "task": pages.task(me, problem=text),
        "check": pages.check(me, tries=1, problem=text, wrong=["either"], given={"either": text}),
        "practice": pages.practice(me, problem=text),
        "pair": pages.pair(me, pair(a, b, given), saved=True, problem=text),
        "why": pages.pair(me, pair(a, b, given), saved=False, problem=text, problem_at="why"),
        "review": pages.review(me, [Answered(1, Answer.SAME), Answered(2, None)], saved=True, problem=text),
        "closing": pages.closing(me, Closing(text, text, text), problem=text),
        "thanks": pages.thanks(me, Receipt(text, 50, NOON)),
        "result": pages.result(me, result(a, b)),
        "result now": pages.thanks(me, Receipt(text, 50, NOON), result="now"),
        "withdraw": pages.withdraw(me, problem=text),
        "not_open": pages.not_open(me, closed=False, here=f"{prefix}/p/token", resume=None, sent={text: text}),
        "closed": pages.not_open(None, closed=True, here=f"{prefix}/", resume=f"{prefix}/p/token", sent=None),
        "message": pages.message(heading=text, text=text, back=f"{prefix}/"),
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


def test_nobodys_text_becomes_markup() -> None:
    words = AnswerWords(same="1" + EVIL, a_at_least_b="2" + EVIL, b_at_least_a="3" + EVIL, no_constraint="4" + EVIL)
    relations = [{"name": f"{k}{EVIL}", "words": f"{k}{EVIL}"} for k in range(2)]
    told = settings(title=EVIL, question=EVIL, treated_well=EVIL, contact=EVIL, answer_words=words)
    told = told.model_copy(
        update={"relation_question": EVIL, "relations": tuple(map(Relation.model_validate, relations))}
    )
    told = told.model_copy(update={"ask_why": True, "ask_confidence": True, "mark_differences": True})
    evil = card(*[EVIL] * 6, labels=tuple(EVIL + label for label in LABELS))
    for name, page in all_pages(Pages(told, "", ""), text=EVIL, a=evil, b=evil).items():
        parsed = Parsed(page)
        assert [had.get("src", "inline") for had in parsed.all("script")] == [f"/static/study.js?v={js_version()}"], (
            name
        )
        assert parsed.all("img") == [], name
        assert not [key for _, had in parsed.elements for key in had if key.startswith("on")], name
        assert "{{ 7*7 }}" in page, name


def js_version() -> str:
    return version_of(read_static_files()["study.js"][0])


def test_the_two_documents_are_markup_below_the_heading_of_their_page() -> None:
    pages = Pages(settings(), "<h1>Consent</h1><h2>More</h2><p>yes</p>", "<h2>Task</h2>")
    consent, task = pages.consent(start_key="", csrf="", resume=None), pages.task(Me("/p/t", "", ""))
    assert "<h2>Consent</h2><h3>More</h3><p>yes</p>" in consent
    assert "<h2>Task</h2>" in task
    assert len(Parsed(consent).all("h1")) == len(Parsed(task).all("h1")) == 1


@pytest.mark.parametrize("given", ["", "/study1", "/study1/"])
def test_every_address_is_under_the_prefix(given: str) -> None:
    prefix = given.rstrip("/")
    for name, page in all_pages(Pages(settings(), "", "", given), prefix).items():
        found = [
            value
            for _, had in Parsed(page).elements
            for key, value in had.items()
            if key in {"href", "src", "action", "formaction", "data", "poster", "srcset"}
        ]
        assert len(found) > 3, name
        for address in found:
            assert address == "data:," or re.match(rf"#[\w-]+$|{prefix}/(?!/)(?!study1)", address or ""), (
                name,
                address,
            )


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    for name, page in all_pages(Pages(settings(ask_why=True, mark_differences=True), "", "")).items():
        parsed = Parsed(page)
        assert parsed.all("style") == [], name
        assert not [had for _, had in parsed.elements if "style" in had], name
        assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""], name
        shown = page.replace("https://study.example/p/token", "")
        assert "://" not in shown, name
    style, script = (read_static_files()[name][0].decode() for name in ("study.css", "study.js"))
    assert not re.search(r"@import|url\(|://", style)
    assert not re.search(r"://|fetch|XMLHttp|innerHTML|eval", script)


def test_a_pair_weighs_little_with_style_and_script() -> None:
    full = Pages(settings(mark_differences=True, ask_why=True, ask_confidence=True), "", "")
    page = all_pages(full)["pair"]
    weight = len(page.encode()) + sum(len(full.static_files[name][0]) for name in OURS)
    assert 10_000 < weight <= 60_000


def test_static_files_are_named_by_their_content() -> None:
    files = read_static_files()
    kinds = {".css": "text/css", ".js": "text/javascript"}
    for name, (_, kind) in files.items():
        assert kind.partition(";")[0] == kinds[Path(name).suffix]
    assert version_of(b"a") != version_of(b"b")
    page = Pages(settings(), "", "", "/x").declined()
    for name in OURS:
        content, _ = files[name]
        assert f'"/x/static/{name}?v={version_of(content)}"' in page


@pytest.mark.parametrize(
    ("kind", "values"),
    [("four", ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]), ("two", ["same", "no_constraint"])],
)
def test_the_buttons_are_the_answers_in_their_order(kind: str, values: list[str]) -> None:
    told = settings(answers=kind, answer_words=AnswerWords(same="Alike"))
    for page in (all_pages(Pages(told, "", ""))[name] for name in ("pair", "practice")):
        buttons = Parsed(page).all("button", name="answer")
        assert [had["value"] for had in buttons] == values
        assert [had["aria-keyshortcuts"] for had in buttons] == [str(key + 1) for key in range(len(values))]
        assert page.count("Alike") == 2  # the button, and what it means
        assert len(re.findall(r"<dt [^>]*>Alike</dt>", page)) == 1


def test_a_pair_is_sent_with_its_key_nonce_stamp_and_token() -> None:
    parsed = Parsed(all_pages(Pages(settings(), "", ""))["pair"])
    assert parsed.all("form")[0]["action"] == "/p/token/pair/7"
    hidden = {had["name"]: had["value"] for had in parsed.all("input", type="hidden")}
    assert hidden == {"csrf": "the-csrf", "key": "the-key", "nonce": "the-nonce", "stamp": "the-stamp"}


def test_practice_is_sent_elsewhere_and_is_not_about_fairness() -> None:
    told = settings(question="Is it fair?", treated_well="to be released")
    page = Pages(told, "", "").practice(Me("/p/token", "", "the-csrf"))
    assert Parsed(page).all("form")[0]["action"] == "/p/token/practice"
    assert "not kept" in page
    assert "Is it fair?" not in page
    assert "to be released" not in page
    assert {had["name"] for had in Parsed(page).all("input")} == {"csrf"}
    one, other = practice_pair()
    assert any(one.differences(other))


@pytest.mark.parametrize("answer", list(Answer))
def test_only_the_current_answer_says_so(answer: Answer) -> None:
    me, pages = Me("/p/token", "", ""), Pages(settings(), "", "")
    page = pages.pair(me, pair(given=Given(answer)), saved=False)
    buttons = re.findall(r"<button name=.answer.*?</button>", page, re.DOTALL)
    assert [("Your answer" in button, 'class="chosen"' in button) for button in buttons] == [
        (other is answer,) * 2 for other in settings().allowed_answers
    ]
    assert "Your answer" not in pages.pair(me, pair(), saved=False)


def test_rows_that_differ_are_marked_in_words_only_if_the_study_says_so() -> None:
    marked = all_pages(Pages(settings(mark_differences=True), "", ""))["pair"]
    rows = re.findall(r"<div( class=.differs.)?><dt [^>]*>(.*?)</dt><dd [^>]*>(.*?)</dd>", marked)
    assert len(rows) == 12
    assert [label for kind, label, _ in rows if kind] == ["Age", "Prior offences"] * 2
    assert all(("differs" in shown) == bool(kind) for kind, _, shown in rows)
    assert "differs" not in all_pages(Pages(settings(), "", ""))["pair"]


def test_only_features_are_shown() -> None:
    page = all_pages(Pages(settings(), "", ""), a=Card("id-of-alice", ALICE.rows))["pair"]
    assert "id-of-alice" not in page


def test_odd_values() -> None:
    odd = card("", "  \n", "x" * 10_000, "=1+1", "שלום", "two\nlines")
    page = Pages(settings(), "", "").pair(Me("/p/t", "", ""), pair(a=odd), saved=False)
    assert page.count("(empty)") == 2
    assert page.count('class="long"') == 1
    assert "x" * 10_000 in page
    assert '<dd dir="auto">שלום</dd>' in page
    assert '<dd dir="auto">two\nlines</dd>' in page


def test_why_and_confidence_only_if_asked_and_kept_as_given() -> None:
    me, given = Me("/p/t", "", ""), Given(Answer.SAME, why="\n because", confidence=4)
    plain = Parsed(Pages(settings(), "", "").pair(me, pair(given=given), saved=False))
    assert plain.all("textarea") == plain.all("input", type="radio") == []
    asked = Pages(settings(ask_why=True, ask_confidence=True), "", "").pair(me, pair(given=given), saved=False)
    assert Parsed(asked).all("textarea", name="why", maxlength="2000")
    assert ">\n\n because</textarea>" in asked  # the first line break after the tag is not part of the text
    radios = Parsed(asked).all("input", name="confidence")
    assert [(had["value"], "checked" in had) for had in radios] == [(str(n), n == 4) for n in range(1, 6)]
    sent = Pages(settings(ask_why=True, ask_confidence=True), "", "").pair(
        me, pair(given=given), saved=False, problem="Choose an answer", why="sent", confidence=2
    )
    assert ">\nsent</textarea>" in sent
    assert [had["value"] for had in Parsed(sent).all("input", name="confidence") if "checked" in had] == ["2"]


def test_ways_on_and_back() -> None:
    me, pages = Me("/p/t", "", ""), Pages(settings(), "", "")

    def ways(shown: Pair) -> list[str]:
        return re.findall(r'href="/p/t/([^"]*)"', pages.pair(me, shown, saved=False))[:-1]

    assert ways(pair(number=1)) == ["review"]
    assert ways(pair(number=7)) == ["pair/6", "review"]
    assert ways(pair(number=7, given=Given(Answer.SAME))) == ["pair/6", "review", "pair/8"]
    assert ways(pair(number=50, given=Given(Answer.SAME))) == ["pair/49", "review"]


def test_saved_and_progress() -> None:
    me, pages = Me("/p/t", "", ""), Pages(settings(), "", "")
    saved, unsaved = (pages.pair(me, pair(), saved=flag) for flag in (True, False))
    assert re.search(r'role="status"[^>]*>Saved<', saved)
    assert ">Saved<" not in unsaved
    assert "Pair 7 of 50" in unsaved
    assert ">6 answered<" in unsaved
    assert Parsed(unsaved).all("progress")[0]["value"] == "6"


def test_a_problem_is_told_first_linked_and_in_the_title() -> None:
    told = settings(ask_why=True, relations=[{"name": "a", "words": "A"}, {"name": "b", "words": "B"}])
    for name, page in all_pages(Pages(told, "", ""), text="Something is wrong").items():
        if name in NO_PROBLEMS:
            assert "Error: " not in page, name
            continue
        parsed = Parsed(page)
        assert "<title>Error: " in page, name
        assert len(parsed.all("div", role="alert")) == 1, name
        linked = re.search(r'role="alert".*?href="#([\w-]+)"', page, re.DOTALL)
        assert linked, name
        assert [had for _, had in parsed.elements if had.get("id") == linked[1]], name
    pages = Pages(settings(), "", "")
    assert "Error" not in pages.pair(Me("/p/t", "", ""), pair(), saved=False)
    assert "Error" not in pages.check(Me("/p/t", "", ""), tries=0)


def test_ids_are_unique_and_refer_to_something() -> None:
    full = Pages(settings(ask_why=True, ask_confidence=True), "", "")
    for name, page in all_pages(full).items():
        elements = Parsed(page).elements
        ids = [had["id"] for _, had in elements if "id" in had]
        assert len(ids) == len(set(ids)), name
        for key in ("for", "aria-labelledby", "aria-describedby", "data-copy"):
            assert {had[key] for _, had in elements if key in had} <= set(ids), (name, key)


def test_review_says_what_is_open_and_leads_on_only_when_nothing_is() -> None:
    me, pages = Me("/p/t", "", ""), Pages(settings(), "", "")
    some = pages.review(me, [Answered(number, None if number > 8 else Answer.SAME) for number in range(1, 31)])
    assert "8 of 30 pairs are answered" in some
    assert "and 12 more" in some
    assert 'href="/p/t/closing"' not in some
    assert some.count("Not answered yet") == 22
    whole = pages.review(me, [Answered(1, Answer.SAME), Answered(2, Answer.NO_CONSTRAINT)])
    assert 'href="/p/t/closing"' in whole
    assert "Either may be treated better" in whole
    assert "Not answered yet" not in whole


@pytest.mark.parametrize(("kind", "names"), [("four", ["order", "either", "change"]), ("two", ["either", "change"])])
def test_the_check_can_be_graded(kind: str, names: list[str]) -> None:
    told = settings(answers=kind)
    questions = check_questions(told)
    assert [question.name for question in questions] == names
    assert all(question.right in dict(question.options) for question in questions)
    right = {question.name: question.right for question in questions}
    assert wrong_answers(told, right) == ()
    assert wrong_answers(told, {}) == tuple(names)
    assert wrong_answers(told, right | {"change": "no"}) == ("change",)
    radios = Parsed(Pages(told, "", "").check(Me("/p/t", "", ""), tries=0, given=right)).all("input", type="radio")
    assert {str(had["name"]): had["value"] for had in radios if "checked" in had} == right


def test_consent_offers_to_go_on_only_on_a_device_that_began() -> None:
    pages = Pages(settings(), "", "", "/s")
    fresh = pages.consent(start_key="the-start", csrf="the-csrf", resume=None)
    assert "Go on where you stopped" not in fresh
    assert 'href="/s/p/token"' in pages.consent(start_key="", csrf="", resume="/s/p/token")
    parsed = Parsed(fresh)
    assert parsed.all("form")[0]["action"] == "/s/consent"
    assert [had["value"] for had in parsed.all("button", name="decision")] == ["agree", "decline"]
    assert {had["name"]: had["value"] for had in parsed.all("input")} == {"csrf": "the-csrf", "start_key": "the-start"}


def test_a_receipt_says_when_in_universal_time() -> None:
    moment = datetime(2026, 3, 9, 1, 5, tzinfo=timezone(timedelta(hours=2)))
    page = Pages(settings(), "", "").thanks(Me("/p/t", "https://host/p/t", ""), Receipt("FW-1", 50, moment))
    assert "8 March 2026, 23:05 UTC" in page
    assert 'datetime="2026-03-09T01:05:00+02:00"' in page
    assert "FW-1" in page
    assert "https://host/p/t" in page


def test_withdrawing_is_offered_to_participants_only() -> None:
    offered = {
        name for name, page in all_pages(Pages(settings(), "", "")).items() if 'href="/p/token/withdraw"' in page
    }
    nobodys = {"consent", "closed_door", "wall", "declined", "withdrawn", "closed", "message"}
    assert offered == set(all_pages(Pages(settings(), "", ""))) - nobodys


def test_contact_only_where_there_is_one() -> None:
    assert "me@example.org" in Pages(settings(), "", "").declined()
    assert "Questions?" not in Pages(settings(contact=""), "", "").declined()


def test_a_pair_is_rendered_in_well_under_a_millisecond() -> None:
    pages = Pages(settings(ask_why=True, ask_confidence=True, mark_differences=True), "", "")
    me, shown = Me("/p/t", "", ""), pair(given=Given(Answer.SAME))
    fastest = float("inf")
    for _ in range(200):
        begun = perf_counter()
        pages.pair(me, shown, saved=True)
        fastest = min(fastest, perf_counter() - begun)
    assert fastest < 0.001
