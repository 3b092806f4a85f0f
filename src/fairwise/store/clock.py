"""The machine's clock, as far as it can be believed: what is deleted by it cannot be brought back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.counters import counter, set_counter
from fairwise.store.tables import counters

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

LONGEST = timedelta(days=14)
"""A server is seldom off for longer; a clock that has gone further since it was last looked at may be wrong."""

_SEEN = "clock seen"  # in minutes since 1970


def days_ahead(connection: Connection, now: datetime) -> int:
    """By how many days the clock has jumped since it was last believed; 0 if that may well be."""
    seen = counter(connection, _SEEN)
    since = now.timestamp() / 60 - seen if seen else 0.0
    return int(since // (24 * 60)) if since > LONGEST.total_seconds() / 60 else 0


def look_at_clock(connection: Connection, now: datetime, *, believed: bool = False) -> int:
    """The same, remembering the time if there is nothing odd about it, or an operator says that it is ``believed``.

    A clock that was put back changes nothing: only the latest time that was believed is kept.
    """
    ahead = 0 if believed else days_ahead(connection, now)
    if not ahead:
        minutes = int(now.timestamp() // 60)
        later = minutes if believed else sa.case((counters.c.value < minutes, minutes), else_=counters.c.value)
        set_counter(connection, _SEEN, later, minutes)
    return ahead
