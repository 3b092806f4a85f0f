"""Answers before and after a participant's second look. Both are kept; of each round, the last version stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from fairwise.judgments.answer import Answer
from fairwise.store.tables import answers, appearances, participants

if TYPE_CHECKING:
    from sqlalchemy import Connection

FIRST, SECOND = 1, 2

_versions = answers.alias()
_latest_of_its_round = (
    sa.select(sa.func.max(_versions.c.version))
    .where(_versions.c.appearance_id == answers.c.appearance_id, _versions.c.round == answers.c.round)
    .correlate(answers)
    .scalar_subquery()
)
LAST_OF_EACH_ROUND = (answers.c.appearance_id == appearances.c.id) & (answers.c.version == _latest_of_its_round)
"""Joins an appearance with its answer in each round that has one."""

_GIVEN = (
    sa.select(appearances.c.position, appearances.c.a, appearances.c.b, answers.c.answer, answers.c.round)
    .select_from(participants)
    .join(appearances, appearances.c.participant_id == participants.c.id)
    .join(answers, LAST_OF_EACH_ROUND)
    .where(participants.c.token_hash == sa.bindparam("token_hash"))
    .order_by(appearances.c.position, answers.c.round)
)


class Rounds(NamedTuple):
    """What was said about a pair before the second look, and what is current."""

    position: int
    a: str
    b: str
    first: Answer
    current: Answer


def rounds(connection: Connection, token_hash: bytes) -> list[Rounds]:
    """All pairs that a participant answered, in order."""
    found: dict[int, Rounds] = {}
    for position, a, b, text, _ in connection.execute(_GIVEN, {"token_hash": token_hash}):
        answer = Answer(text)
        first = found[position].first if position in found else answer
        found[position] = Rounds(position, a, b, first, answer)
    return list(found.values())
