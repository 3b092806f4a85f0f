"""From the oldest tables, with answers in them, to the newest nothing is lost; and there is no way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from old_study import everything, old_rows
from typer.testing import CliRunner

from fairwise.cli.app import app
from fairwise.elicitation.store.engine import database_url, writing_engine
from fairwise.elicitation.store.migrate import newest_version, tables_of
from fairwise.elicitation.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.elicitation.folder import StudyFolder


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
        last = store.read_now(lambda c: c.execute(sa.text("SELECT value FROM counters")).scalar_one())
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
