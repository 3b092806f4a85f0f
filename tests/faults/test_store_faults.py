"""What the store and the site do while a database cannot be used, and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from threading import Event
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from faults.postgres import set_read_only
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient
from tests.support.visits import Visit, hidden, visiting

from fairwise.store.engine import database_url, writing_engine
from fairwise.store.errors import StoreUnavailable
from fairwise.store.schema import Moment, answers, participants, repeats
from fairwise.store.store import Store, snapshot
from fairwise.web.app import Site
from fairwise.web.shared.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

_COUNT = sa.text("UPDATE counters SET value = value + 1")


def test_many_who_wait_are_told_together_that_it_cannot_be_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tried alone would wait for a lock of its own: hundreds of them for an hour."""
    store = Store.open(tmp_path / "study.sqlite", "f")
    begins, begun, go = [], Event(), Event()

    def locked() -> Any:
        begins.append(1)
        raise OperationalError("BEGIN IMMEDIATE", {}, Exception("database is locked"))

    def slow(_: Connection) -> bool:
        begun.set()
        return go.wait(20)

    first = store._writer.submit(slow)
    assert begun.wait(20)
    waiting = [store._writer.submit(lambda c: c.execute(_COUNT)) for _ in range(5)]
    with monkeypatch.context() as patched:
        patched.setattr(store._writing, "begin", locked)
        go.set()
        assert first.result(20)
        assert [type(future.exception(20)) for future in waiting] == [StoreUnavailable] * 5
    assert len(begins) == 1
    store.change_now(lambda c: c.execute(_COUNT))
    store.close()


def test_an_old_form_that_said_nothing_new_undoes_no_later_answer(
    study: StudyFolder, new_database: Callable[[], str | Path]
) -> None:
    with visiting(study, new_database()) as visit:
        mine = visit.begin()
        pair = f"{mine}/pair/1"
        first, second, third, fourth = (hidden(visit.get(pair)) for _ in range(4))
        for form, said in ((first, "same"), (second, "same"), (third, "no_constraint"), (second, "same")):
            visit.post(pair, **form, answer=said)
        assert visit.exported() == ["no_constraint"]
        visit.post(pair, **fourth, answer="same")  # another form is another answer
        assert visit.exported() == ["same"]
        visit.post(pair, **second, answer="b_at_least_a")  # as is another button of the old one
        assert visit.exported() == ["b_at_least_a"]
        visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
        assert visit.rows(repeats) == 0


def test_after_having_been_read_only_it_can_be_written_to(postgres: str) -> None:
    store = Store.open(postgres, None)

    def count(connection: Connection) -> int:
        return int(connection.execute(_COUNT.columns()).rowcount)

    try:
        set_read_only(postgres, True)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="read-only"):
                store.change_now(count)
        set_read_only(postgres, False)
        store.change_now(count)  # those connected in between must not stay as they were
    finally:
        set_read_only(postgres, False)
        store.close()


def test_a_site_that_cannot_ask_how_it_stands_serves_on(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(_: Host) -> bool:
        raise StoreUnavailable

    monkeypatch.setattr(Host, "refresh", unavailable)
    monkeypatch.setattr(Host, "is_due", True)
    with TestClient(Site(study.path, study.path / "study.sqlite")) as client:
        assert client.get("/").status_code == 200


def test_a_change_of_the_study_is_not_forgotten_while_the_database_is_away(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(study.path, study.path / "study.sqlite")
    text = (study.path / "task.md").read_text()
    (study.path / "task.md").write_text(f"{text}\n\nMore.")

    def unavailable(_store: Store, _fingerprint: str) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(Store, "claim", unavailable)
        with pytest.raises(StoreUnavailable):
            host.refresh()
    assert host.refresh()
    host.close()


def test_no_answer_is_older_than_its_consent(
    study: StudyFolder, new_database: Callable[[], str | Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock was put back by an hour between the two."""
    database = new_database()
    with visiting(study, database) as visit:
        pair = f"{visit.begin()}/pair/1"
        form = hidden(visit.get(pair))
        clock = Mock(wraps=datetime)
        clock.now.side_effect = lambda zone: datetime.now(zone) - timedelta(hours=1)
        monkeypatch.setattr("fairwise.web.participant.pairs.datetime", clock)
        visit.post(pair, **form, answer="same")
    with snapshot(database) as connection:
        agreed = connection.execute(sa.select(participants.c.consented_at)).scalar_one()
        said = connection.execute(sa.select(answers.c.answered_at)).scalar_one()
    assert said == agreed
    assert clock.now.called


def test_moments_are_read_in_utc(new_database: Callable[[], str | Path]) -> None:
    at = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    table = sa.Table("moments", sa.MetaData(), sa.Column("at", Moment))
    engine = writing_engine(database_url(new_database()))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(sa.insert(table), [{"at": at.astimezone(UTC)}, {"at": None}])
        found = connection.execute(sa.select(table.c.at, sa.func.max(table.c.at).over())).all()
    engine.dispose()
    assert [row[0] for row in found] == [at, None]
    assert {row[1].tzinfo for row in found} == {UTC}


def _put_back(here: Path, away: Path) -> None:
    for file in away.iterdir():
        file.replace(here / file.name)


@pytest.mark.parametrize("gone", [("study.sqlite", "study.sqlite-wal", "study.sqlite-shm"), ("study.sqlite-wal",)])
def test_nothing_is_acknowledged_into_a_file_that_was_taken_away(
    study: StudyFolder, tmp_path: Path, gone: tuple[str, ...]
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    with TestClient(
        Site(study.path, study.path / "study.sqlite"),
        base_url="https://study.example",
        headers={"sec-fetch-site": "same-origin"},
    ) as client:
        visit = Visit(client)
        pair = f"{visit.begin()}/pair/1"
        form = hidden(visit.get(pair))
        for name in gone:
            (study.path / name).replace(away / name)
        assert visit.post(pair, **form, answer="same").status_code == 503
        assert [visit.get(path).status_code for path in (pair, "/readyz", "/healthz")] == [503, 503, 200]
        for name in gone:
            (study.path / name).touch()  # another file of the same name is no better
        assert visit.post(pair, **form, answer="same").status_code == 503
        _put_back(study.path, away)
        assert visit.post(pair, **form, answer="same").status_code == 200
    with snapshot(study.path / "study.sqlite") as connection:
        assert connection.execute(sa.select(answers.c.answer)).scalars().all() == ["same"]


def test_those_who_waited_together_are_refused_together(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "study.sqlite", "f")
    begun, go = Event(), Event()

    def slow(_: Connection) -> bool:
        begun.set()
        return go.wait(20)

    waiting = [store._writer.submit(slow)]
    assert begun.wait(20)
    waiting += [store._writer.submit(lambda c: c.execute(_COUNT).rowcount) for _ in range(3)]
    (tmp_path / "study.sqlite").unlink()
    go.set()
    assert [type(future.exception(20)) for future in waiting] == [StoreUnavailable] * 4
    store.close()
