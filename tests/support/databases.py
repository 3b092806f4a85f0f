"""Empty SQLite databases with the newest tables: made once by the real migrations, then copied."""

from __future__ import annotations

import secrets
import sqlite3
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fairwise.store.engine import database_url, migrate, writing_engine
from fairwise.tables.output import create_private


def with_tables(database: str | Path) -> str | Path:
    """The same address; if it is a file that is not there yet, it is now, as if it had just been migrated.

    Migrations take most of the time in which a site starts, and hundreds of tests start one.
    """
    if isinstance(database, Path) and database.parent.is_dir() and not database.exists():
        create_private(database)
        database.write_bytes(_migrated())
        with sqlite3.connect(database) as connection:  # each has an identity of its own
            connection.execute("UPDATE database_identity SET value = ?", (secrets.token_hex(16),))
        connection.close()
    return database


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as home:
        file = Path(home) / "study.sqlite"
        engine = writing_engine(database_url(file))
        migrate(engine)
        engine.dispose()
        return file.read_bytes()
