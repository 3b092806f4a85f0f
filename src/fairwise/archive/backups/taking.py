"""Taking a backup: the database as it is at one moment, also while the study is served, and then the study's files."""

from __future__ import annotations

import json
import logging
import os
import zipfile
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.archive.backups.archive import (
    JOB_FILES,
    ROWS,
    STUDY,
    TABLES,
    BackupWriter,
    backed_up_files,
    tables_of_backup,
    written,
)
from fairwise.errors import InputError
from fairwise.store.fit_files import MODEL, job_folder, may_hold_answers
from fairwise.store.migrate import newest_version
from fairwise.store.snapshot import snapshot
from fairwise.store.tables import jobs, metadata, study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

_AT_ONCE, _CHUNK = 1000, 1 << 20
_log = logging.getLogger("fairwise")


def take_backup(path: Path, folder: StudyFolder, database: str | Path, *, with_secret: bool) -> Mapping[str, int]:
    """Write one file with all of it; returns how many rows of each table are in it."""
    path.touch(mode=0o600)
    with path.open("wb") as file:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            snapshot(database, folder.path) as moment,
        ):
            _check_fingerprint(moment, folder)
            writer = BackupWriter(archive)
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


def _check_fingerprint(moment: Connection, folder: StudyFolder) -> None:
    known = moment.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if known not in (None, folder.fingerprint):
        raise InputError(f"{folder.path}: its answers are about another study, or its people were changed since")


def _add_rows(writer: BackupWriter, moment: Connection, table: sa.Table) -> int:
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        found = moment.execution_options(yield_per=_AT_ONCE).execute(sa.select(table).order_by(*table.primary_key))
        for row in found.mappings():
            count += 1
            yield _line(row)

    writer.add(f"{TABLES}{table.name}{ROWS}", lines())
    return count


def _line(row: Mapping[Any, Any]) -> bytes:
    return json.dumps({str(name): written(value) for name, value in row.items()}).encode() + b"\n"


def _files(folder: StudyFolder, moment: Connection, with_secret: bool) -> Iterator[str]:
    """Those that belong to the study, and what its fits left behind that were done at this moment."""
    ours = backed_up_files(folder.settings, with_secret=with_secret)
    yield from (name for name in sorted(ours) if (folder.path / name).is_file())
    for job_id in moment.execute(sa.select(jobs.c.id).where(jobs.c.state == "done").order_by(jobs.c.id)).scalars():
        left = [job_folder(folder.path, job_id) / name for name in JOB_FILES]
        for file in left:
            if file.name == MODEL and file.is_file() and may_hold_answers(file):
                _log.warning(
                    "%s: is not in the backup, as it may hold single answers; serving the study rewrites it", file
                )
            elif file.is_file():
                yield file.relative_to(folder.path).as_posix()
