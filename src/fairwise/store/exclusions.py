"""Participants whom an operator leaves out of what is said about the study. Nothing of theirs is changed or deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from fairwise.store.errors import Unknown
from fairwise.store.tables import exclusions, participants

IS_EXCLUDED = (
    sa.select(exclusions.c.id)
    .where(exclusions.c.participant_id == participants.c.id, exclusions.c.included_at.is_(None))
    .correlate(participants)
    .exists()
)
"""Of a participant, whether one is in force."""


@dataclass(frozen=True)
class Exclusion:
    """One decision, and when it was taken back."""

    reason: str
    excluded_at: datetime
    excluded_by: str
    included_at: datetime | None
    included_by: str | None


def exclude(connection: sa.Connection, number: int, *, reason: str, by: str, at: datetime) -> None:
    """Leave a participant out; who is left out already stays so, for the reason that was given first."""
    participant_id = _locked(connection, number)
    excluded = sa.select(IS_EXCLUDED).where(participants.c.id == participant_id)
    if not connection.execute(excluded).scalar_one():
        values = {"participant_id": participant_id, "reason": reason, "excluded_at": at, "excluded_by": by}
        connection.execute(sa.insert(exclusions), values)


def include(connection: sa.Connection, number: int, *, by: str, at: datetime) -> None:
    """Take a participant in again; sent again it changes nothing."""
    connection.execute(
        sa.update(exclusions)
        .where(exclusions.c.participant_id == _locked(connection, number), exclusions.c.included_at.is_(None))
        .values(included_at=at, included_by=by)
    )


def history(connection: sa.Connection, number: int) -> list[Exclusion]:
    """All that was decided about a participant, the first decision first."""
    rows = connection.execute(
        sa.select(
            exclusions.c.reason,
            exclusions.c.excluded_at,
            exclusions.c.excluded_by,
            exclusions.c.included_at,
            exclusions.c.included_by,
        )
        .join(participants, exclusions.c.participant_id == participants.c.id)
        .where(participants.c.number == number)
        .order_by(exclusions.c.id)
    )
    return [Exclusion(*row) for row in rows]


def _locked(connection: sa.Connection, number: int) -> int:
    """The id of the participant, whom several processes on PostgreSQL decide about one after the other."""
    locked = sa.select(participants.c.id).where(participants.c.number == number).with_for_update()
    participant_id = connection.execute(locked).scalar_one_or_none()
    if participant_id is None:
        raise Unknown
    return int(participant_id)
