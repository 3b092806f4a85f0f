"""Links and rooms: made in the browser, shown once, kept only as hashes, and revoked."""

from __future__ import annotations

import csv
import io
import random
import re
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
import sqlalchemy as sa
from tests.support.operating import Operating, operating
from tests.support.signed_links import Panel
from tests.support.visits import Visit, hidden
from tests.support.watching import take_part

from fairwise.store import recruitment
from fairwise.store.quotas import SAME_ID
from fairwise.store.schema import events, metadata
from fairwise.study.recruitment import Keys
from fairwise.web.console import recruitment as recruitment_pages
from fairwise.web.console.recruitment import MOST_LINKS
from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx2 import Response

LINK = re.compile(r"https://study\.example(/p/[A-Za-z0-9_-]{24})")


@pytest.fixture
def console(make_study: Any, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    folder = make_study(recruitment={"open": False, "panel": "prolific"}, practice=False)
    with operating(folder.path, new_database()) as opened:
        opened.set_up()
        yield opened


def make(console: Operating, **fields: str) -> Response:
    """Fill in the form of the page, with whatever is hidden in it."""
    page = console.get("/coming").text
    once = re.search(r'name="once" value="([^"]*)"', page)
    assert once is not None
    return console.post("/coming/links", once=once[1], **fields)


def kept(console: Operating) -> list[recruitment.Invited]:
    return console.site.host.store.read_now(recruitment.all_invited)


def everything(console: Operating) -> str:
    return console.site.host.store.read_now(
        lambda c: repr([c.execute(sa.select(table)).all() for table in metadata.sorted_tables])
    )


def test_links_by_number_are_shown_once_and_work(console: Operating) -> None:
    page = make(console, count="3").text
    links = LINK.findall(page)
    assert len(set(links)) == 3
    assert len(kept(console)) == 3
    assert all(link.removeprefix("/p/") not in everything(console) for link in links)
    assert LINK.search(console.get("/coming").text) is None
    take_part(console, 1, link=links[0])
    assert [one.state for one in kept(console)] == ["invited", "invited", "used"]
    assert 'used</span> by <a href="/admin/participants/1">' in console.get("/coming").text
    assert console.get("/coming?state=used").text.count('<th scope="row">') == 1


def test_names_are_taken_as_pasted_and_the_file_is_safe_in_a_spreadsheet(console: Operating) -> None:
    page = make(console, names="Ann\r\n\r\n  =HYPERLINK(1) \n<b>Bea</b>, 'x'\n").text
    address = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)" download="links-[0-9-]+\.csv"', page)
    assert address is not None
    rows = list(csv.reader(io.StringIO(unquote(unescape(address[1])))))
    assert [row[0] for row in rows] == ["name", "Ann", "'=HYPERLINK(1)", "<b>Bea</b>, 'x'"]
    assert rows[0] == ["name", "email", "link", "subject", "letter"]
    assert all(row[2] in row[4] for row in rows[1:])
    assert "mailto:?subject=" in page
    assert [row[2] for row in rows[1:]] == [f"https://study.example{link}" for link in LINK.findall(page)]
    assert {one.name for one in kept(console)} == {"Ann", "=HYPERLINK(1)", "<b>Bea</b>, 'x'"}
    assert "&lt;b&gt;Bea" in console.get("/coming").text


