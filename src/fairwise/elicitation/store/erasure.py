"""Erasing someone: every row about them, and whatever the database's own files still hold of those rows."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.elicitation.store.engine import database_url
from fairwise.elicitation.store.jobs import cancel_all
from fairwise.elicitation.store.patience import PATIENT_SECONDS, impatient_engine
from fairwise.elicitation.store.problems import Unknown
from fairwise.elicitation.store.tables import (
    answers,
    appearances,
    closings,
    counters,
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
# So many deletions there were, and so many of them have been taken out of the files.
_DELETIONS, _CLEANED = "deletions", "deletions cleaned"


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
    note_deletion(connection)
    cancel_all(connection)


def note_deletion(connection: Connection) -> None:
    """Remember, with the deletion itself, that the files still hold what was deleted."""
    _set(connection, _DELETIONS, counters.c.value + 1, first=1)


def needs_cleaning(connection: Connection) -> bool:
    """Whether the files may still hold something that was deleted."""
    return _value(connection, _DELETIONS) > _value(connection, _CLEANED)


def _value(connection: Connection, name: str) -> int:
    return connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar_one_or_none() or 0


def _set(connection: Connection, name: str, value: Any, first: int) -> None:
    there = connection.execute(sa.update(counters).where(counters.c.name == name).values(value=value))
    if not there.rowcount:
        connection.execute(sa.insert(counters), {"name": name, "value": first})


def clean_files(address: str | Path) -> bool:
    """Take what was deleted out of the files as well; returns whether that could be done now.

    On SQLite the database is written anew without gaps, and the log beside it emptied. PostgreSQL frees the rows, but
    its log, its backups and the free space of its files are not ours to empty. If it could not be done, the note of the
    deletion stays, and whoever asks :func:`needs_cleaning` tries again.
    """
    url = database_url(address)
    try:
        with _engine(url).connect() as connection:
            known = _value(connection, _DELETIONS)  # another that comes meanwhile is cleaned by the next
            if not _cleaned(connection):
                return False
            _set(connection, _CLEANED, sa.case((counters.c.value < known, known), else_=counters.c.value), known)
            return True
    except sa.exc.DBAPIError as error:
        _log.warning("What was erased could not be taken out of the files of the database yet: %s", error)
        return False


def _engine(url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {"poolclass": sa.pool.NullPool, "isolation_level": "AUTOCOMMIT"}
    if url.get_backend_name() == "sqlite":
        return sa.create_engine(url, **options)
    return impatient_engine(url, PATIENT_SECONDS, **options)


def _cleaned(connection: Connection) -> bool:
    if connection.dialect.name != "sqlite":
        tables = (participants, appearances, answers, closings, exclusions, invitations, events)
        connection.exec_driver_sql(f"VACUUM {', '.join(table.name for table in tables)}")
        return True
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    connection.exec_driver_sql("PRAGMA secure_delete = ON")
    connection.exec_driver_sql("VACUUM")
    busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    if busy:
        _log.warning("What was erased is still in the files of the database, as somebody reads it; it is tried again")
    return not busy
