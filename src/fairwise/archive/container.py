"""One file that holds a study: a zip archive in which a list of checksums accounts for every byte.

Bundles and backups are two contents of it; the :class:`ContainerKind` of each says what it may hold. Nothing in it
leads out of a folder, nor is larger unpacked than it may be.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeAlias

from fairwise.errors import InputError
from fairwise.store.schema import AnyColumn
from fairwise.study.cards import IMAGES
from fairwise.study.folder import CONSENT, PEOPLE, SCORES, SECRET, SECRET_BYTES, SETTINGS, TASK, StudyFolder, named
from fairwise.study.settings import StudySettings
from fairwise.tables.files import check_parquet

Manifest: TypeAlias = Mapping[str, Any]
"""The list of a container's files with what else there is to say, as it was read; each kind checks its own."""

STUDY = "study/"
_CHUNK = 1 << 20
_LONGEST_LIST = 16 << 20
# Whatever zip files can do to those who read them.
_DAMAGES = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)


@dataclass(frozen=True)
class ContainerKind:
    """A content of the container, and the words for what may be wrong with one of its files."""

    name: str
    manifest: str
    """The file with the list."""

    most_bytes: int
    """Of all files, unpacked."""

    members: re.Pattern[str]
    """Names of files that it may have."""

    check_manifest: Callable[[Path, Manifest], None]
    """Refuses a list with anything in it that cannot be; its ``files`` must be a dictionary."""

    belongs: Callable[[StudySettings, str], bool]
    """Whether a file in the folder of a study with these settings may be in it."""

    folder: str
    """What stands before the name of such a file where its content is found wrong."""

    unsafe: str
    missing: str
    added: str
    changed: str
    damaged: str

    def does_not_belong(self, path: Path, name: str) -> InputError:
        """What is said of a file that no content of this kind has."""
        return InputError(f"{path}: {name!r} does not belong in a {self.name}")


