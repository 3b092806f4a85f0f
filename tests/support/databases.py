"""Empty databases with the newest tables: made once by the real migrations, then copied. None waits for the disk."""

from __future__ import annotations

import os
import secrets
import sqlite3
import uuid
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from fairwise.store import engine as engines
from fairwise.store import store as stores
from fairwise.store.engine import database_url, migrate, writing_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREPARE_SQLITE = engines._prepare_sqlite
"""As it is outside of tests."""

_one_at_a_time = Lock()


@contextmanager
def quick_databases() -> Iterator[None]:
    """Stores open a new SQLite file with tables that were made once, and nothing waits for the disk.

    Migrations take most of the time in which a site starts, and hundreds of tests start one. Nobody cuts the power in
    a test, and a commit waits for the disk longer than for all else.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "migrate", _migrate_quickly)
        patch.setattr(engines, "_prepare_sqlite", _prepare_without_waiting)
        patch.setattr(os, "fsync", lambda _file: None)
        yield


def _migrate_quickly(engine: sa.Engine) -> None:
    with _one_at_a_time:
        if engine.dialect.name != "sqlite" or sa.inspect(engine).get_table_names():
            migrate(engine)
            return
        pooled = engine.raw_connection()
        connection: Any = pooled.driver_connection
        _migrated().backup(connection)
        _give_identity(connection.execute, "?")
        pooled.close()


def _give_identity(execute: Callable[..., Any], gap: str) -> None:
    """Each has one of its own."""
    execute(f"UPDATE database_identity SET value = {gap}", (secrets.token_hex(16),))


def _prepare_without_waiting(connection: sqlite3.Connection, record: object) -> None:
    PREPARE_SQLITE(connection, record)
    connection.execute("PRAGMA synchronous = OFF").close()


@cache
def _migrated() -> sqlite3.Connection:
    with TemporaryDirectory() as home:
        file = Path(home) / "study.sqlite"
        _migrate(file)
        kept = sqlite3.connect(":memory:", check_same_thread=False)
        with closing(sqlite3.connect(file)) as made:
            made.backup(kept)
        return kept


def _migrate(database: str | Path) -> None:
    engine = writing_engine(database_url(database))
    migrate(engine)
    engine.dispose()


def new_postgres(server: str) -> str:
    """Another database of the server, with tables and an identity of its own."""
    address = empty_postgres(server, _with_tables_there(server))
    with psycopg.connect(address) as connection:
        _give_identity(connection.execute, "%s")
    return address


def empty_postgres(server: str, like: str = "template1") -> str:
    """Another database of the server, without tables or with those of another one."""
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@cache
def _with_tables_there(server: str) -> str:
    """The name of a database that only new ones are copied from."""
    address = empty_postgres(server)
    _migrate(address)
    return str(make_url(address).database)
