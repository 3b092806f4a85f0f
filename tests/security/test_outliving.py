"""Requests that outlive the right to make them: what was allowed when they began is not allowed when they end."""

from __future__ import annotations

import ast
import asyncio
import socket
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.attacked import get, post
from tests.support.attacked import prepared as attack
from tests.support.operating import PASSWORD, operating
from tests.support.raw_asgi import Asked, send
from tests.support.served import listening

from fairwise.store import operators
from fairwise.store.errors import LastOwner, NotLoggedIn
from fairwise.store.schema import events, metadata, sessions
from fairwise.store.schema import operators as accounts
from fairwise.web.app import ALL_PAGES, Site
from fairwise.web.console import accounts as account_pages
from fairwise.web.console import base as routes
from fairwise.web.console.accounts import setup_key
from fairwise.web.console.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from fairwise.store.store import Store

NOW = datetime.now(UTC)
ROUNDS = 3


def owners(store: Store) -> list[str]:
    found = store.read_now(operators.all_operators)
    return sorted(one.name for one in found if one.is_owner)


def with_session(store: Store, site: Site, name: str) -> tuple[int, str]:
    """Another owner who is logged in: the account's id, and the cookie."""
    token = site.host.keys.new()

    def make(connection: Connection) -> int:
        made = operators.add_operator(connection, name, f"hash of {name}", "owner", NOW)
        values = {"operator_id": made, "token_hash": site.host.keys.hashed(token)}
        connection.execute(sa.insert(sessions), {**values, "begun_at": NOW, "used_at": NOW})
        return made

    return store.change_now(make), f"{COOKIE}={token}"


def form(site: Site, path: str, cookie: str, **fields: str) -> Asked:
    csrf = site.host.keys.form(f"console {cookie.partition('=')[2]}")
    return post(path, {"csrf": csrf, **fields}, cookie)


NEW_OWNER = {"name": "Mallory", "role": "owner", "password": PASSWORD, "again": PASSWORD}


@contextmanager
def sites(study: Any, database: str | Path, number: int) -> Iterator[list[Site]]:
    """Several processes of one server, as far as the database can tell."""
    with ExitStack() as stack:
        opened = [Site(study.path, database) for _ in range(number)]
        for site in opened:
            site.open()
            stack.callback(site.close)
        yield opened


def test_half_a_request_of_somebody_removed_meanwhile_changes_nothing(
    make_study: Any, new_database: Callable[[], str | Path]
) -> None:
    site = Site(make_study().path, new_database())
    with listening(site) as address:
        store = site.host.store
        eve, cookie = with_session(store, site, "Eve")
        with_session(store, site, "Ada")
        asked = form(site, "/admin/accounts", cookie, **NEW_OWNER)
        host = address.removeprefix("http://")
        head = [f"POST {asked.path} HTTP/1.1", f"host: {host}", f"content-length: {len(asked.body)}"]
        head += [f"{name.decode()}: {value.decode()}" for name, value in asked.headers if name != b"host"]
        with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=60) as line:
            line.sendall("\r\n".join([*head, "connection: close", "", ""]).encode() + asked.body[:20])
            seen = get("/admin/password", cookie)
            assert asyncio.run(send(site, seen)).status == 200  # long enough for the head to be looked at
            store.change_now(lambda connection: operators.remove_operator(connection, eve))
            line.sendall(asked.body[20:])
            reply = b"".join(iter(lambda: line.recv(10_000), b""))
        assert reply.startswith(b"HTTP/1.1 401")
        assert owners(store) == ["Ada"]


async def in_two_halves(site: Site, asked: Asked, between: Callable[[], Any]) -> tuple[int, bytes]:
    """Send half of a request, do something else, send the rest; returns the status and the page."""
    half = len(asked.body) // 2
    parts = iter((asked.body[:half], asked.body[half:]))
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        part = next(parts)
        if said == [] and part == asked.body[half:]:
            between()
        return {"type": "http.request", "body": part, "more_body": part == asked.body[:half]}

    async def take(message: dict[str, Any]) -> None:
        said.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": asked.path, "query_string": b"", "root_path": ""}
    scope |= {"headers": list(asked.headers), "scheme": "https", "client": None, "server": ("x", 443)}
    await site({**scope, "state": {}, "http_version": "1.1"}, receive, take)  # type: ignore[arg-type]
    return said[0]["status"], b"".join(one.get("body", b"") for one in said[1:])


def test_what_was_half_sent_shows_nothing_either(make_study: Any, tmp_path: Path) -> None:
    """A form with a mistake in it is answered by a page with names on it."""
    with sites(make_study(), tmp_path / "study.sqlite", 1) as (site,):
        eve, cookie = with_session(site.host.store, site, "Eve")
        with_session(site.host.store, site, "Ada Countess")
        asked = form(site, "/admin/accounts", cookie, **{**NEW_OWNER, "again": "no"})
        status, page = asyncio.run(in_two_halves(site, asked, lambda: remove(site, eve)))
        assert (status, b"Countess" in page) == (401, False)


