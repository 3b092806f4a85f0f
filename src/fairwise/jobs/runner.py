"""Takes one job after the other, says that it is being done, and ends it: in a process of its own beside a server.

Of several studies it does one job at a time, of one study after the other.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from sqlalchemy import Connection

from fairwise.errors import FairwiseError, InputError
from fairwise.jobs.fit_data import read_fit_data
from fairwise.jobs.local_worker import LocalWorker
from fairwise.jobs.steps import JobFolder, Workers, perform
from fairwise.loading import require
from fairwise.store import jobs
from fairwise.store.errors import NotUnderWay, StoreUnavailable
from fairwise.store.fit_files import remove_leftovers
from fairwise.store.jobs import Job
from fairwise.store.logs import NO_ROOM, log_lines_of
from fairwise.store.places import IDENTITY_FILE, Place, find_places
from fairwise.store.store import Store

STALE = timedelta(seconds=30)
"""A job of which nobody has said anything for so long is taken over."""

LOOKING_SECONDS = 1.0
_TELLING_SECONDS = 2.0
_POLLING_SECONDS = 0.1
_UNEXPECTED = "The model could not be made: an error that is not yours. The log of the server says more."
_STOPPED = "An operator stopped it before it was done."
_FULL = "The disk of the server was full. Make room there, then ask for the model again."
_log = logging.getLogger("fairwise.jobs")
T = TypeVar("T")
DATABASE = "FAIRWISE_JOBS_DATABASE"
"""In the environment: the URL of a database, or the path of one of SQLite."""
EQUAL = "FAIRWISE_JOBS_EQUAL"
"""In the environment of a server: there, so that models need not let everything else come first."""
_RESTART_SECONDS = 5.0
_TIMEOUT_SECONDS = 8.0
# One core at most: libraries for matrices would take all there are.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS")
_SECONDS_BETWEEN_LOOKS = 5.0


class _Cancelled(Exception):  # noqa: N818 - nothing is wrong
    """An operator does not want it any more, or somebody whose answers it has withdrew."""


class _Stopping(Exception):  # noqa: N818 - nothing is wrong
    """The server ends; another will go on with it."""


class Runner:
    """Works until `stopping` is set, and then puts back what it was at."""

    def __init__(
        self, folder: Path, store: Store, stopping: Event, dask_address: str | None = None, *, equal: bool = False
    ) -> None:
        self._folder, self._store, self._stopping = folder, store, stopping
        self._address, self._equal = dask_address, equal

    def work(self) -> None:
        """Look for jobs and do them, one at a time."""
        while not self._stopping.is_set():
            if not self.work_once():
                self._stopping.wait(LOOKING_SECONDS)

    def work_once(self) -> bool:
        """Do the next job; returns whether there was one."""
        try:
            job = self._store.change_now(lambda connection: jobs.take(connection, datetime.now(UTC), STALE))
        except StoreUnavailable:
            job = None
        if job is not None:
            self._do(job)
        return job is not None

    def _do(self, job: Job) -> None:
        folder = JobFolder(self._folder, job)
        try:
            self._perform(job, folder)
            self._publish(job, folder)
        except _Stopping:
            self._insist(lambda connection: jobs.put_back(connection, job))
            return
        except StoreUnavailable as error:  # which counts as an attempt: it may be about this very job
            _log.warning("Job %s waits for the database: %s", job.id, error)
            self._stopping.wait(LOOKING_SECONDS)
            self._insist(lambda connection: jobs.put_back(connection, job, counted=True))
            return
        except (_Cancelled, NotUnderWay):
            # Unless an operator wanted it, this run is void, and saying so changes nothing.
            self._end(job, "cancelled", _STOPPED)
        except FairwiseError as error:
            self._end(job, "failed", " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - whatever it was, the next job is not to blame
            if self._insist(lambda connection: jobs.is_under_way(connection, job)):
                _log.exception("Job %s failed", job.id)
            full = isinstance(error, OSError) and error.errno in NO_ROOM
            self._end(job, "failed", _FULL if full else _UNEXPECTED)
        folder.clear()

    def _publish(self, job: Job, folder: JobFolder) -> None:
        """In the transaction that says that it is done: nobody whose answers it has withdraws in between."""

        def publish(connection: Connection) -> bool:
            if not jobs.end(connection, job, "done", "", datetime.now(UTC)):
                return False
            folder.publish()
            return True

        done = self._insist(publish)
        if not done:
            raise _Stopping if done is None else _Cancelled

    def _end(self, job: Job, state: str, message: str) -> None:
        def end(connection: Connection) -> None:
            jobs.all_jobs(connection, locked=True)  # before its own, in the order in which everyone else locks them
            if jobs.end(connection, job, state, message, datetime.now(UTC)):
                remove_leftovers(self._folder, jobs.all_jobs(connection))

        self._insist(end)

    def _perform(self, job: Job, folder: JobFolder) -> None:
        if job.cancel_wanted:
            raise _Cancelled
        tell = _Progress(job, self._store, self._stopping)
        tell(job.progress, "Reading the answers")
        folder.open()
        data = read_fit_data(job, self._folder, self._store, folder.unfinished)
        with self._workers(folder) as workers:
            perform(data, folder, workers, tell)

    def _workers(self, folder: JobFolder) -> AbstractContextManager[Workers]:
        if self._address is None:
            return LocalWorker(folder.unfinished, equal=self._equal)
        require("scale", "A cluster of dask's")
        from fairwise.jobs.dask_cluster import DaskCluster  # dask is an extra

        return DaskCluster(self._address)

    def _insist(self, change: Callable[[Connection], T]) -> T | None:
        """Write it down, if need be once the database can be reached again; None if the server ends before that."""
        while True:
            try:
                return self._store.change_now(change)
            except StoreUnavailable:
                if self._stopping.wait(LOOKING_SECONDS):
                    return None


class _Progress:
    """Says every two seconds, and whenever the words change, that the job is being done; asks whether to stop."""

    def __init__(self, job: Job, store: Store, stopping: Event) -> None:
        self._job, self._store, self._stopping = job, store, stopping
        self._message, self._at = "", 0.0
        self._reached = job.progress

    def __call__(self, progress: float, message: str) -> None:
        self._reached = max(progress, self._reached)  # what an earlier try had reached is not taken back
        if message != self._message or time.monotonic() - self._at > _TELLING_SECONDS:
            self._message, self._at = message, time.monotonic()
            try:
                wanted = self._store.change_now(
                    lambda connection: jobs.report_progress(
                        connection, self._job, self._reached, message, datetime.now(UTC)
                    )
                )
            except StoreUnavailable:  # later, then
                wanted = False
            if wanted:
                raise _Cancelled
        if self._stopping.wait(_POLLING_SECONDS):
            raise _Stopping


# The process that does the jobs beside a server: started with it, started again if it dies, ended with it.


@contextmanager
def jobs_beside(folder: Path, database: str | Path, dask: str | None, *, several: bool = False) -> Iterator[None]:
    """Do the jobs of a study, or of all in a folder of `several`, in a process of its own, while the block lasts."""
    stopping = Event()
    start = partial(start_jobs, folder, database, dask, several=several)
    supervisor = Thread(target=_supervise, args=(start, stopping), name="fairwise-jobs", daemon=True)
    supervisor.start()
    try:
        yield
    finally:
        stopping.set()
        supervisor.join(2 * _TIMEOUT_SECONDS)


def start_jobs(
    folder: Path, database: str | Path, dask: str | None, *, equal: bool = False, several: bool = False
) -> subprocess.Popen[bytes]:
    """Start it, its worker letting all others go first unless `equal` or `EQUAL` is in the environment.

    It ends when the other end of its standard input is closed, which death does too.
    """
    words = [*(["--equal"] if equal or EQUAL in os.environ else []), *([] if dask is None else ["--dask", dask])]
    words += ["--several"] if several else []
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), DATABASE: str(database)}
    return subprocess.Popen(  # noqa: S603 - this very program
        [sys.executable, "-m", "fairwise.jobs", str(folder), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
        process_group=0,  # Ctrl-C is for the server, which then ends this; the session is the same: see `local_worker`
    )


def _supervise(start: Callable[[], subprocess.Popen[bytes]], stopping: Event) -> None:
    while not stopping.is_set():
        process = start()
        while process.poll() is None and not stopping.wait(0.2):
            pass
        if stopping.is_set():
            _end(process)
        else:
            _log.error("The process that makes models ended by itself (%s) and is started again.", process.returncode)
            stopping.wait(_RESTART_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class _Opened:
    runner: Runner
    store: Store


class SeveralRunners:
    """One runner for each study that is served, of which only one is at work: a small machine has room for one fit.

    Each does one job at most before it is the next one's turn, so a study with many jobs holds up no other.
    """

    def __init__(
        self,
        folder: Path,
        database: str | None,
        stopping: Event,
        dask_address: str | None = None,
        *,
        equal: bool = False,
    ) -> None:
        self._folder, self._database, self._stopping = folder, database, stopping
        self._address, self._equal = dask_address, equal
        self._opened: dict[str, _Opened] = {}
        self._complaints: dict[str, str] = {}
        self._next_look = 0.0

    def work(self) -> None:
        """Until told to stop."""
        while not self._stopping.is_set():
            if not self.work_in_turn():
                self._stopping.wait(LOOKING_SECONDS)
        self.close()

    def close(self) -> None:
        for name in list(self._opened):
            self._close(name)

    def work_in_turn(self) -> bool:
        """Do one job of each study that has one; returns whether there was any."""
        if time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
        found = False
        for name, opened in list(self._opened.items()):
            if self._stopping.is_set():
                break
            with log_lines_of(name):
                found = opened.runner.work_once() or found
        return found

    def _look(self) -> None:
        """Open what the server has opened before: it is the server that makes databases, and says what is wrong."""
        try:
            found = find_places(self._folder, self._database).studies
        except OSError as error:
            _log.warning("%s cannot be read: %s", self._folder, error)
            return
        places = {name: place for name, place in found.items() if (place.path / IDENTITY_FILE).exists()}
        for name in [name for name in self._opened if name not in places]:
            self._close(name)
        for name, place in places.items():
            if name not in self._opened:
                self._open(place)

    def _open(self, place: Place) -> None:
        with log_lines_of(place.name):
            try:
                store = Store.open(place.database, None, place.path)
            except (InputError, OSError) as error:
                if self._complaints.get(place.name) != str(error):  # once, and not every time
                    self._complaints[place.name] = str(error)
                    _log.error("Its models cannot be made: %s", error)
                return
        self._complaints.pop(place.name, None)
        runner = Runner(place.path, store, self._stopping, self._address, equal=self._equal)
        self._opened[place.name] = _Opened(runner, store)

    def _close(self, name: str) -> None:
        self._opened.pop(name).store.close()
