"""Change and query a study's database: all changes go through one thread, queries run beside it.

A commit that waits for the disk takes milliseconds, an answer a fraction of one. So the writer takes all changes that
are waiting, runs them in one transaction, and resolves each future after the commit.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Generic, Self, TypeVar

import sqlalchemy as sa
from psycopg.errors import DeadlockDetected
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from fairwise.errors import InputError
from fairwise.store.engine import (
    check_version,
    current_version,
    database_url,
    migrate,
    newest_version,
    public_address,
    reading_engine,
    snapshot_engine,
    writing_engine,
)
from fairwise.store.erasure import keep_newest_time
from fairwise.store.errors import StoreProblem, StoreUnavailable
from fairwise.store.logs import FailedWrites, with_log_lines
from fairwise.store.places import check_identity, identity_in, record_identity, require_same
from fairwise.store.schema import database_identity, participants, study

Item = TypeVar("Item")
T = TypeVar("T")
Change = Callable[[sa.Connection], Any]
Waiting = tuple[Change, Future[Any], float]
"""A change, its future, and the moment after which it is not tried again."""

_MOST_AT_ONCE = 256
_TRIES = 3
_READERS = 8
_SECONDS_BETWEEN_CHECKS = 1.0
_MOST_CHECKS = 1_000_000
_SECONDS = 9.0
"""Longest wait for the database. A server that stops waits ten seconds for open requests."""

_OWN_FAULT = (IntegrityError, DataError)
"""Database errors that a change causes by itself; run alone, it may still succeed."""


@dataclass(frozen=True)
class Batchable(Generic[Item, T]):
    """A change or query about one item that takes hardly longer for many items, so that waiting ones run together.

    ``run_all`` returns one outcome per item: its result, or the exception that refuses it. A refused item must not
    have written anything.
    """

    run_all: Callable[[sa.Connection, Sequence[Item]], Sequence[T | StoreProblem]]
    item: Item

    def __call__(self, connection: sa.Connection) -> T:
        """Run for this item alone."""
        outcome = self.run_all(connection, [self.item])[0]
        if isinstance(outcome, StoreProblem):
            raise outcome
        return outcome


class Writer:
    """Runs changes, each a function of a connection, one after the other in a thread of its own."""

    def __init__(self, engine: sa.Engine, seconds: float, check_file: Callable[[], None]) -> None:
        """`check_file` raises if what was written could not be found again; after `seconds` nothing is retried."""
        self._engine, self._seconds, self._check_file = engine, seconds, check_file
        self.failed = FailedWrites("The database")
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=with_log_lines(self._work), name="fairwise-writer", daemon=True)
        self._thread.start()

    def submit(self, change: Change) -> Future[Any]:
        """Queue a change; the future is resolved after the commit."""
        if self._closed:
            raise StoreUnavailable
        future: Future[Any] = Future()
        self._queue.put((change, future, monotonic() + self._seconds))
        return future

    def close(self) -> None:
        """Finish what was submitted."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        closing = False
        while not closing:
            waiting: list[Waiting] = []
            one = self._queue.get()
            while one is not None:
                if one[1].set_running_or_notify_cancel():  # from now on it cannot be cancelled
                    waiting.append(one)
                if len(waiting) == _MOST_AT_ONCE:
                    break
                try:
                    one = self._queue.get_nowait()
                except Empty:
                    break
            closing = one is None
            for change in self._run_together(waiting) if len(waiting) > 1 else waiting:
                self._run_alone(*change)

    def _run_together(self, waiting: list[Waiting]) -> list[Waiting]:
        """Run changes in one transaction; return those to run alone, of which nothing has been written."""
        begun = False
        try:
            with self._engine.begin() as connection:
                begun = True
                outcomes = run_in_savepoints(connection, [change for change, *_ in waiting])
        except Exception as error:  # noqa: BLE001 - the change at fault fails again when it runs alone
            if begun or not isinstance(error, DBAPIError):
                return waiting
            for _, future, _ in waiting:  # no change is at fault, and trying each alone could take hours
                self._refuse(future, error)
            return []
        settled = [not isinstance(outcome, _OWN_FAULT) for outcome in outcomes]
        self._resolve([one[1] for one in compress(waiting, settled)], list(compress(outcomes, settled)))
        return [one for one, done in zip(waiting, settled, strict=True) if not done]

    def _run_alone(self, change: Change, future: Future[Any], until: float) -> None:
        for attempt in range(_TRIES):
            if monotonic() > until:  # nobody waits for it any more, and a database that hangs would take long each time
                self._refuse(future, StoreUnavailable("it took too long"))
                return
            try:
                with self._engine.begin() as connection:
                    result = change(connection)
            except IntegrityError as error:  # another process was faster: what it wrote can be seen now
                if attempt == _TRIES - 1:
                    future.set_exception(error)
            except DBAPIError as error:
                deadlock = isinstance(error.orig, DeadlockDetected)
                if attempt == _TRIES - 1 or not (error.connection_invalidated or deadlock):
                    self._refuse(future, error)
                    return
            except Exception as error:  # noqa: BLE001 - it belongs to the caller of this change
                future.set_exception(error)
                return
            else:
                self._resolve([future], [result])
                return

    def _resolve(self, futures: list[Future[Any]], outcomes: list[Any]) -> None:
        """Resolve futures after a commit, once it is certain that the file can be found again."""
        try:
            self._check_file()
        except StoreUnavailable as error:
            for future in futures:
                self._refuse(future, error)
            return
        for future, outcome in zip(futures, outcomes, strict=True):
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _refuse(self, future: Future[Any], error: DBAPIError | StoreUnavailable) -> None:
        """Tell the caller and the log that a change could not be written."""
        self.failed.add(error)
        future.set_exception(StoreUnavailable(str(error.orig)) if isinstance(error, DBAPIError) else error)


