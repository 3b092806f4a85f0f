"""Writes that failed: told in the log once a minute for each kind, and counted."""

from __future__ import annotations

import errno
import logging
from collections import Counter
from time import monotonic

from sqlalchemy.exc import DataError, DBAPIError, ProgrammingError

from fairwise.store.errors import StoreUnavailable
from fairwise.store.log_limit import OnceAMinute, since_then

_log = logging.getLogger("fairwise")
_RECENT_SECONDS = 5.0
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""Numbers of errors that say that a disk is full."""

_FULL = ("SQLITE_FULL", "DiskFull", *(errno.errorcode[number] for number in NO_ROOM))
_WHAT_HELPS = " Make room on its disk; no restart is needed."


class FailedWrites:
    """Of one process, about one place that is written to."""

    def __init__(self, place: str) -> None:
        """`place`: what could not be written to, for the log."""
        self.counts: Counter[str] = Counter()
        """How many there were of each kind."""

        self._place = place
        self._limit = OnceAMinute()
        self._last: float | None = None

    @property
    def are_recent(self) -> bool:
        """Whether one failed in the last seconds, by no fault of what was to be written."""
        return self._last is not None and monotonic() - self._last < _RECENT_SECONDS

    def add(self, error: Exception) -> None:
        """Note a failure; the log names its kind and what the database said, and nothing of what was to be written."""
        kind, reason = _kind(error), _reason(error)
        self.counts[kind] += 1
        if not isinstance(error, (DataError, ProgrammingError)):  # whoever sends such a thing makes nothing unready
            self._last = monotonic()
        more = self._limit.add(kind)
        if more is not None:
            helps = _WHAT_HELPS if kind in _FULL else ""
            _log.error("%s cannot be written to: %s (%s).%s%s", self._place, reason, kind, helps, since_then(more))


def _kind(error: Exception) -> str:
    """SQLite's or the system's name of it, or the class of psycopg, or ours."""
    cause = _cause(error)
    if isinstance(cause, OSError) and cause.errno is not None:
        return errno.errorcode.get(cause.errno, "OSError")
    if isinstance(cause, StoreUnavailable):
        return "unavailable"
    return str(getattr(cause, "sqlite_errorname", None) or type(cause).__name__)


def _reason(error: Exception) -> str:
    """Its first line: what comes after may be what was to be written."""
    cause = _cause(error)
    told = getattr(getattr(cause, "diag", None), "message_primary", None) or getattr(cause, "strerror", None)
    return str(told or cause).partition("\n")[0]


def _cause(error: Exception) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