def test_a_file_that_was_half_sent_is_not_kept(tmp_path: Path) -> None:
    home = tmp_path / "empty"
    site = Site(home, tmp_path / "study.sqlite")
    site.open()
    try:
        eve, cookie = with_session(site.host.store, site, "Eve")
        with_session(site.host.store, site, "Ada")
        csrf = site.host.keys.form(f"console {cookie.partition('=')[2]}")
        part = '--x\r\ncontent-disposition: form-data; name="'
        body = f'{part}csrf"\r\n\r\n{csrf}\r\n{part}people"; filename="people.csv"\r\n\r\nid,age\r\n'
        body += "".join(f"{k},30\r\n" for k in range(99))
        kind = (b"content-type", b"multipart/form-data; boundary=x")
        asked = Asked("POST", "/admin/new", (*get("/", cookie).headers, kind), f"{body}--x--\r\n".encode())
        status, _ = asyncio.run(in_two_halves(site, asked, lambda: remove(site, eve)))
        assert status == 401
        assert [*home.rglob("people.*"), *home.rglob("received")] == []
    finally:
        site.close()


def remove(site: Site, operator_id: int) -> None:
    site.host.store.change_now(lambda connection: operators.remove_operator(connection, operator_id))


@pytest.mark.parametrize("how", ["removed", "made a viewer", "logged out", "password changed"])
def test_rights_are_those_of_the_moment_of_the_change(
    make_study: Any, new_database: Callable[[], str | Path], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """After the last look at the session, while the password is hashed, it is taken away."""
    with sites(make_study(), new_database(), 2) as (site, other):
        eve, cookie = with_session(site.host.store, site, "Eve")
        with_session(site.host.store, site, "Ada")
        hashed = site.host.keys.hashed(cookie.partition("=")[2])
        changes: dict[str, Callable[[Connection], Any]] = {
            "removed": lambda c: operators.remove_operator(c, eve),
            "made a viewer": lambda c: c.execute(sa.update(accounts).where(accounts.c.id == eve).values(role="viewer")),
            "logged out": lambda c: operators.end_session(c, hashed),
            "password changed": lambda c: operators.change_password(c, eve, "hash of Eve", "another"),
        }
        real = account_pages.hashed

        def slow(password: str) -> str:
            other.host.store.change_now(changes[how])
            return real(password)

        monkeypatch.setattr(account_pages, "hashed", slow)
        reply = asyncio.run(send(site, form(site, "/admin/accounts", cookie, **NEW_OWNER)))
        assert reply.status == (403 if how == "made a viewer" else 401)
        assert "Mallory" not in owners(site.host.store)


def rows(store: Store) -> dict[str, Any]:
    """All that is in the database."""
    return store.read_now(lambda c: {table.name: c.execute(sa.select(table)).all() for table in metadata.sorted_tables})


def test_no_route_changes_anything_for_somebody_without_a_session(
    make_study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was believed when the request began: here, that it is an owner's."""
    study, database = make_study(), tmp_path / "study.sqlite"
    attacked = attack(study, database)

    def files() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in study.path.glob("[!.]*") if file.is_file()}

    async def believed(_pages: Any, _request: Any) -> operators.Operator:
        return operators.Operator(1, "Ada", "owner")

    monkeypatch.setattr(routes.ConsolePages, "_operator", believed)
    monkeypatch.setattr(routes.ConsolePages, "_check_form", lambda *_: None)
    guarded = {route.handler for pages in ALL_PAGES for route in pages.routes if route.role != "anyone"}
    assert len(guarded) > 30
    refused = 0
    with sites(study, database, 1) as (site,):
        site.host.store.change_now(lambda c: c.execute(sa.delete(sessions)))
        before = rows(site.host.store), files()
        for asked in attacked.good:
            anyone = asked.path.startswith(("/admin/login", "/admin/setup", "/admin/reset"))
            if asked.method == "POST" and asked.path.startswith("/admin") and not anyone:
                refused += asyncio.run(send(site, asked)).status == 401
                assert (rows(site.host.store), files()) == before, asked.path
    assert refused >= 10


def test_pages_of_the_console_change_the_database_by_one_way_only() -> None:
    """Which checks session and role in the same transaction; logging in has rules of its own."""
    for file in Path(routes.__file__).parent.glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        calls = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if file.name not in (Path(routes.__file__).name, Path(account_pages.__file__).name):
            assert not [call for call in calls if call.endswith(("store.write", "store.change_now"))], file.name


def test_two_owners_who_remove_each_other_at_once(make_study: Any, new_database: Callable[[], str | Path]) -> None:
    with sites(make_study(), new_database(), 2) as both:
        store = both[0].host.store
        for round_ in range(ROUNDS):
            store.change_now(lambda connection: connection.execute(sa.delete(accounts)))
            (ada, adas), (ben, bens) = (with_session(store, both[0], f"{name} {round_}") for name in ("Ada", "Ben"))
            removals = ((adas, ben), (bens, ada))
            asked = [form(both[0], f"/admin/accounts/{other}/remove", own) for own, other in removals]
            assert sorted(asyncio.run(at_once(both, asked))) == [303, 401]
            assert len(owners(store)) == 1


async def at_once(sites: list[Site], asked: list[Asked]) -> list[int]:
    sent = (send(site, one) for site, one in zip(sites, asked, strict=True))
    return [reply.status for reply in await asyncio.gather(*sent)]


def test_changes_of_operators_take_turns(make_study: Any, new_database: Callable[[], str | Path]) -> None:
    """The second begins to look before the first is committed."""
    with sites(make_study(), new_database(), 2) as (one, other):
        (ada, adas), (ben, bens) = (with_session(one.host.store, one, name) for name in ("Ada", "Ben"))
        said: list[BaseException | None] = []

        def removing(cookie: str, who: int) -> Callable[[Connection], None]:
            token_hash = one.host.keys.hashed(cookie.partition("=")[2])

            def change(connection: Connection) -> None:
                operators.authorised(connection, token_hash, "owner", NOW)
                connection.execute(sa.delete(accounts).where(accounts.c.id == who))

            return change

        def second() -> None:
            try:
                other.host.store.change_now(removing(bens, ada))
            except NotLoggedIn as error:
                said.append(error)

        thread = Thread(target=second)

        def first(connection: Connection) -> None:
            removing(adas, ben)(connection)
            thread.start()
            thread.join(0.5)  # without a lock it is done by then

        one.host.store.change_now(first)
        thread.join()
        assert len(said) == 1
        assert owners(one.host.store) == ["Ada"]


def test_the_last_owner_cannot_be_removed(make_study: Any, new_database: Callable[[], str | Path]) -> None:
    with sites(make_study(), new_database(), 1) as (site,):
        store = site.host.store
        (ada, _), (ben, _) = (with_session(store, site, name) for name in ("Ada", "Ben"))
        store.change_now(lambda c: operators.remove_operator(c, ada))
        with pytest.raises(LastOwner):
            store.change_now(lambda c: operators.remove_operator(c, ben))
        assert owners(store) == ["Ben"]


def first_account(site: Site, name: str) -> Asked:
    csrf = site.host.keys.form("console ")
    fields = {"csrf": csrf, "name": name, "password": PASSWORD, "again": PASSWORD}
    return post(f"/admin/setup/{setup_key(site.host)}", fields)


def test_the_link_for_the_first_account_works_once_however_many_open_it(
    make_study: Any, new_database: Callable[[], str | Path]
) -> None:
    with sites(make_study(), new_database(), 2) as both:

        async def at_once() -> list[str]:
            asked = [(site, first_account(site, f"Owner {k}")) for k, site in enumerate(both * 3)]
            sent = await asyncio.gather(*(send(*one) for one in asked))
            return [reply.headers["location"] for reply in sent]

        assert sorted(asyncio.run(at_once())) == ["/admin", *["/admin/login"] * 5]
        assert len(owners(both[0].host.store)) == 1


def test_the_link_for_the_first_account_works_once_ever(
    make_study: Any, new_database: Callable[[], str | Path]
) -> None:
    """It may be in a log or in somebody's history: whatever became of the accounts, it opens nothing any more."""
    with sites(make_study(), new_database(), 1) as (site,):
        store = site.host.store
        assert asyncio.run(send(site, first_account(site, "Ada"))).headers["location"] == "/admin"
        store.change_now(lambda c: c.execute(sa.delete(accounts)))
        reply = asyncio.run(send(site, first_account(site, "Mallory")))
        assert reply.headers["location"] == "/admin/login"
        assert owners(store) == []
        noted = store.read_now(lambda c: c.execute(sa.select(events.c.operator, events.c.action)).all())
        assert [tuple(row) for row in noted] == [("Ada", "first account made")]


@pytest.mark.parametrize("how", ["removed", "password changed"])
def test_a_password_that_was_right_a_moment_ago_opens_nothing(
    make_study: Any, new_database: Callable[[], str | Path], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with operating(make_study().path, new_database()) as console:
        console.set_up()
        console.add("Eve", "owner")
        store, real = console.site.host.store, account_pages.is_right

        def slow(password: str, kept: str | None) -> bool:
            found = real(password, kept)
            if how == "removed":
                store.change_now(lambda c: operators.remove_operator(c, 2))
            else:
                store.change_now(lambda c: operators.change_password(c, 2, kept or "", "another"))
            return found

        monkeypatch.setattr(account_pages, "is_right", slow)
        assert console.log_in("Eve").status_code == 422
        assert store.read_now(lambda c: c.execute(sa.select(sessions.c.operator_id)).scalars().all()) == [1]