def run_in_savepoints(connection: sa.Connection, changes: Sequence[Change]) -> list[Any]:
    """Return the result of each change, or the exception that refused it.

    Each single change and each kind of batchable changes runs in a savepoint: a refused one leaves nothing behind, and
    the others are committed together.
    """
    outcomes: list[Any] = [None] * len(changes)
    kinds: dict[Callable[..., Any], list[int]] = defaultdict(list)

    def attempt(change: Callable[[sa.Connection], Any]) -> Any:
        try:
            with connection.begin_nested():
                return change(connection)
        except DBAPIError as error:
            if not isinstance(error, _OWN_FAULT):
                raise
            return error
        except Exception as error:  # noqa: BLE001 - it belongs to the caller of this change
            return error

    for place, change in enumerate(changes):
        if isinstance(change, Batchable):
            kinds[change.run_all].append(place)
        else:
            outcomes[place] = attempt(change)
    for run_all, places in kinds.items():
        items = [changes[place].item for place in places]  # type: ignore[attr-defined]
        results = attempt(lambda connection, run=run_all, of=items: run(connection, of))  # type: ignore[misc]
        if isinstance(results, Exception):
            results = [attempt(changes[place]) for place in places]
        for place, result in zip(places, results, strict=True):
            outcomes[place] = result
    return outcomes


