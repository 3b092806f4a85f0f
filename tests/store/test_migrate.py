"""Which databases are taken, what is made in them, and what stays in the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from tests.support.someone import Someone

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.store.engine import database_url, migrate, tables_of, writing_engine
from fairwise.store.store import Store
from fairwise.store.tables import events, metadata, votes
from fairwise.study.deliberation import GroupTally, Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_migrations_make_the_tables_the_code_expects(new_empty_database: Callable[[], str | Path]) -> None:
    engine = writing_engine(database_url(new_empty_database()))
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_tallies_of_ended_votes_are_fixed_by_the_upgrade(new_empty_database: Callable[[], str | Path]) -> None:
    """Those of fewer than five ballots tell nothing, open votes have none, and excluded participants do not count."""
    address = new_empty_database()
    engine = writing_engine(database_url(address))
    when = "2026-01-02 03:04:05"
    options = json.dumps([{"eta": eta, "error": 0.3, "followed": 1, "not_followed": 1} for eta in (0.0, 0.1, 0.2)])
    with tables_of(engine, "0016") as connection:

        def put(table: str, **row: object) -> None:
            names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)

        put("jobs", id=1, made_at=when, made_by="A", settings="{}", state="done", message="")
        for number in range(1, 8):
            who = {"consent_version": "v", "consented_at": when, "stage": "finished"}
            put("participants", id=number, number=number, token_hash=bytes([number]) * 32, arm="ab"[number % 2], **who)
        put("exclusions", participant_id=7, reason="r", excluded_at=when, excluded_by="A")
        for vote, closed in ((1, when), (2, when), (3, None)):
            put("votes", id=vote, job_id=1, rule="borda", options=options, opened_at=when, opened_by="A", why="")
            if closed:
                connection.execute(sa.text(f"UPDATE votes SET closed_at = '{when}' WHERE id = {vote}"))
        for vote, number in [(1, 1), (1, 7), *((vote, number) for vote in (2, 3) for number in range(1, 8))]:
            put("ballots", vote_id=vote, participant_id=number, ballot="2,0,1", cast_at=when)
        put("events", at=when, operator="A", action="reason hidden", about="reason 17")
        put("events", at=when, operator="A", action="vote opened", about="fit 1")
    migrate(engine)
    with engine.connect() as connection:
        found = connection.execute(sa.select(votes.c.tally).order_by(votes.c.id)).scalars().all()
        assert connection.execute(sa.select(events.c.about).order_by(events.c.id)).scalars().all() == ["", "fit 1"]
    engine.dispose()
    tallies = [text and Tally.from_json(text) for text in found]
    everyone = GroupTally(None, 6, [6, 0, 12], [2])
    assert tallies == [Tally(1), Tally(6, everyone, 2, {}), None]


def test_a_newer_database_is_refused(new_empty_database: Callable[[], str | Path]) -> None:
    address = new_empty_database()
    engine = writing_engine(database_url(address))
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="newer Fairwise"):
        migrate(engine)
    engine.dispose()


def test_another_studys_answers_are_not_mixed_in(new_database: Callable[[], str | Path]) -> None:
    address = new_database()
    Store.open(address, "one").close()
    second = Store.open(address, "another")  # nobody has answered yet
    Someone(second)
    second.close()
    with pytest.raises(InputError, match="another study"):
        Store.open(address, "a third")
    Store.open(address, "another").close()


def test_what_was_withdrawn_is_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    store = Store.open(path, "study")
    someone = Someone(store)
    secret = "a reason that nobody else would give"
    someone.answer(1, Answer.SAME, "n", why=secret)
    someone.withdraw()
    store.close()
    remains = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in remains
