"""What was learned from all participants, each time it was learned anew: an active pair names the one that chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.pairs import CURRENT
from fairwise.store.tables import answer_models, answers, appearances, participants

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredModel:
    """As it was kept."""

    id: int
    learned_from: int
    parameters: str


_NEWEST = (
    sa.select(answer_models.c.id, answer_models.c.learned_from, answer_models.c.parameters)
    .order_by(answer_models.c.id.desc())
    .limit(1)
)
_EVERYTHING_SAID = (
    sa.select(participants.c.number, appearances.c.a, appearances.c.b, answers.c.answer)
    .join(appearances, appearances.c.participant_id == participants.c.id)
    .join(answers, CURRENT)
    .order_by(participants.c.number, appearances.c.position)
)


def newest(connection: Connection) -> StoredModel | None:
    """The one that was learned last, by whichever process."""
    row = connection.execute(_NEWEST).one_or_none()
    return None if row is None else StoredModel(*row)


def how_many_answered(connection: Connection) -> int:
    """Pairs that have an answer, of everyone."""
    return connection.execute(sa.select(sa.func.count()).where(answers.c.version == 1)).scalar_one()


def everything_said(connection: Connection) -> list[tuple[int, str, str, str]]:
    """Everyone's current answers: participant's number, the two people, the answer."""
    return [(number, a, b, answer) for number, a, b, answer in connection.execute(_EVERYTHING_SAID)]


def keep(connection: Connection, *, learned_from: int, parameters: str, at: datetime) -> int:
    """Keep what was learned; returns its id."""
    values = {"learned_from": learned_from, "made_at": at, "parameters": parameters}
    return int(connection.execute(sa.insert(answer_models).returning(answer_models.c.id), values).scalar_one())
