"""A process of our own that computes, one call after the other, with the lowest priority.

It is talked to through a pipe that it inherits. Nothing listens anywhere: a port, even of this machine alone, is open
to everyone who can log in to it, and whoever may send calls can run anything.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection
    from types import TracebackType

    from fairwise.jobs.steps import Call

NICE = 19
_DEATHS = 4
"""So often a call may end the process before it is given up."""

_SESSION = Path("/proc/self/autogroup")


class _Died(Exception):  # noqa: N818 - it is tried again
    """The process ended before it had answered."""


class LocalWorker:
    """Opened for one job. When it is left, whatever it is at is stopped at once, in the middle of a fit too."""

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

    def do(self, calls: Mapping[str, Call], done: Callable[[str, Any], None], wait: Callable[[], None]) -> None:
        """Make the calls; `wait` is called again and again, and may raise."""
        for name, call in calls.items():
            done(name, self._result(call, wait))
            wait()

    def _result(self, call: Call, wait: Callable[[], None]) -> Any:
        for _ in range(_DEATHS):
            try:
                self._heard(wait)  # that it is ready: it takes its time to start, and who sends waits until all is read
                self._asked(self._pipe.send, call)
                value, error = self._heard(wait)
            except _Died:
                self._end()
                self._start()
                continue
            if error is not None:
                raise error
            return value
        raise InputError("The fit was ended from outside several times, perhaps for want of memory.")

    def _heard(self, wait: Callable[[], None]) -> Any:
        while not self._asked(self._pipe.poll):
            wait()
        return self._asked(self._pipe.recv)

    def _asked(self, question: Callable[..., Any], *given: Any) -> Any:
        try:
            return question(*given)
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
        _let_others_go_first()
    while True:
        pipe.send("ready")
        try:
            function, *given = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((function(*given), None))
        except Exception as error:  # noqa: BLE001 - it belongs to the one who asked
            error.add_note(traceback.format_exc())  # which does not travel by itself
            pipe.send((None, error))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait_for([parent.sentinel])
    os._exit(1)


def _let_others_go_first() -> None:
    """Take the lowest priority.

    Only who computes does. Who writes to the database must not: waiting for a turn while holding its lock, they would
    keep everyone else waiting.
    """
    if hasattr(os, "nice"):
        os.nice(NICE)
    if _SESSION.exists():
        # Linux shares the processor among sessions first and heeds nice only within each: one of its own is needed.
        with suppress(OSError):
            os.setsid()
            _SESSION.write_text(str(NICE), encoding="ascii")
