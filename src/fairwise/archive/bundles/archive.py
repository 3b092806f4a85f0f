"""The archive: a zip file whose every byte is accounted for by a list of checksums."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.archive.bundles.contents import LATER_TABLES, TABLES, last_number, study_files, tables
from fairwise.errors import InputError
from fairwise.store.export import as_written, defused
from fairwise.study.editions import CONSENT, version_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

MANIFEST = "bundle.json"
FORMAT = 3  # of 1, texts are as they were written; of 2, a ' is before those that begin like a formula
_FORMATS = (1, 2, FORMAT)
_FORMULA_OF_2 = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n']")
MOST_BYTES = 2 << 30  # unpacked; a study of a million answers has a tenth of it
STUDY = "study/"
_TYPED = {"why", "rules", "expressible", "comments", "reason"}
"""Columns of what participants and operators wrote."""

_FIELDS = {
    "format": int,
    "fairwise": str,
    "made_at": str,
    "fingerprint": str,
    "seed": int,
    "consent_version": str,
    "files": dict,
}
_LATER_FIELDS = {"numpy": str, "last_number": int, "coarse": bool}
_KINDS = {int: "a whole number", str: "a text", dict: "a list of files", bool: "true or false"}
# Whatever zip files can do to those who read them.
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True, eq=False)
class Bundle:
    """The files of a bundle, checked against its list."""

    path: Path
    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables, every cell a text; none if it is not there."""
        csv.field_size_limit(1 << 30)  # models are long
        try:
            text = self.files.get(name, b"").decode()
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.path}: {name} cannot be read as a table: {error}") from None
        if not rows and name in self.files:
            raise InputError(f"{self.path}: {name} is empty; needed: at least the names of its columns")
        columns = rows.pop(0) if rows else []
        typed = [place for place, column in enumerate(columns) if column in _TYPED]
        for at, row in enumerate(rows, start=2):
            if len(row) != len(columns):
                raise InputError(f"{self.path}: {name}, row {at}: {len(row)} cells; needed: {len(columns)}")
            for place in typed:
                row[place] = self._as_written(row[place], f"{name}, row {at}, column {columns[place]}")
        return pd.DataFrame(rows, columns=columns, dtype=object)

    def _as_written(self, cell: str, where: str) -> str:
        if self.manifest["format"] == 1:
            return cell
        if self.manifest["format"] == 2:
            text = cell.removeprefix("'")
            expected = f"'{text}" if _FORMULA_OF_2.match(text) else text
        else:
            text = as_written(cell)
            expected = defused(text)
        if expected != cell:
            raise InputError(
                f"{self.path}: {where}: needed: a ' before what a spreadsheet takes for a formula, and only there"
            )
        return text

    def study_files(self) -> dict[str, bytes]:
        """The study's own files, by name."""
        return {name.removeprefix(STUDY): data for name, data in self.files.items() if name.startswith(STUDY)}


