"""What each page of a study shows, asks and offers, and to whom."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest
from tests.support.every_page import ALICE, BELLA, Parsed, all_pages, card, pair, settings

from fairwise.judgments import Answer
from fairwise.study.cards import MEANINGS, Card, check_questions, practice_pair
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.study.texts import available, language
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.views import OwnPages, Pair, Receipt, Resume, ReviewPair


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


def test_practice_asks_the_real_question_and_says_what_a_press_means() -> None:
    told = settings(question="Is it fair?", treated_well="to be released")
    me, pages = OwnPages("/p/token", "", "the-csrf"), Pages(told, "", "")
    page = pages.render("practice", me)
    assert Parsed(page).all("form")[0]["action"] == "/p/token/practice"
    for words in ("Nothing you press here is kept", "Is it fair?", "to be released"):
        assert words in page
    assert {had["name"] for had in Parsed(page).all("input")} == {"csrf"}
    one, other = practice_pair()
    assert any(one.differences(other))
    for answer in told.allowed_answers:
        notice = pages.render("practice", me, pressed=answer).partition('class="notice"')[2].partition("</section>")[0]
        assert MEANINGS[answer] in notice
        assert told.words_of(answer) in notice
        assert 'name="done"' in notice


@pytest.mark.parametrize("kind", ["four", "two"])
def test_every_wrong_answer_of_the_check_is_explained(kind: str) -> None:
    told = settings(answers=kind)
    pages, me = Pages(told, "", ""), OwnPages("/p/t", "", "")
    for question in check_questions(told):
        for value, _ in question.options:
            page = pages.render(
                "check", me, tries=1, problem="no", wrong=[question.name], chosen={question.name: value}
            )
            assert ('class="explained"' in page) == (value != question.right or question.name != "change")
    assert 'class="explained"' not in pages.render("check", me, tries=1, problem="no", wrong=["either"])


@pytest.mark.parametrize("answer", list(Answer))
def test_only_the_current_answer_says_so(answer: Answer) -> None:
    me, pages = OwnPages("/p/token", "", ""), Pages(settings(), "", "")
    page = pages.render("pair", me, pair=pair(answer=answer))
    buttons = re.findall(r"<button name=.answer.*?</button>", page, re.DOTALL)
    assert [("Your answer" in button, 'class="chosen"' in button) for button in buttons] == [
        (other is answer,) * 2 for other in settings().allowed_answers
    ]
    assert "Your answer" not in pages.render("pair", me, pair=pair())


def test_rows_that_differ_are_marked_in_words_only_if_the_study_says_so() -> None:
    marked = all_pages(Pages(settings(mark_differences=True), "", ""))["pair"]
    rows = re.findall(r"<tr( class=.differs.)?><th scope=.row.><bdi>(.*?)</th>", marked)
    assert len(rows) == 6
    assert [label.partition("<")[0] for kind, label in rows if kind] == ["Age", "Prior offences"]
    assert all(("(differs)" in label) == bool(kind) for kind, label in rows)
    assert "differs" not in all_pages(Pages(settings(), "", ""))["pair"]


def test_only_features_are_shown() -> None:
    page = all_pages(Pages(settings(), "", ""), a=Card("id-of-alice", ALICE.rows))["pair"]
    assert "id-of-alice" not in page


def test_odd_values() -> None:
    odd = card("", "", "x" * 10_000, "=1+1", "שלום", "two\nlines")
    page = Pages(settings(), "", "").render("pair", OwnPages("/p/t", "", ""), pair=pair(a=odd))
    assert page.count("(empty)") == 2
    assert page.count('class="long"') == 1
    assert "x" * 10_000 in page
    assert '<td data-name="A"><bdi>שלום</bdi></td>' in page
    assert '<td data-name="A"><bdi>two\nlines</bdi></td>' in page


def test_why_and_confidence_only_if_asked_and_kept_as_given() -> None:
    me, shown = OwnPages("/p/t", "", ""), pair(answer=Answer.SAME, why="\n because", confidence=4)
    full = Pages(settings(ask_why=True, ask_confidence=True), "", "")
    assert "textarea" not in full.render("pair", me, pair=shown)  # first the answer
    asked = full.render("why", me, pair=shown)
    hidden = {had["name"]: had["value"] for had in Parsed(asked).all("input", type="hidden")}
    assert hidden == {"csrf": "", "key": "the-key", "nonce": "the-nonce", "stamp": "the-stamp", "answer": "same"}
    assert Parsed(asked).all("textarea", name="why", maxlength="2000")
    assert ">\n\n because</textarea>" in asked  # the first line break after the tag is not part of the text
    radios = Parsed(asked).all("input", name="confidence")
    assert [(had["value"], "checked" in had) for had in radios] == [(str(n), n == 4) for n in range(1, 6)]


def test_ways_on_and_back() -> None:
    me, pages = OwnPages("/p/t", "", ""), Pages(settings(), "", "")

    def ways(shown: Pair) -> list[str]:
        return re.findall(r'href="/p/t/([^"]*)"', pages.render("pair", me, pair=shown))[:-1]

    assert ways(pair(number=1)) == ["review"]
    assert ways(pair(number=7)) == ["pair/6", "review"]
    assert ways(pair(number=7, answer=Answer.SAME)) == ["pair/6", "review", "pair/8"]
    assert ways(pair(number=50, answer=Answer.SAME)) == ["pair/49", "review"]


def test_saved_and_progress() -> None:
    me, pages = OwnPages("/p/t", "", ""), Pages(settings(), "", "")
    saved, unsaved = pages.render("pair", me, pair=pair(), undo="/p/t/pair/6"), pages.render("pair", me, pair=pair())
    assert '<a class="undo" href="/p/t/pair/6">Undo</a>' in saved
    assert "Undo" not in unsaved
    assert re.search(r'role="status"[^>]*>Saved<', saved)
    assert ">Saved<" not in unsaved
    assert "Pair 7 of 50" in unsaved
    assert ">6 answered<" in unsaved
    assert Parsed(unsaved).all("progress")[0]["value"] == "6"


def test_review_says_what_is_open_and_leads_on_only_when_nothing_is() -> None:
    me = OwnPages("/p/t", "", "")
    some = Pages(settings(pairs=30), "", "").render(
        "review",
        me,
        pairs=[ReviewPair(number, (ALICE, BELLA), None if number > 8 else Answer.SAME) for number in range(1, 31)],
    )
    assert "8 of 30 pairs are answered" in some
    assert "and 12 more" in some
    assert 'href="/p/t/closing"' not in some
    assert some.count("Not answered yet") == 22
    whole = Pages(settings(pairs=2), "", "").render(
        "review",
        me,
        pairs=[ReviewPair(1, (ALICE, BELLA), Answer.SAME), ReviewPair(2, (BELLA, ALICE), Answer.NO_CONSTRAINT)],
    )
    assert 'href="/p/t/closing"' in whole
    assert "Either may be treated better" in whole
    assert "Not answered yet" not in whole
    people = re.findall(r'<span class="label" dir="auto">Age</span> <span dir="auto">(.*?)</span>', whole)
    assert people == ["34 years", "24 years", "24 years", "34 years"]


@pytest.mark.parametrize(("kind", "names"), [("four", ["order", "either", "change"]), ("two", ["either", "change"])])
def test_the_check_can_be_graded(kind: str, names: list[str]) -> None:
    told = settings(answers=kind)
    questions = check_questions(told)
    assert [question.name for question in questions] == names
    assert all(question.right in dict(question.options) for question in questions)
    right = {question.name: question.right for question in questions}
    radios = Parsed(Pages(told, "", "").render("check", OwnPages("/p/t", "", ""), tries=0, chosen=right)).all(
        "input", type="radio"
    )
    assert {str(had["name"]): had["value"] for had in radios if "checked" in had} == right


def test_consent_offers_to_go_on_only_on_a_device_that_began() -> None:
    pages = Pages(settings(), "", "", "/s")
    fresh = pages.render("consent", start_key="the-start", csrf="the-csrf", resume=None)
    assert "Go on where you stopped" not in fresh
    assert 'href="/s/p/token"' in pages.render("consent", start_key="", csrf="", resume=Resume("/s/p/token"))
    parsed = Parsed(fresh)
    assert parsed.all("form")[0]["action"] == "/s/consent"
    assert [had["value"] for had in parsed.all("button", name="decision")] == ["agree", "decline"]
    assert {had["name"]: had["value"] for had in parsed.all("input")} == {"csrf": "the-csrf", "start_key": "the-start"}


def test_a_receipt_says_when_in_universal_time() -> None:
    moment = datetime(2026, 3, 9, 1, 5, tzinfo=timezone(timedelta(hours=2)))
    page = Pages(settings(), "", "").render(
        "thanks", OwnPages("/p/t", "https://host/p/t", ""), receipt=Receipt("FW-1", 50, moment)
    )
    assert "8 March 2026, 23:05 UTC" in page
    assert 'datetime="2026-03-09T01:05:00+02:00"' in page
    assert "FW-1" in page
    assert "https://host/p/t" in page


def test_withdrawing_is_offered_to_participants_only() -> None:
    offered = {
        name for name, page in all_pages(Pages(settings(), "", "")).items() if 'href="/p/token/withdraw"' in page
    }
    nobodys = {"consent", "closed_door", "id_taken", "whose_device", "wall", "talking_wall", "declined"}
    nobodys |= {"withdrawn", "closed", "message", "round_over"}
    assert offered == set(all_pages(Pages(settings(), "", ""))) - nobodys


def test_contact_only_where_there_is_one() -> None:
    assert "me@example.org" in Pages(settings(), "", "").render("declined")
    assert "Questions?" not in Pages(settings(contact=""), "", "").render("declined")


def test_a_mail_address_can_be_pressed_and_other_words_are_words() -> None:
    def told(contact: str) -> str:
        return Pages(settings(contact=contact), "", "").render("declined")

    assert '<a href="mailto:me@example.org">me@example.org</a>' in told("me@example.org")
    for words in ("Room 7, Town Hall", "me@example.org, room 7", "a@b.c?subject=x&body=y", "<b>@example.org"):
        assert "mailto:" not in told(words)


LEAST = {"title": "t", "columns": [{"name": "age", "label": "Age"}]}
DECISIONS = [
    {"label": "l0", "words": "<i>kept</i> in prison", "value": 0},
    {"label": "l2", "words": "released", "value": 1},
    {"label": "l1", "words": "under conditions", "value": 0.625},
    {"label": "l3", "words": "with a bracelet", "value": 0.625},
]


@pytest.mark.parametrize("code", available())
def test_decisions_come_from_best_to_worst_without_their_labels_and_values(code: str) -> None:
    told = StudySettings.checked({**LEAST, "languages": [code], "decisions": DECISIONS}, "study")
    every = all_pages(Pages(told, "", ""))
    for page in (every["task"], every["pair"]):
        tiers = re.search(r'<ol class="tiers".*?</ol>', page, flags=re.DOTALL)
        assert tiers is not None
        assert [re.sub(r"</?bdi>", "", one) for one in re.findall(r"<li>(.*?)</li>", tiers[0])] == [
            "released",
            "under conditions / with a bracelet",
            "&lt;i&gt;kept&lt;/i&gt; in prison",
        ]
        assert language(code).translate("Here, “treated well” means, from best to worst:") in page
        assert not re.search(r"0[.,]625|\bl[0-3]\b", page)


def test_own_words_stand_above_the_decisions() -> None:
    told = {**LEAST, "treated_well": "to be free", "decisions": DECISIONS}
    page = all_pages(Pages(StudySettings.checked(told, "study"), "", ""))["task"]
    assert page.index("means: <bdi>to be free</bdi>") < page.index("From best to worst:") < page.index("released")


def test_amounts_are_read_with_their_range() -> None:
    amount = {"unit": "DM", "least": 0, "most": 20_000.5, "better": "less"}
    told = {**LEAST, "languages": ["de"], "amount": amount}
    page = all_pages(Pages(StudySettings.checked(told, "study"), "", ""))["task"]
    assert "heißt hier: <bdi>einen kleineren Betrag zu erhalten</bdi>" in page
    assert "Von <bdi>0</bdi> bis <bdi>20.000,5 DM</bdi>" in page
