"""The archive: a zip file whose every byte is accounted for by a list of checksums."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.elicitation.bundles.contents import tables
from fairwise.elicitation.folder import OUTCOME, SECRET
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.elicitation.folder import StudyFolder

MANIFEST = "bundle.json"
FORMAT = 1
MOST_BYTES = 2 << 30  # unpacked; a study of a million answers has a tenth of it
_STUDY = "study/"


@dataclass(frozen=True, eq=False)
class Bundle:
    """The files of a bundle, checked against its list."""

    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables, every cell a text."""
        return pd.read_csv(io.BytesIO(self.files[name]), dtype=str, keep_default_na=False)

    def study_files(self) -> dict[str, bytes]:
        """The study's own files, by name."""
        return {name.removeprefix(_STUDY): data for name, data in self.files.items() if name.startswith(_STUDY)}


def write_bundle(path: Path, study: StudyFolder, connection: Connection) -> Mapping[str, Any]:
    """Write settings, texts, people, schedule and answers; never outcomes, never the secret. Returns the list."""
    files = {
        f"{_STUDY}{file.name}": file.read_bytes()
        for file in sorted(study.path.iterdir())
        if file.is_file() and file.suffix in (".toml", ".md", ".parquet") and file.name not in (OUTCOME, SECRET)
    }
    files |= {
        name: table.to_csv(index=False, lineterminator="\n").encode() for name, table in tables(connection).items()
    }
    manifest = {
        "format": FORMAT,
        "fairwise": version("fairwise"),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": study.fingerprint,
        "seed": study.settings.seed,
        "consent_version": study.consent_version,
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


def read_bundle(path: Path) -> Bundle:
    """Read and check every file; what was added, taken away or changed is named."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = _unpacked(archive, path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{path}: not a bundle, or damaged: {error}") from None
    manifest = _manifest(files.pop(MANIFEST, None), path)
    listed: Mapping[str, str] = manifest["files"]
    for what, names in (("was taken away", listed.keys() - files.keys()), ("was added", files.keys() - listed.keys())):
        if names:
            raise InputError(f"{path}: {min(names)} {what} after the bundle was made")
    changed = [name for name, data in files.items() if hashlib.sha256(data).hexdigest() != listed[name]]
    if changed:
        raise InputError(f"{path}: {changed[0]} was changed after the bundle was made")
    return Bundle(manifest, files)


def _unpacked(archive: zipfile.ZipFile, path: Path) -> dict[str, bytes]:
    entries = archive.infolist()
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise InputError(f"{path}: more than {MOST_BYTES >> 30} GiB when unpacked; not a bundle")
    files: dict[str, bytes] = {}
    for entry in entries:
        parts = entry.filename.split("/")
        if entry.filename in files or "\\" in entry.filename or not set(parts).isdisjoint({"", ".", ".."}):
            raise InputError(f"{path}: {entry.filename!r} is not the name of a file in a bundle")
        with archive.open(entry) as file:
            files[entry.filename] = file.read(entry.file_size + 1)
    return files


def _manifest(data: bytes | None, path: Path) -> Mapping[str, Any]:
    try:
        manifest: Mapping[str, Any] = json.loads(data or b"")
        known = manifest["format"], dict(manifest["files"]), str(manifest["fingerprint"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: has no readable {MANIFEST}; not a bundle") from None
    if known[0] != FORMAT:
        raise InputError(f"{path}: a bundle of format {known[0]}, but this version reads format {FORMAT}")
    return manifest
