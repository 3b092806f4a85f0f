"""Laying out an active pair together with the answer that it follows from: both are kept, or neither.

A place that has no pair yet gets one when the place before it is answered. So whoever has answered all they were shown
has been shown everything, whatever happened on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import sqlalchemy as sa

from fairwise.judgments import Answer
from fairwise.store.answers import CURRENT, NewAnswer
from fairwise.store.answers import record as record_answer
from fairwise.store.tables import answer_models, answers, appearances, participants

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from fairwise.study.designs import ShownPair


Keep: TypeAlias = "Callable[[Connection, bytes, NewAnswer], int]"


@dataclass(frozen=True)
class Laid:
    """A pair that someone was shown or will be, with the current answer."""

    position: int
    a: str
    b: str
    answer: Answer | None


@dataclass(frozen=True)
class Upcoming:
    """A place without a pair, behind one that is being answered; and all that is known of the participant."""

    participant_number: int
    after: int
    """The position that is being answered."""

    laid_out: tuple[Laid, ...]
    """In the order of positions."""

    answers: int
    """How many answers there are so far, all versions counted."""


@dataclass(frozen=True)
class Choice:
    """A pair for that place, and from what it was chosen."""

    upcoming: Upcoming
    pair: ShownPair
    model_id: int | None
    key: str
    """Unguessable name of its appearance."""


_of_token = participants.c.token_hash == sa.bindparam("token_hash")
# One question, so that all of it is about the same moment.
_LAID_OUT = (
    sa.select(
        participants.c.number,
        appearances.c.position,
        appearances.c.key,
        appearances.c.a,
        appearances.c.b,
        answers.c.answer,
        sa.func.coalesce(answers.c.version, 0).label("versions"),
    )
    .select_from(participants)
    .join(appearances, appearances.c.participant_id == participants.c.id)
    .outerjoin(answers, CURRENT)
    .where(_of_token)
    .order_by(appearances.c.position)
)
# Several processes take turns at one participant.
_LOCKED = sa.select(participants.c.id).where(_of_token).with_for_update()
_IS_THERE = sa.select(appearances.c.id).where(
    appearances.c.participant_id == sa.bindparam("participant_id"), appearances.c.position == sa.bindparam("position")
)
# Versions are numbered without gaps, so that the last of each pair tells how many there are.
_latest = (
    sa.select(sa.func.max(answers.c.version))
    .where(answers.c.appearance_id == appearances.c.id)
    .correlate(appearances)
    .scalar_subquery()
)
_HOW_MANY = sa.select(sa.func.coalesce(sa.func.sum(_latest), 0)).where(
    appearances.c.participant_id == sa.bindparam("participant_id")
)


def upcoming(connection: Connection, token_hash: bytes, key: str, places: int) -> Upcoming | None:
    """What a choice needs to know, if there is one to be made behind the pair of this key; there are so many places."""
    rows = connection.execute(_LAID_OUT, {"token_hash": token_hash}).all()
    after = next((row.position for row in rows if row.key == key), places)
    if after >= places or any(row.position == after + 1 for row in rows):
        return None
    laid = (Laid(row.position, row.a, row.b, None if row.answer is None else Answer(row.answer)) for row in rows)
    return Upcoming(rows[0].number, after, tuple(laid), sum(row.versions for row in rows))


def record(
    connection: Connection,
    token_hash: bytes,
    new: NewAnswer,
    choice: Choice | None,
    keep: Keep = record_answer,
) -> int | None:
    """`keep` an answer, and the pair that was chosen with it; returns the position that was answered.

    None, and nothing is changed, if the participant said something else since the choice was made.
    """
    participant_id = connection.execute(_LOCKED, {"token_hash": token_hash}).scalar_one_or_none()
    if choice is None or participant_id is None:
        return keep(connection, token_hash, new)
    place = {"participant_id": participant_id, "position": choice.upcoming.after + 1}
    if connection.execute(_IS_THERE, place).first() is not None:  # this form was sent twice
        return keep(connection, token_hash, new)
    if _how_many(connection, participant_id) != choice.upcoming.answers:
        return None
    position = keep(connection, token_hash, new)
    connection.execute(
        sa.insert(appearances),
        {
            **place,
            "key": choice.key,
            "a": choice.pair.a,
            "b": choice.pair.b,
            "design": choice.pair.design,
            "selection_probability": choice.pair.selection_probability,
            "answer_model_id": choice.model_id,
            "answers_known": _how_many(connection, participant_id),
        },
    )
    return position


def _how_many(connection: Connection, participant_id: int) -> int:
    return int(connection.execute(_HOW_MANY, {"participant_id": participant_id}).scalar_one())


# What was learned from all participants, each time it was learned anew: an active pair names the one that chose it.


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
