"""`fairwise study operator`: an operator who cannot log in is let in again, by a link that works once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.operating import PASSWORD, Operating, operating
from tests.support.small_study import study_maker

from fairwise.store.schema import events, operators
from fairwise.web.shared.security import OF_ONE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typer.testing import Result

    Run = Callable[..., Result]
NEW = "another horse entirely"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = study_maker(tmp_path_factory)().path
    return path


@pytest.fixture
def database(new_database: Callable[[], str | Path], home: Path) -> str | Path:
    where = new_database()
    return where if isinstance(where, str) else home / "study.sqlite"


@pytest.fixture
def console(home: Path, database: str | Path) -> Iterator[Operating]:
    with operating(home, database) as opened:
        opened.set_up()
        yield opened


@pytest.fixture
def where(database: str | Path) -> list[str]:
    return ["--database", database] if isinstance(database, str) else []


def link_of(done: Result) -> str:
    return next(line for line in done.stdout.splitlines() if "/admin/reset/" in line).rpartition("/admin")[2]


def choose(console: Operating, link: str, password: str = NEW) -> Any:
    return console.post(link, console.site.host.keys.form("console "), password=password, again=password)


def test_who_cannot_log_in_is_let_in_again(console: Operating, home: Path, where: list[str], run: Run) -> None:
    session = dict(console.client.cookies)
    for number in range(OF_ONE_NAME):
        console.log_in("Ada", f"wrong number {number}")
    assert console.log_in("Ada").status_code == 429
    done = run("study", "operator", "reset", home, "aDA", *where)
    assert "Ada (owner) can choose a password" in done.stdout
    console.client.cookies.update(session)
    assert console.get("/password").url.path == "/admin/login"  # the session has ended
    assert console.log_in("Ada").status_code == 422  # the old password is gone, the lock too
    console.client.cookies.clear()
    link = link_of(done)
    page = console.get(link)
    assert (page.status_code, "Ada" in page.text) == (200, True)
    assert choose(console, link, "short").status_code == 422
    assert choose(console, link).url.path == "/admin"
    console.client.cookies.clear()
    assert console.get(link).status_code == 404
    assert choose(console, link, "a third horse indeed").status_code == 404
    assert console.log_in("Ada", NEW).url.path == "/admin"
    noted = console.site.host.store.read_now(
        lambda c: c.execute(sa.select(events.c.operator, events.c.action, events.c.about).order_by("id")).all()
    )
    assert [tuple(row) for row in noted][1:] == [
        ("(command line)", "account reset", "Ada"),
        ("Ada", "password set by link", "Ada"),
        ("Ada", "logged in", ""),
    ]


def test_only_the_last_link_works_and_not_for_ever(
    console: Operating, home: Path, where: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (link_of(run("study", "operator", "reset", home, "Ada", *where)) for _ in range(2))
    console.client.cookies.clear()
    assert console.get(first).status_code == 404
    assert console.get(second).status_code == 200
    operator, until, signature = second.removeprefix("/reset/").split("-", 2)
    for changed in (
        f"{int(operator) + 1}-{until}-{signature}",
        f"{operator}-{int(until) + 1}-{signature}",
        "x",
        "1-2-3",
    ):
        assert console.get(f"/reset/{changed}").status_code == 404
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    assert choose(console, second).status_code == 404


def test_an_owner_where_there_is_none_any_more(console: Operating, home: Path, where: list[str], run: Run) -> None:
    """As two owners of an earlier version could remove each other."""
    console.site.host.store.change_now(lambda c: c.execute(sa.delete(operators)))
    link = link_of(run("study", "operator", "add", home, "Ben", *where))
    console.client.cookies.clear()
    assert choose(console, link).url.path == "/admin"
    assert console.get("/accounts").status_code == 200
    console.log_in("Ben", NEW)
    assert (
        choose(console, link_of(run("study", "operator", "add", home, "Vic", "--viewer", *where)), PASSWORD).status_code
        == 403
    )
    taken = run("study", "operator", "add", home, "BEN", *where, code=1)
    assert "there is an account named 'BEN' already" in taken.stderr


def test_what_cannot_be_done_is_one_line(home: Path, tmp_path: Path, run: Run) -> None:
    nobody = run("study", "operator", "reset", home, "Ada", code=1)
    assert "nobody has served this study yet" in nobody.stderr
    with operating(home, home / "study.sqlite") as console:
        console.set_up()
    unknown = run("study", "operator", "reset", home, "Ben", code=1)
    assert "there is no account named 'Ben'; there are: 'Ada'" in unknown.stderr
    assert "secret.key: there is no such file" in run("study", "operator", "reset", tmp_path, "Ada", code=1).stderr
    assert "--url" in run("study", "operator", "reset", home, "Ada", "--url", "study", code=1).stderr
    assert "1 to 100 characters" in run("study", "operator", "add", home, " ", code=1).stderr
