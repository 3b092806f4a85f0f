"""Bring a database to the newest version of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine

from fairwise.errors import InputError

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
