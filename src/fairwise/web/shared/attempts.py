"""How often somebody tried a password or began of late: counted for all processes of a server, and about nobody.

Names and addresses are kept as keyed hashes, which mean nothing to whoever does not have the study's secret, and for a
quarter of an hour.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeVar

from fairwise.store.errors import StoreUnavailable
from fairwise.store.logs import FailedWrites
from fairwise.store.operators import same_letters
from fairwise.study.recruitment import Keys
from fairwise.tables.output import create_private

T = TypeVar("T")
_log = logging.getLogger("fairwise")
FILE = ".attempts.sqlite"
SECONDS = 15 * 60
OF_ONE_NAME, FROM_ONE_ADDRESS = 10, 30
_BUSY_SECONDS = 10


@dataclass(frozen=True)
class Limit:
    """What an attempt counts for, and how many there may be for it."""

    kind: str
    of: str
    most: int


def login_limits(name: str, address: str, device: str | None) -> tuple[Limit, ...]:
    """Of an attempt to log in: those of its browser alone, if this name logged in by it before; see :class:`Devices`.

    Otherwise those of the name, by whomever it is tried, and of the network, whatever names are tried from there. So
    strangers who guess can keep nobody out of the browser that they use.
    """
    if device is not None:
        return (Limit("login by device", device, OF_ONE_NAME),)
    return (
        Limit("login by", same_letters(name), OF_ONE_NAME),
        Limit("login from", network(address), FROM_ONE_ADDRESS),
    )


def change_limits(name: str) -> tuple[Limit, ...]:
    """Of an attempt to change the password of whoever is logged in, which keeps nobody from logging in."""
    return (Limit("old password of", same_letters(name), OF_ONE_NAME),)


def consent_limits(address: str, most: int, *, in_room: bool = False) -> tuple[Limit, ...]:
    """Of someone who begins; a ``most`` of 0 is any number. Those in rooms are counted apart from others.

    Addresses that are not public are not counted: behind a proxy that tells no other, everyone would have one.
    """
    parsed = _parsed(address)
    if not most or parsed is None or not parsed.is_global:
        return ()
    return (Limit("consent in a room from" if in_room else "consent from", network(address), most),)


def network(address: str) -> str:
    """What counts as one address: of IPv6 the first half, as everyone has all of the second to choose from.

    >>> network("2001:db8:1:2:3:4:5:6"), network("203.0.113.9"), network("::ffff:203.0.113.9")
    ('2001:db8:1:2::/64', '203.0.113.9', '203.0.113.9')
    """
    parsed = _parsed(address)
    if parsed is None:
        return address
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64" if isinstance(parsed, IPv6Address) else str(parsed)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """None for a socket in a file, or nothing at all."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


class Attempts:
    """An attempt counts from its beginning, so that many at once are not each the first; a right one is taken back."""

    def __init__(self, home: Path, keys: Keys) -> None:
        self._file, self._keys = home / FILE, keys
        self._failed = FailedWrites(str(self._file))

    def begin(self, *limits: Limit) -> bool:
        """Count an attempt, unless there were too many already; returns whether it may go on."""
        if not limits:
            return True
        now = time.time()

        def counted(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM attempts WHERE at < ?", (now - SECONDS,))
            for limit in limits:
                query = "SELECT count(*) FROM attempts WHERE mark = ?"
                (number,) = connection.execute(query, (self._mark(limit),)).fetchone()
                if number >= limit.most:
                    return False
            rows = [(self._mark(limit), now) for limit in limits]
            connection.executemany("INSERT INTO attempts VALUES (?, ?)", rows)
            return True

        return self._change(counted)

    def forgive(self, *limits: Limit) -> None:
        """Take back the last attempt, which was right."""
        last = "DELETE FROM attempts WHERE rowid = (SELECT max(rowid) FROM attempts WHERE mark = ?)"
        self._each(last, limits)

    def clear(self, name: str) -> None:
        """Take back all attempts for a name, by whomever."""
        self._each("DELETE FROM attempts WHERE mark = ?", (login_limits(name, "", None)[0], *change_limits(name)))

    def _each(self, statement: str, limits: Iterable[Limit]) -> None:
        rows = [(self._mark(limit),) for limit in limits]
        self._change(lambda connection: connection.executemany(statement, rows))

    def _mark(self, limit: Limit) -> bytes:
        return self._keys.mark(limit.kind, limit.of)

    def _change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """One at a time, whichever process it is."""
        try:
            try:
                return self._changed(change)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
            # A quarter of an hour is worth less than that anybody can log in.
            _log.warning("%s was damaged, and is begun anew", self._file)
            for end in ("", "-journal"):
                self._file.with_name(f"{self._file.name}{end}").unlink(missing_ok=True)
            return self._changed(change)
        except (sqlite3.Error, OSError) as error:
            self._failed.add(error)
            raise StoreUnavailable(str(error)) from error

    def _changed(self, change: Callable[[sqlite3.Connection], T]) -> T:
        create_private(self._file)
        with closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a quarter of an hour is not worth waiting for a disk
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS attempts (mark BLOB NOT NULL, at REAL NOT NULL)")
            result = change(connection)
            connection.execute("COMMIT")
            return result
