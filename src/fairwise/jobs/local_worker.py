"""A process of our own that computes, one call after the other, while nobody else needs the processor.

It is talked to through a pipe that it inherits. Nothing listens anywhere: a port, even of this machine alone, is open
to everyone who can log in to it, and whoever may send calls can run anything.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from fairwise.errors import InputError
from fairwise.jobs.priority import let_others_go_first
from fairwise.jobs.steps import Call, progress

P = ParamSpec("P")
T = TypeVar("T")
_DEATHS = 4
"""So often a call may end the process before it is given up."""


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
        let_others_go_first()

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
