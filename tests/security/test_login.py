"""Guessing passwords: the same work for every name, and no more than so many tries, by however many at once."""

from __future__ import annotations

import asyncio
import sys
from subprocess import run
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from tests.support.attacked import FORM, HEADERS
from tests.support.operating import Operating, operating
from tests.support.raw_asgi import Asked, send

from fairwise.web.console import accounts
from fairwise.web.shared.security import FILE, OF_ONE_NAME, Attempts, login_limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    with operating(make_study().path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened


def test_a_name_that_nobody_has_takes_the_same_work(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes: list[str] = []

    class Counting:
        def __init__(self, real: Any) -> None:
            self._real = real

        def hash(self, password: str) -> Any:
            return self._real.hash(password)

        def verify(self, kept: str, password: str) -> Any:
            hashes.append(kept.rsplit("$", 2)[0])  # the kind of hash, and how much work it is
            return self._real.verify(kept, password)

    monkeypatch.setattr(accounts, "_hasher", Counting(accounts._hasher))
    replies = [console.log_in(name, "a wrong password") for name in ("Ada", "Nobody")]
    assert len(hashes) == 2
    assert hashes[0] == hashes[1]
    pages = [reply.text.replace("Ada", "…").replace("Nobody", "…") for reply in replies]
    assert pages[0] == pages[1]


def test_a_kept_password_is_dear_to_guess() -> None:
    """In a process of its own: tests hash cheaply. The least of what OWASP recommends for argon2id is 19 MiB, twice."""
    program = "from fairwise.web.console.accounts import hashed; print(hashed('a password'))"
    kept = run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    _, kind, _, work, *_ = kept.split("$")
    memory, times, _ = (int(part.partition("=")[2]) for part in work.split(","))
    assert kind == "argon2id"
    assert memory >= 19 * 1024
    assert times >= 2


def test_many_at_once_are_not_each_the_first(console: Operating) -> None:
    csrf = console.site.host.keys.form("console ")
    body = urlencode({"csrf": csrf, "name": "Ada", "password": "a wrong password"}).encode()
    asked = Asked("POST", "/admin/login", (*HEADERS, (b"content-type", FORM)), body)

    async def all_at_once() -> list[int]:
        return [reply.status for reply in await asyncio.gather(*(send(console.site, asked) for _ in range(25)))]

    assert sorted(asyncio.run(all_at_once())) == [422] * OF_ONE_NAME + [429] * (25 - OF_ONE_NAME)


def test_processes_count_together_and_names_and_addresses_are_kept_nowhere(console: Operating) -> None:
    home, keys = console.site.host.path, console.site.host.keys
    one, other = Attempts(home, keys), Attempts(home, keys)
    limits = login_limits("Somebody Known", "203.0.113.9", None)
    tries = [each.begin(*limits) for _ in range(OF_ONE_NAME) for each in (one, other)]
    assert sum(tries) == OF_ONE_NAME
    other.forgive(*limits)
    assert one.begin(*login_limits("somebody known", "203.0.113.9", None))
    kept = (home / FILE).read_bytes()
    assert b"203.0.113.9" not in kept
    assert b"omebody" not in kept
