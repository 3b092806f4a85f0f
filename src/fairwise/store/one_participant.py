"""One participant, for whoever runs the study: their way through it, every version of every answer, what they wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from fairwise.store.errors import Unknown
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.tables import answers, appearances, closings, invitations, participants, rooms

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


class Way(NamedTuple):
    """How someone came, and how far."""

    id: int
    number: int
    slot: int
    stage: str
    came_by: str
    consent_version: str
    started_at: datetime
    finished_at: datetime | None
    check_tries: int
    language: str | None
    relation: str | None
    excluded: bool
    name: str | None
    panel_id: str | None
    room: str | None
    panel_signed: bool


class Version(NamedTuple):
    """One answer; the last of a pair is current."""

    version: int
    answer: str
    why: str
    confidence: int | None
    seconds: float | None
    answered_at: datetime
    round: int


@dataclass(frozen=True)
class ShownOnce:
    """A pair as it was shown, with all that was answered."""

    position: int
    a: str
    b: str
    design: str
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class Closing:
    """What was written at the end."""

    rules: str
    expressible: str
    comments: str


@dataclass(frozen=True)
class OneParticipant:
    """All that is kept about someone, but for keys to their pages."""

    way: Way
    pairs: list[ShownOnce] = field(default_factory=list)
    closing: Closing | None = None


_WAY = (
    sa.select(
        participants.c.id,
        participants.c.number,
        participants.c.slot,
        participants.c.stage,
        participants.c.came_by,
        participants.c.consent_version,
        participants.c.consented_at,
        participants.c.finished_at,
        participants.c.check_tries,
        participants.c.language,
        participants.c.relation,
        IS_EXCLUDED,
        invitations.c.name,
        participants.c.panel_id,
        rooms.c.name.label("room"),
        participants.c.panel_signed,
    )
    .outerjoin(invitations, invitations.c.token_hash == participants.c.token_hash)
    .outerjoin(rooms, rooms.c.id == participants.c.room_id)
)
_PAIRS = (
    sa.select(
        appearances.c.position,
        appearances.c.a,
        appearances.c.b,
        appearances.c.design,
        answers.c.version,
        answers.c.answer,
        answers.c.why,
        answers.c.confidence,
        answers.c.seconds,
        answers.c.answered_at,
        answers.c.round,
    )
    .outerjoin(answers, answers.c.appearance_id == appearances.c.id)
    .order_by(appearances.c.position, answers.c.version)
)


def same_panel_id(connection: Connection, way: Way) -> list[int]:
    """The numbers of others who said that they have the same id of a panel."""
    same = (participants.c.came_by == way.came_by) & (participants.c.panel_id == way.panel_id)
    query = sa.select(participants.c.number).where(same, participants.c.id != way.id).order_by(participants.c.number)
    return list(connection.execute(query).scalars())


def one_participant(connection: Connection, number: int) -> OneParticipant:
    """The participant of this number."""
    found = connection.execute(_WAY.where(participants.c.number == number)).one_or_none()
    if found is None:
        raise Unknown
    way = Way._make(found)
    rows = connection.execute(_PAIRS.where(appearances.c.participant_id == way.id)).all()
    pairs = []
    for shown, theirs in groupby(rows, key=lambda row: row[:4]):
        versions = tuple(Version._make(row[4:]) for row in theirs if row.version is not None)
        position, a, b, design = shown
        pairs.append(ShownOnce(position, a, b, design, versions))
    closing = connection.execute(
        sa.select(closings.c.rules, closings.c.expressible, closings.c.comments).where(
            closings.c.participant_id == way.id
        )
    ).one_or_none()
    return OneParticipant(way, pairs, None if closing is None else Closing(*closing))
