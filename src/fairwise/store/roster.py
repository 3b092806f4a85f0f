"""Everyone the study knows of, and where they are: invited, started, finished, screened out, withdrawn or revoked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.tables import answers, appearances, invitations, participants, rooms

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True)
class Entry:
    """One person, of whom nothing is known but this."""

    number: int | None
    """None for those who have not agreed to take part."""

    state: str
    came_by: str
    name: str
    """What the operator called them when inviting them."""

    panel_id: str
    room: str
    relation: str
    language: str
    answered: int
    started_at: datetime | None
    finished_at: datetime | None


_answered = (
    sa.select(appearances.c.participant_id, sa.func.count().label("answered"))
    .join(answers, (answers.c.appearance_id == appearances.c.id) & (answers.c.version == 1))
    .group_by(appearances.c.participant_id)
    .subquery()
)
_TAKING_PART = (
    sa.select(
        participants.c.number,
        sa.case((participants.c.stage.in_(["finished", "screened_out"]), participants.c.stage), else_="started").label(
            "state"
        ),
        participants.c.came_by,
        sa.func.coalesce(invitations.c.name, ""),
        sa.func.coalesce(participants.c.panel_id, ""),
        sa.func.coalesce(rooms.c.name, ""),
        sa.func.coalesce(participants.c.relation, ""),
        sa.func.coalesce(participants.c.language, ""),
        sa.func.coalesce(_answered.c.answered, 0),
        participants.c.consented_at,
        participants.c.finished_at,
    )
    .outerjoin(invitations, invitations.c.token_hash == participants.c.token_hash)
    .outerjoin(rooms, rooms.c.id == participants.c.room_id)
    .outerjoin(_answered, _answered.c.participant_id == participants.c.id)
    .order_by(participants.c.number)
)
_ONLY_INVITED = (
    sa.select(
        invitations.c.name,
        sa.case(
            (invitations.c.withdrawn_on.is_not(None), "withdrawn"),
            (invitations.c.revoked_at.is_not(None), "revoked"),
            else_="invited",
        ).label("state"),
    )
    .outerjoin(participants, participants.c.token_hash == invitations.c.token_hash)
    .where(participants.c.id.is_(None))
    .order_by(invitations.c.id)
)


def roster(connection: Connection) -> list[Entry]:
    """Those who take part by number, then those who were invited and do not."""
    invited = connection.execute(_ONLY_INVITED).all()
    return [
        *(Entry(*row) for row in connection.execute(_TAKING_PART)),
        *(Entry(None, row.state, "personal", row.name, "", "", "", "", 0, None, None) for row in invited),
    ]
