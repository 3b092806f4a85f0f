"""Jobs: fits that an operator asked for. Whoever does them says so every few seconds, or another takes them over.

A job knows whose answers it is made from. When one of these people withdraws, it is made again without them, and a run
of it that is under way is void: ``restarts`` tells one run from the next.

Read-only links lead to the report of a fit: only hashes of their tokens are kept, and each can be revoked.
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
"""So often a job is begun without coming any further; one that ends its own process would be begun for ever."""

_GIVEN_UP = (
    f"It was begun {MOST_ATTEMPTS} times, and each time the process that makes models ended in the middle of it, "
    "perhaps for want of memory. Try a simpler model, or a machine with more memory."
)


@dataclass(frozen=True)
class Job:
    """A fit, and how far it is."""

    id: int
    made_at: datetime
    made_by: str
    settings: dict[str, Any]
    state: str
    """One of waiting, running, done, failed, cancelled."""

    progress: float
    """From 0 to 1."""

    message: str
    """What is being done now; why it ended, if it failed or was stopped."""

    cancel_wanted: bool
    started_at: datetime | None
    alive_at: datetime | None
    ended_at: datetime | None
    attempts: int = 0
    """How often it was begun since it last came further."""

    restarts: int = 0
    """How often it was begun anew, as somebody whose answers it has withdrew or was erased."""


def submit(connection: sa.Connection, settings: dict[str, Any], operator_name: str, at: datetime) -> int:
    """Put a job in the queue; returns its id."""
    values = {
        "made_at": at,
        "made_by": operator_name,
        "settings": json.dumps(settings, ensure_ascii=False),
        "state": "waiting",
        "message": "",
    }
    return int(connection.execute(sa.insert(jobs).returning(jobs.c.id), values).scalar_one())


def find_job(connection: sa.Connection, job_id: int) -> Job | None:
    """The job of an id."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).one_or_none()
    return None if row is None else _job(row)


def all_jobs(connection: sa.Connection, *, locked: bool = False) -> list[Job]:
    """Every job, the newest first; none of them changes before the transaction ends, if they are ``locked``."""
    query = sa.select(jobs).order_by(jobs.c.id.desc())
    return [_job(row) for row in connection.execute(query.with_for_update() if locked else query)]


def want_cancel(connection: sa.Connection, job_id: int) -> None:
    """End a job that waits; ask whoever does one that runs to stop. One that has ended stays as it is."""
    mine = jobs.c.id == job_id
    ended = {"state": "cancelled", "message": "", "cancel_wanted": True, "ended_at": sa.func.current_timestamp()}
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "waiting").values(ended))
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "running").values(cancel_wanted=True))


def take(connection: sa.Connection, at: datetime, stale: timedelta) -> Job | None:
    """Take the oldest job that waits, or that nobody has been alive for since longer than `stale`.

    Of several who ask at once, each gets another: SQLite's writers come one after the other, and PostgreSQL passes over
    rows that someone else has locked. One that was begun too often ends here.
    """
    left_alone = (jobs.c.state == "running") & (jobs.c.alive_at < at - stale)
    free = sa.select(jobs.c.id, jobs.c.attempts).where((jobs.c.state == "waiting") | left_alone)
    oldest = free.order_by(jobs.c.id).limit(1).with_for_update(skip_locked=True)
    while (found := connection.execute(oldest).one_or_none()) is not None:
        mine = sa.update(jobs).where(jobs.c.id == found.id)
        if found.attempts >= MOST_ATTEMPTS:
            connection.execute(mine.values(state="failed", message=_GIVEN_UP, ended_at=at))
            continue
        begun = {"state": "running", "alive_at": at, "started_at": sa.func.coalesce(jobs.c.started_at, at)}
        connection.execute(mine.values(begun | {"attempts": jobs.c.attempts + 1}))
        return find_job(connection, found.id)
    return None


def report_progress(connection: sa.Connection, job: Job, progress: float, message: str, at: datetime) -> bool:
    """Say that the job is being done and how far it is; returns whether to stop."""
    attempts = sa.case((jobs.c.progress < progress, 1), else_=jobs.c.attempts)
    values = {"progress": progress, "message": message, "alive_at": at, "attempts": attempts}
    connection.execute(sa.update(jobs).where(_under_way(job)).values(values))
    cancel = connection.execute(sa.select(jobs.c.cancel_wanted).where(_under_way(job))).scalar_one_or_none()
    return cancel is None or bool(cancel)


