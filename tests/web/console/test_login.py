"""Accounts: made once, checked in constant time, ended in time, and never more than what a role may do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.operating import PASSWORD, Operating, operating

from fairwise.store.operators import IDLE, LONGEST
from fairwise.store.schema import events, sessions
from fairwise.web.app import ALL_PAGES
from fairwise.web.console.accounts import setup_key
from fairwise.web.console.base import COOKIE, ConsoleRoute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROUTES = [route for pages in ALL_PAGES for route in pages.routes]


def address(route: ConsoleRoute) -> str:
    """With something in the place of every gap."""
    parts = ("1" if part.startswith("{") else part for part in route.path.removeprefix("/admin").split("/"))
    return "/".join(parts)


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study().path, tmp_path / "study.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def unchanged_console(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operating]:
    """Of an owner, Ada, and a viewer, Vic; for tests that change nothing."""
    with operating(make_study().path, tmp_path_factory.mktemp("console") / "study.sqlite") as opened:
        opened.set_up()
        opened.add("Vic", "viewer")
        yield opened


def test_the_first_account_is_made_once_and_only_with_the_key(console: Operating) -> None:
    key = setup_key(console.site.host)
    assert "no account yet" in console.get("/login").text
    assert console.get("/setup/wrong").status_code == 404
    assert console.post("/setup/wrong", name="Eve", password=PASSWORD, again=PASSWORD).status_code == 404
    for password, again in (("short", "short"), (PASSWORD, PASSWORD + "x"), ("a" * 20, "a" * 20)):
        assert console.post(f"/setup/{key}", name="Ada", password=password, again=again).status_code == 422
    console.set_up()
    assert console.get("/password").status_code == 200
    console.client.cookies.clear()
    late = console.post(f"/setup/{key}", name="Eve", password=PASSWORD, again=PASSWORD)
    assert late.url.path == "/admin/login"
    assert console.log_in("Eve").status_code == 422


def test_logging_in_and_out(console: Operating) -> None:
    console.set_up()
    old = console.client.cookies[COOKIE]
    console.post("/logout")
    assert console.get("/password").url.path == "/admin/login"
    console.client.cookies.set(COOKIE, old)  # a token that was left behind opens nothing
    assert console.get("/password").url.path == "/admin/login"
    console.client.cookies.clear()
    assert console.log_in("Ada", "wrong password").status_code == 422
    entered = console.log_in("aDA")
    assert entered.history[0].headers["location"] == "/admin"
    cookie = entered.history[0].headers["set-cookie"]
    for part in ("HttpOnly", "Secure", "SameSite=strict", "Path=/admin"):
        assert part in cookie
    assert console.client.cookies[COOKIE] != old


@pytest.mark.parametrize("typed", ["Änne", "ÄNNE", "A\u0308nne"])
def test_a_name_is_known_in_whatever_letters_it_is_typed(console: Operating, typed: str) -> None:
    key = setup_key(console.site.host)
    made = console.post(f"/setup/{key}", name="Änne", password=PASSWORD, again=PASSWORD)
    assert made.url.path == "/admin"
    twice = console.post("/accounts", name=typed, role="viewer", password=PASSWORD, again=PASSWORD)
    assert (twice.status_code, "already" in twice.text) == (422, True)
    console.client.cookies.clear()
    assert console.log_in(typed).url.path == "/admin"


def test_forms_have_the_token_of_their_session(console: Operating) -> None:
    def shown(page: str) -> set[str]:
        return {unescape(value) for value in re.findall(r'name="csrf" value="([^"]*)"', console.get(page).text)}

    console.set_up()
    logged_in = console.csrf()
    assert shown("/password") == shown("/accounts") == {logged_in}
    console.client.cookies.clear()
    assert shown("/login") == {console.csrf()} != {logged_in}


def test_a_token_that_was_planted_is_not_kept(console: Operating) -> None:
    console.set_up()
    console.client.cookies.clear()
    console.client.cookies.set(COOKIE, "planted", domain="study.example", path="/admin")
    csrf = console.site.host.keys.form("console planted")
    console.post("/login", csrf, name="Ada", password=PASSWORD)
    kept = console.site.host.store.read_now(lambda c: c.execute(sa.select(sessions.c.token_hash)).scalars().all())
    assert console.site.host.keys.hashed("planted") not in kept


@pytest.mark.parametrize(("column", "age"), [("begun_at", LONGEST), ("used_at", IDLE)])
def test_sessions_end(console: Operating, column: str, age: timedelta) -> None:
    console.set_up()

    def aged(by: timedelta) -> None:
        moment = datetime.now(UTC) - by
        console.site.host.store.change_now(lambda c: c.execute(sa.update(sessions).values({column: moment})))

    aged(age - timedelta(minutes=1))
    assert console.get("/accounts").url.path == "/admin/accounts"
    aged(age + timedelta(minutes=1))
    assert console.get("/accounts").url.path == "/admin/login"


def test_guessing_is_stopped(console: Operating) -> None:
    console.set_up()
    tries = [console.log_in("Ada", f"wrong number {k}").status_code for k in range(11)]
    assert tries == [422] * 10 + [429]
    assert console.log_in("Ada").status_code == 429  # the right one too, for a quarter of an hour
    console.add("Ben", "owner")
    assert console.log_in("Ben").url.path != "/admin/login"  # others are let in


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_nothing_without_a_login_and_no_owners_thing_for_a_viewer(
    unchanged_console: Operating, route: ConsoleRoute
) -> None:
    console = unchanged_console
    console.log_in("Ada")
    before = written(console)
    if route.role != "anyone":
        console.client.cookies.clear()
        stranger = ask(console, route, csrf=console.site.host.keys.form("console "))
        assert stranger.status_code == 401 or stranger.url.path == "/admin/login"
    if route.role == "owner":
        assert console.log_in("Vic").status_code == 200
        assert ask(console, route).status_code == 403
        console.log_in("Ada")
    if route.method == "POST":
        assert ask(console, route, csrf="made up").status_code in (401, 403)
    assert written(console) == before


def ask(console: Operating, route: ConsoleRoute, csrf: str | None = None) -> Any:
    return console.get(address(route)) if route.method == "GET" else console.post(address(route), csrf)


def written(console: Operating) -> int:
    """How much was done beside logging in."""
    done = sa.select(sa.func.count()).select_from(events).where(events.c.action != "logged in")
    return console.site.host.store.read_now(lambda c: c.execute(done).scalar_one())


def test_accounts_are_added_and_removed(console: Operating) -> None:
    console.set_up()
    assert (
        "account was made"
        in console.post("/accounts", name="Vic", role="viewer", password=PASSWORD, again=PASSWORD).text
    )
    twice = console.post("/accounts", name="vic", role="owner", password=PASSWORD, again=PASSWORD)
    assert (twice.status_code, "already" in twice.text) == (422, True)
    assert console.post("/accounts/1/remove").status_code == 422  # not the one in use
    assert console.post("/accounts/7/remove").status_code == 404
    assert console.log_in("Vic").status_code == 200
    vics = dict(console.client.cookies)
    console.log_in("Ada")
    assert "was removed" in console.post("/accounts/2/remove").text
    console.client.cookies.clear()
    console.client.cookies.update(vics)
    assert console.get("/password").url.path == "/admin/login"  # at once
    done = console.site.host.store.read_now(
        lambda c: c.execute(sa.select(events.c.operator, events.c.action, events.c.about)).all()
    )
    assert [tuple(row) for row in done] == [
        ("Ada", "first account made", "Ada"),
        ("Ada", "account added", "viewer Vic"),
        ("Vic", "logged in", ""),
        ("Ada", "logged in", ""),
        ("Ada", "account removed", "Vic"),
    ]


def test_a_password_is_changed_and_all_sessions_end(console: Operating) -> None:
    console.set_up()
    new = "another horse entirely"
    assert console.post("/password", old="wrong", password=new, again=new).status_code == 422
    changed = console.post("/password", old=PASSWORD, password=new, again=new)
    assert changed.url.path == "/admin/login"
    assert "password was changed" in changed.text
    assert console.log_in("Ada").status_code == 422
    assert console.log_in("Ada", new).status_code == 200


def test_passwords_are_in_no_database(console: Operating, tmp_path: Path) -> None:
    console.set_up()
    console.site.host.store.close()
    for file in tmp_path.glob("study.sqlite*"):
        assert PASSWORD.encode() not in file.read_bytes()
