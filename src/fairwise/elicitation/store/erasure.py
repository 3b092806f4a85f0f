"""Erasing someone: every row about them, and whatever the database's own files still hold of those rows."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.elicitation.store.engine import database_url
from fairwise.elicitation.store.jobs import cancel_all
from fairwise.elicitation.store.problems import Unknown
from fairwise.elicitation.store.tables import (
    answers,
    appearances,
    closings,
    events,
    exclusions,
    invitations,
    participants,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

_log = logging.getLogger("fairwise")
_BUSY_MILLISECONDS = 10_000


def about(number: int) -> str:
    """How events call a participant."""
    return f"participant {number}"


def erase(connection: Connection, number: int) -> None:
    """Delete all about a participant: answers, texts, exclusions, their invitation, and their number in events."""
    of_them = participants.c.number == number
    token_hash = connection.execute(sa.select(participants.c.token_hash).where(of_them)).scalar_one_or_none()
    if token_hash is None:
        raise Unknown
    connection.execute(sa.delete(participants).where(of_them))
    connection.execute(sa.delete(invitations).where(invitations.c.token_hash == token_hash))
    connection.execute(sa.update(events).where(events.c.about == about(number)).values(about=""))
    cancel_all(connection)


def clean_files(address: str | Path) -> bool:
    """Take what was deleted out of the files as well; returns whether that could be done now.

    On SQLite the database is written anew without gaps, and the log beside it emptied. PostgreSQL frees the rows, but
    its log, its backups and the free space of its files are not ours to empty.
    """
    url = database_url(address)
    try:
        return _clean_sqlite(url.database or "") if url.get_backend_name() == "sqlite" else _vacuum_postgresql(url)
    except (sqlite3.Error, sa.exc.DBAPIError) as error:
        _log.warning("What was erased could not be taken out of the files of the database yet: %s", error)
        return False


def _clean_sqlite(file: str) -> bool:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy


def _vacuum_postgresql(url: sa.URL) -> bool:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
    tables = ", ".join(t.name for t in (participants, appearances, answers, closings, exclusions, invitations, events))
    with engine.connect() as connection:
        connection.exec_driver_sql(f"VACUUM {tables}")
    return True
