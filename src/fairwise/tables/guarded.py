"""Work on files of others in a process of its own, which can be stopped: after some seconds, or for want of memory.

``python -m fairwise.tables.guarded`` is that process. It reads from its standard input what to do, and writes what the
work returns, or its error, to its standard output, both as JSON. Where there are no processes, or no limits for them,
the bounds of the readers themselves remain: rows, columns, cells and unpacked bytes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fairwise import errors

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

SECONDS, MEGABYTES = 20, 512
"""Limits for a small file, unless FAIRWISE_READ_SECONDS and FAIRWISE_READ_MEGABYTES say otherwise."""

# What a large file may take more: it is read at several MB per second, into several times its size.
_BYTES_PER_SECOND, _TIMES_ITS_SIZE = 4 << 20, 8
HAS_PROCESSES = bool(sys.executable) and sys.platform not in {"emscripten", "wasi"}
# One thread each, as every stack counts as memory; and no pool of memory that is reserved before it is used.
_FRUGAL = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

_guarding = ContextVar("guarding", default=False)


@contextmanager
def guarding() -> Iterator[None]:
    """Within this, tables are read from files in a guarded process: nobody knows who made them."""
    token = _guarding.set(True)
    try:
        yield
    finally:
        _guarding.reset(token)


def is_guarding() -> bool:
    """Whether files are read in a guarded process here."""
    return _guarding.get() and HAS_PROCESSES


@dataclass(frozen=True)
class GuardedWork:
    """A call of a function of a module, with arguments and a result that JSON knows, on a file of so many bytes."""

    file: str
    """Name in errors."""

    size: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    nice: int = 0
    """Nice value of the process."""

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", __name__]  # -P: no module comes from the folder where it is started

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, **_FRUGAL}

    @property
    def question(self) -> bytes:
        """Input of the process."""
        work = [self.function.__module__, self.function.__qualname__, *self.arguments]
        limits = {"seconds": self.seconds, "bytes": self._megabytes << 20, "nice": self.nice}
        return json.dumps({**limits, "work": work}).encode()

    @property
    def seconds(self) -> float:
        return _limit("FAIRWISE_READ_SECONDS", SECONDS) + self.size / _BYTES_PER_SECOND

    @property
    def _megabytes(self) -> int:
        return _limit("FAIRWISE_READ_MEGABYTES", MEGABYTES) + (_TIMES_ITS_SIZE * self.size >> 20)

    def run(self) -> Any:
        """Return what the function returns, or raise its error; in this process where there are no others."""
        if not HAS_PROCESSES:
            return self.function(*self.arguments)
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                self.command,
                input=self.question,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self.seconds,
                env=self.environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self.too_much() from None
        return self.result(done.returncode, done.stdout)

    def result(self, code: int | None, output: bytes) -> Any:
        """Return what the process answered, or raise the error that it names; one that was stopped has no answer."""
        answer = json.loads(output) if code == 0 else {"error": "MemoryError"}
        if "error" not in answer:
            return answer["result"]
        if answer["error"] == "MemoryError":
            raise self.too_much()
        kind = getattr(errors, answer["error"], None)
        raise RuntimeError(answer["message"]) if kind is None else kind(answer["message"])

    def too_much(self) -> errors.InputError:
        """Return the error about a file that takes too long or too much memory."""
        return errors.InputError(
            f"{self.file}: cannot be read within {self.seconds:.0f} seconds and {self._megabytes:,} MB of memory"
        )


def _limit(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 6 or int(text) == 0:
        raise errors.InputError(f"{name} is {text[:20]!r}; allowed: a whole number from 1 to 999999")
    return int(text)


def _set_limits(seconds: float, memory: int) -> None:
    """Let the system end this process, also if nobody is left to do it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    if resource is None:
        return
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, memory)):
        with suppress(OSError, ValueError):  # not every system has each of them
            resource.setrlimit(limit, (most, most))


def _work() -> None:
    task = json.load(sys.stdin)
    _set_limits(task["seconds"], task["bytes"])
    if task["nice"] and hasattr(os, "nice"):
        os.nice(task["nice"])
    module, name, *arguments = task["work"]
    try:
        answer = json.dumps({"result": getattr(import_module(module), name)(*arguments)})
    except errors.FairwiseError as error:
        answer = json.dumps({"error": type(error).__name__, "message": str(error)})
    except MemoryError:
        answer = json.dumps({"error": "MemoryError"})
    except Exception:  # noqa: BLE001 - raised where it was asked for
        answer = json.dumps({"error": "a bug", "message": traceback.format_exc()})
    sys.stdout.write(answer)


if __name__ == "__main__":
    _work()
