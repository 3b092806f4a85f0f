"""Connect to SQLite by a path or to PostgreSQL by a URL, and create or upgrade the tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
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
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from fairwise.errors import InputError
from fairwise.tables.output import create_private

T = TypeVar("T")

# PostgreSQL needs time limits: a server that hangs looks like a busy one.

CONNECT_SECONDS = 4
SILENT_SECONDS = 8.0
"""Longest silence of the server while people wait for a page."""

PATIENT_SECONDS = 60.0
"""Longest silence of the server for commands, whose queries may be large."""

_SERVER_LIMITS = "-c statement_timeout=30000 -c lock_timeout=5000"  # milliseconds, kept by the server itself
_KEEPALIVE = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,
}


class ServerSilent(psycopg.OperationalError):
    """The server sent nothing for too long. The connection is closed, as its state is unknown."""


class _TimedConnection(psycopg.Connection[Any]):
    """Connection that gives up after some seconds without a byte from the server."""

    seconds = PATIENT_SECONDS

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(_limit_silence(gen, self.seconds), interval, timeout)
        except ServerSilent:
            self.pgconn.finish()
            raise


def _limit_silence(gen: PQGen[T], seconds: float) -> PQGen[T]:
    """Forward psycopg's generator, which is resumed several times a second, with nothing ready in a silence."""
    last_sign = monotonic()
    try:
        state = next(gen)
        while True:
            ready = yield state
            if ready:
                last_sign = monotonic()
            elif monotonic() - last_sign > seconds:
                raise ServerSilent(f"the server has said nothing for {seconds:g} seconds")
            state = gen.send(ready)
    except StopIteration as done:
        return cast("T", done.value)


def postgres_engine(url: URL, seconds: float | None, server_limits: str = "", **options: object) -> Engine:
    """Return an engine whose queries fail after `seconds` of silence; with None only connecting is limited.

    What the address itself says about these limits wins.
    """
    limits: dict[str, int | str] = {"connect_timeout": CONNECT_SECONDS, **_KEEPALIVE}
    limits = {name: value for name, value in limits.items() if name not in url.query}
    if server_limits:
        limits["options"] = " ".join([server_limits, *url.normalized_query.get("options", ())])
    engine = sa.create_engine(url, connect_args=limits, **options)
    if seconds is not None:

        def connect(_dialect: object, _record: object, args: list[str], kwargs: dict[str, Any]) -> _TimedConnection:
            connection = _TimedConnection.connect(*args, **kwargs)
            connection.seconds = seconds
            return connection

        event.listen(engine, "do_connect", connect)
    return engine


_SECRETS = ("password", "sslpassword")
_BUSY_MILLISECONDS = 10_000


