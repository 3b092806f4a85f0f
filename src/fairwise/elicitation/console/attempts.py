"""How often somebody tried to log in of late: counted for all processes of a server together, and about nobody.

Names and addresses are kept as keyed hashes, which mean nothing to whoever does not have the study's secret, and for a
quarter of an hour.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from fairwise.elicitation.store.failures import FailedWrites
from fairwise.elicitation.store.problems import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fairwise.elicitation.signing import Keys

T = TypeVar("T")
_log = logging.getLogger("fairwise")
FILE = ".attempts.sqlite"
SECONDS = 15 * 60
OF_ONE_NAME, FROM_ONE_ADDRESS = 10, 30
_BUSY_SECONDS = 10


class Attempts:
    """An attempt counts from its beginning, so that many at once are not each the first; a right one is taken back."""

    def __init__(self, home: Path, keys: Keys) -> None:
        self._file, self._keys = home / FILE, keys
        self._failed = FailedWrites(str(self._file))

    def begin(self, name: str, address: str) -> bool:
        """Count an attempt, unless there were too many already; returns whether it may go on."""
        marks, now = self._marks(name, address), time.time()

        def counted(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM attempts WHERE at < ?", (now - SECONDS,))
            for mark, most in zip(marks, (OF_ONE_NAME, FROM_ONE_ADDRESS), strict=True):
                (number,) = connection.execute("SELECT count(*) FROM attempts WHERE mark = ?", (mark,)).fetchone()
                if number >= most:
                    return False
            connection.executemany("INSERT INTO attempts VALUES (?, ?)", [(mark, now) for mark in marks])
            return True

        return self._change(counted)

    def forgive(self, name: str, address: str) -> None:
        """Take back the last attempt, which was right."""
        last = "DELETE FROM attempts WHERE rowid = (SELECT max(rowid) FROM attempts WHERE mark = ?)"
        marks = [(mark,) for mark in self._marks(name, address)]
        self._change(lambda connection: connection.executemany(last, marks))

    def _marks(self, name: str, address: str) -> Sequence[bytes]:
        return self._keys.mark("login by", name.lower()), self._keys.mark("login from", address)

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
        with closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a quarter of an hour is not worth waiting for a disk
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS attempts (mark BLOB NOT NULL, at REAL NOT NULL)")
            result = change(connection)
            connection.execute("COMMIT")
            return result
