"""The store as the web app uses it: changes through one writer, reads beside it; and a snapshot for who only looks."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Self, TypeVar

import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from sqlalchemy.exc import DBAPIError

from fairwise.errors import InputError
from fairwise.store.engine import (
    database_url,
    migrate,
    newest_version,
    public_address,
    reading_engine,
    snapshot_engine,
    writing_engine,
)
from fairwise.store.erasure import keep_newest_time
from fairwise.store.errors import StoreUnavailable
from fairwise.store.failures import FailedWrites
from fairwise.store.identity import check_identity, identity_in, record_identity, require_same
from fairwise.store.tables import database_identity, participants, study
from fairwise.store.writer import Joint, JointQuestions, Writer

# A SQLite file that was deleted or replaced can still be written to, and what is written is gone with the process.


class SameFile:
    """The database's file and its log, as they were when they were opened."""

    def __init__(self, url: sa.URL) -> None:
        file = url.database or ""
        found = {Path(f"{file}{end}"): _identity(Path(f"{file}{end}")) for end in ("", "-wal")} if file else {}
        self._opened = {path: identity for path, identity in found.items() if identity is not None}

    def check(self) -> None:
        """Refuse to go on with a file that nobody else can find."""
        for path, identity in self._opened.items():
            if _identity(path) != identity:
                raise StoreUnavailable(f"{path} was deleted or replaced while it was in use")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


T = TypeVar("T")
_READERS = 8
_SECONDS_BETWEEN_CHECKS = 1.0
_MOST_CHECKS = 1_000_000
_SECONDS = 9.0
"""So long people wait for the database; then they are told that it cannot be reached. A server that stops waits for ten
seconds for those who wait for it."""


class Store:
    """Opened once per process; nothing happens before :meth:`open`."""

    def __init__(self, writing: sa.Engine, reading: sa.Engine, identity: str | None) -> None:
        self._writing, self._reading, self.identity = writing, reading, identity
        self._file = SameFile(writing.url) if writing.dialect.name == "sqlite" else None
        self._writer = Writer(writing, _SECONDS, self._make_sure)
        self._lock = Lock()
        self._check: Future[None] | None = None
        self._checked_at = 0.0
        # SQLite answers within a fraction of a millisecond, less than handing the question to a thread would take.
        self._at_once = reading.dialect.name == "sqlite"
        self._threads = None if self._at_once else ThreadPoolExecutor(_READERS, "fairwise-reader")
        self._joint = JointQuestions(self._read_in_thread)

    @classmethod
    def open(cls, address: str | Path, fingerprint: str | None, home: Path | None = None) -> Self:
        """Bring the tables up to date and check that they are this study's, if there is one yet.

        With the study's folder a database that is not its own is refused and left as it is.
        """
        url = database_url(address)
        if home is not None:
            check_identity(url, home, fingerprint)
        patient = writing_engine(url)
        writing = patient if url.get_backend_name() == "sqlite" else writing_engine(url, people_wait=True)
        try:
            migrate(patient)
            with writing.begin() as connection:
                if fingerprint is not None:
                    claim(connection, fingerprint)
                if home is not None:
                    record_identity(connection, url, home)
                keep_newest_time(connection)
                identity = identity_in(connection)
        except (DBAPIError, sqlite3.Error) as error:
            writing.dispose()
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise InputError(f"{public_address(url)}: the database cannot be used: {reason}") from None
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

    async def write(self, change: Callable[[sa.Connection], T]) -> T:
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

    def change_now(self, change: Callable[[sa.Connection], T]) -> T:
        """The same for those who wait."""
        result: T = self._writer.submit(change).result()
        return result

    async def read(self, question: Callable[[sa.Connection], T]) -> T:
        """Ask a question; joint ones are asked together where each would have to wait for a thread."""
        if self._threads is None:
            return self.read_now(question)
        # A question that is still waiting for its turn when time is up is never asked.
        asked = self._joint.ask(question) if isinstance(question, Joint) else self._read_in_thread(question)
        return await _in_time(asked)

    def _read_in_thread(self, question: Callable[[sa.Connection], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, self.read_now, question)

    def read_now(self, question: Callable[[sa.Connection], T]) -> T:
        try:
            return self._ask(question)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise StoreUnavailable(str(error.orig)) from error
        try:  # the database was started anew, and only now there is a new connection
            return self._ask(question)
        except DBAPIError as error:
            raise StoreUnavailable(str(error.orig)) from error

    def _ask(self, question: Callable[[sa.Connection], T]) -> T:
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


def _written(connection: sa.Connection) -> None:
    """Change something that means nothing."""
    connection.execute(sa.update(database_identity).values(checks=(database_identity.c.checks + 1) % _MOST_CHECKS))


def claim(connection: sa.Connection, fingerprint: str) -> None:
    """Refuse a database with answers to another study, or to this one before its people were changed."""
    stored = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if stored == fingerprint:
        return
    someone = connection.execute(sa.select(sa.func.count()).select_from(participants)).scalar_one()
    if stored is not None and someone:
        raise InputError(
            "The database holds answers to another study, or to this one before its people, columns or pairs were "
            "changed. Give each study a database of its own."
        )
    if stored is None:
        connection.execute(sa.insert(study), {"id": 1, "fingerprint": fingerprint})
    else:
        connection.execute(sa.update(study).values(fingerprint=fingerprint))


# The store as it is at one moment, for someone who only looks: nothing is made, changed or brought up to date.


@contextmanager
def snapshot(address: str | Path, home: Path | None = None) -> Iterator[sa.Connection]:
    """A connection whose questions are all answered about the same moment, also while the study is served.

    With the study's folder, only of the database that is its own.
    """
    url = database_url(address)
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            _check_version(connection, url)
            if home is not None:
                require_same(connection, url, home)
            yield connection
    except DBAPIError as error:
        raise InputError(f"{public_address(url)}: the database cannot be read: {error.orig}") from None
    finally:
        engine.dispose()


def _check_version(connection: sa.Connection, url: sa.URL) -> None:
    found, needed = MigrationContext.configure(connection).get_current_revision(), newest_version()
    if found is None:
        raise InputError(f"{public_address(url)}: holds no study; nobody has been asked yet")
    if found != needed:
        raise InputError(
            f"{public_address(url)}: tables of version {found!r}, and this Fairwise reads {needed!r}; "
            "update the older of the two: Fairwise itself, or the tables by serving the study once"
        )
