"""The process that does the jobs beside a server: started with it, started again if it dies, ended with it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

DATABASE = "FAIRWISE_JOBS_DATABASE"
"""In the environment: the URL of a database, or the path of one of SQLite."""

_RESTART_SECONDS = 5.0
_TIMEOUT_SECONDS = 8.0
# One core at most: libraries for matrices would take all there are.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS")
_log = logging.getLogger("fairwise.jobs")


@contextmanager
def jobs_beside(folder: Path, database: str | Path, dask: str | None) -> Iterator[None]:
    """Do the jobs of a study, in a process of its own, while the block lasts."""
    stopping = Event()
    supervisor = Thread(target=_supervise, args=(folder, database, dask, stopping), name="fairwise-jobs", daemon=True)
    supervisor.start()
    try:
        yield
    finally:
        stopping.set()
        supervisor.join(2 * _TIMEOUT_SECONDS)


def start_jobs(folder: Path, database: str | Path, dask: str | None, *, equal: bool = False) -> subprocess.Popen[bytes]:
    """Start it, its worker with the lowest priority unless `equal`.

    It ends when the other end of its standard input is closed, which death does too.
    """
    words = [*(["--equal"] if equal else []), *([] if dask is None else ["--dask", dask])]
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), DATABASE: str(database)}
    return subprocess.Popen(  # noqa: S603 - this very program
        [sys.executable, "-m", "fairwise.jobs", str(folder), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the server, which then ends this
    )


def _supervise(folder: Path, database: str | Path, dask: str | None, stopping: Event) -> None:
    while not stopping.is_set():
        process = start_jobs(folder, database, dask)
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
