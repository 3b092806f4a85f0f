"""Jobs: fits that an operator requested. A process that runs one reports every few seconds, or another takes it over.

A job knows whose answers it uses. When one of these people withdraws, it is run again without them, and a run in
progress is void: ``restarts`` numbers the runs.

Read-only links lead to the report of a fit. Only hashes of their tokens are stored, and each can be revoked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from fairwise.store.errors import NotUnderWay
from fairwise.store.schema import AnyRow, Query, job_participants, jobs, participants, report_links

MOST_ATTEMPTS = 3
"""Number of attempts without progress. A job that ends its own process would be started for ever."""

_TOO_MANY_ATTEMPTS = (
    f"It was begun {MOST_ATTEMPTS} times, and each time the process that makes models ended in the middle of it, "
    "perhaps for want of memory. Try a simpler model, or a machine with more memory."
)


@dataclass(frozen=True)
class Job:
    """A fit, and its progress."""

    id: int
    made_at: datetime
    made_by: str
    settings: dict[str, Any]
    state: str
    """One of waiting, running, done, failed, cancelled."""

    progress: float
    """Share that is done, from 0 to 1."""

    message: str
    """Present step, or why it failed or was stopped."""

    cancel_wanted: bool
    started_at: datetime | None
    alive_at: datetime | None
    ended_at: datetime | None
    attempts: int = 0
    """Number of attempts since its last progress."""

    restarts: int = 0
    """Number of restarts after withdrawals and erasures."""


def submit(connection: sa.Connection, settings: dict[str, Any], operator_name: str, at: datetime) -> int:
    """Put a job in the queue; return its id."""
    values = {
        "made_at": at,
        "made_by": operator_name,
        "settings": json.dumps(settings, ensure_ascii=False),
        "state": "waiting",
        "message": "",
    }
    return int(connection.execute(sa.insert(jobs).returning(jobs.c.id), values).scalar_one())


def find_job(connection: sa.Connection, job_id: int) -> Job | None:
    """Return the job of an id."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).one_or_none()
    return None if row is None else _job(row)


def all_jobs(connection: sa.Connection, *, locked: bool = False) -> list[Job]:
    """Return every job, the newest first. If ``locked``, none of them changes before the transaction ends."""
    query = sa.select(jobs).order_by(jobs.c.id.desc())
    return [_job(row) for row in connection.execute(query.with_for_update() if locked else query)]


def want_cancel(connection: sa.Connection, job_id: int) -> None:
    """End a queued job, or ask the process of a running one to stop. A job that has ended stays as it is."""
    mine = jobs.c.id == job_id
    ended = {"state": "cancelled", "message": "", "cancel_wanted": True, "ended_at": sa.func.current_timestamp()}
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "waiting").values(ended))
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "running").values(cancel_wanted=True))


def take(connection: sa.Connection, at: datetime, stale: timedelta) -> Job | None:
    """Take the oldest job that is queued, or whose process gave no sign of life for longer than `stale`.

    Several processes that ask at once get different jobs: SQLite has one writer at a time, and PostgreSQL skips locked
    rows. A job with too many attempts fails here.
    """
    left_alone = (jobs.c.state == "running") & (jobs.c.alive_at < at - stale)
    free = sa.select(jobs.c.id, jobs.c.attempts).where((jobs.c.state == "waiting") | left_alone)
    oldest = free.order_by(jobs.c.id).limit(1).with_for_update(skip_locked=True)
    while (row := connection.execute(oldest).one_or_none()) is not None:
        mine = sa.update(jobs).where(jobs.c.id == row.id)
        if row.attempts >= MOST_ATTEMPTS:
            connection.execute(mine.values(state="failed", message=_TOO_MANY_ATTEMPTS, ended_at=at))
            continue
        begun = {"state": "running", "alive_at": at, "started_at": sa.func.coalesce(jobs.c.started_at, at)}
        connection.execute(mine.values(begun | {"attempts": jobs.c.attempts + 1}))
        return find_job(connection, row.id)
    return None


def report_progress(connection: sa.Connection, job: Job, progress: float, message: str, at: datetime) -> bool:
    """Report a sign of life and the progress of a job; return whether to stop."""
    attempts = sa.case((jobs.c.progress < progress, 1), else_=jobs.c.attempts)
    values = {"progress": progress, "message": message, "alive_at": at, "attempts": attempts}
    connection.execute(sa.update(jobs).where(_is_this_run(job)).values(values))
    cancel = connection.execute(sa.select(jobs.c.cancel_wanted).where(_is_this_run(job))).scalar_one_or_none()
    return cancel is None or bool(cancel)


def end(connection: sa.Connection, job: Job, state: str, message: str, at: datetime) -> bool:
    """End a job as done, failed or cancelled; return False if this run is void, or to be stopped."""
    values = {"state": state, "message": message, "alive_at": at, "ended_at": at}
    mine = _is_this_run(job)
    if state == "done":
        values["progress"] = 1.0
        mine &= ~jobs.c.cancel_wanted
    return bool(connection.execute(sa.update(jobs).where(mine).values(values)).rowcount)


