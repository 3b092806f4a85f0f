"""Backups: a study with everything that its participants and operators need to go on, in one file.

The database is as it was at one moment, also while the study is served; the study's files come after it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import sqlalchemy as sa

from fairwise.archive.container import (
    STUDY,
    Container,
    ContainerKind,
    ContainerWriter,
    Manifest,
    as_json,
    is_study_file,
    open_container,
    study_files,
)
from fairwise.errors import InputError
from fairwise.store import fit_files
from fairwise.store.engine import newest_version
from fairwise.store.store import snapshot
from fairwise.store.tables import database_identity, jobs, metadata, report_links, sessions, study
from fairwise.study.cards import IMAGES
from fairwise.study.folder import OUTCOME, SECRET, StudyFolder
from fairwise.study.settings import StudySettings

MANIFEST, TABLES, ROWS = "backup.json", "tables/", ".jsonl"
FORMAT = 1
_LONGEST_ROW = 64 << 20
_FIELDS = {"fairwise": str, "made_at": str, "fingerprint": str, "tables_version": str, "rows": dict, "files": dict}
_AT_ONCE, _CHUNK = 1000, 1 << 20
_log = logging.getLogger("fairwise")

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
"""What a fit leaves behind."""

# Whoever was logged in logs in again, and links to reports are made anew, as one may have been revoked since: a copy of
# the database should open no door. What is restored is another database than the one that was backed up. Alembic's
# table is the version.
_LEFT_OUT = (sessions.name, report_links.name, database_identity.name, "alembic_version")


def tables_of_backup(metadata: sa.MetaData) -> list[sa.Table]:
    """Of the tables of a version, those that its backups hold, all of them; what is referred to comes first."""
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
    """A file of which every byte was checked."""

    container: Container

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.container.path

    @property
    def manifest(self) -> Manifest:
        """Its list of files and rows."""
        return self.container.manifest

    def study_files(self) -> dict[str, Iterator[bytes]]:
        """The study's own files by their names within its folder, each to be read once, a piece at a time."""
        ours = [name for name in self.container.names if name.startswith(STUDY)]
        return {name.removeprefix(STUDY): self.container.pieces(name) for name in ours}

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """The rows of a table, one at a time."""
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
    """Write one file with all of it; returns how many rows of each table are in it."""
    path.touch(mode=0o600)
    with path.open("wb") as file:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            snapshot(database, folder.path) as moment,
        ):
            _check_fingerprint(moment, folder)
            writer = ContainerWriter(archive, BACKUP)
            rows = {table.name: _add_rows(writer, moment, table) for table in tables_of_backup(metadata)}
            for name in _files(folder, moment, with_secret):
                try:
                    opened = (folder.path / name).open("rb")
                except FileNotFoundError:  # somebody withdrew just now, and with them went files that name answers
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


def _check_fingerprint(moment: sa.Connection, folder: StudyFolder) -> None:
    stored = moment.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if stored not in (None, folder.fingerprint):
        raise InputError(f"{folder.path}: its answers are about another study, or its people were changed since")


def _add_rows(writer: ContainerWriter, moment: sa.Connection, table: sa.Table) -> int:
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        found = moment.execution_options(yield_per=_AT_ONCE).execute(sa.select(table).order_by(*table.primary_key))
        for row in found.mappings():
            count += 1
            yield _line(row)

    writer.add(f"{TABLES}{table.name}{ROWS}", lines())
    return count


def _line(row: sa.RowMapping) -> bytes:
    return json.dumps({str(name): as_json(value) for name, value in row.items()}).encode() + b"\n"


def _files(folder: StudyFolder, moment: sa.Connection, with_secret: bool) -> Iterator[str]:
    """Those that belong to the study, and what its fits left behind that were done at this moment."""
    ours = study_files(folder.settings) | {OUTCOME} | ({SECRET} if with_secret else set())
    yield from (name for name in sorted(ours) if (folder.path / name).is_file())
    yield from (f"{IMAGES}/{name}" for name in sorted(folder.pictures))
    for job_id in moment.execute(sa.select(jobs.c.id).where(jobs.c.state == "done").order_by(jobs.c.id)).scalars():
        files = (fit_files.job_folder(folder.path, job_id) / name for name in JOB_FILES)
        yield from (file.relative_to(folder.path).as_posix() for file in files if file.is_file())
