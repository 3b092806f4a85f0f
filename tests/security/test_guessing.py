"""Guessing passwords under other spellings and addresses; and keeping operators out by guessing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.attacked import post
from tests.support.operating import PASSWORD, Operating, operating
from tests.support.raw_asgi import send

from fairwise.store.schema import operators
from fairwise.web.console import accounts
from fairwise.web.console.accounts import setup_key
from fairwise.web.shared.security import FROM_ONE_ADDRESS, OF_ONE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study().path, tmp_path / "study.sqlite") as opened:
        yield opened


def guesses(console: Operating, tried: Sequence[tuple[str, str]]) -> list[int]:
    """Statuses of wrong passwords of strangers, each for a name and from an address."""

    async def one_by_one() -> list[int]:
        csrf = console.site.host.keys.form("console ")
        fields = {"csrf": csrf, "password": "a wrong password"}
        asked = [(post("/admin/login", {**fields, "name": name}), address) for name, address in tried]
        return [(await send(console.site, one, client=address)).status for one, address in asked]

    return asyncio.run(one_by_one())


@pytest.mark.parametrize(
    "spellings", [("Ada", "ADA", "\uff21da", "\U0001d400da"), ("Strauß", "STRAUSS", "STRAU\u1e9e")]
)
def test_a_name_in_other_letters_is_counted_as_the_same(console: Operating, spellings: tuple[str, ...]) -> None:
    key = setup_key(console.site.host)
    console.post(f"/setup/{key}", name=spellings[0], password=PASSWORD, again=PASSWORD)
    for name in spellings:  # they are all this account
        assert console.log_in(name).url.path == "/admin"
    tried = [(spellings[k % len(spellings)], f"198.51.100.{k}") for k in range(OF_ONE_NAME + 4)]
    assert guesses(console, tried) == [422] * OF_ONE_NAME + [429] * 4


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ([f"2001:db8:1:2::{k:x}" for k in range(1, 80)], "2001:db8:1:3::1"),
        ([f"2001:db8:1:2:{k:x}:5:6:7" for k in range(1, 80)], "2001:db8:9:2::1"),
        (["203.0.113.9", "::ffff:203.0.113.9", "::ffff:cb00:7109"] * 20, "::ffff:203.0.113.10"),
        (["fe80::1%eth0", "fe80::2%eth1"] * 20, "fe80:0:0:1::1"),
    ],
)
def test_a_network_is_counted_as_one_address(console: Operating, one: list[str], another: str) -> None:
    console.set_up()
    tried = [(f"name {k}", address) for k, address in enumerate(one[: FROM_ONE_ADDRESS + 3])]
    assert guesses(console, tried) == [422] * FROM_ONE_ADDRESS + [429] * 3
    assert guesses(console, [("name", another)]) == [422]


def enter(console: Operating, name: str, password: str = PASSWORD) -> int:
    """Log in by a browser that keeps its cookies."""
    reply = console.post("/login", name=name, password=password)
    return 303 if reply.history else reply.status_code


def test_a_stranger_who_guesses_keeps_nobody_out(console: Operating) -> None:
    console.set_up()
    console.post("/logout")
    elsewhere = [("Ada", f"198.51.100.{k}") for k in range(OF_ONE_NAME + 1)]
    from_there = [(f"name {k}", "testclient") for k in range(FROM_ONE_ADDRESS + 1)]  # behind the same proxy
    assert guesses(console, elsewhere)[-1] == guesses(console, from_there)[-1] == 429
    assert enter(console, "aDA") == 303  # from where she was
    console.client.cookies.clear()
    assert enter(console, "Ada") == 429  # and from nowhere else


def test_a_known_browser_guesses_no_more_than_others_and_for_its_own_name_only(console: Operating) -> None:
    console.set_up()
    console.add("Ben", "owner")
    console.post("/logout")
    assert guesses(console, [("Ben", f"198.51.100.{k}") for k in range(OF_ONE_NAME)])[-1] == 422
    assert enter(console, "Ben") == 429  # it is Ada's
    tries = [enter(console, "Ada", f"wrong number {k}") for k in range(OF_ONE_NAME + 1)]
    assert tries == [422] * OF_ONE_NAME + [429]
    console.client.cookies.clear()
    assert enter(console, "Ada") == 303  # which keeps nobody out elsewhere


def test_with_another_password_every_browser_is_a_stranger(console: Operating) -> None:
    """Whoever knew the old one does not guess the new one without end."""
    console.set_up()
    known = console.client.cookies[accounts.DEVICE_COOKIE]
    console.post("/logout")
    kept = accounts.hashed("another horse entirely")
    change = sa.update(operators).values(password_hash=kept)
    console.site.host.store.change_now(lambda connection: connection.execute(change))
    tries = []
    for number in range(OF_ONE_NAME + 1):
        console.client.cookies.set(accounts.DEVICE_COOKIE, known)
        tries.append(enter(console, "Ada", f"wrong number {number}"))
    assert tries[-1] == 429
    console.client.cookies.clear()
    assert enter(console, "Ada") == 429  # they were counted for the name


def test_the_old_password_is_not_guessed_on_the_page_that_changes_it(console: Operating) -> None:
    console.set_up()
    new = "another horse entirely"

    def change(old: str) -> int:
        reply = console.post("/password", old=old, password=new, again=new)
        return 303 if reply.history else reply.status_code

    tries = [change(f"wrong number {k}") for k in range(OF_ONE_NAME + 1)]
    assert tries == [422] * OF_ONE_NAME + [429]
    assert change(PASSWORD) == 429
    console.client.cookies.clear()
    assert enter(console, "Ada") == 303  # whoever sat there keeps nobody out
