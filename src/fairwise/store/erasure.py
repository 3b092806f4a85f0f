"""Erase participants and old data: their rows, and what the files of the database still hold of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fairwise.store.engine import PATIENT_SECONDS, database_url, postgres_engine
from fairwise.store.errors import Unknown
from fairwise.store.jobs import restart_without
from fairwise.store.operators import CLOCK_BELIEVED, COMMAND_LINE, note, take_turns
from fairwise.store.schema import (
    Moment,
    answers,
    appearances,
    ballots,
    closings,
    counters,
    events,
    exclusions,
    invitations,
    job_participants,
    metadata,
    panel_groups,
    panel_ids,
    participants,
    question_answers,
    reasons,
    votes,
)
from fairwise.store.study_state import standing
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    from fairwise.store.store import Store


# Numbers by name, about nobody.


def counter(connection: sa.Connection, name: str) -> int:
    """Return the value of a counter; 0 if there is none yet."""
    return connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar_one_or_none() or 0


def set_counter(connection: sa.Connection, name: str, value: int | sa.ColumnElement[int], first: int) -> None:
    """Set a counter to a value, such as an expression of ``counters.c.value``, or to ``first`` if there is none yet.

    It is one statement, as two processes may run it at once.
    """
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = insert(counters).values(name=name, value=first)
    connection.execute(row.on_conflict_do_update(index_elements=[counters.c.name], set_={"value": value}))


_log = logging.getLogger("fairwise")
_BUSY_MILLISECONDS = 10_000
# So many deletions there were, and so many of them have been taken out of the files.
_DELETIONS, _CLEANED = "deletions", "deletions cleaned"


def about(number: int) -> str:
    """Return the name of a participant in the audit log."""
    return f"participant {number}"


def erase(connection: sa.Connection, number: int, group_mark: Callable[[str, str], bytes]) -> bool:
    """Delete all about a participant, also their invitation; return whether a fit has their answers.

    The arm of their panel's id is deleted too; `group_mark` returns the keyed hash of that id.
    """
    who = sa.select(participants.c.came_by, participants.c.panel_id).where(participants.c.number == number)
    for came_by, panel_id in connection.execute(who.where(participants.c.panel_id.is_not(None))):
        connection.execute(sa.delete(panel_groups).where(panel_groups.c.mark == group_mark(came_by, panel_id)))
    token_hash, in_fits = delete_participant(connection, participants.c.number == number)
    connection.execute(sa.delete(invitations).where(invitations.c.token_hash == token_hash))
    return in_fits


def delete_participant(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[bytes, bool]:
    """Delete a participant's answers, texts and exclusions, and their number in the audit log; restart fits with them.

    Return the hash of their token, and whether there are such fits: their files that name single answers are to be
    deleted next, by :func:`~fairwise.store.fit_files.remove_leftovers`.
    """
    columns = participants.c.id, participants.c.number, participants.c.token_hash
    who = connection.execute(sa.select(*columns).where(which).with_for_update()).one_or_none()
    if who is None:
        raise Unknown
    in_fits = restart_without(connection, who.id)
    # A tally is fixed when its vote ends. Minus all other ballots it would give away the one that is deleted.
    voted = sa.select(ballots.c.vote_id).where(ballots.c.participant_id == who.id)
    theirs = sa.select(votes.c.id, votes.c.closed_at).where(votes.c.id.in_(voted)).with_for_update(read=True)
    ended = [vote_id for vote_id, closed_at in connection.execute(theirs) if closed_at is not None]
    connection.execute(sa.delete(ballots).where(ballots.c.vote_id.in_(ended)))
    connection.execute(sa.delete(participants).where(participants.c.id == who.id))
    connection.execute(sa.update(events).where(events.c.about == about(who.number)).values(about=""))
    note_deletion(connection)
    return who.token_hash, in_fits


def note_deletion(connection: sa.Connection) -> None:
    """Store, in the transaction of a deletion, that the files still hold what was deleted."""
    set_counter(connection, _DELETIONS, counters.c.value + 1, first=1)


def needs_cleaning(connection: sa.Connection) -> bool:
    """Return whether the files may still hold deleted data."""
    return counter(connection, _DELETIONS) > counter(connection, _CLEANED)


def clean_files(address: str | Path, busy_milliseconds: int | None = None) -> bool:
    """Remove deleted data from the files; return whether that was possible now.

    SQLite's file is rewritten without gaps, and its log emptied. PostgreSQL frees the rows; its log, backups and the
    free space of its files are not ours. If it was not possible, :func:`needs_cleaning` stays true. It waits
    `busy_milliseconds` for others.
    """
    url = database_url(address)
    try:
        with _engine(url).connect() as connection:
            done = counter(connection, _DELETIONS)  # another that comes meanwhile is cleaned by the next
            if not _cleaned(connection, _BUSY_MILLISECONDS if busy_milliseconds is None else busy_milliseconds):
                return False
            set_counter(connection, _CLEANED, sa.case((counters.c.value < done, done), else_=counters.c.value), done)
            return True
    except sa.exc.DBAPIError as error:
        _log.warning("What was erased could not be taken out of the files of the database yet: %s", error)
        return False


def _engine(url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {"poolclass": sa.pool.NullPool, "isolation_level": "AUTOCOMMIT"}
    if url.get_backend_name() == "sqlite":
        return sa.create_engine(url, **options)
    return postgres_engine(url, PATIENT_SECONDS, **options)


def _cleaned(connection: sa.Connection, busy_milliseconds: int) -> bool:
    if connection.dialect.name != "sqlite":
        of_one = (participants, appearances, answers, closings, question_answers, exclusions, invitations, reasons)
        tables = (*of_one, ballots, events, job_participants, panel_groups)
        connection.exec_driver_sql(f"VACUUM {', '.join(table.name for table in tables)}")
        return True
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {busy_milliseconds}")
    connection.exec_driver_sql("PRAGMA secure_delete = ON")
    connection.exec_driver_sql("VACUUM")
    busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    if busy:
        _log.warning("What was erased is still in the files of the database, as somebody reads it; it is tried again")
    return not busy


# Deleting in time what a study keeps for so many days only, by a clock as far as it can be believed.


def forget_old(connection: sa.Connection, days: int, now: datetime) -> int:
    """Delete what is older than so many days; return how many rows had something to delete.

    Days count from the end of a participant, or from their consent if they did not finish; for links of people who
    never began, or withdrew, from their creation. Identities are deleted only once the study is closed: until then the
    same person could take part twice. Judgments stay.
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
        sa.update(question_answers)
        .where(question_answers.c.participant_id.in_(old), question_answers.c.written != "")
        .values(written=""),
    ]
    if standing(connection).state == "closed":
        links, of_old = sa.select(participants.c.token_hash), participants.c.id.in_(old)
        theirs_or_nobodys = invitations.c.token_hash.in_(links.where(of_old)) | (
            invitations.c.token_hash.not_in(links) & (invitations.c.made_at < limit)
        )
        identified = sa.or_(participants.c.panel_id.is_not(None), participants.c.panel_session.is_not(None))
        changes += [
            sa.update(participants).where(of_old, identified).values(panel_id=None, panel_session=None),
            sa.update(invitations).where(theirs_or_nobodys, invitations.c.name != "").values(name=""),
            sa.delete(panel_ids).where(panel_ids.c.added_at < limit),
        ]
    gone = sum(connection.execute(change).rowcount for change in changes)
    if gone:
        note_deletion(connection)
    return gone


