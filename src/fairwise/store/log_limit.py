"""What anybody can cause is told in the log once a minute for each kind of it, with how many there were."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

SECONDS_BETWEEN = 60.0
MOST_KINDS = 50
"""Told apart within a minute; all others are one kind."""

_LONGEST_KIND = 200


class OnceAMinute:
    """Kinds of things, when each was last told, and how many were not told since."""

    def __init__(self) -> None:
        self._told: dict[Hashable, tuple[float, int]] = {}

    def add(self, kind: Hashable) -> int | None:
        """How many of a kind were kept back if it is to be told now, else None."""
        now = monotonic()
        if kind not in self._told and len(self._told) >= MOST_KINDS:
            self._told = {known: told for known, told in self._told.items() if now - told[0] < SECONDS_BETWEEN}
            kind = kind if len(self._told) < MOST_KINDS else None
        at, more = self._told.get(kind, (None, 0))
        if at is not None and now - at < SECONDS_BETWEEN:
            self._told[kind] = (at, more + 1)
            return None
        self._told[kind] = (now, 0)
        return more


def since_then(more: int) -> str:
    return f" ({more} more since this was last said)" if more else ""


class LogLimit:
    """A filter for loggers: a kind is what stands in the code, whatever is filled in, and where an error was raised."""

    def __init__(self) -> None:
        self._limit = OnceAMinute()

    def filter(self, record: logging.LogRecord) -> bool:
        more = self._limit.add(_kind(record))
        if more:
            record.msg, record.args = record.getMessage() + since_then(more), ()
        return more is not None


def limit_log() -> None:
    """From now on strangers fill no log of this process.

    They can make the server complain about every request; and whatever fails in one, fails as often as they like.
    """
    limit = LogLimit()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(limit)
    logging.getLogger("fairwise").addFilter(lambda record: not record.exc_info or limit.filter(record))


def _kind(record: logging.LogRecord) -> tuple[object, ...]:
    template = str(record.msg).partition("\n")[0][:_LONGEST_KIND]  # asyncio fills in the lines below
    kind, _, traceback = record.exc_info or (None, None, None)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return record.name, template, kind, traceback and (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
