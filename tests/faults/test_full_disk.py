"""A disk that is full: the log says so once a minute, `/readyz` too, and with room again everything goes on."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import sqlalchemy as sa
from faults.disk import SmallDisk
from faults.postgres import set_read_only
from faults.study import make_study
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, OperationalError
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden

from fairwise.store import logs
from fairwise.store.logs import FailedWrites
from fairwise.store.schema import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairwise.study.folder import StudyFolder


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with SmallDisk.mounted(megabytes=4) as disk:
        if not disk.can_be_filled:
            pytest.skip("no small disk can be mounted here")
        yield disk


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.1)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "cannot be written to" in one.getMessage()]


def refused(console: Operating, pair: str, form: dict[str, str]) -> None:
    """Answers until one is refused."""
    visit = Visit(console.client)
    until(lambda: visit.post(pair, **form, answer="same").status_code == 503)


def test_a_full_disk_is_told_and_room_is_all_it_needs(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRWISE_METRICS_TOKEN", "0123456789abcdef")
    home = make_study(disk.path, pairs=3, design={})
    with operating(home, home / "study.sqlite") as console:
        visit = Visit(console.client)
        pair = f"{visit.begin()}/pair/1"
        form = hidden(visit.get(pair))
        assert console.client.get("/readyz").text == "ready"
        disk.fill()
        refused(console, pair, form)
        for _ in range(20):
            assert visit.post(pair, **form, answer="same").status_code == 503
        ready = console.client.get("/readyz")
        assert (ready.status_code, ready.text) == (503, "the database cannot be written to")
        assert console.client.get("/healthz").text == "ok"
        (told,) = lines(caplog)
        assert told == (
            "The database cannot be written to: database or disk is full (SQLITE_FULL). Make room on its disk; no "
            "restart is needed."
        )
        numbers = console.client.get("/metrics", headers={"authorization": "Bearer 0123456789abcdef"}).text
        assert re.search(r'fairwise_failed_writes_total\{kind="SQLITE_FULL",process="\d+"\} 2', numbers)
        disk.free()
        assert visit.post(pair, **form, answer="same").status_code == 200
        until(lambda: console.client.get("/readyz").text == "ready")
        kept = console.site.host.store.read_now(lambda c: c.execute(sa.select(answers.c.answer)).scalars().all())
        assert kept == ["same"]


def test_readiness_tells_before_anybody_answers(disk: SmallDisk) -> None:
    home = make_study(disk.path, pairs=3, design={})
    with operating(home, home / "study.sqlite") as console:
        assert console.client.get("/readyz").text == "ready"
        disk.fill()
        until(lambda: console.client.get("/readyz").status_code == 503)
        disk.free()
        until(lambda: console.client.get("/readyz").text == "ready")


def test_nobody_logs_in_on_a_full_disk_and_the_log_says_why(disk: SmallDisk, caplog: pytest.LogCaptureFixture) -> None:
    home = make_study(disk.path, pairs=3, design={})
    with operating(home, home / "study.sqlite") as console:
        console.set_up()
        disk.fill()
        assert console.log_in("Ada").status_code == 503
        assert lines(caplog)
        disk.free()
        until(lambda: console.log_in("Ada").status_code == 200)


def test_a_database_that_cannot_be_written_to_is_not_ready(
    study: StudyFolder, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        with operating(study.path, postgres) as console:
            visit = Visit(console.client)
            pair = f"{visit.begin()}/pair/1"
            form = hidden(visit.get(pair))
            set_read_only(postgres, True)
            refused(console, pair, form)
            for _ in range(3):
                assert visit.post(pair, **form, answer="same").status_code == 503
            assert console.client.get("/readyz").text == "the database cannot be written to"
            (told,) = lines(caplog)
            assert "read-only transaction (ReadOnlySqlTransaction)" in told
            set_read_only(postgres, False)
            assert visit.post(pair, **form, answer="same").status_code == 200
            until(lambda: console.client.get("/readyz").text == "ready")
    finally:
        set_read_only(postgres, False)


def test_a_full_disk_of_postgresql_is_told(
    study: StudyFolder, postgres: str, disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers have no room, while whatever needs none can still be written: that is not ready either."""
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE DATABASE without_answers")  # where the first one needs room
    own = make_url(postgres).set(database="without_answers").render_as_string(hide_password=False)
    with psycopg.connect(own, autocommit=True) as direct, operating(study.path, own) as console:
        visit = Visit(console.client)
        pair = f"{visit.begin()}/pair/1"
        form = hidden(visit.get(pair))
        found = direct.execute("SHOW data_directory").fetchone()
        assert found is not None
        space, owner = disk.path / "space", Path(found[0]).stat()
        space.mkdir()
        os.chown(space, owner.st_uid, owner.st_gid)
        direct.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
        try:
            direct.execute("ALTER TABLE answers SET TABLESPACE small")
            disk.fill()
            for _ in range(3):
                assert visit.post(pair, **form, answer="same").status_code == 503
            assert console.client.get("/readyz").text == "the database cannot be written to"
            (told,) = lines(caplog)
            assert told.endswith("No space left on device (DiskFull). Make room on its disk; no restart is needed.")
            disk.free()
            assert visit.post(pair, **form, answer="same").status_code == 200
            until(lambda: console.client.get("/readyz").text == "ready")
        finally:
            disk.free()
            direct.execute("ALTER TABLE answers SET TABLESPACE pg_default")
            direct.execute("CHECKPOINT")
            direct.execute("DROP TABLESPACE small")


def test_whoever_asks_often_writes_no_oftener(study: StudyFolder, new_database: Callable[[], str | Path]) -> None:
    """Anyone may ask: a stranger must not make the disk work."""
    with operating(study.path, new_database()) as console:
        begun = time.monotonic()
        for _ in range(50):
            assert console.client.get("/readyz").text == "ready"
        passed = time.monotonic() - begun
        checks = sa.text("SELECT checks FROM database_identity")
        written = console.site.host.store.read_now(lambda c: c.execute(checks).scalar_one())
    assert 1 <= written <= passed + 2


def test_each_kind_is_said_once_a_minute_with_how_many_there_were(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(logs, "monotonic", lambda: now)
    failed = FailedWrites("The database")
    full = OperationalError("INSERT", {}, psycopg.errors.DiskFull('could not extend file "x"\nHINT: secrets'))
    slow = OperationalError("INSERT", {}, psycopg.errors.LockNotAvailable("canceling statement"))
    for error in (full, full, slow, full):
        failed.add(error)
    assert len(lines(caplog)) == 2
    now += 61
    assert not failed.are_recent
    failed.add(full)
    assert failed.are_recent
    assert lines(caplog)[-1].endswith("no restart is needed. (2 more since this was last said)")
    assert "secrets" not in caplog.text
    assert failed.counts == {"DiskFull": 4, "LockNotAvailable": 1}


def test_what_a_stranger_sends_makes_nothing_unready(caplog: pytest.LogCaptureFixture) -> None:
    failed = FailedWrites("The database")
    failed.add(DataError("INSERT", {}, psycopg.DataError("a text that cannot be kept")))
    assert not failed.are_recent
    assert len(lines(caplog)) == 1