class ContainerWriter:
    """Adds one file after the other; the list of them comes last. What could not be read again is not written."""

    def __init__(self, archive: zipfile.ZipFile, kind: ContainerKind) -> None:
        self._archive, self._kind = archive, kind
        self._sums: dict[str, str] = {}
        self._bytes = 0

    def add(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file, a piece at a time."""
        seen, most = hashlib.sha256(), self._kind.most_bytes
        with self._archive.open(name, "w", force_zip64=True) as file:
            for part in parts:
                self._bytes += len(part)
                if self._bytes > most:
                    raise InputError(f"more than {most >> 30} GiB, which is more than a {self._kind.name} can hold")
                seen.update(part)
                file.write(part)
        self._sums[name] = seen.hexdigest()

    def end(self, about: Manifest) -> Manifest:
        """Write the list, with what else there is to say; returns it."""
        manifest = {**about, "files": self._sums}
        self._archive.writestr(self._kind.manifest, json.dumps(manifest, indent=1, sort_keys=True))
        return manifest


@dataclass(frozen=True, eq=False)
class Container:
    """An archive with just the files that its list has; their content is compared with it as they are read."""

    path: Path
    kind: ContainerKind
    manifest: Manifest
    archive: zipfile.ZipFile

    @property
    def names(self) -> list[str]:
        """Names of all files but the list."""
        return [name for name in self.archive.namelist() if name != self.kind.manifest]

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file, however large it is; at its end, a file that was changed is refused."""
        seen = hashlib.sha256()
        try:
            with self.archive.open(name) as file:
                while piece := file.read(_CHUNK):
                    seen.update(piece)
                    yield piece
        except _DAMAGES as error:
            raise _fault(self.path, self.kind.damaged, name, error) from None
        if seen.hexdigest() != self.manifest["files"][name]:
            raise _fault(self.path, self.kind.changed, name)


@contextmanager
def open_container(path: Path, kind: ContainerKind) -> Iterator[Container]:
    """Open an archive after its size, its names and its list were checked."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except _DAMAGES as error:
        raise InputError(f"{path}: not a {kind.name}, or damaged: {error}") from None
    with archive:
        _check_entries(archive, path, kind)
        container = Container(path, kind, _manifest(archive, path, kind), archive)
        names, listed = container.names, container.manifest["files"]
        strange = [name for name in names if not kind.members.fullmatch(name)]
        if strange:
            raise kind.does_not_belong(path, strange[0])
        for words, those in ((kind.missing, listed.keys() - set(names)), (kind.added, set(names) - listed.keys())):
            if those:
                raise _fault(path, words, min(those))
        yield container


def _check_entries(archive: zipfile.ZipFile, path: Path, kind: ContainerKind) -> None:
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > kind.most_bytes:
        raise InputError(f"{path}: more than {kind.most_bytes >> 30} GiB when unpacked; not a {kind.name}")
    # Of what is packed otherwise, Python unpacks as much as there is, whatever the size that is stated.
    if any(entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} for entry in entries):
        raise InputError(f"{path}: packed in another way than by deflate; not a {kind.name}")
    seen: set[str] = set()
    for name in (entry.filename for entry in entries):
        if name in seen or "\\" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise _fault(path, kind.unsafe, name)
        seen.add(name)


def _manifest(archive: zipfile.ZipFile, path: Path, kind: ContainerKind) -> Manifest:
    manifest = None
    if kind.manifest in archive.namelist():
        if archive.getinfo(kind.manifest).file_size > _LONGEST_LIST:
            raise InputError(f"{path}: {kind.manifest} is larger than any that Fairwise writes; not a {kind.name}")
        try:
            with archive.open(kind.manifest) as file:
                data = file.read(_LONGEST_LIST)  # a bound, so that no more is unpacked than it says of itself
        except _DAMAGES as error:
            raise _fault(path, kind.damaged, kind.manifest, error) from None
        try:
            manifest = json.loads(data)
        except (ValueError, RecursionError):
            manifest = None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise InputError(f"{path}: has no readable {kind.manifest}; not a {kind.name}")
    kind.check_manifest(path, manifest)
    return manifest


def _fault(path: Path, words: str, name: str, error: Exception | None = None) -> InputError:
    return InputError(f"{path}: {words.format(name=name, error=error)}")


# The study's own files.


def study_files(settings: StudySettings) -> set[str]:
    """Names of files in a study's folder that belong to it; whatever else an operator keeps there stays."""
    translated = {named(name, code) for name in (SETTINGS, CONSENT, TASK) for code in settings.languages[1:]}
    return {SETTINGS, CONSENT, TASK, PEOPLE, SCORES} | translated


def is_study_file(settings: StudySettings, name: str) -> bool:
    """Whether a file of this name may belong to a study; pictures only where it shows some."""
    folder, _, file = name.partition("/")
    is_picture = folder == IMAGES and file and "/" not in file and any(column.alt for column in settings.columns)
    return name in study_files(settings) or bool(is_picture)


def unpack_study(path: Path, kind: ContainerKind, files: Mapping[str, Iterable[bytes]], folder: Path) -> StudyFolder:
    """Write a study's files, for their owner alone, and open it; where there is no secret, it gets one of its own."""
    try:
        if SETTINGS in files:  # first, as it says which files there may be
            _write(folder / SETTINGS, files[SETTINGS])
        settings = StudySettings.read(folder / SETTINGS)
        strange = sorted(name for name in files if not kind.belongs(settings, name))
        if strange:
            raise kind.does_not_belong(path, f"{STUDY}{strange[0]}")
        for name in files.keys() - {SETTINGS}:
            _write(folder / name, files[name])
        if SECRET not in files:
            _write(folder / SECRET, [secrets.token_bytes(SECRET_BYTES)])
        for name in files:
            if name.endswith(".parquet") and "/" not in name:
                check_parquet(folder / name)
        return StudyFolder.open(folder)
    except InputError as error:  # about the container, not about a folder that is gone when it is read
        raise InputError(str(error).replace(f"{folder}/", f"{path}: {kind.folder}")) from None


def _write(file: Path, pieces: Iterable[bytes]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600)
    with file.open("wb") as opened:
        for piece in pieces:
            opened.write(piece)


# Values of a database as JSON or as text and back, by the type of their column, the same for every database.


_YES_NO = {True: "yes", False: "no"}


def as_json(value: object) -> object:
    """As something that JSON knows."""
    if isinstance(value, date):  # or a moment
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def from_json(column: AnyColumn, cell: object) -> object:
    """As the column's own type; what is not of this type is a ValueError."""
    kind = column.type.python_type
    as_written: Any = str if kind in (datetime, date, bytes) else (int, float) if kind is float else kind
    if cell is not None and not isinstance(cell, as_written):
        raise ValueError(f"{column}: {cell!r}")
    if kind is bytes and cell is not None:
        return base64.b64decode(cell, validate=True)
    return kind.fromisoformat(cell) if kind in (datetime, date) and cell is not None else cell


def as_text(value: object) -> str:
    """As text that reads back to the same value; nothing is the empty text."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)).isoformat()
    if isinstance(value, bool):
        return _YES_NO[value]
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def from_text(column: AnyColumn, text: str) -> object:
    """As the column's own type."""
    if text == "" and column.nullable:
        return None
    kind = column.type.python_type
    if kind is bool:
        return text == _YES_NO[True]
    return kind(text) if kind in (int, float) else from_json(column, text)
