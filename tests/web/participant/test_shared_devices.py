"""Who uses a device after somebody else is not led to their answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.arriving import NOW, agree, mine, to_the_end
from tests.support.visits import Visit, hidden, not_me_form, visiting

from fairwise.store.rooms import open_room
from fairwise.store.schema import participants as table
from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response

GO_ON, NOT_ME = "Go on where you stopped", "That is not me"


@pytest.fixture
def room(make_study: Any, tmp_path: Path) -> Iterator[tuple[Visit, str]]:
    with visiting(make_study(recruitment={"open": False}, ask_why=True), tmp_path / "study.sqlite") as visit:
        yield visit, f"/room/{visit.store.change_now(partial(open_room, name='7b', at=NOW))}"


def not_me(visit: Visit, page: Response) -> Response:
    """Press the button."""
    return visit.post("/not-me", **not_me_form(page))


def test_in_a_room_one_is_asked_first_and_can_say_that_it_was_somebody_else(room: tuple[Visit, str]) -> None:
    visit, way = room
    own = mine(agree(visit, way))
    asked = visit.get(way)
    assert "Did you begin on this device?" in asked.text
    assert "I agree to take part" not in asked.text
    assert f'href="{own}"' in asked.text  # the same person goes on
    fresh = not_me(visit, asked)
    assert fresh.url.path == way
    assert own not in fresh.text
    assert COOKIE not in visit.client.cookies
    assert mine(visit.post("/consent", **hidden(fresh), decision="agree")) != own
    assert visit.rows(table) == 2
    assert visit.get(own).status_code == 200  # nobody lost anything


def test_after_finishing_nothing_is_offered_to_the_next(room: tuple[Visit, str]) -> None:
    visit, way = room
    own = mine(agree(visit, way))
    kept = visit.client.cookies[COOKIE]
    to_the_end(visit, own)
    assert COOKIE not in visit.client.cookies
    for address in (way, "/"):
        assert own not in visit.get(address).text
    visit.client.cookies.set(COOKIE, kept)  # of a browser that keeps what it should forget
    for address in (way, "/"):
        page = visit.get(address)
        assert own not in page.text
        assert GO_ON not in page.text
    assert visit.get(own).url.path == f"{own}/thanks"  # their own link leads them on


def test_by_the_open_link_one_can_say_that_it_was_somebody_else(visit: Visit) -> None:
    own = visit.agree()
    page = visit.get("/")
    assert GO_ON in page.text
    assert NOT_ME in page.text
    fresh = not_me(visit, page)
    assert fresh.url.path == "/"
    assert own not in fresh.text
    assert "I agree to take part" in fresh.text


def test_at_a_closed_door_too(room: tuple[Visit, str]) -> None:
    visit, way = room
    own = mine(agree(visit, way))
    page = visit.get("/")
    assert own in page.text
    assert own not in not_me(visit, page).text


def test_the_button_leads_nowhere_else_and_needs_its_form(visit: Visit) -> None:
    visit.agree()
    for start_key in ("", "room|ABCDEF||x", "personal|//evil.example||"):
        fields = {"csrf": "x", "start_key": start_key}
        assert visit.post("/not-me", **fields).status_code == 403
    assert COOKIE in visit.client.cookies


def test_a_devices_memory_of_a_room_ends_after_a_day(room: tuple[Visit, str]) -> None:
    visit, way = room
    page = visit.get(way)
    agreed = visit.client.post("/consent", data={**hidden(page), "decision": "agree"}, follow_redirects=False)
    assert "Max-Age=86400;" in agreed.headers["set-cookie"]
