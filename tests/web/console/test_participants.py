"""Watching a study: numbers that are right, people who can be found, and nothing that a viewer should not see."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa
from starlette.datastructures import QueryParams
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden
from tests.support.watching import take_part

from fairwise.store import recruitment
from fairwise.store.roster import Answers, PersonalDetails, answers_of
from fairwise.store.schema import answers, events, participants
from fairwise.study.quality import Flag
from fairwise.study.recruitment import Keys
from fairwise.web.console.overview import last_hour, whole_study
from fairwise.web.console.participants import PAGE_SIZE, ParticipantFilter
from fairwise.web.participant.base import COOKIE
from fairwise.web.shared import progress
from fairwise.web.shared.progress import LEFT_AFTER, Person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WORDS, NAME, PANEL_ID = "a reason that nobody else would write", "Ann of the sixth floor", "panel5e8f01"
REASON = "answered in one minute, says Bea"
NOW = datetime.now(UTC)


@pytest.fixture
def console(make_study: Any, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    """Three take part: one by a personal link to the end, one from a panel halfway, one who only began."""
    folder = make_study(
        ask_why=True, recruitment={"panel": "prolific"}, design={"anchors": 2}, second_look=False, practice=False
    )
    token = Keys.new()
    with operating(folder.path, new_database()) as opened:
        opened.set_up()
        opened.site.host.store.change_now(
            lambda c: recruitment.invite(c, [(Keys.hashed(token), NAME), (Keys.hashed(Keys.new()), "Bea")], NOW)
        )
        take_part(opened, 4, link=f"/p/{token}", why=WORDS, closing=WORDS)
        take_part(opened, 2, link=f"/?PROLIFIC_PID={PANEL_ID}&STUDY_ID=s&SESSION_ID=session9", why=WORDS)
        take_part(opened, 0)
        opened.site.host.watch.forget()
        yield opened


def tiles(page: str) -> dict[str, str]:
    found = re.findall(r'<div class="tile"><dt>(?:<a [^>]*>)?([^<]*)(?:</a>)?</dt><dd>([^<]*)', page)
    return dict(found)


def changed(console: Operating, statement: Any) -> None:
    console.site.host.store.change_now(lambda c: c.execute(statement))
    console.site.host.watch.forget()


def test_the_overview_counts_people_and_answers(console: Operating) -> None:
    said = tiles(console.get("").text)
    assert said["Invited"] == "1"
    assert (said["Started"], said["Finished"], said["At it now"], said["Left"]) == ("3", "1", "2", "0")
    assert (said["Pairs answered"], said["Screened out"], said["Withdrawn"]) == ("6", "0", "0")
    old = datetime.now(UTC) - LEFT_AFTER - timedelta(minutes=1)
    changed(console, sa.update(answers).values(answered_at=old))
    changed(console, sa.update(participants).values(consented_at=old))
    console.site.host.watch._digests.clear()  # nothing new was answered, so nothing would be read again
    said = tiles(console.get("").text)
    assert (said["Finished"], said["At it now"], said["Left"]) == ("1", "0", "2")


def test_an_answer_is_seen_without_reading_all_others_again(console: Operating, monkeypatch: Any) -> None:
    assert tiles(console.get("").text)["Pairs answered"] == "6"
    read: list[int] = []

    def noted(connection: sa.Connection, ids: Sequence[int]) -> Iterator[Answers]:
        read.extend(ids)
        return answers_of(connection, ids)

    monkeypatch.setattr(progress, "answers_of", noted)
    take_part(console, 3)
    console.site.host.watch.forget()
    assert tiles(console.get("/live").text)["Pairs answered"] == "9"
    assert len(read) == 1


def test_agreement_is_computed_beside_the_page(console: Operating) -> None:
    for _ in range(200):
        page = console.get("").text
        if "Krippendorff" in page:
            break
        assert "Being computed" in page or "cannot be told" in page
        console.site.host.watch.forget()
        console.site.host.watch._agreement._next = 0.0
        time.sleep(0.05)
        if "cannot be told" in page:  # all said "same" so far
            changed(
                console,
                sa.update(answers)
                .values(answer="no_constraint")
                .where(answers.c.id == sa.select(sa.func.min(answers.c.id)).scalar_subquery()),
            )
            take_part(console, 2)
    assert "pairs that two or more of" in page


def test_two_who_claim_one_id_are_shown_together_and_the_operator_decides(console: Operating) -> None:
    assert "more than one participant" not in console.get("/participants").text
    visit = Visit(console.client)
    console.client.cookies.delete(COOKIE)
    refused = visit.get(f"/?PROLIFIC_PID={PANEL_ID}&STUDY_ID=s&SESSION_ID=anothersession")
    assert refused.status_code == 409
    page = visit.post("/consent", **hidden(refused), decision="contest")
    page = visit.post("/consent", **hidden(page), decision="agree")
    own = page.url.path.rpartition("/")[0]
    while "/pair/" not in page.url.path:
        page = visit.post(page.url.path, **hidden(page), answer="same")
    visit.answer(own, 1)
    console.site.host.watch.forget()

    told = console.get("/participants").text
    assert "One id of the panel was claimed by more than one participant" in told
    assert "/participants?flag=same_id" in told
    listed = console.get("/participants?flag=same_id").text
    assert "2 participants" in listed
    assert re.search("also claimed by <a [^>]*>participant 4<", listed)
    assert "Who has this id?" not in console.get("/participants/1").text
    for number, other in ((2, 4), (4, 2)):
        one = console.get(f"/participants/{number}").text
        assert "Who has this id?" in one
        assert f"/participants/{other}" in one
    assert "Another participant answered first under the same id" in one
    assert "anot…" in one  # enough of the session to find it on the panel's list, and no key to their pages
    assert "anothersession" not in one
    console.post("/participants/4/include")
    console.post("/participants/2/exclude", reason="not sent by the panel")
    assert re.findall(r'participants/(\d)">\d</a></th>', console.get("/participants?flag=excluded").text) == ["2"]
    console.add("Vic", "viewer")
    console.log_in("Vic")
    for path in ("/participants", "/participants?flag=same_id", "/participants/2", "/participants/4"):
        page = console.get(path)
        for secret in ("claimed by", "Who has this id?", "same_id", "anot…"):
            assert secret not in page.text


def test_a_viewer_never_sees_who_anyone_is(console: Operating) -> None:
    console.post("/participants/1/exclude", reason=REASON)
    console.add("Vic", "viewer")
    pages = ["", "/live", "/participants", "/participants/1", "/participants/2", "/participants/3"]
    secrets = (NAME, PANEL_ID, WORDS, REASON, "session9", "/p/", "Bea")
    owners = "".join(console.get(page).text for page in pages)
    for secret in (NAME, PANEL_ID, WORDS, REASON):
        assert secret in owners
    console.log_in("Vic")
    for page in [*pages, f"/participants?find={NAME}", f"/participants?find={PANEL_ID}"]:
        shown = console.get(page)
        assert shown.status_code == 200
        for secret in secrets:
            assert secret not in shown.text, (page, secret)
    assert console.get(f"/participants?find={PANEL_ID}").text.count('<th scope="row">') == 3  # it is not looked for
    assert "excluded" in console.get("/participants/1").text
    for page in ("/participants/1/erase", "/coming", "/downloads", "/downloads/texts.csv"):
        assert console.get(page).status_code == 403


def test_excluding_needs_a_reason_and_can_be_taken_back(console: Operating) -> None:
    empty = console.post("/participants/1/exclude", reason="  ")
    assert (empty.status_code, "Say why" in empty.text) == (422, True)
    assert "left out from now on" in console.post("/participants/1/exclude", reason=REASON).text
    said = tiles(console.get("").text)
    assert said["Pairs answered"] == "2"
    assert "1 excluded" in console.get("").text
    assert console.get("/participants?flag=excluded").text.count('<th scope="row">') == 1
    assert "is back in" in console.post("/participants/1/include").text
    assert tiles(console.get("").text)["Pairs answered"] == "6"
    page = console.get("/participants/1").text
    assert REASON in page
    assert "taken back in by <bdi>Ada</bdi>" in page
    for action in ("exclude", "include", "erase"):
        assert console.post(f"/participants/77/{action}", reason="x", number="77").status_code == 404
    done = console.site.host.store.read_now(
        lambda c: c.execute(sa.select(events.c.action, events.c.about).order_by(events.c.id)).all()
    )
    assert [tuple(row) for row in done][1:] == [("excluded", "participant 1"), ("included", "participant 1")]


def test_one_participants_page_shows_what_they_saw_and_said(console: Operating) -> None:
    page = console.get("/participants/1").text
    assert page.count(f'<p class="said-text" dir="auto">{WORDS}') == 4
    assert page.count("&lt;b&gt;Town") == 8  # as it was shown, and escaped
    assert "a_result_that_must_never_be_seen" not in page
    assert "outcome-" not in page
    for path in ("/participants/4", "/participants/0", "/participants/x", "/participants/99999999999"):
        assert console.get(path).status_code == 404


# Many participants


def person(number: int, **more: Any) -> Person:
    usual: dict[str, Any] = {
        "state": "finished",
        "came_by": "open",
        "answered": number % 7,
        "seconds": float(number % 5) or None,
    }
    usual |= {"flags": (), "excluded": False, "started_at": NOW, "last_at": NOW - timedelta(minutes=number)}
    return Person(number=number, **(usual | more))


def wanted(query: str, *, is_owner: bool = True) -> ParticipantFilter:
    return ParticipantFilter.read(QueryParams(query), is_owner=is_owner)


MANY = [person(number) for number in range(1, 121)]


@pytest.mark.parametrize("sort", ["number", "state", "answered", "seconds", "last", "flags"])
@pytest.mark.parametrize("order", ["up", "down"])
def test_sorting_loses_nobody(sort: str, order: str) -> None:
    found = wanted(f"sort={sort}&order={order}").apply(MANY, {})
    assert sorted(one.number for one in found) == list(range(1, 121))
    key = {"number": lambda p: p.number, "answered": lambda p: p.answered, "last": lambda p: p.last_at}.get(sort)
    if key is not None:
        keys = [key(one) for one in found]
        assert keys == sorted(keys, reverse=order == "down")


def test_filters_find_those_and_only_those() -> None:
    flagged = person(200, flags=(Flag("too_fast", {}),), state="left", came_by="prolific", excluded=True)
    people = [*MANY, flagged]
    for query in (
        "state=left",
        "flag=too_fast",
        "flag=any",
        "flag=excluded",
        "came_by=prolific",
        "find=Zoe",
        "find=200",
    ):
        assert wanted(query).apply(people, {200: PersonalDetails("Zoe", "", "")}) == [flagged], query
    assert flagged not in wanted("flag=none").apply(people, {})
    nonsense = "state=x&flag=y&came_by=z&sort=w&order=v&page=-3"
    assert wanted(nonsense) == ParticipantFilter()
    assert wanted("page=99999999999999").page == 1


def test_every_page_of_many_shows_each_participant_once(console: Operating) -> None:
    more = [
        {
            "number": number,
            "token_hash": Keys.hashed(Keys.new()),
            "consent_version": "v1",
            "consented_at": NOW,
            "stage": "task",
        }
        for number in range(4, 131)
    ]
    console.site.host.store.change_now(lambda c: c.execute(sa.insert(participants), more))
    console.site.host.watch.forget()
    path, seen = "/participants", []
    while path:
        page = console.get(path).text
        here = [int(number) for number in re.findall(r'<th scope="row"><a href="/admin/participants/(\d+)"', page)]
        assert len(here) <= PAGE_SIZE
        seen += here
        onward = re.search(r'href="/admin(/participants[^"]*)" rel="next"', page)
        path = onward[1].replace("&amp;", "&") if onward else ""
    assert seen == list(range(1, 131))
    assert "Page 3 of 3" in console.get("/participants?page=500").text


# Charts


def test_bars_count_every_answer_once() -> None:
    now = NOW.timestamp()
    rng = np.random.default_rng(0)
    for span in (30, 3_000, 90_000, 9_000_000, 900_000_000):
        moments = np.sort(now - rng.uniform(0, span, 500))
        whole = whole_study(moments, NOW)
        assert whole is not None
        assert len(whole.counts) <= 60 or span > 60 * 30 * 86400
        assert whole.total == 500
        assert last_hour(moments, NOW).total == int((moments > now - 3600).sum())
    assert whole_study(np.empty(0), NOW) is None
    assert last_hour(np.array([now + 5]), NOW).counts[-1] == 1  # came while the picture was made
