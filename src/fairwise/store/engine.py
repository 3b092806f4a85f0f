"""Connections. SQLite by a path, PostgreSQL by a URL; both refuse to lose what was acknowledged.

Moments are in UTC, whichever of the two keeps them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, cast

import psycopg
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg.abc import PQGen
from sqlalchemy import Connection, DateTime, Dialect, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.types import TypeDecorator

from fairwise.errors import InputError
from fairwise.tables.output import create_private

T = TypeVar("T")

# How long we wait for PostgreSQL: a server that hangs looks like one that thinks, and says nothing for ever.

CONNECT_SECONDS = 4
SILENT_SECONDS = 8.0
"""While people wait, who are told soon after that it takes too long."""

PATIENT_SECONDS = 60.0
"""For commands, whose questions may be large."""

GIVE_UP = "-c statement_timeout=30000 -c lock_timeout=5000"
"""What the server is asked to do by itself, in milliseconds."""

_NETWORK = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,
}


class Silent(psycopg.OperationalError):
    """Nothing was heard from the server for too long; the connection is closed, as nobody knows what it is at."""


class _Impatient(psycopg.Connection[Any]):
    """A connection that waits for so many seconds without a word from the server."""

    seconds = PATIENT_SECONDS

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(_while_heard(gen, self.seconds), interval, timeout)
        except Silent:
            self.pgconn.finish()
            raise


def impatient_engine(url: URL, seconds: float | None, give_up: str = "", **options: object) -> Engine:
    """For PostgreSQL: questions end after `seconds` of silence. With None only connecting has an end.

    `give_up` are settings of the server's. What the address says about these things itself is left as it is.
    """
    limits: dict[str, int | str] = {"connect_timeout": CONNECT_SECONDS, **_NETWORK}
    limits = {name: value for name, value in limits.items() if name not in url.query}
    if give_up:
        limits["options"] = " ".join([give_up, *url.normalized_query.get("options", ())])
    engine = sa.create_engine(url, connect_args=limits, **options)
    if seconds is not None:

        def connect(_dialect: object, _record: object, words: list[str], named: dict[str, Any]) -> _Impatient:
            connection = _Impatient.connect(*words, **named)
            connection.seconds = seconds
            return connection

        sa.event.listen(engine, "do_connect", connect)
    return engine


def _while_heard(gen: PQGen[T], seconds: float) -> PQGen[T]:
    """Pass on what psycopg waits for, and what became ready; several times a second that is nothing."""
    heard = monotonic()
    try:
        awaited = next(gen)
        while True:
            ready = yield awaited
            if ready:
                heard = monotonic()
            elif monotonic() - heard > seconds:
                raise Silent(f"the server has said nothing for {seconds:g} seconds")
            awaited = gen.send(ready)
    except StopIteration as done:
        return cast("T", done.value)


_SECRETS = ("password", "sslpassword")
_BUSY_MILLISECONDS = 10_000


def database_url(address: str | Path) -> URL:
    """A path is SQLite's; ``postgresql://`` is taken with psycopg."""
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address))
    try:
        url = make_url(address)
    except ArgumentError:
        raise InputError(
            f"{_kind(address)}: not an address of a database; allowed: postgresql://…, sqlite:///…"
        ) from None
    except ValueError:
        raise InputError(
            f"{_kind(address)}://…: the port in it is not a number; allowed: postgresql://user@host:5432/name, "
            "with %40 for every @ in a password"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise InputError(f"{url.drivername}: no such database; allowed: postgresql://…, sqlite:///…")
    return url


def public_address(url: URL) -> str:
    """An address as it may be read by anybody: without a password, wherever in it there is one."""
    return url.difference_update_query(_SECRETS).render_as_string(hide_password=True)


def sqlite_file(url: URL) -> Path | None:
    """The file of a database of SQLite's; None if it is in memory, or another one's."""
    name = url.database or ""
    return Path(name) if url.get_backend_name() == "sqlite" and name and not name.startswith((":", "file:")) else None


def writing_engine(url: URL, *, people_wait: bool = False) -> Engine:
    """For one writer: on SQLite a transaction takes the lock at once, and a commit is on the disk when it returns.

    While nobody waits, as when tables are brought up to date, PostgreSQL may take as long as it needs.
    """
    if url.get_backend_name() != "sqlite":
        limits = (SILENT_SECONDS, GIVE_UP) if people_wait else (None, "")
        engine = impatient_engine(url, *limits, pool_size=1, max_overflow=1, pool_pre_ping=True)
        event.listen(engine, "handle_error", _leave_read_only)
        return engine
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})
    file = sqlite_file(url)
    if file is not None:
        event.listen(engine, "do_connect", lambda *_: create_private(file))
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def reading_engine(url: URL) -> Engine:
    """For many readers, which on SQLite never wait for the writer."""
    if url.get_backend_name() != "sqlite":
        limits = (SILENT_SECONDS, GIVE_UP)
        return impatient_engine(url, *limits, pool_size=8, isolation_level="AUTOCOMMIT")
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def snapshot_engine(url: URL) -> Engine:
    """For those who only look, all questions of a connection at one moment; nothing is kept open between them."""
    if url.get_backend_name() == "sqlite":
        return _looking_at_sqlite(url)
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    return impatient_engine(url, PATIENT_SECONDS, poolclass=sa.pool.NullPool, execution_options=options)


