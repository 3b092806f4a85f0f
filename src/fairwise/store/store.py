"""The store as the web app uses it: changes through one writer, reads beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.errors import InputError
from fairwise.store.engine import database_url, reading_engine, shown, writing_engine
from fairwise.store.errors import StoreUnavailable
from fairwise.store.identity import check_identity, identity_in, record_identity
from fairwise.store.migrate import migrate
from fairwise.store.same_file import SameFile
from fairwise.store.tables import database_identity, participants, study
from fairwise.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from fairwise.store.failures import FailedWrites

T = TypeVar("T")
_READERS = 8
_SECONDS_BETWEEN_CHECKS = 1.0
_MOST_CHECKS = 1_000_000
_SECONDS = 9.0
"""So long people wait for the database; then they are told that it cannot be reached. A server that stops waits for ten
seconds for those who wait for it."""


class Store:
    """Opened once per process; nothing happens before :meth:`open`."""

    def __init__(self, writing: Engine, reading: Engine, identity: str | None) -> None:
        self._writing, self._reading, self.identity = writing, reading, identity
        self._file = SameFile(writing.url) if writing.dialect.name == "sqlite" else None
        self._writer = Writer(writing, _SECONDS, self._make_sure)
        self._lock = Lock()
        self._check: Future[None] | None = None
        self._checked_at = 0.0
        # SQLite answers within a fraction of a millisecond, less than handing the question to a thread would take.
        self._at_once = reading.dialect.name == "sqlite"
        self._threads = None if self._at_once else ThreadPoolExecutor(_READERS, "fairwise-reader")

    @classmethod
    def open(cls, address: str | Path, fingerprint: str | None, home: Path | None = None) -> Self:
        """Bring the tables up to date and check that they are this study's, if there is one yet.

        With the study's folder a database that is not its own is refused and left as it is.
        """
        url = database_url(address)
        if home is not None:
            check_identity(url, home)
        patient = writing_engine(url)
        writing = patient if url.get_backend_name() == "sqlite" else writing_engine(url, people_wait=True)
        try:
            migrate(patient)
            with writing.begin() as connection:
                if fingerprint is not None:
                    claim(connection, fingerprint)
                if home is not None:
                    record_identity(connection, url, home)
                identity = identity_in(connection)
        except (DBAPIError, sqlite3.Error) as error:
            writing.dispose()
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise InputError(f"{shown(url)}: the database cannot be used: {reason}") from None
        except InputError:
            writing.dispose()
            raise
        finally:
            if patient is not writing:
                patient.dispose()
        return cls(writing, reading_engine(url), identity)

    def claim(self, fingerprint: str) -> None:
        """Check that the answers are this study's, or make them so while there are none."""
        self.change_now(lambda connection: claim(connection, fingerprint))

    async def write(self, change: Callable[[Connection], T]) -> T:
        """Run a change; when this returns, it is on the disk.

        A change under way when nobody waits for it any more may still be made: a form that is sent again counts once.
        """
        return await _in_time(asyncio.wrap_future(self._writer.submit(change)), self.failed)

    @property
    def failed(self) -> FailedWrites:
        """What could not be written."""
        return self._writer.failed

    async def check_writing(self) -> None:
        """Raise unless something can be written, and everything could in the last seconds.

        Anyone may ask, as often as they like: it is tried once a second at most, for all who ask.
        """
        if self.failed.are_recent:
            raise StoreUnavailable("something could not be written just now")
        if self._check is None or (self._check.done() and monotonic() - self._checked_at > _SECONDS_BETWEEN_CHECKS):
            self._check, self._checked_at = self._writer.submit(_written), monotonic()
        await _in_time(asyncio.shield(asyncio.wrap_future(self._check)), self.failed)

    def change_now(self, change: Callable[[Connection], T]) -> T:
        """The same for those who wait."""
        result: T = self._writer.submit(change).result()
        return result

    async def read(self, question: Callable[[Connection], T]) -> T:
        if self._threads is None:
            return self.read_now(question)
        # A question that is still waiting for a thread when time is up is never asked.
        return await _in_time(asyncio.get_running_loop().run_in_executor(self._threads, self.read_now, question))

    def read_now(self, question: Callable[[Connection], T]) -> T:
        try:
            return self._ask(question)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise StoreUnavailable(str(error.orig)) from error
        try:  # the database was started anew, and only now there is a new connection
            return self._ask(question)
        except DBAPIError as error:
            raise StoreUnavailable(str(error.orig)) from error

    def _ask(self, question: Callable[[Connection], T]) -> T:
        with self._lock if self._at_once else nullcontext(), self._reading.connect() as connection:
            self._make_sure()
            return question(connection)

    def _make_sure(self) -> None:
        """Refuse to answer from, or to have written to, a file that is not there any more."""
        if self._file is not None:
            self._file.check()

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        if self._threads is not None:
            self._threads.shutdown()
        self._writing.dispose()
        self._reading.dispose()


async def _in_time(asked: Awaitable[T], failed: FailedWrites | None = None) -> T:
    try:
        return await asyncio.wait_for(asked, _SECONDS)
    except TimeoutError:
        error = StoreUnavailable(f"no answer within {_SECONDS:g} seconds")
        if failed is not None:
            failed.add(error)
        raise error from None


def _written(connection: Connection) -> None:
    """Change something that means nothing."""
    connection.execute(sa.update(database_identity).values(checks=(database_identity.c.checks + 1) % _MOST_CHECKS))


def claim(connection: Connection, fingerprint: str) -> None:
    """Refuse a database with answers to another study, or to this one before its people were changed."""
    known = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if known == fingerprint:
        return
    someone = connection.execute(sa.select(sa.func.count()).select_from(participants)).scalar_one()
    if known is not None and someone:
        raise InputError(
            "The database holds answers to another study, or to this one before its people, columns or pairs were "
            "changed. Give each study a database of its own."
        )
    if known is None:
        connection.execute(sa.insert(study), {"id": 1, "fingerprint": fingerprint})
    else:
        connection.execute(sa.update(study).values(fingerprint=fingerprint))
