"""Backups: a study with everything that its participants and operators need to go on, in one file.

The database is that of one moment, also while the study is served; the study's files are read after it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.archive.container import (
    STUDY,
    Container,
    ContainerKind,
    ContainerWriter,
    Manifest,
    as_json,
    from_json,
    is_study_file,
    open_container,
    study_files,
    unpack_study,
)
from fairwise.errors import InputError
from fairwise.store import fit_files
from fairwise.store.engine import (
    check_version,
    database_url,
    migrated,
    newest_version,
    public_address,
    sqlite_file,
    upgrade,
    writing_engine,
)
from fairwise.store.erasure import begin_again
from fairwise.store.places import record_identity
from fairwise.store.schema import jobs, metadata, study
from fairwise.store.store import snapshot
from fairwise.study.cards import IMAGES
from fairwise.study.folder import OUTCOME, SECRET, StudyFolder
from fairwise.study.settings import StudySettings

MANIFEST, TABLES, ROWS = "backup.json", "tables/", ".jsonl"
FORMAT = 1
_LONGEST_ROW = 64 << 20
_FIELDS = {"fairwise": str, "made_at": str, "fingerprint": str, "tables_version": str, "rows": dict, "files": dict}
_AT_ONCE, _CHUNK = 1000, 1 << 20

JOB_FILES = (
    fit_files.EFFECTS,
    fit_files.FRONTIER,
    fit_files.INFLUENCE,
    fit_files.MODEL,
    fit_files.PRICES,
    *fit_files.REPORTS.values(),
    fit_files.RULES,
    fit_files.SCORES,
    fit_files.SUMMARY,
)
"""Files of a fit."""

_LEFT_OUT = {table.name for table in metadata.sorted_tables if not table.info.get("backup", True)} | {"alembic_version"}


def tables_of_backup(metadata: sa.MetaData) -> list[sa.Table]:
    """Return the tables of a version that its backups hold. A table that others refer to comes before them."""
    return [table for table in metadata.sorted_tables if table.name not in _LEFT_OUT]


def _belongs(settings: StudySettings, name: str) -> bool:
    if name.startswith(f"{fit_files.JOBS}/"):
        return name.rpartition("/")[2] in JOB_FILES
    return is_study_file(settings, name) or name in {OUTCOME, SECRET}


def _check_manifest(path: Path, manifest: Manifest) -> None:
    if manifest["format"] != FORMAT:
        raise InputError(f"{path}: a backup of format {manifest['format']!r}, but this version reads format {FORMAT}")
    for name, kind in _FIELDS.items():
        if not isinstance(manifest.get(name), kind):
            raise InputError(f"{path}: {MANIFEST} has no {name!r}, or something else under this name")
    try:
        datetime.fromisoformat(manifest["made_at"])
    except ValueError:
        raise InputError(f"{path}: {MANIFEST}: 'made_at' is {manifest['made_at']!r}; needed: a time") from None


BACKUP = ContainerKind(
    name="backup",
    manifest=MANIFEST,
    most_bytes=16 << 30,  # a study of a million answers has a hundredth of it
    members=re.compile(r"study/(jobs/[0-9]+/)?[a-z][A-Za-z0-9._-]*|tables/[a-z_]+\.jsonl"),  # nothing hidden
    check_manifest=_check_manifest,
    belongs=_belongs,
    folder="",
    unsafe="{name!r} does not belong in a backup",
    missing="{name} is missing",
    added="{name} was added",
    changed="{name} is damaged, or was changed after the backup was made",
    damaged="not a backup, or damaged: {error}",
)


@dataclass(frozen=True, eq=False)
class Backup:
    """A backup of which every byte was checked."""

    container: Container

    @property
    def path(self) -> Path:
        return self.container.path

    @property
    def manifest(self) -> Manifest:
        """List of files, and numbers of rows."""
        return self.container.manifest

    def study_files(self) -> dict[str, Iterator[bytes]]:
        """Return the study's own files by their names within its folder, each to be read once, piece by piece."""
        names = [name for name in self.container.names if name.startswith(STUDY)]
        return {name.removeprefix(STUDY): self.container.pieces(name) for name in names}

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """Yield the rows of a table."""
        with self.container.archive.open(f"{TABLES}{table}{ROWS}") as lines:
            number = 0
            while line := lines.readline(_LONGEST_ROW):
                number += 1
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise InputError(f"{self.path}: {table}{ROWS}, line {number} is not a row")
                yield row


@contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """Open a backup after every file in it was read and compared with the list."""
    with open_container(path, BACKUP) as container:
        for name in container.names:
            for _ in container.pieces(name):
                pass
        tables = {name[len(TABLES) : -len(ROWS)] for name in container.names if name.startswith(TABLES)}
        if container.manifest["rows"].keys() != tables:
            raise InputError(f"{path}: {MANIFEST} counts the rows of other tables than there are")
        yield Backup(container)


def take_backup(path: Path, folder: StudyFolder, database: str | Path, *, with_secret: bool) -> Mapping[str, int]:
    """Write a backup; return how many rows of each table are in it."""
    path.touch(mode=0o600)
    with path.open("wb") as file:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            snapshot(database, folder.path) as moment,
        ):
            stored = moment.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
            if stored not in (None, folder.fingerprint):
                raise InputError(
                    f"{folder.path}: its answers are about another study, or its people were changed since"
                )
            writer = ContainerWriter(archive, BACKUP)
            rows = {table.name: _add_rows(writer, moment, table) for table in tables_of_backup(metadata)}
            for name in _files(folder, moment, with_secret):
                try:
                    opened = (folder.path / name).open("rb")
                except FileNotFoundError:  # deleted by a withdrawal just now
                    continue
                with opened:
                    writer.add(STUDY + name, iter(partial(opened.read, _CHUNK), b""))
            writer.end(
                {
                    "format": FORMAT,
                    "fairwise": version("fairwise"),
                    "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "fingerprint": folder.fingerprint,
                    "tables_version": newest_version(),
                    "rows": rows,
                }
            )
        file.flush()
        os.fsync(file.fileno())
    return rows


def _add_rows(writer: ContainerWriter, moment: sa.Connection, table: sa.Table) -> int:
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        query = sa.select(table).order_by(*table.primary_key)
        for row in moment.execution_options(yield_per=_AT_ONCE).execute(query).mappings():
            count += 1
            yield json.dumps({str(name): as_json(value) for name, value in row.items()}).encode() + b"\n"

    writer.add(f"{TABLES}{table.name}{ROWS}", lines())
    return count


def _files(folder: StudyFolder, moment: sa.Connection, with_secret: bool) -> Iterator[str]:
    """Yield names of the study's own files, and of those of its fits that were done at this moment."""
    names = study_files(folder.settings) | {OUTCOME} | ({SECRET} if with_secret else set())
    yield from (name for name in sorted(names) if (folder.path / name).is_file())
    yield from (f"{IMAGES}/{name}" for name in sorted(folder.pictures))
    for job_id in moment.execute(sa.select(jobs.c.id).where(jobs.c.state == "done").order_by(jobs.c.id)).scalars():
        files = (fit_files.job_folder(folder.path, job_id) / name for name in JOB_FILES)
        yield from (file.relative_to(folder.path).as_posix() for file in files if file.is_file())


# Restore


@dataclass(frozen=True)
class Restored:
    """Counts of a study that was restored."""

    rows: Mapping[str, int]
    made_at: str
    has_secret: bool
    """Whether the study's secret was in the backup; otherwise it has a new one."""

    days_ahead: int
    """Number of days that the clock is ahead of an old backup, and was believed; 0 otherwise."""