def test_a_form_sent_again_makes_no_other_links(console: Operating) -> None:
    once = {"once": Keys.new(), "names": "Ann\nBea"}
    first, second = console.post("/coming/links", **once), console.post("/coming/links", **once)
    assert LINK.findall(first.text) == LINK.findall(second.text)
    assert len(kept(console)) == 2
    assert len(LINK.findall(make(console, names="Ann\nBea").text)) == 2
    assert len(kept(console)) == 4


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "either a number"),
        ({"count": "2", "names": "Ann"}, "either a number"),
        ({"count": "0"}, f"1 to {MOST_LINKS}"),
        ({"count": "many"}, f"1 to {MOST_LINKS}"),
        ({"count": str(MOST_LINKS + 1)}, f"1 to {MOST_LINKS}"),
        ({"names": "x\n" * (MOST_LINKS + 1)}, f"at most {MOST_LINKS}"),
        ({"names": "x" * 201}, "longer than 200"),
        ({"names": "x" * 601}, "longer than 200"),
    ],
)
def test_what_makes_no_sense_is_said_and_what_was_typed_is_kept(
    console: Operating, fields: dict[str, str], said: str
) -> None:
    page = make(console, **fields)
    assert (page.status_code, said in page.text) == (422, True)
    for typed in fields.values():
        assert typed.strip() in unescape(page.text)
    assert kept(console) == []


def test_revoking_a_link(console: Operating) -> None:
    used, unused = LINK.findall(make(console, names="Ann\nBea").text)
    consent = hidden(console.client.get(unused))
    take_part(console, 1, link=used)
    for one in kept(console):
        assert "was revoked" in console.post(f"/coming/links/{one.id}/revoke").text
    assert console.client.get(unused).status_code == 410
    assert console.client.post("/consent", data={**consent, "decision": "agree"}).status_code == 410
    assert console.client.get(used).status_code == 200  # who began goes on
    for which in ("99", "x", "1" * 30):
        assert console.post(f"/coming/links/{which}/revoke").status_code == 404
    done = console.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert [row.action for row in done][1:] == ["links made", "link revoked", "link revoked"]
    assert "Ann" not in repr(done)


def test_rooms_are_opened_shown_and_closed(console: Operating) -> None:
    assert console.post("/coming/rooms", name=" ").status_code == 422
    page = console.post("/coming/rooms", name="Class <7b>").text
    assert "The room is open" in page
    assert "Class &lt;7b&gt;" in page
    wall = re.search(r'href="(/room/([A-Z0-9]{6})/wall)"', page)
    assert wall is not None
    assert wall[2] in console.client.get(wall[1]).text
    take_part(console, 1, link=f"/room/{wall[2]}")
    assert "room is closed" in console.post(f"/coming/rooms/{wall[2]}/close").text
    assert console.client.get(f"/room/{wall[2]}").status_code == 422
    assert console.post("/coming/rooms/NOROOM/close").status_code == 404


def test_many_links_come_in_pages(console: Operating) -> None:
    made = [(Keys.hashed(Keys.new()), f"Person {at}") for at in range(120)]
    console.site.host.store.change_now(lambda c: recruitment.invite(c, made, datetime.now(UTC)))
    seen: list[str] = []
    for page in (1, 2, 3):
        text = console.get(f"/coming?page={page}").text
        assert f"Page {page} of 3" in text
        seen += re.findall(r"<bdi>(Person \d+)</bdi>", text)
    assert sorted(seen) == sorted(name for _, name in made)


def test_the_studys_own_links(console: Operating, make_study: Any, tmp_path: Path) -> None:
    page = console.get("/coming").text
    assert "open link is off" in page
    assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}&amp;SESSION_ID={{%SESSION_ID%}}" in page
    with operating(make_study().path, tmp_path / "open.sqlite") as opened:
        opened.set_up()
        page = opened.get("/coming").text
        assert '<p class="link-text">https://study.example/</p>' in page
        assert "<svg" in page