def write_bundle(path: Path, study: StudyFolder, connection: Connection, *, coarse: bool = False) -> Mapping[str, Any]:
    """Write settings, texts, people, schedule and answers, and nothing else of the folder. Returns the list.

    A ``coarse`` one tells days in the place of times and whole seconds of thinking, and nothing that anyone wrote.
    """
    ours = [study.path / name for name in sorted(study_files(study.settings.languages))]
    files = {f"{STUDY}{file.name}": file.read_bytes() for file in ours if file.is_file()}
    rows = tables(connection)
    files |= {name: _as_csv(_coarsened(table) if coarse else table) for name, table in rows.items()}
    manifest = {
        "format": FORMAT,
        "fairwise": version("fairwise"),
        "numpy": version("numpy"),  # whose use of the stream of chance active pairs follow from
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": study.fingerprint,
        "seed": study.settings.seed,
        "consent_version": version_of(files[f"{STUDY}{CONSENT}"].decode()),
        "coarse": coarse,
        "last_number": last_number(connection),  # of a participant, so that no number is given again
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))
            for name, data in files.items():
                archive.writestr(name, data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    return manifest


def _coarsened(table: pd.DataFrame) -> pd.DataFrame:
    """Nothing that people are known by who saw somebody answer, and no words. What came first still does."""
    changes = {name: "" for name in table.columns if name in _TYPED}
    days = {name: table[name].map(_day) for name in table.columns if name.endswith("_at")}
    seconds = {"seconds": table["seconds"].map(_whole_seconds)} if "seconds" in table else {}
    return table.assign(**changes, **days, **seconds)


def _day(moment: str) -> str:
    """Midnight before a time, or nothing."""
    return f"{moment[:10]}T00:00:00+00:00" if moment else ""


def _whole_seconds(seconds: str) -> str:
    return repr(float(round(float(seconds)))) if seconds else ""


def _as_csv(table: pd.DataFrame) -> bytes:
    table = table.assign(**{name: table[name].map(defused) for name in table.columns if name in _TYPED})
    # A text with old line ends (\r) would otherwise fall apart.
    return table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL).encode()


def read_bundle(path: Path) -> Bundle:
    """Read and check every file; what was added, taken away or changed is named, and what does not belong there."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = _unpacked(archive, path)
    except InputError:  # which is a ValueError, and says itself what is wrong
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except _DAMAGES as error:
        raise InputError(f"{path}: not a bundle, or damaged: {error}") from None
    manifest = _manifest(files.pop(MANIFEST, None), path)
    strange = [name for name in files if name not in (*TABLES, *LATER_TABLES) and not name.startswith(STUDY)]
    if strange:
        raise does_not_belong(path, strange[0])
    listed: Mapping[str, str] = manifest["files"]
    for what, names in (("was taken away", listed.keys() - files.keys()), ("was added", files.keys() - listed.keys())):
        if names:
            raise InputError(f"{path}: {min(names)} {what} after the bundle was made")
    changed = [name for name, data in files.items() if hashlib.sha256(data).hexdigest() != listed[name]]
    if changed:
        raise InputError(f"{path}: {changed[0]} was changed after the bundle was made")
    return Bundle(path, manifest, files)


def does_not_belong(path: Path, name: str) -> InputError:
    """What is said of a file that no bundle has."""
    return InputError(f"{path}: {name!r} does not belong in a bundle")


def _unpacked(archive: zipfile.ZipFile, path: Path) -> dict[str, bytes]:
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise InputError(f"{path}: more than {MOST_BYTES >> 30} GiB when unpacked; not a bundle")
    files: dict[str, bytes] = {}
    for entry in entries:
        parts = entry.filename.split("/")
        if entry.filename in files or "\\" in entry.filename or not set(parts).isdisjoint({"", ".", ".."}):
            raise InputError(f"{path}: {entry.filename!r} is not the name of a file in a bundle")
        try:
            with archive.open(entry) as file:
                files[entry.filename] = file.read(entry.file_size + 1)
        except _DAMAGES as error:
            raise InputError(f"{path}: {entry.filename!r} is damaged: {error}") from None
    return files


def _manifest(data: bytes | None, path: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads(data or b"")
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise InputError(f"{path}: has no readable {MANIFEST}; not a bundle")
    if manifest["format"] not in _FORMATS:
        known = ", ".join(map(str, _FORMATS))
        raise InputError(f"{path}: a bundle of format {manifest['format']!r}; this version reads formats {known}")
    for name, kind in (_FIELDS | _LATER_FIELDS).items():
        if name in _FIELDS and name not in manifest:
            raise InputError(f"{path}: {MANIFEST} has no {name!r}")
        if name in manifest and type(manifest[name]) is not kind:
            raise InputError(f"{path}: {MANIFEST}: {name!r} is {manifest[name]!r}; needed: {_KINDS[kind]}")
    return manifest