def database_url(address: str | Path) -> URL:
    """Return the URL of a database: SQLite for a path, psycopg for ``postgresql://``."""
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address))
    scheme = re.split("[:@?]", address, maxsplit=1)[0]  # everything after it may be a password
    try:
        url = make_url(address)
    except ArgumentError:
        raise InputError(f"{scheme}: not an address of a database; allowed: postgresql://…, sqlite:///…") from None
    except ValueError:
        raise InputError(
            f"{scheme}://…: the port in it is not a number; allowed: postgresql://user@host:5432/name, "
            "with %40 for every @ in a password"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise InputError(f"{url.drivername}: no such database; allowed: postgresql://…, sqlite:///…")
    return url


def public_address(url: URL) -> str:
    """Return an address without any password in it."""
    return url.difference_update_query(_SECRETS).render_as_string(hide_password=True)


def sqlite_file(url: URL) -> Path | None:
    """Return the file of a SQLite database; None for one in memory and for PostgreSQL."""
    name = url.database or ""
    return Path(name) if url.get_backend_name() == "sqlite" and name and not name.startswith((":", "file:")) else None


def writing_engine(url: URL, *, people_wait: bool = False) -> Engine:
    """Return the engine of a single writer. A commit is on the disk when it returns.

    On SQLite a transaction takes the lock when it begins. On PostgreSQL queries have a time limit only if
    `people_wait`: an upgrade of the tables may take as long as it needs.
    """
    if url.get_backend_name() != "sqlite":
        seconds, server_limits = (SILENT_SECONDS, _SERVER_LIMITS) if people_wait else (None, "")
        engine = postgres_engine(url, seconds, server_limits, pool_size=1, max_overflow=1, pool_pre_ping=True)
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
    """Return an engine for many readers. On SQLite they never wait for the writer."""
    if url.get_backend_name() != "sqlite":
        return postgres_engine(url, SILENT_SECONDS, _SERVER_LIMITS, pool_size=8, isolation_level="AUTOCOMMIT")
    engine = sa.create_engine(url, poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def snapshot_engine(url: URL) -> Engine:
    """Return a read-only engine: all queries of one connection see the same moment. It keeps no connection open."""
    if url.get_backend_name() != "sqlite":
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return postgres_engine(url, PATIENT_SECONDS, poolclass=sa.pool.NullPool, execution_options=options)
    file = Path(url.database or "")
    if not file.is_file():
        raise InputError(f"{file}: there is no such file; nobody has been asked yet, or --database is missing")

    def connect() -> sqlite3.Connection:
        # Mode "rw", since SQLite may have to create the journal beside the file.
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy begins transactions, not the driver
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",  # deleted rows are overwritten, not only unlinked
        f"busy_timeout = {_BUSY_MILLISECONDS}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _leave_read_only(context: sa.engine.ExceptionContext) -> None:
    """Reconnect after a refused write: a connection to a standby would stay read-only after the failover."""
    if isinstance(context.original_exception, psycopg.errors.ReadOnlySqlTransaction):
        context.is_disconnect = True


# Versions of the tables

MIGRATIONS = Path(__file__).with_name("migrations")
_MIGRATION_LOCK = 0x66616972  # arbitrary, but the same in every process
_UNRELEASED = re.compile(r"00[01][0-9]")


def migrate(engine: Engine) -> None:
    """Upgrade the tables in one transaction. Several processes that start together wait for each other."""
    with migrated(engine, "head"):
        pass


@contextmanager
def migrated(engine: Engine, version: str) -> Iterator[Connection]:
    """Upgrade the tables to a version, and run the block in the same transaction."""
    with _cascades_off(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        current = current_version(connection)
        if current is not None:
            check_version(current)
        upgrade(connection, version)
        yield connection
        if engine.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise InputError(f"The database is damaged: {broken[0]} refers to a row of {broken[2]} that is gone.")


def upgrade(connection: Connection, version: str = "head") -> None:
    """Upgrade the tables to a version within the transaction of `connection`."""
    config = _alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def current_version(connection: Connection) -> str | None:
    """Return the version of the tables of a database; None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def newest_version() -> str | None:
    """Return the newest version of the tables."""
    return ScriptDirectory.from_config(_alembic_config()).get_current_head()


def check_version(version: str) -> None:
    """Refuse tables of a version that this Fairwise cannot upgrade, and say what to do."""
    if _UNRELEASED.fullmatch(version):
        raise InputError(
            f"The database has tables of version {version!r}, from before the first release, which cannot be "
            "upgraded. Export a bundle with the version of Fairwise that made them (fairwise export DIR "
            "--out answers.csv --bundle study.zip), and open it with this one (fairwise study reopen study.zip NEW)."
        )
    try:
        can_upgrade = (
            version.isdigit() and ScriptDirectory.from_config(_alembic_config()).get_revision(version) is not None
        )
    except CommandError:
        can_upgrade = False
    if not can_upgrade:
        raise InputError(
            f"The database was made by a newer Fairwise, with tables of version {version!r}: update Fairwise."
        )


@contextmanager
def _cascades_off(engine: Engine) -> Iterator[None]:
    """Switch SQLite's foreign keys off: recreating a table would count as deleting its rows, and delete all answers."""
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


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config