def test_ids_that_may_come_are_listed_and_kept_as_hashes(console: Operating) -> None:
    page = console.get("/coming").text
    assert "not verified</span> Anybody can make up an id" in page
    assert "There is no list: any id is let in." in page
    assert console.post("/coming/ids", ids=" \n").status_code == 422
    wrong = console.post("/coming/ids", ids="ann\n<b>ben</b>")
    assert (wrong.status_code, "&lt;b&gt;ben&lt;/b&gt;&#39; in line 2 is no id" in wrong.text) == (422, True)
    for _ in range(2):  # sent twice
        page = console.post("/coming/ids", ids="ann01\r\n\r\n ben02 \n").text
        assert "2 ids are on the list. No other id is let in." in page
    assert "Only ids on the list below are let in" in page
    assert "ann01" not in everything(console)
    assert console.client.get("/?PROLIFIC_PID=eve&SESSION_ID=s").status_code == 403
    take_part(console, 1, link="/?PROLIFIC_PID=ann01&SESSION_ID=s")
    assert "any id is let in" in console.post("/coming/ids/delete").text
    assert console.client.get("/?PROLIFIC_PID=eve&SESSION_ID=s").status_code == 200
    done = console.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert [tuple(row) for row in done[1:]] == [("ids listed", "2"), ("ids listed", "2"), ("list of ids deleted", "")]


def test_the_console_says_which_ids_are_not_verified_and_which_were_used_twice(console: Operating) -> None:
    take_part(console, 1, link="/?PROLIFIC_PID=ann01&SESSION_ID=s")
    console.client.cookies.delete(COOKIE)
    taken = console.client.get("/?PROLIFIC_PID=ann01&SESSION_ID=t")
    page = console.client.post("/consent", data={**hidden(taken), "decision": "contest"})
    page = console.client.post("/consent", data={**hidden(page), "decision": "agree"})
    visit, own = Visit(console.client), page.url.path.rpartition("/")[0]
    visit.post(page.url.path, **hidden(page))
    visit.answer(own, 1)
    console.site.host.watch.forget()
    people = console.get("/participants").text
    assert people.count(">not verified") == 2
    assert people.count('<span class="flag">excluded</span>') == 1
    second = console.get("/participants/2").text
    assert "as the address said; not verified" in second
    assert '<a href="/admin/participants/1">1</a>' in second
    assert SAME_ID.replace("'", "&#39;") in second
    console.add("Vic", "viewer")
    console.log_in("Vic")
    assert "ann01" not in console.get("/participants").text + console.get("/participants/2").text


def test_with_the_panels_keys_the_console_says_that_ids_are_verified(make_study: Any, tmp_path: Path) -> None:
    keys = {"panel": "prolific", "panel_keys": Panel().published, "panel_studies": "study1"}
    with operating(make_study(recruitment=keys).path, tmp_path / "signed.sqlite") as opened:
        opened.set_up()
        assert "verified</span> Prolific signs whom it sends" in opened.get("/coming").text
        form = opened.get("/study/recruitment").text
        assert "key-1" in form
        assert "Anybody can make up an id" not in opened.get("/coming").text


@pytest.mark.parametrize("unit", [",", ";", "<", "(", "@", ".", "-", " ", "x", "\t,", ", ", "x@", "x,", "x. "])
def test_names_without_end_are_not_parsed(console: Operating, monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    """Only lines that may hold a name and an address are looked at, and only as many as links may be made at once."""
    parse, parsed = recruitment_pages.name_and_address, list[int]()

    def count(line: str) -> tuple[str, str]:
        parsed.append(len(line))
        return parse(line)

    monkeypatch.setattr(recruitment_pages, "name_and_address", count)
    make(console, names="a" + unit * (30_000 // len(unit)) + "!")
    make(console, names=f"a{unit}!\n" * (MOST_LINKS + 1))
    assert not parsed


def test_a_name_and_an_address_are_told_apart() -> None:
    """Against a regular expression that says what an address is, on short lines."""
    address = re.compile(r"(.*?)[\s,;<(]*([^\s<>()@,;]+@[^\s<>()@,;]+\.[^\s<>()@,;]+)[\s>)]*")
    chance = random.Random(0)
    for _ in range(20_000):
        line = "".join(chance.choices("ab.@ <>(),;", k=chance.randint(1, 12))).strip()
        expected = address.fullmatch(line)
        parts = (line, "") if expected is None else (expected[1].strip(), expected[2])
        assert recruitment_pages.name_and_address(line) == parts
