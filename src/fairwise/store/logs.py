"""Log lines name their study; what strangers can cause, and failed writes, are logged once a minute and kind."""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from time import monotonic
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, ProgrammingError

from fairwise.store.errors import StoreUnavailable

# What anybody can cause is told in the log once a minute for each kind of it, with how many there were.

SECONDS_BETWEEN = 60.0
MOST_KINDS = 50
"""Largest number of kinds within a minute; all others are one kind."""

_LONGEST_KIND = 200
_log = logging.getLogger("fairwise")
_RECENT_SECONDS = 5.0
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk."""
_FULL = ("SQLITE_FULL", "DiskFull", *(errno.errorcode[number] for number in NO_ROOM))
_WHAT_HELPS = " Make room on its disk; no restart is needed."
P = ParamSpec("P")
T = TypeVar("T")
_study: ContextVar[str] = ContextVar("study", default="")


class OnceAMinute:
    """When each kind of event was last logged, and how many were dropped since."""

    def __init__(self) -> None:
        self._last_logged: dict[Hashable, tuple[float, int]] = {}

    def add(self, kind: Hashable) -> int | None:
        """Return how many of a kind were dropped if it is to be logged now, else None."""
        now = monotonic()
        if kind not in self._last_logged and len(self._last_logged) >= MOST_KINDS:
            recent = {other: last for other, last in self._last_logged.items() if now - last[0] < SECONDS_BETWEEN}
            self._last_logged = recent
            kind = kind if len(self._last_logged) < MOST_KINDS else None
        at, more = self._last_logged.get(kind, (None, 0))
        if at is not None and now - at < SECONDS_BETWEEN:
            self._last_logged[kind] = (at, more + 1)
            return None
        self._last_logged[kind] = (now, 0)
        return more


def since_then(more: int) -> str:
    return f" ({more} more since this was last said)" if more else ""


class LogLimit:
    """Filter for loggers. A kind is the template of the message, and the line that raised the error."""

    def __init__(self) -> None:
        self._limit = OnceAMinute()

    def filter(self, record: logging.LogRecord) -> bool:
        more = self._limit.add(_kind_of(record))
        if more:
            record.msg, record.args = record.getMessage() + since_then(more), ()
        return more is not None


def limit_log() -> None:
    """Keep strangers from filling the log of this process.

    They can make every request fail, as often as they like.
    """
    limit = LogLimit()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(limit)
    logging.getLogger("fairwise").addFilter(lambda record: not record.exc_info or limit.filter(record))


def _kind_of(record: logging.LogRecord) -> tuple[object, ...]:
    template = str(record.msg).partition("\n")[0][:_LONGEST_KIND]  # asyncio fills in the lines below
    kind, _, traceback = record.exc_info or (None, None, None)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return record.name, template, kind, traceback and (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)


class FailedWrites:
    """Failed writes of one process to one place."""

    def __init__(self, place: str) -> None:
        """`place`: what could not be written to, for the log."""
        self.counts: Counter[str] = Counter()
        """Number of failures of each kind."""

        self._place = place
        self._limit = OnceAMinute()
        self._last: float | None = None

    @property
    def are_recent(self) -> bool:
        """Whether a write failed in the last seconds, for no fault of its content."""
        return self._last is not None and monotonic() - self._last < _RECENT_SECONDS

    def add(self, error: Exception) -> None:
        """Count a failure; the log names its kind and the database's message, and nothing of what was to be written."""
        kind, reason = _kind(error), _reason(error)
        self.counts[kind] += 1
        if not isinstance(error, (DataError, ProgrammingError)):  # whoever sends such a thing makes nothing unready
            self._last = monotonic()
        more = self._limit.add(kind)
        if more is not None:
            helps = _WHAT_HELPS if kind in _FULL else ""
            _log.error("%s cannot be written to: %s (%s).%s%s", self._place, reason, kind, helps, since_then(more))


def _kind(error: Exception) -> str:
    """Return SQLite's or the system's name of an error, or its class."""
    cause = _cause(error)
    if isinstance(cause, OSError) and cause.errno is not None:
        return errno.errorcode.get(cause.errno, "OSError")
    if isinstance(cause, StoreUnavailable):
        return "unavailable"
    return str(getattr(cause, "sqlite_errorname", None) or type(cause).__name__)


def _reason(error: Exception) -> str:
    """Return the first line of an error: the rest may contain what was to be written."""
    cause = _cause(error)
    message = getattr(getattr(cause, "diag", None), "message_primary", None) or getattr(cause, "strerror", None)
    return str(message or cause).partition("\n")[0]


def _cause(error: Exception) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


@contextmanager
def log_lines_of(name: str) -> Iterator[None]:
    """Name this study in log lines of the block, and of tasks and threads that begin there."""
    before = _study.set(name)
    try:
        yield
    finally:
        _study.reset(before)


def with_log_lines(work: Callable[P, T]) -> Callable[P, T]:
    """Let a thread log as the code that started it does."""
    return partial(copy_context().run, work)


def name_studies(*loggers: str) -> None:
    """Let lines of these loggers begin with the name of their study, if it is one of several."""
    for logger in loggers:
        logging.getLogger(logger).addFilter(_named)


def _named(record: logging.LogRecord) -> bool:
    name = _study.get()
    if name:
        record.msg = f"{name}: {record.msg}"  # a name has no % in it
    return True
