"""Participants as operators see them: one in full, everyone, and their progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.store.answers import ALL_VERSIONS, HAS_ANSWER, Appearance, read_appearances
from fairwise.store.errors import Unknown
from fairwise.store.quotas import IS_EXCLUDED
from fairwise.store.recruitment import INVITATION_STATE
from fairwise.store.schema import answers, appearances, closings, invitations, participants, rooms, withdrawals
from fairwise.store.study_state import FIRST
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import ENDS

_AT_ONCE = 500


class Claim(NamedTuple):
    """Participant who claims an id of a panel."""

    number: int
    session: str
    """Beginning of the panel's name of their session: enough to find it on its list, but no key to their pages."""

    signed: bool
    began_at: datetime
    answered: int
    first_answer_at: datetime | None
    finished_at: datetime | None
    excluded: bool


@dataclass(frozen=True)
class Closing:
    """Closing answers."""

    rules: str
    expressible: str
    comments: str


class OneParticipant(NamedTuple):
    """All that is stored about a participant, except keys to their pages."""

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
    simulated: bool
    pairs: list[Appearance]
    """Pairs with every version of every answer."""

    closing: Closing | None


_ONE = (
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
        participants.c.simulated,
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


def claims(connection: sa.Connection, one: OneParticipant) -> list[Claim]:
    """Return everyone who claims this participant's id of a panel, if there are several."""
    if one.panel_id is None:
        return []
    same = (participants.c.came_by == one.came_by) & (participants.c.panel_id == one.panel_id)
    claims = [Claim._make(row) for row in connection.execute(_CLAIMS.where(same))]
    if len(claims) == 1:
        return []
    return [claim._replace(session=claim.session[: len(claim.session) // 3]) for claim in claims]


def one_participant(connection: sa.Connection, number: int) -> OneParticipant:
    """Return the participant with this number."""
    this_one = participants.c.number == number
    row = connection.execute(_ONE.where(this_one)).one_or_none()
    if row is None:
        raise Unknown
    pairs = read_appearances(connection, ALL_VERSIONS.where(this_one))
    written = sa.select(closings.c.rules, closings.c.expressible, closings.c.comments)
    closing = connection.execute(written.where(closings.c.participant_id == row.id)).one_or_none()
    return OneParticipant._make((*row, pairs, closing and Closing(*closing)))


# Everyone the study knows of, and where they are: invited, started, finished, screened out, withdrawn or revoked.


@dataclass(frozen=True)
class Entry:
    """Row of the list of participants and invited people."""

    number: int | None
    """Number of the participant; None for people who have not agreed to take part."""

    state: str
    came_by: str
    name: str
    """Operator's name for an invited person."""

    panel_id: str
    session: str
    """Panel's name of the session."""

    room: str
    relation: str
    language: str
    arm: str
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
        sa.func.coalesce(invitations.c.name, "").label("name"),
        sa.func.coalesce(participants.c.panel_id, "").label("panel_id"),
        sa.func.coalesce(participants.c.panel_session, "").label("session"),
        sa.func.coalesce(rooms.c.name, "").label("room"),
        sa.func.coalesce(participants.c.relation, "").label("relation"),
        sa.func.coalesce(participants.c.language, "").label("language"),
        sa.func.coalesce(participants.c.arm, "").label("arm"),
        sa.func.coalesce(_answered.c.answered, 0).label("answered"),
        participants.c.consented_at.label("started_at"),
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
        INVITATION_STATE.label("state"),
    )
    .outerjoin(participants, participants.c.token_hash == invitations.c.token_hash)
    .where(participants.c.id.is_(None))
    .order_by(invitations.c.id)
)


def roster(connection: sa.Connection) -> list[Entry]:
    """Return participants by number, then invited people who do not take part."""
    invited = connection.execute(_ONLY_INVITED).all()
    return [
        *(Entry(**row) for row in connection.execute(_TAKING_PART).mappings()),
        *(Entry(None, row.state, "personal", row.name, "", "", "", "", "", "", 0, None, None) for row in invited),
    ]


# How far everyone is, and what they answered: all that is needed to watch a study.


class Progress(NamedTuple):
    """Progress of one participant."""

    number: int
    stage: str
    came_by: str
    started_at: datetime
    finished_at: datetime | None
    excluded: bool
    answered: int
    versions: int
    last_answer_id: int
    """Id of the last answer. With `versions`, it changes with every answer."""

    arm: str | None


class Answers(NamedTuple):
    """Answers of one participant before a second look, and when each pair was first answered."""

    number: int
    answers: list[PairAnswer]
    first_at: list[datetime]
    last_at: datetime


class PersonalDetails(NamedTuple):
    """Identity of a participant to the operator."""

    name: str
    panel_id: str
    room: str
    panel_signed: bool = False


class Outside(NamedTuple):
    """Numbers of invited people who do not take part."""

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
        participants.c.number,
        participants.c.stage,
        participants.c.came_by,
        participants.c.consented_at,
        participants.c.finished_at,
        IS_EXCLUDED,
        sa.func.coalesce(_of_each.c.answered, 0),
        sa.func.coalesce(_of_each.c.versions, 0),
        sa.func.coalesce(_of_each.c.last_id, 0),
        participants.c.arm,
    )
    .outerjoin(_of_each, _of_each.c.participant_id == participants.c.id)
    .order_by(participants.c.number)
)
_DETAILS = (
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


def progress(connection: sa.Connection) -> list[Progress]:
    """Return the progress of everyone who agreed to take part, by number."""
    return [Progress(*row) for row in connection.execute(_PROGRESS)]


def answers_of(connection: sa.Connection, numbers: Sequence[int]) -> Iterator[Answers]:
    """Yield the answers of participants with these numbers; who has not answered is left out."""
    for start in range(0, len(numbers), _AT_ONCE):
        some = participants.c.number.in_(numbers[start : start + _AT_ONCE])
        pairs = read_appearances(connection, ALL_VERSIONS.where(some, HAS_ANSWER))
        for number, theirs in groupby(pairs, key=lambda pair: pair.number):
            versions = [pair.versions for pair in theirs]
            answers = [_before_second_look(each) for each in versions]
            moments = [[at for one in each if (at := one.answered_at)] for each in versions]
            yield Answers(number, answers, [each[0] for each in moments], max(max(each) for each in moments))


def _before_second_look(versions: Sequence[PairAnswer]) -> PairAnswer:
    """Return the last answer of the first round, with the time that the first answer took."""
    last = [one for one in versions if one.round == FIRST][-1]
    return last._replace(seconds=versions[0].seconds)


def personal_details(connection: sa.Connection) -> dict[int, PersonalDetails]:
    """Return everyone's identity to the operator, by number."""
    return {number: PersonalDetails(*details) for number, *details in connection.execute(_DETAILS)}


def outside(connection: sa.Connection) -> Outside:
    """Count invited people who have not begun, links that were revoked before use, and withdrawals."""
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