def end(connection: sa.Connection, job: Job, state: str, message: str, at: datetime) -> bool:
    """The job is over: done, failed or cancelled. Returns False if this run of it is void, or to be stopped."""
    values = {"state": state, "message": message, "alive_at": at, "ended_at": at}
    mine = _under_way(job)
    if state == "done":
        values["progress"] = 1.0
        mine &= ~jobs.c.cancel_wanted
    return bool(connection.execute(sa.update(jobs).where(mine).values(values)).rowcount)


def put_back(connection: sa.Connection, job: Job, *, counted: bool = False) -> None:
    """Let another take it at once: whoever did it must stop. How far it was is kept, and an attempt only if counted."""
    waiting = {"state": "waiting", "attempts": jobs.c.attempts - (0 if counted else 1)}
    connection.execute(sa.update(jobs).where(_under_way(job)).values(waiting))


def is_under_way(connection: sa.Connection, job: Job) -> bool:
    """Whether this run of it is neither over nor void."""
    return connection.execute(sa.select(jobs.c.id).where(_under_way(job))).one_or_none() is not None


# Whose answers it has


def note_participants(connection: sa.Connection, job: Job, who: Query) -> list[int]:
    """Write down whose answers a job is made from; returns their numbers.

    `who` selects id and number of participants. One that is made again takes no answers of others than before: else
    people who withdraw and come again could keep it from ever being done.
    """
    of_this = job_participants.c.job_id == job.id
    if job.restarts:
        who = who.where(participants.c.id.in_(sa.select(job_participants.c.participant_id).where(of_this)))
    # Nobody of them is deleted before this is written, and each who is deleted after it finds it.
    found = connection.execute(who.with_for_update(read=True, key_share=True, of=participants)).all()
    if connection.execute(sa.select(jobs.c.id).where(_under_way(job)).with_for_update()).one_or_none() is None:
        raise NotUnderWay
    connection.execute(sa.delete(job_participants).where(of_this))
    if found:
        connection.execute(sa.insert(job_participants), [{"job_id": job.id, "participant_id": one.id} for one in found])
    return [one.number for one in found]


def restart_without(connection: sa.Connection, participant_id: int) -> bool:
    """Have every job that has someone's answers made again; returns whether there was one.

    Their row must be locked, so that no job takes their answers meanwhile. One that is being stopped stays so.
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


def _under_way(job: Job) -> sa.ColumnElement[bool]:
    return (jobs.c.id == job.id) & (jobs.c.state == "running") & (jobs.c.restarts == job.restarts)


def _job(row: AnyRow) -> Job:
    values = dict(row._mapping)  # noqa: SLF001 - its public name, as SQLAlchemy says
    values["settings"] = json.loads(values["settings"])
    values["cancel_wanted"] = bool(values["cancel_wanted"])
    return Job(**values)


class ReportLink(NamedTuple):
    """A link that was made; the link itself is kept nowhere."""

    id: int
    made_at: datetime
    made_by: str
    revoked_at: datetime | None


def make_link(connection: sa.Connection, token_hash: bytes, job_id: int, operator_name: str, at: datetime) -> None:
    """Keep a link; a form that is sent twice makes one."""
    known = sa.select(report_links.c.id).where(report_links.c.token_hash == token_hash)
    if connection.execute(known).one_or_none() is None:
        row = {"token_hash": token_hash, "job_id": job_id, "made_at": at, "made_by": operator_name}
        connection.execute(sa.insert(report_links), row)


def links_of(connection: sa.Connection, job_id: int) -> list[ReportLink]:
    """Every link to the report of a fit, the last one first."""
    columns = (report_links.c[name] for name in ReportLink._fields)
    found = sa.select(*columns).where(report_links.c.job_id == job_id).order_by(report_links.c.id.desc())
    return [ReportLink(*row) for row in connection.execute(found)]


def revoke_link(connection: sa.Connection, job_id: int, link_id: int, at: datetime) -> bool:
    """Let nobody read by this link any more; returns whether there is such a link."""
    mine = (report_links.c.id == link_id) & (report_links.c.job_id == job_id)
    revoked_at = sa.func.coalesce(report_links.c.revoked_at, at)
    return bool(connection.execute(sa.update(report_links).where(mine).values(revoked_at=revoked_at)).rowcount)


def job_of_link(connection: sa.Connection, token_hash: bytes) -> Job | None:
    """The fit whose report a link leads to; None if there is no such link, or none any more."""
    mine = (report_links.c.token_hash == token_hash) & report_links.c.revoked_at.is_(None)
    job_id = connection.execute(sa.select(report_links.c.job_id).where(mine)).scalar_one_or_none()
    return None if job_id is None else find_job(connection, job_id)
