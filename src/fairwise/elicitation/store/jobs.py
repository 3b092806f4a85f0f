"""Jobs: fits that an operator asked for. Whoever does them says so every few seconds, or another takes them over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.elicitation.store.tables import jobs

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from sqlalchemy import Connection, Row


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
    """What is being done now; what went wrong, if it failed."""

    cancel_wanted: bool
    started_at: datetime | None
    alive_at: datetime | None
    ended_at: datetime | None


def submit(connection: Connection, settings: dict[str, Any], operator_name: str, at: datetime) -> int:
    """Put a job in the queue; returns its id."""
    values = {
        "made_at": at,
        "made_by": operator_name,
        "settings": json.dumps(settings, ensure_ascii=False),
        "state": "waiting",
        "message": "",
    }
    return int(connection.execute(sa.insert(jobs).returning(jobs.c.id), values).scalar_one())


def cancel_all(connection: Connection) -> None:
    """Stop every fit that waits or runs: it would know answers that were deleted meanwhile."""
    connection.execute(sa.update(jobs).where(jobs.c.state.in_(["waiting", "running"])).values(cancel_wanted=True))


def find_job(connection: Connection, job_id: int) -> Job | None:
    """The job of an id."""
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job_id)).one_or_none()
    return None if row is None else _job(row)


def all_jobs(connection: Connection) -> list[Job]:
    """Every job, the newest first."""
    return [_job(row) for row in connection.execute(sa.select(jobs).order_by(jobs.c.id.desc()))]


def want_cancel(connection: Connection, job_id: int) -> None:
    """End a job that waits; ask whoever does one that runs to stop. One that has ended stays as it is."""
    mine = jobs.c.id == job_id
    ended = {"state": "cancelled", "message": "", "cancel_wanted": True, "ended_at": sa.func.current_timestamp()}
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "waiting").values(ended))
    connection.execute(sa.update(jobs).where(mine, jobs.c.state == "running").values(cancel_wanted=True))


def take(connection: Connection, at: datetime, stale: timedelta) -> Job | None:
    """Take the oldest job that waits, or that nobody has been alive for since longer than `stale`.

    Of several who ask at once, each gets another: SQLite's writers come one after the other, and PostgreSQL passes over
    rows that someone else has locked.
    """
    left_alone = (jobs.c.state == "running") & (jobs.c.alive_at < at - stale)
    free = sa.select(jobs.c.id).where((jobs.c.state == "waiting") | left_alone).order_by(jobs.c.id).limit(1)
    job_id = connection.execute(free.with_for_update(skip_locked=True)).scalar_one_or_none()
    if job_id is None:
        return None
    begun = {"state": "running", "alive_at": at, "started_at": sa.func.coalesce(jobs.c.started_at, at)}
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(begun))
    return find_job(connection, job_id)


def tell(connection: Connection, job_id: int, progress: float, message: str, at: datetime) -> bool:
    """Say that the job is being done and how far it is; returns whether to stop."""
    values = {"progress": progress, "message": message, "alive_at": at}
    running = (jobs.c.id == job_id) & (jobs.c.state == "running")
    connection.execute(sa.update(jobs).where(running).values(values))
    wanted = connection.execute(sa.select(jobs.c.cancel_wanted).where(running)).scalar_one_or_none()
    return wanted is None or bool(wanted)


def end(connection: Connection, job_id: int, state: str, message: str, at: datetime) -> None:
    """The job is over: done, failed or cancelled."""
    values = {"state": state, "message": message, "alive_at": at, "ended_at": at}
    if state == "done":
        values["progress"] = 1.0
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id, jobs.c.state == "running").values(values))


def put_back(connection: Connection, job_id: int) -> None:
    """Let another take it at once: whoever did it must stop. How far it was is kept."""
    running = (jobs.c.id == job_id) & (jobs.c.state == "running")
    connection.execute(sa.update(jobs).where(running).values(state="waiting"))


def _job(row: Row[Any]) -> Job:
    values = dict(row._mapping)  # noqa: SLF001 - its public name, as SQLAlchemy says
    values["settings"] = json.loads(values["settings"])
    values["cancel_wanted"] = bool(values["cancel_wanted"])
    return Job(**values)
