"""One participant, for whoever runs the study: their way through it, every version of every answer, what they wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from fairwise.store.errors import Unknown
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.tables import answers, appearances, closings, invitations, participants, rooms
from fairwise.study.stages import ENDS

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


class Claim(NamedTuple):
    """Someone who says that they have an id of a panel."""

    number: int
    session: str
    """How the panel's name of their session begins: found on its list by that, but no key to their pages."""

    signed: bool
    began_at: datetime
    answered: int
    first_answer_at: datetime | None
    finished_at: datetime | None
    excluded: bool


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
_CLAIMS = (
    sa.select(
        participants.c.number,
        sa.func.coalesce(participants.c.panel_session, ""),
        participants.c.panel_signed,
        participants.c.consented_at,
        sa.func.count(answers.c.id),
        sa.func.min(answers.c.answered_at),
        participants.c.finished_at,
        IS_EXCLUDED,
    )
    .outerjoin(appearances, appearances.c.participant_id == participants.c.id)
    .outerjoin(answers, (answers.c.appearance_id == appearances.c.id) & (answers.c.version == 1))
    .group_by(participants.c.id)
    .order_by(participants.c.number)
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


def claims(connection: Connection, way: Way) -> list[Claim]:
    """Everyone who says that they have this participant's id of a panel, if there are several."""
    if way.panel_id is None:
        return []
    same = (participants.c.came_by == way.came_by) & (participants.c.panel_id == way.panel_id)
    found = [Claim._make(row) for row in connection.execute(_CLAIMS.where(same))]
    if len(found) == 1:
        return []
    return [claim._replace(session=claim.session[: len(claim.session) // 3]) for claim in found]


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


# Everyone the study knows of, and where they are: invited, started, finished, screened out, withdrawn or revoked.


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
        sa.case((participants.c.stage.in_(ENDS), participants.c.stage), else_="started").label("state"),
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
