"""How far everyone is, and what they answered: all that is needed to watch a study."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from fairwise.store.answers import FIRST
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.tables import answers, appearances, invitations, participants, rooms, withdrawals
from fairwise.study.quality import TimedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

_AT_ONCE = 500


class Progress(NamedTuple):
    """Where one participant is."""

    id: int
    number: int
    stage: str
    came_by: str
    started_at: datetime
    finished_at: datetime | None
    excluded: bool
    answered: int
    versions: int
    last_answer_id: int
    """With `versions`, it changes with every answer."""


class Answers(NamedTuple):
    """What one participant answered: as it was before a second look, and when each pair was first answered."""

    participant_id: int
    given: list[TimedAnswer]
    first_at: list[datetime]
    last_at: datetime


class Identity(NamedTuple):
    """Who a participant is to the operator."""

    name: str
    panel_id: str
    room: str
    panel_signed: bool = False


class Outside(NamedTuple):
    """How many were invited and do not take part."""

    invited: int
    revoked: int
    withdrawn: int


# Nothing but what is in indexes: this is asked every few seconds.
_of_each = (
    sa.select(
        appearances.c.participant_id,
        sa.func.sum(sa.case((answers.c.version == 1, 1), else_=0)).label("answered"),
        sa.func.count().label("versions"),
        sa.func.max(answers.c.id).label("last_id"),
    )
    .join(answers, answers.c.appearance_id == appearances.c.id)
    .group_by(appearances.c.participant_id)
    .subquery()
)
_PROGRESS = (
    sa.select(
        participants.c.id,
        participants.c.number,
        participants.c.stage,
        participants.c.came_by,
        participants.c.consented_at,
        participants.c.finished_at,
        IS_EXCLUDED,
        sa.func.coalesce(_of_each.c.answered, 0),
        sa.func.coalesce(_of_each.c.versions, 0),
        sa.func.coalesce(_of_each.c.last_id, 0),
    )
    .outerjoin(_of_each, _of_each.c.participant_id == participants.c.id)
    .order_by(participants.c.number)
)
_VERSIONS = (
    sa.select(
        appearances.c.participant_id,
        appearances.c.position,
        appearances.c.a,
        appearances.c.b,
        appearances.c.design,
        answers.c.answer,
        answers.c.seconds,
        answers.c.answered_at,
        answers.c.round,
    )
    .join(answers, answers.c.appearance_id == appearances.c.id)
    .order_by(appearances.c.participant_id, appearances.c.position, answers.c.version)
)
_IDENTITIES = (
    sa.select(
        participants.c.number,
        sa.func.coalesce(invitations.c.name, ""),
        sa.func.coalesce(participants.c.panel_id, ""),
        sa.func.coalesce(rooms.c.name, ""),
        participants.c.panel_signed,
    )
    .outerjoin(invitations, invitations.c.token_hash == participants.c.token_hash)
    .outerjoin(rooms, rooms.c.id == participants.c.room_id)
)


def progress(connection: Connection) -> list[Progress]:
    """Everyone who agreed to take part, by number."""
    return [Progress(*row) for row in connection.execute(_PROGRESS)]


def answers_of(connection: Connection, participant_ids: Sequence[int]) -> Iterator[Answers]:
    """What these answered; who has not answered anything is left out."""
    for start in range(0, len(participant_ids), _AT_ONCE):
        some = participant_ids[start : start + _AT_ONCE]
        rows = connection.execute(_VERSIONS.where(appearances.c.participant_id.in_(some))).all()
        for participant_id, theirs in groupby(rows, key=lambda row: row[0]):
            yield _answers(participant_id, theirs)


def _answers(participant_id: int, rows: Iterable[Any]) -> Answers:
    given: dict[int, TimedAnswer] = {}
    first_at: list[datetime] = []
    all_at: list[datetime] = []
    for _, position, a, b, design, answer, seconds, at, turn in rows:
        before = given.get(position)
        if before is None:
            given[position] = TimedAnswer(position, a, b, design, answer, seconds)
            first_at.append(at)
        elif turn == FIRST:
            given[position] = before._replace(answer=answer)
        all_at.append(at)
    return Answers(participant_id, list(given.values()), first_at, max(all_at))


def identities(connection: Connection) -> dict[int, Identity]:
    """Who everyone is to the operator, by number."""
    return {number: Identity(*who) for number, *who in connection.execute(_IDENTITIES)}


def outside(connection: Connection) -> Outside:
    """Those who were invited and have not begun, whose link was revoked before, and all who withdrew."""
    revoked = invitations.c.revoked_at.is_not(None)
    unused = (
        sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sa.case((revoked, 1), else_=0)), 0))
        .select_from(invitations)
        .outerjoin(participants, participants.c.token_hash == invitations.c.token_hash)
        .where(participants.c.id.is_(None), invitations.c.withdrawn_on.is_(None))
    )
    all_unused, of_them_revoked = connection.execute(unused).one()
    withdrawn = connection.execute(sa.select(sa.func.count()).select_from(withdrawals)).scalar_one()
    return Outside(all_unused - of_them_revoked, of_them_revoked, withdrawn)
