"""Runner of jobs: takes one after the other, reports its progress, and ends it, in a process beside a server.

What is finished of a job is kept, so that a job cut short goes on where it was. Of several studies it does one job at a
time, of one study after the other.
"""

from __future__ import annotations

import logging
import os
import shutil
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
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection

from fairwise.errors import FairwiseError, InputError
from fairwise.jobs.fit_data import MEANT, FitData, read_fit_data
from fairwise.jobs.workers import LocalWorker, Workers, compute, progress
from fairwise.loading import require
from fairwise.store import jobs
from fairwise.store.errors import NotUnderWay, StoreUnavailable
from fairwise.store.fit_files import FRONTIER, INFLUENCE, MODEL, PRICES, job_folder, remove_leftovers, unfinished_folder
from fairwise.store.jobs import Job
from fairwise.store.logs import NO_ROOM, log_lines_of
from fairwise.store.places import IDENTITY_FILE, Place, find_places
from fairwise.store.store import Store
from fairwise.study.fit_choices import MOST_LEFT_OUT
from fairwise.tables.output import write_whole

if TYPE_CHECKING:
    Tell = Callable[[float, str], None]


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
"""Environment variable with the URL of a database, or the path of one of SQLite."""
EQUAL = "FAIRWISE_JOBS_EQUAL"
"""Environment variable of a server whose models need not let everything else come first."""
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
        """Publish in the transaction that ends the job: nobody whose answers it has withdraws in between."""

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
                cancelled = self._store.change_now(
                    lambda connection: jobs.report_progress(
                        connection, self._job, self._reached, message, datetime.now(UTC)
                    )
                )
            except StoreUnavailable:  # later, then
                cancelled = False
            if cancelled:
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
        """Work until told to stop."""
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
        had_work = False
        for name, opened in list(self._opened.items()):
            if self._stopping.is_set():
                break
            with log_lines_of(name):
                had_work = opened.runner.work_once() or had_work
        return had_work

    def _look(self) -> None:
        """Open what the server has opened before: it is the server that makes databases, and says what is wrong."""
        try:
            studies = find_places(self._folder, self._database).studies
        except OSError as error:
            _log.warning("%s cannot be read: %s", self._folder, error)
            return
        places = {name: place for name, place in studies.items() if (place.path / IDENTITY_FILE).exists()}
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


_CURVE_WEIGHT = 6
"""Time to trace a frontier, in fits."""


_INFLUENCE_WEIGHT = 6
"""Time to leave out each participant, in fits."""


class JobFolder:
    """Folder in which a job keeps its files until all of them are there."""

    def __init__(self, study: Path, job: Job) -> None:
        self._done = job_folder(study, job.id)
        self.unfinished = unfinished_folder(study, job.id, job.restarts)
        self._whole = self.unfinished / "whole"

    def open(self) -> None:
        """Create the folders; only the account that serves the study may read them."""
        self._done.parent.mkdir(mode=0o700, exist_ok=True)
        self.unfinished.mkdir(mode=0o700, exist_ok=True)

    def clear(self) -> None:
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def kept(self, names: tuple[str, ...]) -> dict[str, bytes] | None:
        """The files of an earlier try, if all of these are there."""
        files = {name: self.unfinished / name for name in names}
        if not all(file.exists() for file in files.values()):
            return None
        return {name: file.read_bytes() for name, file in files.items()}

    def keep(self, files: dict[str, bytes]) -> None:
        """Each whole or not at all, also if the machine stops now."""
        for name, content in files.items():
            write_whole(self.unfinished / name, partial(_write, content=content))

    def finish(self, files: dict[str, bytes]) -> None:
        """Write all files down, to be published."""
        shutil.rmtree(self._whole, ignore_errors=True)
        self._whole.mkdir(mode=0o700)
        for name, content in files.items():
            _write(self._whole / name, content)

    def publish(self) -> None:
        """Give the files their place, all at once, also of a job made again. A second time it changes nothing."""
        if self._whole.exists():
            before = self.unfinished / "before"
            shutil.rmtree(before, ignore_errors=True)  # of a time when the transaction came to nothing
            if self._done.exists():
                self._done.rename(before)
            self._whole.rename(self._done)


def perform(data: FitData, folder: JobFolder, workers: Workers, tell: Tell) -> None:
    """Fit, trace the frontier if it is asked for, and finish the files; `tell` is called often, and may raise."""
    weight = _CURVE_WEIGHT if data.settings.frontier else 0
    left_out = _INFLUENCE_WEIGHT if leaves_out(data) else 0
    has_second_round = data.second_round is not None
    steps = _Steps(folder, workers, tell, total=3 + has_second_round + data.uses_meaning + weight + left_out)
    effects = steps.result("Comparing both rounds", 1, "compare_rounds", data) if has_second_round else None
    if data.uses_meaning:
        steps.files((MEANT,), "Learning what people mean", 1, "weigh_answers", data)
        data = data.with_answers(folder.unfinished / MEANT)
    files = steps.files((MODEL, PRICES), "Fitting the model", 1, "fit", data)
    if data.settings.frontier:
        kept = folder.unfinished if workers.shares_disk else None
        files |= steps.files((FRONTIER,), "Tracing the frontier", weight, "trace", data, files, kept, progress)
    if left_out:
        words = "Leaving out each participant"
        files |= steps.files((INFLUENCE,), words, left_out, "influence", data, files, progress)
    held_out = steps.result("Measuring on people left out", 1, "held_out", data)
    folder.finish(files | steps.result("Writing the report", 1, "artefacts", data, files, held_out, effects))


def leaves_out(data: FitData) -> bool:
    """Whether it is found out what each participant changes: of few, and of models that may decide by lot."""
    if data.amount is not None or data.settings.deterministic:
        return False
    return data.settings.influence and data.judgments.n_judges <= MOST_LEFT_OUT


class _Steps:
    """Counts what is done, by weight."""

    def __init__(self, folder: JobFolder, workers: Workers, tell: Tell, total: int) -> None:
        self._folder, self._workers, self._tell = folder, workers, tell
        self._total, self._done = total, 0

    def files(self, names: tuple[str, ...], words: str, weight: int, *call: Any) -> dict[str, bytes]:
        """Files with these names; those of an earlier try are taken as they are."""
        files = self._folder.kept(names)
        if files is None:
            files = self.result(words, weight, *call)
            self._folder.keep(files)
        else:
            self._done += weight
        return files

    def result(self, words: str, weight: int, *call: Any) -> Any:
        def wait(share: float) -> None:
            self._tell(min((self._done + share * weight) / self._total, 0.99), words)

        result = self._workers.result((compute, *call), wait)
        self._done += weight
        return result


def _write(file: Path, content: bytes) -> None:
    with file.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
