"""Find studies and their databases: which folders hold a study, and which database is a study's own.

A random number is both in the database and in a file of the study's folder. Without it, a study that is started
without its ``--database`` would run on an empty one: open although it was closed, and without any answers. An address
would not do, since the same database may get another.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.errors import InputError
from fairwise.store.engine import public_address, snapshot_engine
from fairwise.store.fit_files import JOBS
from fairwise.store.schema import database_identity, invitations, operators, participants
from fairwise.study.folder import SECRET, SETTINGS
from fairwise.tables.output import write_whole

DATABASE_FILE = "study.sqlite"
NAME_IN_ADDRESS = "{name}"
"""Placeholder for the name of each of several studies in the address of a database."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
RESERVED = frozenset({"admin", "health", "healthz", "metrics", "readyz", "static"})
"""Addresses of the server itself."""

SETTLED_SECONDS = 5.0
"""A folder without a change for this long is no longer being copied."""


def database_of(folder: Path, url: str | None) -> str | Path:
    """Return the database of a study: a file in its folder unless a URL is given."""
    return folder / DATABASE_FILE if url is None else url


def database_for(path: Path, url: str | None) -> str | Path:
    """Return the database of one of several studies."""
    return database_of(path, None if url is None else url.replace(NAME_IN_ADDRESS, path.name))


@dataclass(frozen=True)
class Place:
    """One of several studies."""

    name: str
    """Name of its folder, which is also its address."""

    path: Path
    database: str | Path


@dataclass(frozen=True)
class Places:
    """Studies in a folder by name, and the reasons why others cannot be served."""

    studies: Mapping[str, Place]
    refused: Mapping[str, str]


def is_address(name: str) -> bool:
    """Return whether the name of a folder can be the address of a study."""
    return NAME.fullmatch(name) is not None and name not in RESERVED


def is_study(folder: Path) -> bool:
    """Return whether a folder holds a study, or one that is being made in the console."""
    return any((folder / name).exists() for name in (SETTINGS, SECRET))


def find_places(folder: Path, url: str | None) -> Places:
    """Return all studies in a folder, those with the oldest secret first.

    Hidden folders and those without a study are skipped. Two studies with the same secret, as a copy has it, would
    accept each other's links and forms: the one whose secret is newer on this disk is refused.
    """

    def age(path: Path) -> tuple[int, str]:
        try:  # a copy may keep all other times of the file, but not this one
            return (path / SECRET).stat().st_ctime_ns, path.name
        except OSError:
            return time.time_ns(), path.name

    studies: dict[str, Place] = {}
    refused: dict[str, str] = {}
    owners: dict[bytes, str] = {}
    paths = [path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir() and is_study(path)]
    for path in sorted(paths, key=age):
        name = path.name
        try:
            secret = (path / SECRET).read_bytes()
        except OSError:  # opening the study reports it
            secret = b""
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


def check_several(folder: Path, url: str | None) -> None:
    """Refuse a path that is no folder of studies, and one database for all of them."""
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
    """Return whether a folder has not changed recently; it might still be copied, file by file."""
    return not 0 <= time.time() - last_change(path) < SETTLED_SECONDS


def last_change(path: Path) -> float:
    """Return when a folder or a file in it was last changed, in seconds since 1970."""
    try:
        return max(file.stat().st_mtime for file in (path, *path.iterdir()))
    except OSError:  # a file disappeared just now
        return time.time()


# The study's own database

IDENTITY_FILE = "database.json"
_HERE = " in its folder"
T = TypeVar("T")


@dataclass(frozen=True)
class Identity:
    """Content of the file in the study's folder."""

    database: str
    """Number that is also in the database."""

    address: str
    """Last address without a password, for people to read."""

    @classmethod
    def read(cls, home: Path) -> Self | None:
        """Return None for a folder that has not been served."""
        file = home / IDENTITY_FILE
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            return cls(str(content["database"]), str(content["address"]))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                f"{file}: does not say which database is this study's; put it back from a copy, or delete it and serve "
                "the study with its own --database, which is then noted there anew"
            ) from None


def identity_in(connection: sa.Connection) -> str | None:
    """Return the number in the database."""
    return connection.execute(sa.select(database_identity.c.value)).scalar_one_or_none()


def check_identity(url: sa.URL, home: Path) -> None:
    """Refuse a database that is not the folder's own, before anything in it is created or upgraded."""
    own = Identity.read(home)
    if own is None:
        if (home / JOBS).is_dir() and any((home / JOBS).iterdir()) and _is_empty(url):
            raise InputError(
                f"{home}: there were models of this study before ({home / JOBS}), and {_place(url, home)} is empty. "
                "Give the --database with which it was served. If that one is lost, restore a backup; to begin anew "
                f"without it, move {home / JOBS} away."
            )
    elif _query(url, _identity_if_any) != own.database:
        raise _wrong_database(url, home, own)


def require_same(connection: sa.Connection, url: sa.URL, home: Path) -> None:
    """Refuse to read from a database that is not the folder's own."""
    own = Identity.read(home)
    if own is not None and identity_in(connection) != own.database:
        raise _wrong_database(url, home, own)


def record_identity(connection: sa.Connection, url: sa.URL, home: Path) -> None:
    """Record in the folder that this database is its own, and its address.

    The file is written as a whole or not at all; processes that start together write the same.
    """
    number = identity_in(connection)
    if number is None:
        raise InputError(f"{public_address(url)}: the database is damaged: it does not say which one it is")
    identity = Identity(number, _place(url, home))
    if identity == Identity.read(home):
        return
    file, text = home / IDENTITY_FILE, f"{json.dumps(asdict(identity), indent=1)}\n"
    try:
        write_whole(file, lambda draft: draft.write_text(text, encoding="utf-8"), private=True, lasting=True)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror or error}") from None


def _wrong_database(url: sa.URL, home: Path, own: Identity) -> InputError:
    problem = "is empty, and not this study's database" if _is_empty(url) else "is not this study's database"
    remedy = "leave --database out" if own.address.endswith(_HERE) else "give that as --database"
    return InputError(
        f"{home}: {_place(url, home)} {problem}. Its own is {own.address}: {remedy}. If you moved its answers, or mean "
        f"to begin anew without them, see docs/operating.md; {home / IDENTITY_FILE} says which database is its own."
    )


def _place(url: sa.URL, home: Path) -> str:
    """Return an address for people: a file in the folder by its name alone, since folders are moved."""
    if url.get_backend_name() == "sqlite" and url.database:
        file = Path(url.database).resolve()
        if file.parent == home.resolve():
            return f"{file.name}{_HERE}"
    return public_address(url)


def _identity_if_any(connection: sa.Connection) -> str | None:
    return identity_in(connection) if sa.inspect(connection).has_table(database_identity.name) else None


def _has_anyone(connection: sa.Connection) -> bool:
    names = set(sa.inspect(connection).get_table_names())
    tables = [table for table in (participants, operators, invitations) if table.name in names]
    rows = (connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() for table in tables)
    return any(row is not None for row in rows)


def _is_empty(url: sa.URL) -> bool:
    return not _query(url, _has_anyone)


def _query(url: sa.URL, query: Callable[[sa.Connection], T]) -> T | None:
    """Query a database of any version without changing it; return None where there is no file."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        return None
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            return query(connection)
    except (DBAPIError, sqlite3.Error) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"{public_address(url)}: the database cannot be used: {reason}") from None
    finally:
        engine.dispose()