class BatchedReads:
    """Runs batchable queries of one kind together that arrive while another one runs. For the event loop's thread only.

    Where every query waits for a thread and the database, fewer queries are answered sooner.
    """

    def __init__(self, read: Callable[[Callable[[sa.Connection], Any]], Awaitable[Any]]) -> None:
        self._read = read
        self._waiting: dict[Callable[..., Any], list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._tasks: dict[Callable[..., Any], asyncio.Task[None]] = {}

    def ask(self, query: Batchable[Any, T]) -> asyncio.Future[T]:
        """Queue a query; it runs with the next batch of its kind."""
        loop, kind = asyncio.get_running_loop(), query.run_all
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.setdefault(kind, []).append((query.item, future))
        if kind not in self._tasks:
            self._tasks[kind] = loop.create_task(self._run(kind))
        return future

    async def _run(self, kind: Callable[..., Any]) -> None:
        try:
            while waiting := self._waiting.pop(kind, []):
                if len(waiting) > _MOST_AT_ONCE:
                    self._waiting[kind] = waiting[_MOST_AT_ONCE:]
                await self._run_batch(kind, [one for one in waiting[:_MOST_AT_ONCE] if not one[1].done()])
        finally:
            del self._tasks[kind]
            for _, future in self._waiting.pop(kind, []):
                future.cancel()

    async def _run_batch(self, kind: Callable[..., Any], batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        items, results, failure = [item for item, _ in batch], list[Any](), None
        try:
            results = await self._read(lambda connection: kind(connection, items)) if items else []
        except Exception as error:  # noqa: BLE001 - it belongs to those who asked
            failure = error
        for place, (_, future) in enumerate(batch):
            if future.done():  # cancelled meanwhile
                continue
            if failure is None:
                future.set_result(results[place])
            else:
                future.set_exception(failure)


class OpenedFile:
    """A SQLite file and its log as they were when they were opened.

    A file that was deleted or replaced can still be written to; what is written is gone with the process.
    """

    def __init__(self, url: sa.URL) -> None:
        paths = [Path(f"{url.database}{end}") for end in ("", "-wal")] if url.database else []
        self._opened = {path: path.stat() for path in paths if path.exists()}

    def check(self) -> None:
        """Refuse to go on with a file that nobody else can find."""
        for path, opened in self._opened.items():
            try:
                is_same = os.path.samestat(path.stat(), opened)
            except OSError:
                is_same = False
            if not is_same:
                raise StoreUnavailable(f"{path} was deleted or replaced while it was in use")


class Store:
    """A study's database as the web app uses it. Opened once per process by :meth:`open`."""

    def __init__(self, writing: sa.Engine, reading: sa.Engine, identity: str | None) -> None:
        self._writing, self._reading, self.identity = writing, reading, identity
        is_sqlite = reading.dialect.name == "sqlite"
        self._check_file = OpenedFile(writing.url).check if is_sqlite else lambda: None
        self._writer = Writer(writing, _SECONDS, self._check_file)
        self._lock = Lock() if is_sqlite else nullcontext()
        self._check: Future[None] | None = None
        self._checked_at = 0.0
        # SQLite answers in a fraction of a millisecond, less than handing the query to a thread takes.
        self._threads = None if is_sqlite else ThreadPoolExecutor(_READERS, "fairwise-reader")
        self._batched = BatchedReads(self._read_in_thread)

    @classmethod
    def open(cls, address: str | Path, fingerprint: str | None, home: Path | None = None) -> Self:
        """Upgrade the tables, and check that they are this study's if there is one yet.

        With the study's folder `home`, a database that is not its own is refused and left as it is.
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
        """Refuse answers to another study; while there are none, make the database this study's."""
        self.change_now(lambda connection: claim(connection, fingerprint))

    @property
    def failed(self) -> FailedWrites:
        """Counts of changes that could not be written."""
        return self._writer.failed

    async def write(self, change: Callable[[sa.Connection], T]) -> T:
        """Run a change; when this returns, it is on the disk.

        A change that is already running when its caller is cancelled may still be made.
        """
        return await self._wait(asyncio.wrap_future(self._writer.submit(change)))

    def change_now(self, change: Callable[[sa.Connection], T]) -> T:
        """Run a change and block until it is on the disk."""
        result: T = self._writer.submit(change).result()
        return result

    async def _wait(self, future: asyncio.Future[T]) -> T:
        try:
            return await asyncio.wait_for(future, _SECONDS)
        except TimeoutError:
            error = StoreUnavailable(f"no answer within {_SECONDS:g} seconds")
            self._writer.failed.add(error)
            raise error from None

    async def check_writing(self) -> None:
        """Raise if nothing can be written now, or a write failed in the last seconds.

        Anyone may ask as often as they like: it is tried at most once a second, for all who ask.
        """
        if self.failed.are_recent:
            raise StoreUnavailable("something could not be written just now")
        if self._check is None or (self._check.done() and monotonic() - self._checked_at > _SECONDS_BETWEEN_CHECKS):
            self._check, self._checked_at = self._writer.submit(_count_check), monotonic()
        await self._wait(asyncio.shield(asyncio.wrap_future(self._check)))  # others wait for the same

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query; batchable ones run together where each would wait for a thread."""
        if self._threads is None:
            return self.read_now(query)
        # A query that is still waiting for its turn when time is up never runs.
        result = self._batched.ask(query) if isinstance(query, Batchable) else self._read_in_thread(query)
        try:
            return await asyncio.wait_for(result, _SECONDS)
        except TimeoutError:
            raise StoreUnavailable(f"no answer within {_SECONDS:g} seconds") from None

    def _read_in_thread(self, query: Callable[[sa.Connection], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, self.read_now, query)

    def read_now(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query and block until it is answered."""
        for attempt in range(2):
            try:
                with self._lock, self._reading.connect() as connection:
                    self._check_file()
                    return query(connection)
            except DBAPIError as error:  # a connection of before the database was restarted is replaced once
                if attempt or not error.connection_invalidated:
                    raise StoreUnavailable(str(error.orig)) from error
        raise AssertionError

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        if self._threads is not None:
            self._threads.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def _count_check(connection: sa.Connection) -> None:
    """Write something that means nothing."""
    connection.execute(sa.update(database_identity).values(checks=(database_identity.c.checks + 1) % _MOST_CHECKS))


def claim(connection: sa.Connection, fingerprint: str) -> None:
    """Refuse a database with answers to another study, or to this one before its people were changed."""
    stored = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if stored == fingerprint:
        return
    if stored is None:
        connection.execute(sa.insert(study), {"id": 1, "fingerprint": fingerprint})
        return
    if connection.execute(sa.select(participants.c.id).limit(1)).first() is not None:
        raise InputError(
            "The database holds answers to another study, or to this one before its people, columns or pairs were "
            "changed. Give each study a database of its own."
        )
    connection.execute(sa.update(study).values(fingerprint=fingerprint))


@contextmanager
def snapshot(address: str | Path, home: Path | None = None) -> Iterator[sa.Connection]:
    """Yield a read-only connection that sees one moment, also while the study is served. Nothing is upgraded.

    With the study's folder `home`, a database that is not its own is refused.
    """
    url = database_url(address)
    engine = snapshot_engine(url)
    try:
        with engine.connect() as connection:
            version, needed = current_version(connection), newest_version()
            if version is None:
                raise InputError(f"{public_address(url)}: holds no study; nobody has been asked yet")
            if version != needed:
                check_version(version)
                raise InputError(
                    f"{public_address(url)}: tables of version {version!r}, and this Fairwise reads {needed!r}: "
                    "upgrade the tables by serving the study once"
                )
            if home is not None:
                require_same(connection, url, home)
            yield connection
    except DBAPIError as error:
        raise InputError(f"{public_address(url)}: the database cannot be read: {error.orig}") from None
    finally:
        engine.dispose()
