"""A backup as a study again, with its answers, its participants' links and its operators' accounts."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.elicitation.backups.archive import checked_backup
from fairwise.elicitation.backups.cells import read
from fairwise.elicitation.folder import SECRET, SECRET_BYTES, StudyFolder
from fairwise.elicitation.store.engine import database_url, writing_engine
from fairwise.elicitation.store.migrate import is_known, tables_of
from fairwise.elicitation.store.store import Store
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from fairwise.elicitation.backups.archive import Backup

_AT_ONCE = 1000


@dataclass(frozen=True)
class Restored:
    """What is there again."""

    rows: Mapping[str, int]
    made_at: str
    has_secret: bool
    """Whether the study's secret was in the backup; otherwise it has a new one."""


def restore_backup(path: Path, folder: Path, database: str | None, database_file: str) -> Restored:
    """Make the folder and fill the database: both, or neither. `database_file` is its name in the folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already, and not empty; choose another name")
    with checked_backup(path) as backup:
        if not is_known(backup.manifest["tables_version"]):
            raise InputError(f"{path}: made by a newer Fairwise, {backup.manifest['fairwise']}: update Fairwise.")
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.resolve().parent))  # for its owner alone
        try:
            has_secret = _unpack(backup, draft)
            fingerprint = _study(backup, draft).fingerprint
            address = draft / database_file if database is None else database
            _restore_database(backup, address)
            Store.open(address, fingerprint).close()  # brings its tables up to date, and checks whose answers they are
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return Restored(backup.manifest["rows"], backup.manifest["made_at"], has_secret)


def _unpack(backup: Backup, draft: Path) -> bool:
    names = backup.study_files()
    for name in names:
        file = draft / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(backup.study_file(name))
    if SECRET not in names:
        (draft / SECRET).touch(mode=0o600)
        (draft / SECRET).write_bytes(secrets.token_bytes(SECRET_BYTES))
    return SECRET in names


def _study(backup: Backup, draft: Path) -> StudyFolder:
    try:
        study = StudyFolder.open(draft)
    except InputError as error:
        raise InputError(str(error).replace(f"{draft}/", f"{backup.path}: ")) from None
    if study.fingerprint != backup.manifest["fingerprint"]:
        raise InputError(f"{backup.path}: its people or settings are not those that its answers are about")
    return study


def _restore_database(backup: Backup, address: str | Path) -> None:
    url = database_url(address)
    engine = writing_engine(url)
    try:
        with engine.connect() as connection:
            found = sa.inspect(connection).get_table_names()
        if found:
            raise InputError(f"{url.render_as_string()}: is not empty: it has a table {found[0]!r} already")
        with tables_of(engine, backup.manifest["tables_version"]) as connection:
            _fill(backup, connection)
    except (DBAPIError, sqlite3.Error) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"{url.render_as_string()}: the database cannot be restored: {reason}") from None
    finally:
        engine.dispose()


def _fill(backup: Backup, connection: Connection) -> None:
    """Into the tables as they were when the backup was made, whichever version that is."""
    there = sa.MetaData()
    there.reflect(connection)
    expected: Mapping[str, int] = backup.manifest["rows"]
    unknown = expected.keys() - there.tables.keys()
    if unknown:
        raise InputError(f"{backup.path}: {min(unknown)!r} is not a table of this version")
    for table in (table for table in there.sorted_tables if table.name in expected):
        connection.execute(sa.delete(table))  # what a new database begins with
        rows = _rows(backup, table)
        while some := list(islice(rows, _AT_ONCE)):
            connection.execute(sa.insert(table), some)
        count = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        if count != expected[table.name]:
            raise InputError(f"{backup.path}: {count} rows of {table.name}, but there were {expected[table.name]}")
        if connection.dialect.name == "postgresql":
            _count_on(connection, table)


def _rows(backup: Backup, table: sa.Table) -> Iterator[dict[str, Any]]:
    for row in backup.rows(table.name):
        if row.keys() != set(table.c.keys()):
            raise InputError(f"{backup.path}: a row of {table.name} has other columns than the table")
        try:
            yield {name: read(table.c[name], cell) for name, cell in row.items()}
        except ValueError as error:
            raise InputError(f"{backup.path}: a value that cannot be in {error}") from None


def _count_on(connection: Connection, table: sa.Table) -> None:
    """Go on after the last id; PostgreSQL counts those that it gave itself alone."""
    key = table.primary_key.columns[0]
    counter = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, key.name))).scalar_one()
    if counter is not None:
        last = sa.select(sa.func.setval(counter, sa.func.coalesce(sa.func.max(key), 1), sa.func.max(key).is_not(None)))
        connection.execute(last)
