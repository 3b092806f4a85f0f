"""Changes and questions that many ask for at the same time: run together, and each is told after the commit."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import compress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from psycopg.errors import DeadlockDetected
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from fairwise.store.errors import StoreProblem, StoreUnavailable
from fairwise.store.failures import FailedWrites, with_log_lines

Item = TypeVar("Item")
T = TypeVar("T")

Change = Callable[[sa.Connection], Any]
Waiting = tuple[Change, Future[Any], float]
_MOST_AT_ONCE = 256
_TRIES = 3


@dataclass(frozen=True)
class Joint(Generic[Item, T]):
    """A change or a question about one item that takes hardly longer for many items, so that waiting ones share it.

    ``together`` returns one outcome per item: its result, or the exception that refuses it. A refused item must not
    have written anything.
    """

    together: Callable[[sa.Connection, Sequence[Item]], Sequence[T | StoreProblem]]
    item: Item

    def __call__(self, connection: sa.Connection) -> T:
        """Run for this item alone."""
        outcome = self.together(connection, [self.item])[0]
        if isinstance(outcome, StoreProblem):
            raise outcome
        return outcome


_OWN_FAULT = (IntegrityError, DataError)
"""Database errors that a change causes by itself; run alone, it may still succeed."""


def _outcomes(connection: sa.Connection, changes: Sequence[Change]) -> list[Any]:
    """Return the result of each change, or the exception that refused it.

    Each change that stands for itself and each kind of joint changes runs in a savepoint, so a refused one leaves
    nothing behind and the others are committed together.
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
        if isinstance(change, Joint):
            kinds[change.together].append(place)
        else:
            outcomes[place] = attempt(change)
    for together, places in kinds.items():
        items = [changes[place].item for place in places]  # type: ignore[attr-defined]
        results = attempt(lambda connection, run=together, of=items: run(connection, of))  # type: ignore[misc]
        if isinstance(results, Exception):
            results = [attempt(changes[place]) for place in places]
        for place, result in zip(places, results, strict=True):
            outcomes[place] = result
    return outcomes


class Writer:
    """Runs changes, each a function of a connection, one after the other; the future is done after the commit.

    A commit that waits for the disk takes milliseconds, an answer a fraction of one. So all changes go through one
    thread, which takes as many as are waiting, runs them in one transaction, and tells each only after the commit. A
    change that is refused is rolled back to its savepoint; the others are committed together.
    """

    def __init__(self, engine: sa.Engine, seconds: float, make_sure: Callable[[], None]) -> None:
        """After so many `seconds` nothing is tried again; `make_sure` raises if what was written could not be found."""
        self._engine, self._seconds, self._make_sure = engine, seconds, make_sure
        self.failed = FailedWrites("The database")
        self._jobs: SimpleQueue[Waiting | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=with_log_lines(self._work), name="fairwise-writer", daemon=True)
        self._thread.start()

    def submit(self, change: Change) -> Future[Any]:
        if self._closed:
            raise StoreUnavailable
        future: Future[Any] = Future()
        self._jobs.put((change, future, monotonic() + self._seconds))
        return future

    def close(self) -> None:
        """Finish what was submitted."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        last = False
        while not last:
            jobs, last = self._waiting()
            for job in self._together(jobs) if len(jobs) > 1 else jobs:
                self._alone(*job)

    def _waiting(self) -> tuple[list[Waiting], bool]:
        """At least one job, and all that are there; and whether it was the last."""
        first = self._jobs.get()
        if first is None:
            return [], True
        jobs = [first] if _begun(first) else []
        while len(jobs) < _MOST_AT_ONCE:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return jobs, True
            if _begun(job):
                jobs.append(job)
        return jobs, False

    def _together(self, jobs: list[Waiting]) -> list[Waiting]:
        """Run jobs in one transaction; return those to run alone, of which nothing has been written."""
        begun = False
        try:
            with self._engine.begin() as connection:
                begun = True
                outcomes = _outcomes(connection, [change for change, *_ in jobs])
        except Exception as error:  # noqa: BLE001 - the job at fault fails again when it runs alone
            if begun or not isinstance(error, DBAPIError):
                return jobs
            for _, future, _ in jobs:  # no job is at fault, and trying each alone would let them wait for hours
                self._refuse(future, error)
            return []
        settled = [not isinstance(outcome, _OWN_FAULT) for outcome in outcomes]
        self._tell([job[1] for job in compress(jobs, settled)], list(compress(outcomes, settled)))
        return [job for job, done in zip(jobs, settled, strict=True) if not done]

    def _alone(self, change: Change, future: Future[Any], until: float) -> None:
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
            except Exception as error:  # noqa: BLE001 - it belongs to the one who asked
                future.set_exception(error)
                return
            else:
                self._tell([future], [result])
                return

    def _tell(self, futures: list[Future[Any]], outcomes: list[Any]) -> None:
        """Resolve waiting futures once the commit is verified."""
        try:
            self._make_sure()
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
        """Say that it could not be kept, to whoever waits and in the log."""
        self.failed.add(error)
        future.set_exception(StoreUnavailable(str(error.orig)) if isinstance(error, DBAPIError) else error)


def _begun(job: Waiting) -> bool:
    """Whether somebody still waits for it; from now on they can no longer change their mind."""
    return job[1].set_running_or_notify_cancel()


class JointQuestions:
    """Asks questions of one kind one after the other: those that come meanwhile are asked together, as the next one.

    Of the event loop alone. Where every question has to wait for a thread and for the database, fewer are sooner
    answered.
    """

    def __init__(self, read: Callable[[Callable[[sa.Connection], Any]], Awaitable[Any]]) -> None:
        self._read = read
        self._waiting: dict[Callable[..., Any], list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._under_way: dict[Callable[..., Any], asyncio.Task[None]] = {}

    def ask(self, question: Joint[Any, T]) -> asyncio.Future[T]:
        loop, kind = asyncio.get_running_loop(), question.together
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.setdefault(kind, []).append((question.item, future))
        if kind not in self._under_way:
            self._under_way[kind] = loop.create_task(self._answer(kind))
        return future

    async def _answer(self, kind: Callable[..., Any]) -> None:
        try:
            while waiting := self._waiting.pop(kind, []):
                if len(waiting) > _MOST_AT_ONCE:
                    self._waiting[kind] = waiting[_MOST_AT_ONCE:]
                asked = [(item, future) for item, future in waiting[:_MOST_AT_ONCE] if not future.done()]
                await self._answer_all(kind, asked)
        finally:
            del self._under_way[kind]
            for _, future in self._waiting.pop(kind, []):
                future.cancel()

    async def _answer_all(self, kind: Callable[..., Any], asked: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        items, results, failure = [item for item, _ in asked], list[Any](), None
        try:
            results = await self._read(lambda connection: kind(connection, items)) if items else []
        except Exception as error:  # noqa: BLE001 - it belongs to those who asked
            failure = error
        for place, (_, future) in enumerate(asked):
            if future.done():  # nobody waits for it any more
                continue
            if failure is None:
                future.set_result(results[place])
            else:
                future.set_exception(failure)
