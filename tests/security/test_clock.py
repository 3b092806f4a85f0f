"""A clock that is wrong deletes nothing too early, and stops what is due for no longer than it is wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.operating import operating
from tests.support.watching import take_part
from typer.testing import CliRunner

from fairwise.archive import backup
from fairwise.archive.backup import take_backup
from fairwise.cli.app import app
from fairwise.store import erasure
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.erasure import forget_in_time
from fairwise.store.schema import answers, counters, events, metadata, participants
from fairwise.store.store import Store
from fairwise.web.console import overview

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.store.erasure import Forgotten
    from fairwise.study.folder import StudyFolder

WORDS = "words that only I would write"
SEEN = "clock seen"


@pytest.fixture
def study(make_study: Any) -> StudyFolder:
    made: StudyFolder = make_study(ask_why=True, retention_days=30)
    return made


@pytest.fixture
def new_database(new_empty_database: Callable[[], str | Path]) -> Callable[[], str | Path]:
    """Without tables, as backups are restored into one."""
    return new_empty_database


@pytest.fixture
def database(study: StudyFolder, new_database: Callable[[], str | Path]) -> str | Path:
    """In which somebody wrote something just now."""
    made = new_database()
    with operating(study.path, made) as console:
        console.set_up()
        take_part(console, 1, why=WORDS)
    return made


@pytest.fixture
def days_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the machine's clock."""

    def set_clock(days: int) -> None:
        class Later(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + timedelta(days=days)

        for module in (erasure, overview, backup):
            monkeypatch.setattr(module, "datetime", Later)

    return set_clock


def change(database: str | Path, *changes: sa.Executable) -> None:
    engine = writing_engine(database_url(database))
    with engine.begin() as connection:
        for one in changes:
            connection.execute(one)
    engine.dispose()


def rows(database: str | Path, query: sa.Select[Any]) -> list[Any]:
    engine = writing_engine(database_url(database))
    with engine.connect() as connection:
        found = list(connection.execute(query).all())
    engine.dispose()
    return found


def texts(database: str | Path) -> set[str]:
    return {row.why for row in rows(database, sa.select(answers.c.why))}


def forget(study: StudyFolder, database: str | Path, **options: Any) -> Forgotten:
    store = Store.open(database, study.fingerprint, study.path)
    try:
        return forget_in_time(study.settings, store, database, **options)
    finally:
        store.close()


def at(database: str | Path) -> list[str]:
    return ["--database", database if isinstance(database, str) else f"sqlite:///{database}"]


def move_into_the_past(database: str | Path, days: int) -> None:
    """All that was written, and when the clock was seen."""
    everywhere = [column for table in metadata.sorted_tables for column in table.c if "Moment" in repr(column.type)]
    for column in everywhere:
        for (then,) in rows(database, sa.select(column).where(column.is_not(None)).distinct()):
            earlier = {column.name: then - timedelta(days=days)}
            change(database, sa.update(column.table).where(column == then).values(earlier))
    minutes = counters.c.value - days * 24 * 60
    change(database, sa.update(counters).where(counters.c.name == SEEN).values(value=minutes))


def as_before_the_clock_was_looked_at(database: str | Path) -> None:
    """As version 0.1 leaves it."""
    change(database, sa.delete(counters).where(counters.c.name == SEEN))


def test_the_first_look_after_an_upgrade_is_not_simply_believed(
    study: StudyFolder, database: str | Path, days_later: Callable[[int], None]
) -> None:
    as_before_the_clock_was_looked_at(database)
    days_later(400)
    with operating(study.path, database) as console:  # the server looks by itself when it starts
        console.log_in("Ada")
        told = " ".join(console.get("").text.split())
        assert "400 days ahead of the last time that is written" in told
        assert "fairwise study forget DIR --clock-is-right" in told
        store = console.site.host.store  # somebody answers while the clock is wrong: that makes it no truer
        late = sa.update(answers).values(answered_at=datetime.now(UTC) + timedelta(days=400))
        store.change_now(lambda connection: connection.execute(late))
        assert forget_in_time(study.settings, store, database)[::2] == (0, 400)
    assert forget(study, database)[::2] == (0, 400)
    assert texts(database) == {WORDS}
    days_later(0)
    assert forget(study, database).days_off == 0


def test_the_first_look_after_an_upgrade_is_believed_if_the_time_agrees(
    study: StudyFolder, database: str | Path
) -> None:
    change(database, sa.update(participants).values(consented_at=datetime.now(UTC) - timedelta(days=31)))
    as_before_the_clock_was_looked_at(database)
    assert forget(study, database) == (1, True, 0) or isinstance(database, str)
    assert texts(database) == {""}


def test_a_clock_that_was_far_ahead_once_stops_nothing_and_is_told_of(
    study: StudyFolder, database: str | Path, days_later: Callable[[int], None]
) -> None:
    days_later(400)
    forget(study, database, clock_is_right=True)  # which it was not
    days_later(0)
    change(database, sa.update(answers).values(why=WORDS))
    change(database, sa.update(participants).values(consented_at=datetime.now(UTC) - timedelta(days=31)))
    done = forget(study, database)
    assert (done.rows, done.days_off) == (1, -400), "what is due goes also by the earlier of two clocks"
    with operating(study.path, database) as console:
        console.log_in("Ada")
        told = " ".join(console.get("").text.split())
    assert "400 days behind the last time that is written" in told
    assert "fairwise study forget DIR --clock-is-right" in told


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_clock_that_was_far_ahead_once_is_forgotten(
    study: StudyFolder, database: str | Path, days_later: Callable[[int], None], by_itself: bool
) -> None:
    """By the operator who says so; or if it goes on for two weeks as it is now."""
    minutes = counters.c.value + 400 * 24 * 60
    change(database, sa.update(counters).where(counters.c.name == SEEN).values(value=minutes))
    days = (0, 7, 15) if by_itself else (0,)
    for day in days:
        days_later(day)
        off = forget(study, database).days_off
    if by_itself:
        assert off == 0
    else:
        assert off < 0
        forget(study, database, clock_is_right=True)
    days_later(390)
    assert forget(study, database)[::2] == (0, 390 - days[-1])
    assert texts(database) == {WORDS}


def test_a_clock_that_is_put_back_for_a_moment_unlearns_nothing(
    study: StudyFolder, database: str | Path, days_later: Callable[[int], None]
) -> None:
    """As of a machine without a battery, whose clock is right a minute after it starts."""
    for days, off in ((-9000, -9000), (1, 0), (-9000, -9000), (12, 0), (-8990, -8990), (25, 0), (40, 15)):
        days_later(days)
        assert abs(forget(study, database).days_off - off) <= 30, days
        assert bool(forget(study, database).days_off) == bool(off)


def test_who_believes_the_clock_is_written_down(study: StudyFolder, database: str | Path) -> None:
    move_into_the_past(database, 90)
    told = CliRunner().invoke(app, ["study", "forget", str(study.path), *at(database)])
    assert "90 days ahead" in " ".join(told.stderr.split())
    assert f"fairwise study forget {study.path} --clock-is-right" in " ".join(told.stderr.split())
    assert texts(database) == {WORDS}
    told = CliRunner().invoke(app, ["study", "forget", str(study.path), "--clock-is-right", *at(database)])
    assert told.exit_code == 0
    assert texts(database) == {""}
    noted = rows(database, sa.select(events.c.operator, events.c.action, events.c.about).order_by(events.c.id.desc()))
    today = datetime.now(UTC).date().isoformat()
    assert tuple(noted[0]) == (
        "(command line)",
        "clock said to be right",
        f"{today}, 90 days ahead of the last time that is written here",
    )


def test_believing_the_clock_closes_no_door(study: StudyFolder, new_database: Callable[[], str | Path]) -> None:
    """The link for the first account works until there was an account."""
    database = new_database()
    forget(study, database, clock_is_right=True)
    with operating(study.path, database) as console:
        console.set_up()
        assert console.get("").status_code == 200


def test_an_old_backup_goes_on_by_the_clock_of_who_restored_it(
    study: StudyFolder, database: str | Path, new_database: Callable[[], str | Path], tmp_path: Path
) -> None:
    move_into_the_past(database, 90)
    take_backup(tmp_path / "b.zip", study, database, with_secret=True)
    there = new_database()
    told = CliRunner().invoke(app, ["restore", str(tmp_path / "b.zip"), str(tmp_path / "again"), *at(there)])
    assert told.exit_code == 0
    assert f"clock says {datetime.now(UTC):%Y-%m-%d}, 90 days" in " ".join(told.output.split())
    assert texts(there) == {WORDS}
    restored = type(study).open(tmp_path / "again")
    assert forget(restored, there).rows == 1
    assert texts(there) == {""}
    assert rows(there, sa.select(events.c.action).order_by(events.c.id.desc()))[0].action == "clock said to be right"


def test_a_backup_restored_by_a_clock_that_was_not_set_is_not_spoilt(
    study: StudyFolder, database: str | Path, days_later: Callable[[int], None], tmp_path: Path
) -> None:
    take_backup(tmp_path / "b.zip", study, database, with_secret=True)
    days_later(-9000)
    told = CliRunner().invoke(app, ["restore", str(tmp_path / "b.zip"), str(tmp_path / "again")])
    assert told.exit_code == 0
    days_later(1)
    restored = type(study).open(tmp_path / "again")
    assert forget(restored, tmp_path / "again" / "study.sqlite").days_off == 0