def restore_backup(path: Path, folder: Path, database: str | None, database_file: str) -> Restored:
    """Create the folder and fill the database: both, or neither. `database_file` is its name in the folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already, and not empty; choose another name")
    with open_backup(path) as backup:
        try:
            check_version(backup.manifest["tables_version"])
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        try:
            has_secret, ahead = _restore(backup, folder, database, database_file)
        except OSError as error:
            raise InputError(f"{folder}: cannot be restored: {error.strerror or error}") from None
        return Restored(backup.manifest["rows"], backup.manifest["made_at"], has_secret, ahead)


def _restore(backup: Backup, folder: Path, database: str | None, database_file: str) -> tuple[bool, int]:
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.resolve().parent))  # for its owner alone
    was_there, moved = folder.exists(), False

    def move() -> None:
        nonlocal moved
        draft.rename(folder)
        moved = True

    try:
        files = backup.study_files()
        _check_fingerprint(backup, unpack_study(backup.path, BACKUP, files, draft).fingerprint)
        has_secret = SECRET in files
        if database is None:  # in the folder, so that both are there at once
            ahead = _restore_database(backup, draft / database_file, draft, lambda: None)
            move()
        else:
            ahead = _restore_database(backup, database, draft, move)
    except BaseException:
        if moved:
            folder.rename(draft)
            if was_there:
                folder.mkdir()
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return has_secret, ahead


def _check_fingerprint(backup: Backup, fingerprint: str | None) -> None:
    if fingerprint not in (None, backup.manifest["fingerprint"]):
        raise InputError(f"{backup.path}: its people or settings are not those that its answers are about")


def _restore_database(backup: Backup, address: str | Path, draft: Path, before_commit: Callable[[], None]) -> int:
    """Fill an empty database and upgrade it in one transaction, so that a failure leaves it empty.

    The folder, still a draft, records that this database is its own. Return by how many days the clock is ahead.
    """
    url = database_url(address)
    file, new_files = sqlite_file(url), list[Path]()
    if file is not None and not file.exists():
        new_files = [Path(f"{file}{ending}") for ending in ("", "-wal", "-shm")]
    engine = writing_engine(url)
    try:
        _require_empty(engine)
        with migrated(engine, backup.manifest["tables_version"]) as connection:
            _fill(backup, connection)
            upgrade(connection)
            _check_rows(backup, connection)
            ahead = begin_again(connection, datetime.now(UTC))
            record_identity(connection, url, draft)
            before_commit()
    except BaseException as error:
        engine.dispose()
        for new_file in new_files:
            new_file.unlink(missing_ok=True)
        if isinstance(error, (DBAPIError, sqlite3.Error)):
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise InputError(f"{public_address(url)}: the database cannot be restored: {reason}") from None
        raise
    engine.dispose()
    return ahead


def _require_empty(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        names = sa.inspect(connection).get_table_names()
    if names:
        raise InputError(f"{public_address(engine.url)}: is not empty: it has a table {names[0]!r} already")


def _fill(backup: Backup, connection: sa.Connection) -> None:
    """Fill all tables of the version that the backup was made with."""
    there = sa.MetaData()
    there.reflect(connection)
    expected: Mapping[str, int] = backup.manifest["rows"]
    tables = tables_of_backup(there)
    names = {table.name for table in tables}
    unknown, missing = expected.keys() - names, names - expected.keys()
    if unknown:
        raise InputError(f"{backup.path}: {min(unknown)!r} is not a table of a backup of this version")
    if missing:
        raise InputError(f"{backup.path}: the table {min(missing)!r} is missing")
    for table in tables:
        connection.execute(sa.delete(table))  # rows that a new database begins with
        rows = _rows(backup, table)
        while batch := list(islice(rows, _AT_ONCE)):
            try:
                connection.execute(sa.insert(table), batch)
            except (ValueError, OverflowError) as error:  # raised by some databases only
                raise InputError(f"{backup.path}: a value that cannot be in {table.name}: {error}") from None
        count = connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        if type(expected[table.name]) is not int or count != expected[table.name]:
            raise InputError(f"{backup.path}: {count} rows of {table.name}, but there were {expected[table.name]!r}")
        if connection.dialect.name == "postgresql":  # which counts only the ids that it gave itself
            key = table.primary_key.columns[0]
            sequence = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, key.name))).scalar_one()
            if sequence is not None:
                last = sa.func.coalesce(sa.func.max(key), 1)
                connection.execute(sa.select(sa.func.setval(sequence, last, sa.func.max(key).is_not(None))))


def _check_rows(backup: Backup, connection: sa.Connection) -> None:
    """Check that the answers are to this study, and files are of fits that were done."""
    _check_fingerprint(backup, connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none())
    done = connection.execute(sa.select(jobs.c.id).where(jobs.c.state == "done")).scalars()
    folders = {IMAGES, *(f"{fit_files.JOBS}/{job_id}" for job_id in done)}
    strange = [name for name in backup.study_files() if "/" in name and name.rpartition("/")[0] not in folders]
    if strange:
        raise BACKUP.does_not_belong(backup.path, f"{STUDY}{strange[0]}")


def _rows(backup: Backup, table: sa.Table) -> Iterator[dict[str, object]]:
    for row in backup.rows(table.name):
        if row.keys() != set(table.c.keys()):
            raise InputError(f"{backup.path}: a row of {table.name} has other columns than the table")
        try:
            yield {name: from_json(table.c[name], cell) for name, cell in row.items()}
        except ValueError as error:
            raise InputError(f"{backup.path}: a value that cannot be in {error}") from None
