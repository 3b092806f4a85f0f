"""The file: a zip archive with the study's files, a file of rows for each table, and a list of checksums."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from fairwise.archive.bundles.contents import study_files
from fairwise.errors import InputError
from fairwise.store.fit_files import FRONTIER, MODEL, PRICES, REPORT, SCORES, SUMMARY
from fairwise.store.tables import database_identity, sessions
from fairwise.study.folder import OUTCOME, SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import sqlalchemy as sa

    from fairwise.study.settings import StudySettings


MANIFEST, STUDY, TABLES, ROWS = "backup.json", "study/", "tables/", ".jsonl"
FORMAT = 1
MOST_BYTES = 16 << 30  # unpacked; a study of a million answers has a hundredth of it
_LONGEST_ROW, _LONGEST_LIST = 64 << 20, 16 << 20
# Nothing that leads out of a folder, and nothing hidden.
_NAME = re.compile(r"(study/(jobs/[0-9]+/)?[a-z][A-Za-z0-9._-]*|tables/[a-z_]+\.jsonl)")
_FIELDS = {"fairwise": str, "made_at": str, "fingerprint": str, "tables_version": str, "rows": dict, "files": dict}
_CHUNK = 1 << 20
# Whatever zip files can do to those who read them.
_DAMAGES = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)


class BackupWriter:
    """Adds one file after the other; the list of them comes last. What could not be restored is not written."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._sums: dict[str, str] = {}
        self._bytes = 0

    def add(self, name: str, parts: Iterable[bytes]) -> None:
        seen = hashlib.sha256()
        with self._archive.open(name, "w", force_zip64=True) as file:
            for part in parts:
                self._bytes += len(part)
                if self._bytes > MOST_BYTES:
                    raise InputError(f"more than {MOST_BYTES >> 30} GiB, which is more than a backup can hold")
                seen.update(part)
                file.write(part)
        self._sums[name] = seen.hexdigest()

    def end(self, about: Mapping[str, Any]) -> None:
        manifest = {"format": FORMAT, **about, "files": self._sums}
        self._archive.writestr(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))


@dataclass(frozen=True, eq=False)
class Backup:
    """A file of which every byte was checked."""

    path: Path
    manifest: Mapping[str, Any]
    archive: zipfile.ZipFile

    def study_files(self) -> list[str]:
        """Names of the study's own files, within its folder."""
        return [name.removeprefix(STUDY) for name in self.manifest["files"] if name.startswith(STUDY)]

    def study_file(self, name: str) -> Iterator[bytes]:
        """The content of one of them, a piece at a time."""
        return pieces(self.archive, STUDY + name)

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, one at a time."""
        with self.archive.open(f"{TABLES}{table}{ROWS}") as lines:
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
def checked_backup(path: Path) -> Iterator[Backup]:
    """Open a backup after every file in it was read and compared with the list."""
    with _damage_named(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _damage_named(path):
            manifest = _checked(archive, path)
        yield Backup(path, manifest, archive)  # what goes wrong from here on is not the file's fault


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:  # which is a ValueError, and says itself what is wrong
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except _DAMAGES as error:
        raise InputError(f"{path}: not a backup, or damaged: {error}") from None


def pieces(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """A file in an archive, however large it is."""
    with archive.open(name) as file:
        while piece := file.read(_CHUNK):
            yield piece


def _checked(archive: zipfile.ZipFile, path: Path) -> Mapping[str, Any]:
    names = archive.namelist()
    if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
        raise InputError(f"{path}: more than {MOST_BYTES >> 30} GiB when unpacked; not a backup")
    if MANIFEST in names and archive.getinfo(MANIFEST).file_size > _LONGEST_LIST:
        raise InputError(f"{path}: {MANIFEST} is larger than any that Fairwise writes; not a backup")
    manifest = _manifest(archive.read(MANIFEST) if MANIFEST in names else b"", path)
    listed: dict[str, str] = manifest["files"]
    strange = [name for name in names if name != MANIFEST and not _NAME.fullmatch(name)]
    if strange or len(names) != len(set(names)):
        raise does_not_belong(path, (strange or names)[0])
    for what, those in (("is missing", listed.keys() - set(names)), ("was added", set(names) - {*listed, MANIFEST})):
        if those:
            raise InputError(f"{path}: {min(those)} {what}")
    for name, expected in listed.items():
        seen = hashlib.sha256()
        for piece in pieces(archive, name):
            seen.update(piece)
        if seen.hexdigest() != expected:
            raise InputError(f"{path}: {name} is damaged, or was changed after the backup was made")
    if manifest["rows"].keys() != {name[len(TABLES) : -len(ROWS)] for name in listed if name.startswith(TABLES)}:
        raise InputError(f"{path}: {MANIFEST} counts the rows of other tables than there are")
    return manifest


def does_not_belong(path: Path, name: str) -> InputError:
    """What is said of a file that no backup has."""
    return InputError(f"{path}: {name!r} does not belong in a backup")


def _manifest(data: bytes, path: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise InputError(f"{path}: has no readable {MANIFEST}; not a backup")
    if manifest["format"] != FORMAT:
        raise InputError(f"{path}: a backup of format {manifest['format']!r}, but this version reads format {FORMAT}")
    for name, kind in _FIELDS.items():
        if not isinstance(manifest.get(name), kind):
            raise InputError(f"{path}: {MANIFEST} has no {name!r}, or something else under this name")
    try:
        datetime.fromisoformat(manifest["made_at"])
    except ValueError:
        raise InputError(f"{path}: {MANIFEST}: 'made_at' is {manifest['made_at']!r}; needed: a time") from None
    return manifest


# Values of a database as JSON and back, by the type of their column, the same for every database.


def written(value: Any) -> Any:
    """As something that JSON knows."""
    if isinstance(value, date):  # or a moment
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def read(column: sa.Column[Any], cell: Any) -> Any:
    """As the column's own type; what is not of this type is a ValueError."""
    kind = column.type.python_type
    as_written: Any = str if kind in (datetime, date, bytes) else (int, float) if kind is float else kind
    if cell is not None and not isinstance(cell, as_written):
        raise ValueError(f"{column}: {cell!r}")
    if kind is bytes and cell is not None:
        return base64.b64decode(cell, validate=True)
    return kind.fromisoformat(cell) if kind in (datetime, date) and cell is not None else cell


# What a backup holds, and nothing else: the same names when it is taken and when it is restored.

JOB_FILES = (FRONTIER, MODEL, PRICES, REPORT, SCORES, SUMMARY)
"""What a fit leaves behind."""

# Whoever was logged in logs in again: a copy of the database should open no door. What is restored is another database
# than the one that was backed up. Alembic's table is the version.
_LEFT_OUT = (sessions.name, database_identity.name, "alembic_version")


def backed_up_files(settings: StudySettings, *, with_secret: bool) -> set[str]:
    """Names of files in a study's folder."""
    return study_files(settings.languages) | {OUTCOME} | ({SECRET} if with_secret else set())


def tables_of_backup(metadata: sa.MetaData) -> list[sa.Table]:
    """Of the tables of a version, those that its backups hold, all of them; what is referred to comes first."""
    return [table for table in metadata.sorted_tables if table.name not in _LEFT_OUT]
