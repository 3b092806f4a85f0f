"""Read-only links to the report of a fit: only hashes of their tokens are kept, and each can be revoked."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.store.jobs import Job, find_job
from fairwise.store.tables import report_links


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
