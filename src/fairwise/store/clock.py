"""The machine's clock, as far as it can be believed: what is deleted by it cannot be brought back.

The latest time at which it was believed is kept. A clock that is more than two weeks ahead of it may be wrong, and
deletes nothing until an operator says that it is right. One that is more than two weeks behind deletes what is due, as
that is due by the later time too; if it goes on for two weeks, the later time was the wrong one, and is forgotten.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.counters import counter, set_counter
from fairwise.store.operators import CLOCK_BELIEVED, COMMAND_LINE, note, take_turns
from fairwise.store.tables import Moment, counters, metadata

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

LONGEST = timedelta(days=14)
"""A server is seldom off for longer; a clock that has gone further since it was last looked at may be wrong."""

_SEEN, _BEHIND_SINCE = "clock seen", "clock behind since"  # in minutes since 1970
_DAY = 24 * 60
_LONGEST = LONGEST.days * _DAY


def days_off(connection: Connection, now: datetime) -> int:
    """By how many days the clock is ahead of the last time that was believed, or behind (< 0); 0 if that may be."""
    seen = counter(connection, _SEEN)
    since = _minutes(now) - seen if seen else 0
    return round(since / _DAY) if abs(since) > _LONGEST else 0


def look_at_clock(connection: Connection, now: datetime, *, believed: bool = False) -> int:
    """The same, remembering the time if there is nothing odd about it, or an operator says that it is ``believed``.

    What an operator says is written down among what operators did.
    """
    take_turns(connection)
    off, minutes = days_off(connection, now), _minutes(now)
    if believed:
        note(connection, COMMAND_LINE, CLOCK_BELIEVED, f"{now:%Y-%m-%d}{in_words(off)}", now)
    elif off > 0 or (off < 0 and not _goes_on(connection, minutes)):
        return off
    corrected = believed or off < 0
    later = minutes if corrected else sa.case((counters.c.value < minutes, minutes), else_=counters.c.value)
    set_counter(connection, _SEEN, later, minutes)
    connection.execute(sa.delete(counters).where(counters.c.name == _BEHIND_SINCE))
    return 0


def keep_newest_time(connection: Connection) -> None:
    """If the clock was never looked at, remember the newest time that is written, before it writes another one."""
    if not counter(connection, _SEEN):
        take_turns(connection)
        newest = _newest(connection)
        if newest:
            set_counter(connection, _SEEN, counters.c.value, newest)


def begin_again(connection: Connection, now: datetime) -> int:
    """Believe the clock of whoever restores a study of long ago; returns by how many days it is ahead of it.

    What it deletes too early is still in the file from which it was restored. A clock behind it is not believed.
    """
    keep_newest_time(connection)
    ahead = max(days_off(connection, now), 0)
    look_at_clock(connection, now, believed=ahead > 0)
    return ahead


def in_words(off: int) -> str:
    """To be said after what the clock says.

    >>> in_words(-90)
    ', 90 days behind the last time that is written here'
    """
    return f", {abs(off)} days {'ahead of' if off > 0 else 'behind'} the last time that is written here" if off else ""


def _goes_on(connection: Connection, minutes: int) -> bool:
    """Whether a clock that is behind has been going on like that for long enough."""
    since = counter(connection, _BEHIND_SINCE)
    if not since or minutes < since:
        set_counter(connection, _BEHIND_SINCE, minutes, minutes)
        return False
    return minutes - since > _LONGEST


def _newest(connection: Connection) -> int:
    """In minutes since 1970; 0 if nothing was written yet."""
    columns = [column for table in metadata.sorted_tables for column in table.c if isinstance(column.type, Moment)]
    found = [connection.execute(sa.select(sa.func.max(column))).scalar_one() for column in columns]
    return max((_minutes(moment) for moment in found if moment is not None), default=0)


def _minutes(moment: datetime) -> int:
    return int(moment.timestamp() // 60)
