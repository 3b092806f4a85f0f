"""Which database is a study's own: a random number in the database, and the same in a file in the study's folder.

Without it a study that is started without its ``--database`` would run on an empty one: open though it was closed,
and without anything that people said. An address would not do: the same database may get another.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.errors import InputError
from fairwise.store.engine import database_url, public_address, snapshot_engine
from fairwise.store.fit_files import JOBS
from fairwise.store.tables import counters, database_identity, invitations, metadata, operators, participants, study
from fairwise.study.settings import StudyState
from fairwise.tables.output import write_whole

FILE = "database.json"
_HERE = " in its folder"
T = TypeVar("T")
_log = logging.getLogger("fairwise")


@dataclass(frozen=True)
class Identity:
    """As it is written in the folder."""

    database: str
    """The number that is in the database too."""

    address: str
    """Where it was last, without a password; only to be read by people."""

    @classmethod
    def read(cls, home: Path) -> Self | None:
        """None for a folder that has not been served, or only by 0.1.0."""
        file = home / FILE
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

    def write(self, home: Path) -> None:
        """Whole or not at all; processes that start together write the same."""
        text = f"{json.dumps(asdict(self), indent=1)}\n"
        write_whole(home / FILE, lambda draft: draft.write_text(text, encoding="utf-8"), private=True, lasting=True)


def identity_in(connection: sa.Connection) -> str | None:
    """The number in the database."""
    return connection.execute(sa.select(database_identity.c.value)).scalar_one_or_none()


def check_identity(url: sa.URL, home: Path, fingerprint: str | None) -> None:
    """Refuse a database that is not the folder's own, before anything is made in it or brought up to date.

    One that holds this study takes the place of one in the folder in which nothing was ever done: so it is after a
    study of 0.1.0 was started without its ``--database``. Nothing ever takes the place of one in which something was.
    """
    own = Identity.read(home)
    if own is None:
        if (home / JOBS).is_dir() and any((home / JOBS).iterdir()) and _is_empty(url):
            raise InputError(
                f"{home}: there were models of this study before ({home / JOBS}), and {_place(url, home)} is empty. "
                "Give the --database with which it was served. If that one is lost, restore a backup; to begin anew "
                f"without it, move {home / JOBS} away."
            )
    elif _asked(url, _number_if_any) != own.database:
        if fingerprint is None or not _is_unused(home, own) or not _asked(url, partial(_holds, of=fingerprint)):
            raise _another(url, home, own)
        _log.warning("%s: %s is its database from now on, as %s is empty", home, public_address(url), own.address)


def require_same(connection: sa.Connection, url: sa.URL, home: Path) -> None:
    """Refuse to read from a database that is not the folder's own."""
    own = Identity.read(home)
    if own is not None and identity_in(connection) != own.database:
        raise _another(url, home, own)


def record_identity(connection: sa.Connection, url: sa.URL, home: Path) -> None:
    """Write down that this database is the folder's own, and where it is now."""
    number = identity_in(connection)
    if number is None:
        raise InputError(f"{public_address(url)}: the database is damaged: it does not say which one it is")
    now = Identity(number, _place(url, home))
    if now == Identity.read(home):
        return
    try:
        now.write(home)
    except OSError as error:
        raise InputError(f"{home / FILE}: cannot be written: {error.strerror or error}") from None


def _another(url: sa.URL, home: Path, own: Identity) -> InputError:
    what = "is empty, and not this study's database" if _is_empty(url) else "is not this study's database"
    how = "leave --database out" if own.address.endswith(_HERE) else "give that as --database"
    return InputError(
        f"{home}: {_place(url, home)} {what}. Its own is {own.address}: {how}. If you moved its answers, or mean to "
        f"begin anew without them, see docs/operating.md; {home / FILE} says which database is its own."
    )


def _place(url: sa.URL, home: Path) -> str:
    """An address for people; a file in the folder by its name alone, since folders are moved."""
    if url.get_backend_name() == "sqlite" and url.database:
        file = Path(url.database).resolve()
        if file.parent == home.resolve():
            return f"{file.name}{_HERE}"
    return public_address(url)


def _number_if_any(connection: sa.Connection) -> str | None:
    return identity_in(connection) if sa.inspect(connection).has_table(database_identity.name) else None


def _holds_anyone(connection: sa.Connection) -> bool:
    there = set(sa.inspect(connection).get_table_names())
    about_people = [table for table in (participants, operators, invitations) if table.name in there]
    return any(_has_rows(connection, table) for table in about_people)


def _holds(connection: sa.Connection, of: str) -> bool:
    """Whether people take part here in the study of this fingerprint."""
    if not sa.inspect(connection).has_table(study.name):
        return False
    return connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none() == of and _holds_anyone(connection)


def _is_unused(home: Path, own: Identity) -> bool:
    """Whether the folder's own database is in the folder, and nobody ever did anything in it."""
    file = home / Path(own.address.removesuffix(_HERE)).name
    return own.address.endswith(_HERE) and bool(_asked(database_url(file), partial(_untouched, number=own.database)))


def _untouched(connection: sa.Connection, number: str) -> bool:
    there = set(sa.inspect(connection).get_table_names())
    made_at_once = (study.name, counters.name, database_identity.name)
    others = [table for table in metadata.sorted_tables if table.name in there and table.name not in made_at_once]
    if _number_if_any(connection) != number or any(_has_rows(connection, table) for table in others):
        return False
    return connection.execute(sa.select(study.c.state)).scalar_one_or_none() in (None, StudyState.OPEN)


def _has_rows(connection: sa.Connection, table: sa.Table) -> bool:
    return connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None


def _is_empty(url: sa.URL) -> bool:
    return not _asked(url, _holds_anyone)


def _asked(url: sa.URL, question: Callable[[sa.Connection], T]) -> T | None:
    """Of a database of any version, without changing it; None where there is no file."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        return None
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            return question(connection)
    except (DBAPIError, sqlite3.Error) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise InputError(f"{public_address(url)}: the database cannot be used: {reason}") from None
    finally:
        engine.dispose()
