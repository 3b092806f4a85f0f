"""Processes that compute fits: a local worker, with a low priority, that is ended with its parent.

It is talked to through a pipe that it inherits. Nothing listens anywhere: a port, even of this machine alone, is open
to everyone who can log in to it, and whoever may send calls can run anything.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from fairwise.errors import InputError

Call = tuple[Any, ...]
"""A function and its arguments."""

P = ParamSpec("P")
T = TypeVar("T")
_DEATHS = 4
"""Most times that a call may end the process before it is given up."""


class Workers(Protocol):
    """Execution backend: a process of our own, or a cluster of dask."""

    shares_disk: bool
    """Whether they can write into the job's folder."""

    def result(self, call: Call, wait: Callable[[float], None]) -> Any:
        """Make a call; `wait` is called again and again with the share that is known to be done, and may raise."""


def compute(name: str, *arguments: Any) -> Any:
    """Call a function of `work`, which is imported only where it runs: it brings along all that a fit needs."""
    return getattr(import_module("fairwise.jobs.work"), name)(*arguments)


def progress(_done: int, _total: int) -> None:
    """An argument that stands for the progress of a call: a worker that can tell it puts its own in its place."""


class _Died(Exception):  # noqa: N818 - it is tried again
    """The process ended before it had answered."""


class LocalWorker:
    """Opened for one job. When it is left, whatever it is at is stopped at once, in the middle of a fit too."""

    shares_disk = True

    def __init__(self, folder: Path, *, equal: bool) -> None:
        """Keep temporary files in `folder`, as what is stopped at once leaves them behind.

        `equal`: do not let everything else on this machine come first.
        """
        self._folder, self._equal = folder, equal

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def result(self, call: Call, wait: Callable[[float], None]) -> Any:
        """Make the call; `wait` is called again and again with the share that is done, and may raise."""
        for _ in range(_DEATHS):
            try:
                self._received(partial(wait, 0.0))  # ready: until it reads, a sender waits
                self._guarded(self._pipe.send, call)
                share = 0.0
                while isinstance(reply := self._received(partial(wait, share)), float):
                    share = reply
            except _Died:
                self._end()
                self._start()
                continue
            value, error = reply
            if error is not None:
                raise error
            return value
        raise InputError("The work was ended from outside several times, perhaps for want of memory.")

    def _received(self, wait: Callable[[], None]) -> Any:
        while not self._guarded(self._pipe.poll):
            wait()
        return self._guarded(self._pipe.recv)

    def _guarded(self, action: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return action(*arguments, **named)
        except (EOFError, OSError) as error:  # the latter in the middle of a result
            raise _Died from error

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_compute, args=(theirs, self._folder, self._equal), daemon=True)
        self._process.start()
        theirs.close()  # so that its death is the end of the pipe

    def _end(self) -> None:
        """A fit cannot be asked to stop, so its process is ended."""
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _compute(pipe: Connection, folder: Path, equal: bool) -> None:
    """Answer calls until the pipe ends; what the process runs."""
    tempfile.tempdir = str(folder)
    Thread(target=_end_with_parent, daemon=True).start()
    if not equal:
        use_idle_priority()

    def tell(done: int, total: int) -> None:
        pipe.send(done / total)

    while True:
        pipe.send("ready")
        try:
            function, *arguments = pipe.recv()
        except EOFError:
            return
        try:
            own = [tell if argument is progress else argument for argument in arguments]
            pipe.send((function(*own), None))
        except Exception as error:  # noqa: BLE001 - it belongs to the one who asked
            error.add_note(traceback.format_exc())  # which does not travel by itself
            pipe.send((None, error))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait_for([parent.sentinel])
    os._exit(1)


NICE = 19


def use_idle_priority() -> None:
    """Compute only while nobody else on this machine wants to: in Linux' idle class, elsewhere at the lowest priority.

    Nice alone does not do on Linux: whoever wakes up may have to wait for the next tick, some milliseconds, and an
    answer wakes several threads. The idle class is interrupted at once. It counts among processes of one session or
    control group, so this one must remain in that of the server.

    Only who computes does so. Who writes to the database must not: waiting for a turn while holding its lock, they
    would keep everyone else waiting.
    """
    if hasattr(os, "nice"):
        os.nice(NICE)
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):  # where a sandbox forbids it, nice remains
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
