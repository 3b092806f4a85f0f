"""A PostgreSQL that takes connections and says nothing: everyone is told so, and nothing has to be restarted."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from tests.support.hanging import Hanging
from tests.support.served import listening
from tests.support.served_process import served
from tests.support.visits import hidden

from fairwise.store import engine, store
from fairwise.store.engine import database_url, reading_engine, writing_engine
from fairwise.store.errors import StoreUnavailable
from fairwise.store.store import Store
from fairwise.web.app import Site
from fairwise.web.shared.monitoring import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

T = TypeVar("T")
_WAITED = 0.5


@pytest.fixture
def database(postgres: str, request: pytest.FixtureRequest) -> str:
    name = re.sub(r"\W", "_", request.node.name.lower())[:60]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_url(postgres).set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def through(database: str) -> Iterator[tuple[str, Hanging]]:
    with Hanging.before(database) as found:
        yield found


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairwise.web.app._PATIENCE_SECONDS", 2 * _WAITED)
    monkeypatch.setattr(store, "_SECONDS", _WAITED)
    monkeypatch.setattr(engine, "SILENT_SECONDS", _WAITED)
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 2)  # nothing shorter is taken


def count(connection: Connection) -> int:
    connection.execute(sa.text("UPDATE counters SET value = value + 1"))
    return read(connection)


def read(connection: Connection) -> int:
    return int(connection.execute(sa.text("SELECT max(value) FROM counters")).scalar_one())


def eventually(do: Callable[[], T]) -> T:
    """Done once it can be: a connection that is just being given up may still be refused."""
    until = time.monotonic() + 60
    while True:
        try:
            return do()
        except StoreUnavailable:
            assert time.monotonic() < until


def answered(ask: Callable[[], httpx2.Response]) -> httpx2.Response:
    """Return the page once there is one: a busy machine may take longer than the little time that is waited here."""
    until = time.monotonic() + 60
    while (page := ask()).status_code == 503:
        assert time.monotonic() < until, page.text
    assert page.status_code == 200, page.text
    return page


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own: the browser's tests leave a loop running in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


@pytest.mark.usefixtures("quick")
def test_the_store_says_so_and_goes_on_afterwards(through: tuple[str, Hanging]) -> None:
    address, proxy = through
    opened = Store.open(address, "f")

    async def ask(times: int) -> list[Any]:
        asked = [opened.write(count) for _ in range(times)] + [opened.read(read) for _ in range(times)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first = opened.change_now(count)
    run_apart(ask(20))  # as many connections as there may be
    with proxy.hung():
        for _ in range(3):
            assert {type(found) for found in run_apart(ask(20))} == {StoreUnavailable}
        named = [thread.name for thread in threading.enumerate() if thread.name.startswith("fairwise-")]
        assert len(named) == 1 + 8  # one writer and the readers, however many ask
    now = eventually(lambda: run_apart(opened.write(count)))
    assert eventually(lambda: run_apart(opened.read(read))) == now > first
    opened.close()


@pytest.mark.usefixtures("quick")
def test_connections_of_which_nothing_is_ever_heard_again_are_given_up(through: tuple[str, Hanging]) -> None:
    """As after a server was replaced by another one: its machine keeps the connections, and nobody closes them."""
    address, proxy = through
    opened = Store.open(address, "f")
    first = opened.change_now(count)
    assert opened.read_now(read) == first
    proxy.fail_over()
    now = eventually(lambda: run_apart(opened.write(count)))
    assert eventually(lambda: run_apart(opened.read(read))) == now > first
    opened.close()


@pytest.mark.usefixtures("quick")
def test_who_hangs_at_the_start_is_told_so(through: tuple[str, Hanging]) -> None:
    address, proxy = through
    with proxy.hung(), pytest.raises(Exception, match="the database cannot be used"):
        Store.open(address, "f")


def test_the_server_is_asked_to_give_up_by_itself_and_the_address_has_the_last_word(database: str) -> None:
    asked = sa.text("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
    own = (
        make_url(database).update_query_dict({"options": "-c lock_timeout=1234"}).render_as_string(hide_password=False)
    )
    for address, lock in ((database, "5s"), (own, "1234ms")):
        url = database_url(address)
        for opened, expected in (
            (reading_engine(url), ("30s", lock)),
            (writing_engine(url, people_wait=True), ("30s", lock)),
            (writing_engine(url), ("0", "0" if lock == "5s" else lock)),  # bringing tables up to date may take long
        ):
            with opened.connect() as connection:
                assert tuple(connection.execute(asked).one()) == expected
            opened.dispose()


def _statuses(address: str, paths: list[str], **headers: str) -> dict[str, int]:
    """All at once, as a crowd asks."""

    def status(path: str) -> int:
        return httpx2.get(f"{address}{path}", headers=headers, trust_env=False, timeout=90).status_code

    with ThreadPoolExecutor(len(paths)) as threads:
        return dict(zip(paths, threads.map(status, paths), strict=True))


@pytest.mark.usefixtures("quick")
def test_the_site_answers_every_request(
    study: StudyFolder, through: tuple[str, Hanging], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, proxy = through
    monkeypatch.setenv(TOKEN, "0123456789abcdef")
    with (
        listening(Site(study.path, address)) as url,
        httpx2.Client(base_url=url, trust_env=False, follow_redirects=True, timeout=90) as browser,
    ):
        agreed = {**hidden(answered(lambda: browser.get("/"))), "decision": "agree"}
        page = answered(lambda: browser.post("/consent", data=agreed))
        for _ in range(20):
            if "/pair/" in page.url.path:
                break
            place, sent = page.url.path, {**hidden(page), "answer": "same"}
            page = answered(partial(browser.post, place, data=sent))
        form = {**hidden(page), "answer": "same"}
        static = re.search(r"/static/[\w.?=]+", page.text)
        assert static is not None
        bearer = {"authorization": "Bearer 0123456789abcdef"}
        expected = {"/healthz": 200, static[0]: 200, "/metrics": 200, "/readyz": 503, page.url.path: 503}
        expected |= {"/": 200, "/admin/login": 503}
        with proxy.hung():
            assert _statuses(url, list(expected), **bearer) == expected
            refused = browser.post(page.url.path, data=form)
            assert (refused.status_code, "cannot be reached" in refused.text) == (503, True)
        until = time.monotonic() + 60
        while browser.get("/readyz").status_code != 200:
            assert time.monotonic() < until
        answered(lambda: browser.post(page.url.path, data=form))  # sent again
        for path in expected:
            answered(partial(browser.get, path, headers=bearer))
    answers_engine = reading_engine(database_url(address))
    with answers_engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM answers")).scalar_one() == 1
    answers_engine.dispose()


@pytest.mark.slow
def test_it_can_be_stopped_meanwhile(study: StudyFolder, through: tuple[str, Hanging]) -> None:
    """Who waits is told, and the process ends by itself."""
    address, proxy = through
    with (
        served(study.path, "--no-jobs", "--database", address) as (url, process),
        proxy.hung(),
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as line,
    ):
        line.sendall(b"GET /admin/login HTTP/1.1\r\nhost: x\r\n\r\n")
        assert httpx2.get(f"{url}/healthz", trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert line.recv(1000).startswith(b"HTTP/1.1 503")
        assert process.wait(40) == 0