def _looking_at_sqlite(url: URL) -> Engine:
    file = Path(url.database or "")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file; nobody has been asked yet, or --database is missing")

    def connect() -> sqlite3.Connection:
        # Allowed to write as far as the file is, since the journal beside it may have to be made; told not to.
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA busy_timeout = 10000")
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
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


def _kind(address: str) -> str:
    """What stands before everything that may be a password."""
    return re.split("[:@?]", address, maxsplit=1)[0]


# Bring a database to the newest version of the tables.

_LOCK = 0x66616972  # any number will do, as long as it is always the same


def migrate(engine: Engine) -> None:
    """Upgrade in one transaction; several processes that start together wait for each other."""
    with tables_of(engine, "head"):
        pass


@contextmanager
def tables_of(engine: Engine, version: str) -> Iterator[Connection]:
    """Upgrade to a version, and do in the same transaction whatever is done with the connection."""
    with _scripts() as config, _without_cascades(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        config.attributes["connection"] = connection
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and not is_known(current):
            raise InputError(
                f"The database was made by a newer Fairwise, with tables of version {current!r}: update Fairwise."
            )
        command.upgrade(config, version)
        yield connection
        if engine.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise InputError(f"The database is damaged: {broken[0]} refers to a row of {broken[2]} that is gone.")


def upgrade_further(connection: Connection) -> None:
    """From the version of :func:`tables_of` to the newest, in the same transaction."""
    with _scripts() as config:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def is_known(version: str) -> bool:
    """Whether this Fairwise knows of this version of the tables."""
    with _scripts() as config:
        try:
            return ScriptDirectory.from_config(config).get_revision(version) is not None
        except CommandError:
            return False


def newest_version() -> str | None:
    """Which version of the tables this Fairwise knows."""
    with _scripts() as config:
        return ScriptDirectory.from_config(config).get_current_head()


@contextmanager
def _without_cascades(engine: Engine) -> Iterator[None]:
    """Keep SQLite from deleting all answers when a table is made anew, which it takes for deleting every row."""
    if engine.dialect.name != "sqlite":
        yield
        return
    driver: Any = engine.raw_connection()
    try:
        driver.execute("PRAGMA foreign_keys = OFF")
        try:
            yield
        finally:
            driver.execute("PRAGMA foreign_keys = ON")
    finally:
        driver.close()


@contextmanager
def _scripts() -> Iterator[Config]:
    with as_file(files("fairwise.store") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        yield config


class Moment(TypeDecorator[datetime]):
    """A column of moments. SQLite forgets the time zone and PostgreSQL has one of its own; what is read is in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        return datetime

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