class Forgotten(NamedTuple):
    """Result of deleting old data."""

    rows: int
    """Number of rows that had something to delete."""

    cleaned: bool | None
    """Whether deleted data, of now or earlier, is out of the files as well; None if there was nothing to clean."""

    days_off: int = 0
    """Days that the clock is ahead of when it was last believed, and so nothing old was deleted; or behind (< 0)."""


def forget_in_time(
    settings: StudySettings, store: Store, database: str | Path, *, clock_is_right: bool = False
) -> Forgotten:
    """Delete what is older than the study allows, and clean the files of deleted data.

    If the clock is far ahead, nothing is deleted until the time agrees again, or an operator says that it is right.
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
"""Longest credible gap: a clock that went further since the last look may be wrong."""

_SEEN, _BEHIND_SINCE = "clock seen", "clock behind since"  # in minutes since 1970
_DAY = 24 * 60
_LONGEST = LONGEST.days * _DAY


def days_off(connection: sa.Connection, now: datetime) -> int:
    """Return by how many days the clock is ahead of the last believed time, or behind (< 0); 0 if that is credible."""
    seen = counter(connection, _SEEN)
    since = _minutes(now) - seen if seen else 0
    return round(since / _DAY) if abs(since) > _LONGEST else 0


def look_at_clock(connection: sa.Connection, now: datetime, *, believed: bool = False) -> int:
    """Do the same, and store the time if it is credible, or an operator says that it is right (``believed``).

    The audit log has what an operator says.
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


def keep_newest_time(connection: sa.Connection) -> None:
    """If the clock was never looked at, store the newest time in the database before another one is written."""
    if not counter(connection, _SEEN):
        take_turns(connection)
        newest = _newest(connection)
        if newest:
            set_counter(connection, _SEEN, counters.c.value, newest)


def begin_again(connection: sa.Connection, now: datetime) -> int:
    """Believe the clock when an old study is restored; return by how many days it is ahead of the study.

    What is deleted too early is still in the file from which it was restored. A clock behind is not believed.
    """
    keep_newest_time(connection)
    ahead = max(days_off(connection, now), 0)
    look_at_clock(connection, now, believed=ahead > 0)
    return ahead


def in_words(off: int) -> str:
    """Return the words that follow the clock's time.

    >>> in_words(-90)
    ', 90 days behind the last time that is written here'
    """
    return f", {abs(off)} days {'ahead of' if off > 0 else 'behind'} the last time that is written here" if off else ""


def _goes_on(connection: sa.Connection, minutes: int) -> bool:
    """Return whether a clock has been behind for long enough to be believed."""
    since = counter(connection, _BEHIND_SINCE)
    if not since or minutes < since:
        set_counter(connection, _BEHIND_SINCE, minutes, minutes)
        return False
    return minutes - since > _LONGEST


def _newest(connection: sa.Connection) -> int:
    """Return the newest time in the database in minutes since 1970; 0 if there is none."""
    columns = [column for table in metadata.sorted_tables for column in table.c if isinstance(column.type, Moment)]
    found = [connection.execute(sa.select(sa.func.max(column))).scalar_one() for column in columns]
    return max((_minutes(moment) for moment in found if moment is not None), default=0)


def _minutes(moment: datetime) -> int:
    return int(moment.timestamp() // 60)
