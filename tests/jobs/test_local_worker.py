"""The process that computes: results, errors and deaths, and that it can be stopped at any moment."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from fairwise.errors import InputError
from fairwise.jobs.workers import LocalWorker, progress

if TYPE_CHECKING:
    from collections.abc import Callable


class Enough(Exception):  # noqa: N818
    """Raised by who waits."""


def kill_until(marks: str, most: int) -> int:
    """End this very process, until it was done so many times."""
    deaths = len(list(Path(marks).iterdir()))
    if deaths < most:
        (Path(marks) / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return deaths


def count_to(number: int, progress: Callable[[int, int], None]) -> int:
    for done in range(number):
        progress(done + 1, number)
        time.sleep(0.1)
    return number


def wait(_share: float) -> None:
    time.sleep(0.01)


def done(worker: LocalWorker, *call: Any) -> Any:
    return worker.result(call, wait)


@pytest.mark.slow
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


def test_it_tells_how_far_a_call_is(tmp_path: Path) -> None:
    shares: list[float] = []

    def listen(share: float) -> None:
        shares.append(share)
        time.sleep(0.01)

    with LocalWorker(tmp_path, equal=True) as worker:
        assert worker.result((count_to, 4, progress), listen) == 4
    assert shares == sorted(shares)
    assert {0.0, 0.5, 1.0} <= set(shares)


def test_stopped_in_the_middle_nothing_is_left(tmp_path: Path) -> None:
    with LocalWorker(tmp_path, equal=True) as worker:
        pid = done(worker, os.getpid)
        assert done(worker, tempfile.gettempdir) == str(tmp_path), "where what it leaves is deleted"

        def enough(_share: float) -> None:
            raise Enough

        with pytest.raises(Enough):
            worker.result((time.sleep, 600), enough)
    assert not psutil.pid_exists(pid)


def test_who_waits_is_asked_also_while_it_starts(tmp_path: Path) -> None:
    """However much is to be sent, stopping need not wait until it is read."""

    def enough(_share: float) -> None:
        raise Enough

    with pytest.raises(Enough), LocalWorker(tmp_path, equal=False) as worker:
        worker.result((len, b"\0" * (1 << 24)), enough)


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has an idle class")
@pytest.mark.parametrize("equal", [False, True])
def test_it_computes_while_nobody_else_needs_the_processor(tmp_path: Path, equal: bool) -> None:
    with LocalWorker(tmp_path, equal=equal) as worker:
        assert done(worker, os.sched_getscheduler, 0) == (os.sched_getscheduler(0) if equal else os.SCHED_IDLE)
        assert done(worker, os.getsid, 0) == os.getsid(0), "the class counts within a session only"
