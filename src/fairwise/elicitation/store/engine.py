"""Connections. SQLite by a path, PostgreSQL by a URL; both refuse to lose what was acknowledged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError

from fairwise.errors import InputError

_BUSY_MILLISECONDS = 10_000


def database_url(address: str | Path) -> URL:
    """A path is SQLite's; ``postgresql://`` is taken with psycopg."""
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address))
    try:
        url = make_url(address)
    except ArgumentError:
        raise InputError(
            f"{_hidden(address)}: not an address of a database; allowed: postgresql://…, sqlite:///…"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise InputError(f"{url.drivername}: no such database; allowed: postgresql://…, sqlite:///…")
    return url


def writing_engine(url: URL) -> Engine:
    """For one writer: on SQLite a transaction takes the lock at once, and a commit is on the disk when it returns."""
    if url.get_backend_name() != "sqlite":
        engine = sa.create_engine(url, pool_size=1, max_overflow=1, pool_pre_ping=True)
        event.listen(engine, "handle_error", _leave_read_only)
        return engine
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def reading_engine(url: URL) -> Engine:
    """For many readers, which on SQLite never wait for the writer."""
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_size=8, isolation_level="AUTOCOMMIT")
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where the driver guesses
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",  # what someone withdrew is overwritten, not only unlinked
        f"busy_timeout = {_BUSY_MILLISECONDS}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _leave_read_only(context: sa.engine.ExceptionContext) -> None:
    """Connect anew after a write was refused: whoever was connected while it was read-only would stay so for ever."""
    if isinstance(context.original_exception, psycopg.errors.ReadOnlySqlTransaction):
        context.is_disconnect = True


def _hidden(address: str) -> str:
    """Without what may be a password."""
    return address.partition("@")[2] or address.partition("://")[0]