def put_back(connection: sa.Connection, job: Job, *, counted: bool = False) -> None:
    """Put a job back into the queue, with its progress. The attempt counts only if `counted`."""
    waiting = {"state": "waiting", "attempts": jobs.c.attempts - (0 if counted else 1)}
    connection.execute(sa.update(jobs).where(_is_this_run(job)).values(waiting))


def is_under_way(connection: sa.Connection, job: Job) -> bool:
    """Return whether this run is neither over nor void."""
    return connection.execute(sa.select(jobs.c.id).where(_is_this_run(job))).one_or_none() is not None


# Whose answers it has


def note_participants(connection: sa.Connection, job: Job, who: Query) -> list[int]:
    """Store whose answers a job uses; return their numbers.

    `who` selects id and number of participants. A job that is run again uses no answers of others than before: else
    people who withdraw and come again could keep it from ever ending.
    """
    of_this = job_participants.c.job_id == job.id
    if job.restarts:
        who = who.where(participants.c.id.in_(sa.select(job_participants.c.participant_id).where(of_this)))
    # Nobody of them is deleted before this is written, and each who is deleted after it finds it.
    people = connection.execute(who.with_for_update(read=True, key_share=True, of=participants)).all()
    if connection.execute(sa.select(jobs.c.id).where(_is_this_run(job)).with_for_update()).one_or_none() is None:
        raise NotUnderWay
    connection.execute(sa.delete(job_participants).where(of_this))
    if people:
        rows = [{"job_id": job.id, "participant_id": person.id} for person in people]
        connection.execute(sa.insert(job_participants), rows)
    return [person.number for person in people]


def restart_without(connection: sa.Connection, participant_id: int) -> bool:
    """Restart every job with a participant's answers; return whether there was one.

    Their row must be locked, so that no job takes their answers meanwhile. A job that is being stopped stays so.
    """
    theirs = sa.select(job_participants.c.job_id).where(job_participants.c.participant_id == participant_id)
    # Locked in the order of all_jobs, so that nobody waits for somebody who waits for them.
    locked = sa.select(jobs.c.id).where(jobs.c.id.in_(theirs)).order_by(jobs.c.id.desc()).with_for_update()
    ids = list(connection.execute(locked).scalars())
    if not ids:
        return False
    kept = jobs.c.state.in_(["waiting", "done"]) | ((jobs.c.state == "running") & ~jobs.c.cancel_wanted)
    anew = {"state": "waiting", "progress": 0.0, "message": "", "cancel_wanted": False, "attempts": 0}
    ended = {"alive_at": None, "ended_at": None, "restarts": jobs.c.restarts + 1}
    connection.execute(sa.update(jobs).where(jobs.c.id.in_(ids), kept).values(anew | ended))
    return True


def _is_this_run(job: Job) -> sa.ColumnElement[bool]:
    return (jobs.c.id == job.id) & (jobs.c.state == "running") & (jobs.c.restarts == job.restarts)


def _job(row: AnyRow) -> Job:
    values = dict(row._mapping)  # noqa: SLF001 - its public name, as SQLAlchemy says
    values["settings"] = json.loads(values["settings"])
    values["cancel_wanted"] = bool(values["cancel_wanted"])
    return Job(**values)


class ReportLink(NamedTuple):
    """A link to a report; the link itself is stored nowhere."""

    id: int
    made_at: datetime
    made_by: str
    revoked_at: datetime | None


def make_link(connection: sa.Connection, token_hash: bytes, job_id: int, operator_name: str, at: datetime) -> None:
    """Store a link; a form that is sent twice creates one."""
    same = sa.select(report_links.c.id).where(report_links.c.token_hash == token_hash)
    if connection.execute(same).one_or_none() is None:
        row = {"token_hash": token_hash, "job_id": job_id, "made_at": at, "made_by": operator_name}
        connection.execute(sa.insert(report_links), row)


def links_of(connection: sa.Connection, job_id: int) -> list[ReportLink]:
    """Return every link to the report of a fit, the last one first."""
    columns = (report_links.c[name] for name in ReportLink._fields)
    found = sa.select(*columns).where(report_links.c.job_id == job_id).order_by(report_links.c.id.desc())
    return [ReportLink(*row) for row in connection.execute(found)]


def revoke_link(connection: sa.Connection, job_id: int, link_id: int, at: datetime) -> bool:
    """Revoke a link; return whether there is such a link."""
    mine = (report_links.c.id == link_id) & (report_links.c.job_id == job_id)
    revoked_at = sa.func.coalesce(report_links.c.revoked_at, at)
    return bool(connection.execute(sa.update(report_links).where(mine).values(revoked_at=revoked_at)).rowcount)


def job_of_link(connection: sa.Connection, token_hash: bytes) -> Job | None:
    """Return the fit whose report a link leads to; None if there is no such link, or it was revoked."""
    mine = (report_links.c.token_hash == token_hash) & report_links.c.revoked_at.is_(None)
    job_id = connection.execute(sa.select(report_links.c.job_id).where(mine)).scalar_one_or_none()
    return None if job_id is None else find_job(connection, job_id)
