"""Deleting in time what a study keeps for so many days only, by a clock as far as it can be believed."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from fairwise.store.erasure import clean_files, counter, needs_cleaning, note_deletion, set_counter
from fairwise.store.operators import CLOCK_BELIEVED, COMMAND_LINE, note, take_turns
from fairwise.store.study_state import standing
from fairwise.store.tables import (
    Moment,
    answers,
    appearances,
    closings,
    counters,
    invitations,
    metadata,
    panel_ids,
    participants,
)
from fairwise.study.stages import StudyState

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.store.store import Store
    from fairwise.study.settings import StudySettings


def forget_old(connection: Connection, days: int, now: datetime) -> int:
    """Delete what is older than so many days; returns how many rows had something to delete.

    Days count from when someone finished, or agreed, if they did not finish; for those who never began, or withdrew,
    from when their link was made. Who they are goes only once the study is closed: until then the same person would be
    let in twice. Their judgments stay.
    """
    limit = now - timedelta(days=days)
    ended = sa.func.coalesce(participants.c.finished_at, participants.c.consented_at)
    old = sa.select(participants.c.id).where(ended < limit)
    theirs = sa.select(appearances.c.id).where(appearances.c.participant_id.in_(old))
    texts = dict.fromkeys(("rules", "expressible", "comments"), "")
    wrote = sa.or_(*(closings.c[name] != "" for name in texts))
    changes: list[sa.Update | sa.Delete] = [
        sa.update(answers).where(answers.c.appearance_id.in_(theirs), answers.c.why != "").values(why=""),
        sa.update(closings).where(closings.c.participant_id.in_(old), wrote).values(texts),
    ]
    if standing(connection).state == StudyState.CLOSED:
        links, of_old = sa.select(participants.c.token_hash), participants.c.id.in_(old)
        theirs_or_nobodys = invitations.c.token_hash.in_(links.where(of_old)) | (
            invitations.c.token_hash.not_in(links) & (invitations.c.made_at < limit)
        )
        known = sa.or_(participants.c.panel_id.is_not(None), participants.c.panel_session.is_not(None))
        changes += [
            sa.update(participants).where(of_old, known).values(panel_id=None, panel_session=None),
            sa.update(invitations).where(theirs_or_nobodys, invitations.c.name != "").values(name=""),
            sa.delete(panel_ids).where(panel_ids.c.added_at < limit),
        ]
    gone = sum(connection.execute(change).rowcount for change in changes)
    if gone:
        note_deletion(connection)
    return gone


# Deleting in time what a study keeps for so many days only: rows, and what the database's files still hold of them.

_log = logging.getLogger("fairwise")


class Forgotten(NamedTuple):
    """What was done."""

    rows: int
    """So many had something to delete."""

    cleaned: bool | None
    """Whether what was deleted, now or earlier, is out of the files as well; None if there was nothing to clean."""

    days_off: int = 0
    """The clock is so many days ahead of when it was last believed, and so nothing old was deleted; or behind (< 0)."""


def forget_in_time(
    settings: StudySettings, store: Store, database: str | Path, *, clock_is_right: bool = False
) -> Forgotten:
    """Delete what is older than the study wants, and clean the files of all that was deleted and is still in them.

    If the clock is far ahead nothing is deleted until the time agrees again, or somebody says that it is right.
    """
    now, gone = datetime.now(UTC), 0
    off = store.change_now(partial(look_at_clock, now=now, believed=clock_is_right))
    if settings.retention_days and off:
        _log.warning(
            "The clock says %s%s%s. If it is right now, say so: fairwise study "
            "forget DIR --clock-is-right, with the --database that serve was given. If not, set it.",
            f"{now:%Y-%m-%d}",
            in_words(off),
            ", so nothing is deleted by its age" if off > 0 else "",
        )
    if settings.retention_days and off <= 0:
        gone = store.change_now(partial(forget_old, days=settings.retention_days, now=now))
    cleaned = clean_files(database) if store.read_now(needs_cleaning) else None
    return Forgotten(gone, cleaned, off if settings.retention_days else 0)


# The machine's clock, as far as it can be believed: what is deleted by it cannot be brought back.

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
