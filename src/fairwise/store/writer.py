"""One writer with group commit: what arrives while a commit is under way is committed together by the next.

A commit that waits for the disk takes milliseconds, an answer a fraction of one. So all changes go through one thread,
which takes as many as are waiting, runs them in one transaction, and tells each of them only after the commit.
"""

from __future__ import annotations

from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError, IntegrityError

from fairwise.store.errors import StoreUnavailable
from fairwise.store.failures import FailedWrites

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    Change = Callable[[Connection], Any]
    Job = tuple[Change, Future[Any], float]

_MOST_AT_ONCE = 256
_TRIES = 3


class Writer:
    """Runs changes, each a function of a connection, one after the other; the future is done after the commit."""

    def __init__(self, engine: Engine, seconds: float, make_sure: Callable[[], None]) -> None:
        """After so many `seconds` nothing is tried again; `make_sure` raises if what was written could not be found."""
        self._engine, self._seconds, self._make_sure = engine, seconds, make_sure
        self.failed = FailedWrites("The database")
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._work, name="fairwise-writer", daemon=True)
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
            if len(jobs) > 1 and self._together(jobs):
                continue
            for job in jobs:
                self._alone(*job)

    def _waiting(self) -> tuple[list[Job], bool]:
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

    def _together(self, jobs: list[Job]) -> bool:
        """All in one transaction; False if one of them failed, so that nothing has happened."""
        begun = False
        try:
            with self._engine.begin() as connection:
                begun = True
                results = [change(connection) for change, *_ in jobs]
        except Exception as error:  # noqa: BLE001 - whose fault it was shows when each is run alone
            if begun or not isinstance(error, DBAPIError):
                return False
            for _, future, _ in jobs:  # it was nobody's, and to try each alone would let them wait for hours
                self._refuse(future, error)
            return True
        self._tell([future for _, future, _ in jobs], results)
        return True

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
                if attempt == _TRIES - 1 or not error.connection_invalidated:
                    self._refuse(future, error)
                    return
            except Exception as error:  # noqa: BLE001 - it belongs to the one who asked
                future.set_exception(error)
                return
            else:
                self._tell([future], [result])
                return

    def _tell(self, futures: list[Future[Any]], results: list[Any]) -> None:
        """That it is kept, unless it was written where nobody will find it."""
        try:
            self._make_sure()
        except StoreUnavailable as error:
            for future in futures:
                self._refuse(future, error)
            return
        for future, result in zip(futures, results, strict=True):
            future.set_result(result)

    def _refuse(self, future: Future[Any], error: DBAPIError | StoreUnavailable) -> None:
        """Say that it could not be kept, to whoever waits and in the log."""
        self.failed.add(error)
        future.set_exception(StoreUnavailable(str(error.orig)) if isinstance(error, DBAPIError) else error)


def _begun(job: Job) -> bool:
    """Whether somebody still waits for it; from now on they can no longer change their mind."""
    return job[1].set_running_or_notify_cancel()
