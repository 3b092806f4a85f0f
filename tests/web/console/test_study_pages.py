"""Open, paused, closed: nobody answers when they may not, everyone can leave, and nothing that was typed is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden, not_me_form

from fairwise.store.schema import answers, events, participants
from fairwise.store.study_state import set_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORDS = {
    "en": {"paused": "The study is paused", "closed": "The study has ended", "stranger": "not open at the moment"},
    "de": {
        "paused": "Die Studie ist unterbrochen",
        "closed": "Die Studie ist beendet",
        "stranger": "im Moment nicht geöffnet",
    },
}


@pytest.fixture
def console(make_study: Any, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    study = make_study(languages=["en", "de"])
    with operating(study.path, new_database()) as opened:
        opened.set_up()
        yield opened


def visitor(console: Operating) -> Visit:
    """A participant's browser of its own on the same site."""
    from starlette.testclient import TestClient  # noqa: PLC0415

    client = TestClient(
        console.site,
        base_url="https://study.example",
        headers={"sec-fetch-site": "same-origin", "accept-language": "en"},
    )
    client.app = console.site  # the lifespan is that of the operator's client
    return Visit(client)


def put(console: Operating, state: str) -> None:
    assert console.post("/state", state=state, sure="yes").status_code == 200
    assert (
        console.site.host.store.read_now(lambda c: c.execute(sa.text("SELECT state FROM study")).scalar_one()) == state
    )


def counted(console: Operating, table: sa.Table) -> int:
    return console.site.host.store.read_now(
        lambda c: c.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
    )


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nobody_begins_answers_or_finishes(console: Operating, state: str) -> None:
    stranger, someone, ready = visitor(console), visitor(console), visitor(console)
    consent = stranger.get("/")
    mine = someone.begin()
    open_pair = someone.get(f"{mine}/pair/1")
    almost = ready.begin()
    for number in range(1, 5):
        ready.answer(almost, number)
    closing = ready.get(f"{almost}/closing")
    put(console, state)
    said, people = counted(console, answers), counted(console, participants)

    begun = stranger.post("/consent", **hidden(consent), decision="agree")
    answered = someone.post(f"{mine}/pair/1", **hidden(open_pair), answer="same", why="")
    finished = ready.post(f"{almost}/closing", **hidden(closing), rules="A <rule>", expressible="", comments="")
    for refused in (begun, answered, finished):
        assert refused.status_code == 409
        assert "was not saved" in refused.text
    assert ("Send it again" in finished.text) == (state == "paused")
    assert ("A &lt;rule&gt;" in finished.text) == (state == "paused")  # nothing typed is lost
    assert (counted(console, answers), counted(console, participants)) == (said, people)

    for path in ("", "/task", "/pair/1", "/review", "/closing", "/second-look"):
        page = someone.get(f"{mine}{path}")
        assert WORDS["en"][state] in page.text, path
        assert f"{mine}/withdraw" in page.text
    assert WORDS["de"][state] in someone.get(f"{mine}?lang=de").text
    assert WORDS["en"]["stranger" if state == "paused" else "closed"] in stranger.get("/").text
    assert WORDS["de"]["stranger" if state == "paused" else "closed"] in stranger.get("/?lang=de").text
    assert f'href="{mine}"' in someone.get("/").text  # from there to their own page


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_everyone_can_withdraw_and_see_their_receipt(console: Operating, state: str) -> None:
    someone, done = visitor(console), visitor(console)
    mine, theirs = someone.begin(), done.begin()
    for number in range(1, 5):
        done.answer(theirs, number)
    done.post(f"{theirs}/closing", **hidden(done.get(f"{theirs}/closing")), rules="", expressible="", comments="")
    put(console, state)
    assert done.get(theirs).url.path == f"{theirs}/thanks"
    assert "Your receipt" in done.get(theirs).text
    for visit, own in ((someone, mine), (done, theirs)):
        page = visit.get(f"{own}/withdraw")
        assert visit.post(f"{own}/withdraw", **hidden(page)).url.path == "/withdrawn"
    assert counted(console, participants) == 0


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_who_uses_a_device_after_another_can_say_so_while_the_study_is_not_open(console: Operating, state: str) -> None:
    visit = visitor(console)
    own = visit.begin()
    put(console, state)
    page = visit.get("/")
    assert own in page.text
    fresh = visit.post("/not-me", **not_me_form(page))
    assert (fresh.status_code, own in fresh.text, "/not-me" in fresh.text) == (200, False, False)
    assert visit.get(own).status_code == 200  # nobody lost anything


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_while_the_study_is_not_open_a_panels_link_leads_on_whoever_has_its_id(
    make_study: Any, new_database: Callable[[], str | Path], state: str
) -> None:
    study = make_study(recruitment={"panel": "sona", "open": False}, languages=["en", "de"])
    with operating(study.path, new_database()) as console:
        console.set_up()
        visit = visitor(console)
        page = visit.get("/?survey_code=11111")
        own = visit.post("/consent", **hidden(page), decision="agree").url.path.removesuffix("/task")
        put(console, state)
        assert own in visit.get("/?survey_code=11111").text
        other = visit.get("/?survey_code=22222")
        assert WORDS["en"]["stranger" if state == "paused" else "closed"] in other.text
        assert own not in other.text
        assert 'href="/?survey_code=22222&amp;lang=de"' in other.text
        if state == "paused":
            assert 'href="/?survey_code=22222"' in other.text  # to look again, as the same person


def test_a_pause_ends_where_it_began(console: Operating) -> None:
    someone = visitor(console)
    mine = someone.begin()
    page = someone.get(f"{mine}/pair/1")
    put(console, "paused")
    kept = hidden(someone.post(f"{mine}/pair/1", **hidden(page), answer="same"))
    put(console, "open")
    assert someone.post(f"{mine}/pair/1", **kept).url.path == f"{mine}/pair/2"  # the same form, sent again
    assert counted(console, answers) == 1


def test_what_is_written_is_checked_even_if_this_process_has_not_heard_of_it(console: Operating) -> None:
    """Another process pauses the study: for up to a second this one thinks that it is open."""
    someone, stranger = visitor(console), visitor(console)
    consent, mine = stranger.get("/"), someone.begin()
    page = someone.get(f"{mine}/pair/1")
    console.site.host.refresh()
    console.site.host.store.change_now(lambda c: set_state(c, "paused"))
    assert console.site.host.standing.state == "open"
    assert someone.post(f"{mine}/pair/1", **hidden(page), answer="same").status_code == 409
    assert stranger.post("/consent", **hidden(consent), decision="agree").status_code == 409
    assert (counted(console, answers), counted(console, participants)) == (0, 1)


def test_the_buttons(console: Operating) -> None:
    study = console.site.host.study
    assert study is not None
    assert study.unfinished
    missing = console.get("/study").text
    assert re.search(r'>Consent[^<]*: <span dir="auto">who is asking, of which institution', missing)
    assert "consent.md" not in missing
    assert "FILL IN" not in missing
    assert "Pause the study" in console.get("").text
    put(console, "paused")
    assert "not-sure" in str(console.post("/state", state="open").url)  # texts are still to be filled in
    put(console, "open")
    assert "not-sure" in str(console.post("/state", state="closed").url)
    put(console, "closed")
    assert "Open the study" not in console.get("").text
    for state in ("open", "paused"):
        assert "state-known" in str(console.post("/state", state=state, sure="yes").url)
    assert console.post("/state", state="gone").status_code == 404
    done = console.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action)).scalars().all())
    assert done[1:] == ["study paused", "study opened", "study closed"]
