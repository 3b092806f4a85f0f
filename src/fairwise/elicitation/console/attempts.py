"""How often somebody tried to log in of late: counted for all processes of a server together, and about nobody.

Names and addresses are kept as keyed hashes, which mean nothing to whoever does not have the study's secret, and for a
quarter of an hour.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from fairwise.elicitation.store.problems import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fairwise.elicitation.signing import Keys

FILE = ".attempts.sqlite"
SECONDS = 15 * 60
OF_ONE_NAME, FROM_ONE_ADDRESS = 10, 30
_BUSY_SECONDS = 10


class Attempts:
    """An attempt counts from its beginning, so that many at once are not each the first; a right one is taken back."""

    def __init__(self, home: Path, keys: Keys) -> None:
        self._file, self._keys = home / FILE, keys

    def begin(self, name: str, address: str) -> bool:
        """Count an attempt, unless there were too many already; returns whether it may go on."""
        marks = self._marks(name, address)
        with self._changing() as connection:
            connection.execute("DELETE FROM attempts WHERE at < ?", (time.time() - SECONDS,))
            for mark, most in zip(marks, (OF_ONE_NAME, FROM_ONE_ADDRESS), strict=True):
                (number,) = connection.execute("SELECT count(*) FROM attempts WHERE mark = ?", (mark,)).fetchone()
                if number >= most:
                    return False
            connection.executemany("INSERT INTO attempts VALUES (?, ?)", [(mark, time.time()) for mark in marks])
        return True

    def forgive(self, name: str, address: str) -> None:
        """Take back the last attempt, which was right."""
        last = "DELETE FROM attempts WHERE rowid = (SELECT max(rowid) FROM attempts WHERE mark = ?)"
        with self._changing() as connection:
            connection.executemany(last, [(mark,) for mark in self._marks(name, address)])

    def _marks(self, name: str, address: str) -> Sequence[bytes]:
        return self._keys.mark("login by", name.lower()), self._keys.mark("login from", address)

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One at a time, whichever process it is."""
        try:
            with closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = OFF")  # a quarter of an hour is not worth waiting for a disk
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("CREATE TABLE IF NOT EXISTS attempts (mark BLOB NOT NULL, at REAL NOT NULL)")
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
