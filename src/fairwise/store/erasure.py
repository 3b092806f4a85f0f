"""Erasing someone: every row about them, and whatever the database's own files still hold of those rows."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fairwise.store.engine import PATIENT_SECONDS, database_url, impatient_engine
from fairwise.store.errors import Unknown
from fairwise.store.jobs import restart_without
from fairwise.store.tables import (
    answers,
    appearances,
    closings,
    counters,
    events,
    exclusions,
    invitations,
    job_participants,
    participants,
)

# Numbers by name, about nobody.


def counter(connection: sa.Connection, name: str) -> int:
    """What it says; 0 if there is none yet."""
    return connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar_one_or_none() or 0


def set_counter(connection: sa.Connection, name: str, value: Any, first: int) -> None:
    """Set it to a value, which may be an expression of ``counters.c.value``; or to ``first``, if there is none yet."""
    there = connection.execute(sa.update(counters).where(counters.c.name == name).values(value=value))
    if not there.rowcount:
        connection.execute(sa.insert(counters), {"name": name, "value": first})


_log = logging.getLogger("fairwise")
_BUSY_MILLISECONDS = 10_000
# So many deletions there were, and so many of them have been taken out of the files.
_DELETIONS, _CLEANED = "deletions", "deletions cleaned"


def about(number: int) -> str:
    """How events call a participant."""
    return f"participant {number}"


def erase(connection: sa.Connection, number: int) -> bool:
    """Delete all about a participant, also their invitation; returns whether a fit has their answers."""
    token_hash, in_fits = delete_participant(connection, participants.c.number == number)
    connection.execute(sa.delete(invitations).where(invitations.c.token_hash == token_hash))
    return in_fits


def delete_participant(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[bytes, bool]:
    """Delete answers, texts and exclusions of someone, and their number in events; fits with them are made again.

    Returns the hash of their token, and whether there are such fits: their files that name single answers are to be
    deleted next, by :func:`~fairwise.store.fit_files.remove_leftovers`.
    """
    columns = participants.c.id, participants.c.number, participants.c.token_hash
    who = connection.execute(sa.select(*columns).where(which).with_for_update()).one_or_none()
    if who is None:
        raise Unknown
    in_fits = restart_without(connection, who.id)
    connection.execute(sa.delete(participants).where(participants.c.id == who.id))
    connection.execute(sa.update(events).where(events.c.about == about(who.number)).values(about=""))
    note_deletion(connection)
    return who.token_hash, in_fits


def note_deletion(connection: sa.Connection) -> None:
    """Remember, with the deletion itself, that the files still hold what was deleted."""
    set_counter(connection, _DELETIONS, counters.c.value + 1, first=1)


def needs_cleaning(connection: sa.Connection) -> bool:
    """Whether the files may still hold something that was deleted."""
    return counter(connection, _DELETIONS) > counter(connection, _CLEANED)


def clean_files(address: str | Path, busy_milliseconds: int | None = None) -> bool:
    """Take what was deleted out of the files as well; returns whether that could be done now.

    On SQLite the database is written anew without gaps, and the log beside it emptied. PostgreSQL frees the rows, but
    its log, its backups and the free space of its files are not ours to empty. If it could not be done, the note of the
    deletion stays, and whoever asks :func:`needs_cleaning` tries again. For others it waits so long.
    """
    url = database_url(address)
    try:
        with _engine(url).connect() as connection:
            known = counter(connection, _DELETIONS)  # another that comes meanwhile is cleaned by the next
            if not _cleaned(connection, _BUSY_MILLISECONDS if busy_milliseconds is None else busy_milliseconds):
                return False
            set_counter(connection, _CLEANED, sa.case((counters.c.value < known, known), else_=counters.c.value), known)
            return True
    except sa.exc.DBAPIError as error:
        _log.warning("What was erased could not be taken out of the files of the database yet: %s", error)
        return False


def _engine(url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {"poolclass": sa.pool.NullPool, "isolation_level": "AUTOCOMMIT"}
    if url.get_backend_name() == "sqlite":
        return sa.create_engine(url, **options)
    return impatient_engine(url, PATIENT_SECONDS, **options)


def _cleaned(connection: sa.Connection, busy_milliseconds: int) -> bool:
    if connection.dialect.name != "sqlite":
        tables = (participants, appearances, answers, closings, exclusions, invitations, events, job_participants)
        connection.exec_driver_sql(f"VACUUM {', '.join(table.name for table in tables)}")
        return True
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {busy_milliseconds}")
    connection.exec_driver_sql("PRAGMA secure_delete = ON")
    connection.exec_driver_sql("VACUUM")
    busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    if busy:
        _log.warning("What was erased is still in the files of the database, as somebody reads it; it is tried again")
    return not busy
