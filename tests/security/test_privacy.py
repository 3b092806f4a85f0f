"""What is kept of whom, and for how long; what the log says, and what those are told who watch the server."""

from __future__ import annotations

import asyncio
import re
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import sqlalchemy as sa
from tests.support.attacked import get
from tests.support.operating import PASSWORD, Operating, operating
from tests.support.raw_asgi import send
from tests.support.served_process import announced
from tests.support.visits import Visit, hidden
from tests.support.watching import take_part

from fairwise.store import erasure, export
from fairwise.store.erasure import forget_in_time, needs_cleaning, note_deletion
from fairwise.store.recruitment import invite
from fairwise.store.schema import answers, closings, invitations, participants
from fairwise.store.study_state import set_state
from fairwise.study.recruitment import Keys
from fairwise.web.console import overview
from fairwise.web.console.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

WORDS = "words that only I would write"
NAME = "Somebody Known"
ADDRESS = "203.0.113.77"
SECRET = "a token of sixteen letters"
PANEL = {"panel": "prolific", "completion_url": "https://panel.example/{id}"}


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study(ask_why=True, retention_days=30).path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened


# The log, and addresses


@pytest.mark.slow
def test_neither_the_log_nor_any_file_says_who_was_there(make_study: Callable[..., StudyFolder]) -> None:
    """A whole visit to `fairwise serve`, with things that go wrong; then every byte that it wrote is searched."""
    home = make_study(ask_why=True, recruitment=PANEL).path
    with announced(home, "--no-jobs") as server:
        mine = visited(server.address)
    token = mine.removeprefix("/p/")
    assert len(token) > 20
    for secret in (token, WORDS, NAME, PASSWORD, ADDRESS, "idOfMine99", "sessionOfMine99", "browser like mine", "/p/"):
        assert secret not in server.log, secret
    files = {file.name: file.read_bytes() for file in home.rglob("*") if file.is_file()}
    assert WORDS.encode() in files["study.sqlite"]  # what is to be kept is found like that
    for name, content in files.items():
        for secret in (ADDRESS, token, PASSWORD, "browser like mine", "127.0.0.1", NAME):
            assert secret.encode() not in content, (name, secret)


def visited(address: str) -> str:
    """Somebody from a panel answers, and asks for what is not there; returns the path of their pages."""
    headers = {"x-forwarded-for": ADDRESS, "sec-fetch-site": "same-origin", "user-agent": "a browser like mine"}
    with httpx2.Client(base_url=address, headers=headers, follow_redirects=True, trust_env=False) as client:
        visit = Visit(client)  # type: ignore[arg-type]
        page = visit.get("/?PROLIFIC_PID=idOfMine99&SESSION_ID=sessionOfMine99")
        page = visit.post("/consent", **hidden(page), decision="agree")
        mine = page.url.path.rpartition("/")[0]
        while "/pair/" not in page.url.path:
            page = visit.post(page.url.path, **hidden(page), answer="same")
        visit.answer(mine, 1, why=WORDS)
        for path in (f"{mine}/nowhere", f"{mine}/pair/x", "/%00", "/admin/participants"):
            visit.get(path)
        client.post(f"{mine}/pair/1", content=b"x" * 500_000)
        client.post(f"{mine}/pair/1", content=b"--x", headers={"content-type": "multipart/form-data; boundary=x"})
        wrong = {"csrf": hidden(visit.get("/admin/login"))["csrf"], "name": NAME, "password": PASSWORD}
        assert client.post("/admin/login", data=wrong).status_code == 422
    return mine


# How long things are kept


def aged(console: Operating, days: int) -> None:
    then = datetime.now(UTC) - timedelta(days=days)
    for column in ("finished_at", "consented_at"):
        change = sa.update(participants).where(participants.c[column].is_not(None)).values({column: then})
        console.site.host.store.change_now(lambda c, change=change: c.execute(change))  # type: ignore[misc]


def forget(console: Operating) -> int:
    host = console.site.host
    assert host.study is not None
    return forget_in_time(host.study.settings, host.store, host.database).rows


def who_and_what(console: Operating) -> tuple[set[Any], ...]:
    columns = (answers.c.why, closings.c.rules, participants.c.panel_id, invitations.c.name)
    return tuple(
        console.site.host.store.read_now(lambda c, column=column: set(c.execute(sa.select(column)).scalars()))  # type: ignore[misc]
        for column in columns
    )


def test_texts_and_names_go_in_time_and_judgments_stay(console: Operating, tmp_path: Path) -> None:
    made = console.post("/coming/links", once="once", names=NAME, count="")
    link = re.findall(r"https://study.example(/p/[\w-]+)", made.text)[0]
    take_part(console, 4, link=link, why=WORDS, closing=WORDS)
    name_panel = sa.update(participants).values(panel_id="idOfMine99", panel_session="s")
    console.site.host.store.change_now(lambda c: c.execute(name_panel))
    kept = ({WORDS}, {WORDS}, {"idOfMine99"}, {NAME})
    aged(console, 29)
    assert forget(console) == 0
    assert who_and_what(console) == kept
    aged(console, 31)
    assert forget(console) > 0
    assert who_and_what(console) == ({""}, {""}, {"idOfMine99"}, {NAME})  # who it is, only when nobody can come again
    console.site.host.store.change_now(lambda c: set_state(c, "closed"))
    assert forget(console) > 0
    assert who_and_what(console) == ({""}, {""}, {None}, {""})
    assert forget(console) == 0
    assert len(console.site.host.store.read_now(export.judgments).frame) == 4
    for file in tmp_path.glob("study.sqlite*"):
        for secret in (WORDS, NAME, "idOfMine99"):
            assert secret.encode() not in file.read_bytes()


