"""From the oldest tables, with answers in them, to the newest nothing is lost; and there is no way back."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.support.old_study import everything, old_rows
from typer.testing import CliRunner

from fairwise.cli.app import app
from fairwise.store.engine import database_url, newest_version, tables_of, writing_engine
from fairwise.store.erasure import erase
from fairwise.store.jobs import all_jobs
from fairwise.store.store import Store
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


@pytest.fixture
def old(study: StudyFolder, new_database: Callable[[], str | Path]) -> str | Path:
    """A database of the first version, filled by plain SQL."""
    address = new_database()
    engine = writing_engine(database_url(address))
    with tables_of(engine, "0001") as connection:
        connection.exec_driver_sql("UPDATE counters SET value = 3")
        for name, rows in old_rows(study.fingerprint).items():
            columns = ", ".join(rows[0])
            values = ", ".join(f":{column}" for column in rows[0])
            connection.execute(sa.text(f"INSERT INTO {name} ({columns}) VALUES ({values})"), rows)
    engine.dispose()
    return address


def test_nothing_is_lost_on_the_way_from_the_oldest_to_the_newest(study: StudyFolder, old: str | Path) -> None:
    before = everything(old)
    assert before == old_rows(study.fingerprint)
    store = Store.open(old, study.fingerprint)  # as serving it does
    try:
        now = store.read_now(lambda c: c.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one())
        last = store.read_now(
            lambda c: c.execute(sa.text("SELECT value FROM counters WHERE name = 'participants'")).scalar_one()
        )
    finally:
        store.close()
    assert now == newest_version()
    assert last == 3
    assert everything(old) == before


def test_a_newer_database_is_refused_in_one_sentence(study: StudyFolder, old: str | Path) -> None:
    Store.open(old, study.fingerprint).close()
    engine = writing_engine(database_url(old))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    address = str(old) if isinstance(old, str) else f"sqlite:///{old}"
    told = CliRunner().invoke(app, ["serve", str(study.path), "--port", "0", "--no-jobs", "--database", address])
    assert told.exit_code == 1
    assert "made by a newer Fairwise, with tables of version '9999': update Fairwise." in told.stderr
    assert told.stderr.count("\n") == 1
    out = str(study.path.with_name("b.zip"))
    told = CliRunner().invoke(app, ["backup", str(study.path), "--out", out, "--database", address])
    assert told.exit_code == 1
    assert "tables of version '9999'" in told.stderr
    assert everything(old) == old_rows(study.fingerprint)


def test_of_earlier_fits_everyone_who_answered_may_be_in_them(
    study: StudyFolder, new_database: Callable[[], str | Path]
) -> None:
    """So that each who withdraws has them made again; who answered nothing has not."""
    address = new_database()
    engine = writing_engine(database_url(address))
    person = "INSERT INTO participants (number, token_hash, consent_version, consented_at, stage) VALUES "
    with tables_of(engine, "0006") as connection:
        for number in (1, 2):
            values = {"hash": bytes([number]) * 32, "at": datetime(2026, 1, 2, tzinfo=UTC)}
            connection.execute(sa.text(f"{person} ({number}, :hash, 'v1', :at, 'pairs')"), values)
        one = connection.execute(sa.text("SELECT id FROM participants WHERE number = 1")).scalar_one()
        shown = "INSERT INTO appearances (participant_id, position, key, a, b, design) VALUES "
        connection.execute(sa.text(f"{shown} ({one}, 1, 'k', 'a', 'b', '')"))
        said = "INSERT INTO answers (appearance_id, version, nonce, answer, why, answered_at) "
        connection.execute(sa.text(f"{said} SELECT id, 1, 'n', 'same', '', :at FROM appearances"), values)
        asked = "INSERT INTO jobs (made_at, made_by, settings, state, message, started_at) VALUES (:at, 'Ada', '{}', "
        connection.execute(sa.text(f"{asked} 'done', '', :at)"), values)
        connection.execute(sa.text(f"{asked} 'waiting', '', NULL)"), values)
    engine.dispose()
    store = Store.open(address, study.fingerprint)
    try:
        done, waiting = (job.id for job in reversed(store.read_now(all_jobs)))
        assert store.change_now(partial(erase, number=2, group_mark=Keys(bytes(32)).group_mark)) is False
        assert store.change_now(partial(erase, number=1, group_mark=Keys(bytes(32)).group_mark)) is True
        found = {job.id: (job.state, job.restarts) for job in store.read_now(all_jobs)}
    finally:
        store.close()
    assert found == {done: ("waiting", 1), waiting: ("waiting", 0)}
