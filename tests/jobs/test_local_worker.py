"""The process that computes: results, errors and deaths, and that it can be stopped at any moment."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairwise.errors import InputError
from fairwise.jobs.local_worker import LocalWorker


class Enough(Exception):  # noqa: N818
    """Raised by who waits."""


def kill_until(marks: str, most: int) -> int:
    """End this very process, until it was done so many times."""
    deaths = len(list(Path(marks).iterdir()))
    if deaths < most:
        (Path(marks) / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return deaths


def wait() -> None:
    time.sleep(0.01)


def done(worker: LocalWorker, *call: Any) -> Any:
    found: list[Any] = []
    worker.do({"": call}, lambda _, result: found.append(result), wait)
    return found[0]


def test_results_errors_and_deaths(tmp_path: Path) -> None:
    with LocalWorker(tmp_path, equal=True) as worker:
        size = 1 << 22
        assert done(worker, len, b"\0" * size) == size
        with pytest.raises(ZeroDivisionError) as told:
            done(worker, divmod, 1, 0)
        assert "Traceback" in told.value.__notes__[0], "the log says where it was"
        with pytest.raises(Exception, match="pickle"):
            done(worker, memoryview, b"cannot be sent")
        assert done(worker, kill_until, str(tmp_path), 3) == 3, "tried again"
        with pytest.raises(InputError, match="ended from outside several times"):
            done(worker, kill_until, str(tmp_path), 99)
        assert done(worker, abs, -1) == 1


def test_stopped_in_the_middle_nothing_is_left(tmp_path: Path) -> None:
    with LocalWorker(tmp_path, equal=True) as worker:
        pid = done(worker, os.getpid)
        assert done(worker, tempfile.gettempdir) == str(tmp_path), "where what it leaves is deleted"

        def enough() -> None:
            raise Enough

        with pytest.raises(Enough):
            worker.do({"": (time.sleep, 600)}, lambda *_: None, enough)
    assert not psutil.pid_exists(pid)


def test_who_waits_is_asked_also_while_it_starts(tmp_path: Path) -> None:
    """However much is to be sent, stopping need not wait until it is read."""

    def enough() -> None:
        raise Enough

    with pytest.raises(Enough), LocalWorker(tmp_path, equal=False) as worker:
        worker.do({"": (len, b"\0" * (1 << 24))}, lambda *_: None, enough)
