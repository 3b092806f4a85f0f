"""The pairs that a participant judged, each with the answer that is current."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from fairwise.judgments import Answer
from fairwise.store.pairs import CURRENT
from fairwise.store.tables import answers, appearances, participants

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Judged(NamedTuple):
    """A pair with its answer, `a` on the left."""

    position: int
    a: str
    b: str
    design: str
    answer: Answer


def anyone_answered(connection: Connection) -> bool:
    """Whether there is any answer at all."""
    return connection.execute(sa.select(answers.c.id).limit(1)).first() is not None


def judged(connection: Connection, number: int) -> list[Judged]:
    """All pairs that the participant of this number answered, in order."""
    query = (
        sa.select(appearances.c.position, appearances.c.a, appearances.c.b, appearances.c.design, answers.c.answer)
        .select_from(participants)
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .join(answers, CURRENT)
        .where(participants.c.number == number)
        .order_by(appearances.c.position)
    )
    return [Judged(*row[:4], Answer(row.answer)) for row in connection.execute(query)]