def test_a_clock_that_jumps_deletes_nothing(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    host = console.site.host
    assert host.study is not None
    take_part(console, 4, why=WORDS, closing=WORDS)
    assert forget(console) == 0
    for days in (400, 401, 15):  # also if it is looked at again and again
        monkeypatch.setattr(erasure, "datetime", clock(days))
        monkeypatch.setattr(overview, "datetime", clock(days))
        assert forget_in_time(host.study.settings, host.store, host.database) == (0, None, days)
        page = " ".join(console.get("").text.split())
        assert f"is {days} days ahead of the last time" in page
    assert who_and_what(console)[:2] == ({WORDS}, {WORDS})
    monkeypatch.setattr(erasure, "datetime", clock(-400))  # put back, nothing is old, and nothing is unlearned
    assert forget(console) == 0
    for days in (13, 26, 39):  # as a server sees it that is off for some days now and then
        monkeypatch.setattr(erasure, "datetime", clock(days))
        monkeypatch.setattr(overview, "datetime", clock(days))
        assert (forget(console) > 0) == (days == 39)
        assert "days ahead of" not in console.get("").text
    assert who_and_what(console)[:2] == ({""}, {""})


def test_whoever_runs_it_can_say_that_the_clock_is_right(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    host = console.site.host
    assert host.study is not None
    take_part(console, 4, why=WORDS, closing=WORDS)
    monkeypatch.setattr(erasure, "datetime", clock(400))
    assert forget(console) == 0
    assert forget_in_time(host.study.settings, host.store, host.database, clock_is_right=True).rows > 0
    assert forget_in_time(host.study.settings, host.store, host.database).days_off == 0


def clock(days: int) -> type[datetime]:
    """A machine's, which is so many days ahead."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=days)

    return Ahead


def test_the_server_does_it_by_itself(make_study: Any, tmp_path: Path) -> None:
    study, database = make_study(ask_why=True, retention_days=30), tmp_path / "study.sqlite"
    with operating(study.path, database) as console:
        take_part(console, 1, why=WORDS)
        aged(console, 31)
    with operating(study.path, database) as console:
        for _ in range(1000):
            if who_and_what(console)[0] == {""}:
                break
            console.client.get("/healthz")
        assert who_and_what(console)[0] == {""}


def test_names_of_those_who_never_came_or_withdrew_go_too(
    make_study: Any, new_database: Callable[[], str | Path]
) -> None:
    with operating(make_study(retention_days=30).path, new_database()) as console:
        store, now = console.site.host.store, datetime.now(UTC)
        made = {"Never Came": 31, "Came Late": 31, "Withdrew": 31, "Invited Just Now": 29}
        tokens = {name: Keys.new() for name in made}
        for name, days in made.items():
            people, at = [(Keys.hashed(tokens[name]), name)], now - timedelta(days=days)
            store.change_now(partial(invite, people=people, at=at))
        take_part(console, 1, link=f"/p/{tokens['Came Late']}")
        withdrew = sa.update(invitations).where(invitations.c.name == "Withdrew").values(withdrawn_on=now.date())
        store.change_now(lambda c: c.execute(withdrew))  # as older versions left it
        assert forget(console) == 0
        assert who_and_what(console)[3] == made.keys()
        store.change_now(lambda c: set_state(c, "closed"))
        assert forget(console) == 2
        assert who_and_what(console)[3] == {"", "Came Late", "Invited Just Now"}


def test_the_server_cleans_what_it_could_not_clean_before(make_study: Any, tmp_path: Path) -> None:
    study, database = make_study(), tmp_path / "study.sqlite"  # which keeps everything
    with operating(study.path, database) as console:
        console.site.host.store.change_now(note_deletion)
    with operating(study.path, database) as console:
        for _ in range(1000):
            if not console.site.host.store.read_now(needs_cleaning):
                break
            console.client.get("/healthz")
        assert not console.site.host.store.read_now(needs_cleaning)


def test_nothing_goes_where_nothing_was_said_about_it(make_study: Any, tmp_path: Path) -> None:
    with operating(make_study(ask_why=True).path, tmp_path / "study.sqlite") as console:
        take_part(console, 1, why=WORDS)
        aged(console, 30_000)
        assert forget(console) == 0
        assert who_and_what(console)[0] == {WORDS}


def test_a_download_that_nobody_takes_leaves_no_file(
    console: Operating, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asked hung up at once: what was made for them goes all the same, and not only when memory is tidied."""
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    cookie = f"{COOKIE}={console.client.cookies[COOKIE]}"
    asyncio.run(send(console.site, get("/admin/downloads/texts.csv", cookie)))
    assert list((tmp_path / "made").iterdir()) == []
