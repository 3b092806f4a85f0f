"""The store as it is at one moment, for someone who only looks: nothing is made, changed or brought up to date."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from sqlalchemy.exc import DBAPIError

from fairwise.elicitation.store.engine import database_url, shown
from fairwise.elicitation.store.migrate import newest_version
from fairwise.elicitation.store.patience import PATIENT_SECONDS, impatient_engine
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection
    from sqlalchemy.engine import URL


@contextmanager
def snapshot(address: str | Path) -> Iterator[Connection]:
    """A connection whose questions are all answered about the same moment, also while the study is served."""
    url = database_url(address)
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            _check_version(connection, url)
            yield connection
    except DBAPIError as error:
        raise InputError(f"{shown(url)}: the database cannot be read: {error.orig}") from None
    finally:
        engine.dispose()


def snapshot_engine(url: URL) -> sa.Engine:
    """For many such connections, one after the other; nothing is kept open between them."""
    return _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)


def _sqlite(url: URL) -> sa.Engine:
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
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _postgresql(url: URL) -> sa.Engine:
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    return impatient_engine(url, PATIENT_SECONDS, poolclass=sa.pool.NullPool, execution_options=options)


def _check_version(connection: Connection, url: URL) -> None:
    found, needed = MigrationContext.configure(connection).get_current_revision(), newest_version()
    if found is None:
        raise InputError(f"{shown(url)}: holds no study; nobody has been asked yet")
    if found != needed:
        raise InputError(
            f"{shown(url)}: tables of version {found!r}, and this Fairwise reads {needed!r}; "
            "update the older of the two: Fairwise itself, or the tables by serving the study once"
        )
