"""From one address only so many begin within a quarter of an hour; where that is, is kept nowhere."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from tests.support.arriving import NOW, agree
from tests.support.visits import Visit, hidden, visiting

from fairwise.store.rooms import open_room
from fairwise.store.schema import participants as table
from fairwise.study.recruitment import Keys
from fairwise.web.shared import security

if TYPE_CHECKING:
    from pathlib import Path

STRANGER = "203.0.114.7"  # any public one


def at(visit: Visit, address: str) -> Visit:
    """Another browser on the same app, somewhere else."""
    app = visit.client.app
    client = TestClient(
        app, base_url="https://study.example", headers={"sec-fetch-site": "same-origin"}, client=(address, 1)
    )
    return Visit(client)


def test_a_stranger_does_not_begin_without_end(make_study: Any, tmp_path: Path) -> None:
    study = make_study(recruitment={"most_from_address": 3, "most_from_address_in_rooms": 5})
    with visiting(study, tmp_path / "study.sqlite") as visit:
        stranger, neighbour = at(visit, STRANGER), at(visit, "203.0.114.8")
        forms = [hidden(stranger.get("/")) for _ in range(5)]
        told = [stranger.post("/consent", **form, decision="agree") for form in forms]
        assert [page.status_code for page in told] == [200, 200, 200, 429, 429]
        assert "Very many people have begun from this network" in told[-1].text
        assert told[-1].headers["retry-after"] == str(security.SECONDS)
        assert visit.rows(table) == 3
        again = stranger.post("/consent", **forms[0], decision="agree")  # who takes part already goes on
        assert (again.status_code, visit.rows(table)) == (200, 3)
        assert agree(neighbour, "/").status_code == 200
        way = f"/room/{visit.store.change_now(partial(open_room, name='7b', at=NOW))}"
        for _ in range(5):  # a class has one address, a larger number, and is counted apart
            stranger.client.cookies.clear()
            assert agree(stranger, way).status_code == 200
        stranger.client.cookies.clear()
        assert agree(stranger, way).status_code == 429
        for _ in range(6):  # a proxy that tells nothing, or whoever tries it out here
            assert agree(at(visit, "127.0.0.1"), "/").status_code == 200
        kept = b"".join(file.read_bytes() for file in [*study.path.iterdir(), *tmp_path.iterdir()] if file.is_file())
        assert STRANGER.encode() not in kept


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2a00:1450:4001:80b::1", "2a00:1450:4001:80b:ffff::2", True),
        ("2a00:1450:4001:80b::1", "2a00:1450:4001:80c::1", False),
        ("::ffff:203.0.114.7", STRANGER, True),
    ],
)
def test_addresses_of_one_house_count_together(tmp_path: Path, one: str, other: str, same: bool) -> None:
    counted = security.Attempts(tmp_path, Keys(b"k" * 32))
    assert counted.begin(*security.consent_limits(one, 1))
    assert counted.begin(*security.consent_limits(other, 1)) is not same


@pytest.mark.parametrize("address", ["", "testclient", "127.0.0.1", "10.0.0.3", "192.168.1.9", "fe80::1%eth0", "::1"])
def test_addresses_that_are_nobodys_are_not_counted(address: str) -> None:
    assert security.consent_limits(address, 1) == ()


def test_it_is_over_after_a_quarter_of_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("fairwise.web.shared.security.time.time", lambda: now[0])
    first, second = (security.Attempts(tmp_path, Keys(b"k" * 32)) for _ in range(2))
    one = security.consent_limits(STRANGER, 1)
    assert first.begin(*one)
    assert not second.begin(*one)  # of two processes
    assert first.begin(*security.consent_limits(STRANGER, 0))  # any number
    now[0] += security.SECONDS + 1
    assert second.begin(*one)
