"""Where a study and its database are; and of a folder with several studies, which of them can be served.

Whoever serves several and whoever makes their models look here, each for themselves, and find the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairwise.errors import InputError
from fairwise.study.folder import SECRET, SETTINGS

DATABASE_FILE = "study.sqlite"
NAME_IN_ADDRESS = "{name}"
"""In the address of a database: here stands the name of each of several studies."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
RESERVED = frozenset({"admin", "health", "healthz", "metrics", "readyz", "static"})
"""Addresses of the server itself."""

SETTLED_SECONDS = 5.0
"""A folder in which nothing has changed for so long is no longer being copied."""


def database_of(folder: Path, url: str | None) -> str | Path:
    """Where answers are kept: a file in the study's folder, unless a URL says otherwise."""
    return folder / DATABASE_FILE if url is None else url


@dataclass(frozen=True)
class Place:
    """One of several studies."""

    name: str
    """Of its folder, and in its address."""

    path: Path
    database: str | Path


@dataclass(frozen=True)
class Places:
    """What was found in a folder: studies by name, and why others cannot be served."""

    studies: Mapping[str, Place]
    refused: Mapping[str, str]


def is_address(name: str) -> bool:
    """Whether a folder's name can be the address of a study."""
    return NAME.fullmatch(name) is not None and name not in RESERVED


def is_study(folder: Path) -> bool:
    """Whether this is the folder of a study, or of one that is being made in the console."""
    return any((folder / ours).exists() for ours in (SETTINGS, SECRET))


def find_places(folder: Path, url: str | None) -> Places:
    """All studies in a folder, those with the oldest secret first.

    Hidden folders and those without a study are left alone. Of two studies with one secret, as a copy has it, links and
    forms of the one would be good for the other: the one whose file is newer on this disk is refused.
    """
    studies: dict[str, Place] = {}
    refused: dict[str, str] = {}
    owners: dict[bytes, str] = {}
    for path in sorted(_study_folders(folder), key=lambda path: (_since(path), path.name)):
        name, secret = path.name, _secret(path)
        if not is_address(name):
            taken = f" other than {', '.join(sorted(RESERVED))}"
            refused[name] = (
                f"its name becomes its address; needed: letters, digits, - and _, at most 63 of them,{taken}"
            )
        elif secret and secret in owners:
            refused[name] = (
                f"its {SECRET} is that of {owners[secret]}, so links and forms of the one would be good for the other; "
                f"if it is a copy, move it elsewhere, or make a new study of it from its bundle"
            )
        else:
            studies[name] = Place(name, path, database_for(path, url))
            owners[secret] = name
    return Places(studies, refused)


def database_for(path: Path, url: str | None) -> str | Path:
    """Return the database of one of several studies."""
    return database_of(path, None if url is None else url.replace(NAME_IN_ADDRESS, path.name))


def check_several(folder: Path, url: str | None) -> None:
    """Refuse what cannot be a folder of studies, and one database for all of them."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; several studies are folders in one, such as {folder}/one")
    if is_study(folder):
        raise InputError(f"{folder}: is a study itself; --several needs the folder in which the folders of studies are")
    if url is not None and NAME_IN_ADDRESS not in url:
        raise InputError(
            f"--database: each of several studies needs a database of its own; write {NAME_IN_ADDRESS} where its name "
            f"is to stand, such as postgresql://host/fairwise_{NAME_IN_ADDRESS}"
        )


def is_settled(path: Path) -> bool:
    """Whether nothing in a folder was changed of late: it may be on its way here, file by file."""
    return not 0 <= time.time() - last_change(path) < SETTLED_SECONDS


def last_change(path: Path) -> float:
    """When a file of a folder, or the list of them, was last changed, in seconds since 1970."""
    try:
        return max(file.stat().st_mtime for file in (path, *path.iterdir()))
    except OSError:  # something was, just now
        return time.time()


def _study_folders(folder: Path) -> Iterable[Path]:
    for path in folder.iterdir():
        if not path.name.startswith(".") and path.is_dir() and is_study(path):
            yield path


def _secret(path: Path) -> bytes:
    """Empty where there is none yet, or none that can be read: whoever opens the study says so."""
    try:
        return (path / SECRET).read_bytes()
    except OSError:
        return b""


def _since(path: Path) -> int:
    """When the secret came to this disk: a copy may keep all other times of a file, but not this one."""
    try:
        return (path / SECRET).stat().st_ctime_ns
    except OSError:
        return time.time_ns()
