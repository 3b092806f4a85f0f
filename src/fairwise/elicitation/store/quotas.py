"""How many may take part: in all, and of each relation to the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.elicitation.store.problems import Unknown
from fairwise.elicitation.store.slots import taking_part
from fairwise.elicitation.store.tables import counters, participants

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def is_full(connection: Connection, most: int, since: datetime) -> bool:
    """Whether as many take part as may: those who finished, and those at it who answered or began `since`."""
    return bool(most) and taking_part(connection, since) >= most


def choose_relation(
    connection: Connection, token_hash: bytes, *, relation: str, most: int | None, since: datetime, onward: str
) -> None:
    """Keep what someone is to the decision, and go on; or screen them out, if there are enough of these.

    Sent again it changes nothing.
    """
    # One at a time, so that two who come together do not both take the last place.
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=counters.c.value))
    stage = connection.execute(
        sa.select(participants.c.stage).where(participants.c.token_hash == token_hash)
    ).scalar_one_or_none()
    if stage is None:
        raise Unknown
    if stage != "relation":
        return
    of_these = participants.c.relation == relation
    full = most is not None and taking_part(connection, since, of_these) >= most
    connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash)
        .values(relation=relation, stage="screened_out" if full else onward)
    )
