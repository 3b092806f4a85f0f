"""The store as it is at one moment, for someone who only looks: nothing is made, changed or brought up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from alembic.runtime.migration import MigrationContext
from sqlalchemy.exc import DBAPIError

from fairwise.errors import InputError
from fairwise.store.engine import database_url, shown, snapshot_engine
from fairwise.store.identity import require_same
from fairwise.store.migrate import newest_version

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine import URL


@contextmanager
def snapshot(address: str | Path, home: Path | None = None) -> Iterator[Connection]:
    """A connection whose questions are all answered about the same moment, also while the study is served.

    With the study's folder, only of the database that is its own.
    """
    url = database_url(address)
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            _check_version(connection, url)
            if home is not None:
                require_same(connection, url, home)
            yield connection
    except DBAPIError as error:
        raise InputError(f"{shown(url)}: the database cannot be read: {error.orig}") from None
    finally:
        engine.dispose()


def _check_version(connection: Connection, url: URL) -> None:
    found, needed = MigrationContext.configure(connection).get_current_revision(), newest_version()
    if found is None:
        raise InputError(f"{shown(url)}: holds no study; nobody has been asked yet")
    if found != needed:
        raise InputError(
            f"{shown(url)}: tables of version {found!r}, and this Fairwise reads {needed!r}; "
            "update the older of the two: Fairwise itself, or the tables by serving the study once"
        )
