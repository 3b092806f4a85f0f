"""The pages of a study as text: everything escaped, every address under the prefix, nothing inline, little weight."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.every_page import LABELS, Parsed, all_pages, card, pair, settings

from fairwise.study.recruitment import Relation
from fairwise.study.settings import AnswerWords
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import read_static_files, version_of
from fairwise.web.shared.views import OwnPages

EVIL = "<script>alert('1')</script>\"' onclick=x {{ 7*7 }} </textarea><img src=x>"

# What participants load; the rest is the console's.
OURS = ("study.css", "study.js")
# Of a room that talks, which have a script of their own.
IN_ROOM = {"talking_wall", "room", "pair in a room"}
# Pages on which nothing is asked.
NO_PROBLEMS = {
    "declined",
    "withdrawn",
    "thanks",
    "back",
    "wall",
    "talking_wall",
    "room",
    "screened_out",
    "not_open",
    "closed",
    "message",
}
NO_PROBLEMS |= {
    "round_over",
    "own_round_over",
    "second_round",
    "second_round_end",
    "pair_again_alone",
    "report_reason",
    "second_round_now",
    "second_round_later",
    "result",
    "why",
    "pressed",
    "check_failed",
    "result now",
    "whose_device",
    "id_taken",
    "no_place",
    "task",
    "closing",
    "withdraw",
}


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
        loaded = [had.get("src", "inline") for had in parsed.all("script")]
        assert loaded[0] == f"/static/study.js?v={js_version()}", name
        assert [str(one).partition("?")[0] for one in loaded[1:]] == ["/static/room.js"] * (name in IN_ROOM), name
        assert parsed.all("img") == [], name
        assert not [key for _, had in parsed.elements for key in had if key.startswith("on")], name
        assert "{{ 7*7 }}" in page, name


def js_version() -> str:
    return version_of(read_static_files()["study.js"][0])


def test_the_two_documents_are_markup_below_the_heading_of_their_page() -> None:
    pages = Pages(settings(), "<h1>Consent</h1><h2>More</h2><p>yes</p>", "<h2>Task</h2>")
    consent, task = (
        pages.render("consent", start_key="", csrf="", resume=None),
        pages.render("task", OwnPages("/p/t", "", "")),
    )
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
            assert address in ("data:,", "mailto:me@example.org") or re.match(
                rf"#[\w-]+$|{prefix}/(?!/)(?!study1)", address or ""
            ), (
                name,
                address,
            )


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    for name, page in all_pages(Pages(settings(ask_why=True, mark_differences=True), "", "")).items():
        parsed = Parsed(page)
        assert parsed.all("style") == [], name
        assert not [had for _, had in parsed.elements if "style" in had], name
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
        assert scripts == [""] * (1 + (name in IN_ROOM)), name
        shown = page.replace("https://study.example/p/token", "")
        assert "://" not in shown, name
    style, script = (read_static_files()[name][0].decode() for name in ("study.css", "study.js"))
    assert not re.search(r"@import|url\(|://", style)
    assert not re.search(r"://|fetch|XMLHttp|innerHTML|eval", script)


def test_a_pair_weighs_little_with_style_and_script() -> None:
    full = Pages(settings(mark_differences=True, ask_why=True, ask_confidence=True), "", "")
    page = all_pages(full)["pair"]
    weight = len(page.encode()) + sum(len(read_static_files()[name][0]) for name in OURS)
    assert 10_000 < weight <= 60_000


def test_static_files_are_named_by_their_content() -> None:
    files = read_static_files()
    kinds = {".css": "text/css", ".js": "text/javascript"}
    for name, (_, kind) in files.items():
        assert kind.partition(";")[0] == kinds[Path(name).suffix]
    assert version_of(b"a") != version_of(b"b")
    page = Pages(settings(), "", "", "/x").render("declined")
    for name in OURS:
        content, _ = files[name]
        assert f'"/x/static/{name}?v={version_of(content)}"' in page


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
    assert "Error" not in pages.render("pair", OwnPages("/p/t", "", ""), pair=pair())
    assert "Error" not in pages.render("check", OwnPages("/p/t", "", ""), tries=0)


def test_ids_are_unique_and_refer_to_something() -> None:
    full = Pages(settings(ask_why=True, ask_confidence=True), "", "")
    for name, page in all_pages(full).items():
        elements = Parsed(page).elements
        ids = [had["id"] for _, had in elements if "id" in had]
        assert len(ids) == len(set(ids)), name
        for key in ("for", "aria-labelledby", "aria-describedby", "data-copy"):
            assert {one for _, had in elements for one in (had.get(key) or "").split()} <= set(ids), (name, key)
