"""Laying out an active pair together with the answer that it follows from: both are kept, or neither.

A place that has no pair yet gets one when the place before it is answered. So whoever has answered all they were shown
has been shown everything, whatever happened on the way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from fairwise.judgments import Answer
from fairwise.store.answers import CURRENT, HAS_ANSWER, Appearance, Keep, NewAnswer, appearances_of
from fairwise.store.answers import record as record_answer
from fairwise.store.tables import answer_models, answers, appearances, participants
from fairwise.study.active import ParticipantAnswer
from fairwise.study.schedules import ShownPair


@dataclass(frozen=True)
class Upcoming:
    """A place without a pair, behind one that is being answered; and all that is known of the participant."""

    participant_number: int
    after: int
    """The position that is being answered."""

    laid_out: tuple[Appearance, ...]
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
# Several processes take turns at one participant.
_LOCKED = sa.select(participants.c.id).where(_of_token).with_for_update()
_IS_THERE = sa.select(appearances.c.id).where(
    appearances.c.participant_id == sa.bindparam("participant_id"), appearances.c.position == sa.bindparam("position")
)
_latest = (
    sa.select(sa.func.max(answers.c.version))
    .where(answers.c.appearance_id == appearances.c.id)
    .correlate(appearances)
    .scalar_subquery()
)
_HOW_MANY = sa.select(sa.func.coalesce(sa.func.sum(_latest), 0)).where(
    appearances.c.participant_id == sa.bindparam("participant_id")
)


def upcoming(connection: sa.Connection, token_hash: bytes, key: str, places: int) -> Upcoming | None:
    """What a choice needs to know, if there is one to be made behind the pair of this key; there are so many places."""
    pairs = appearances_of(connection, token_hash)  # in one question, so that all of it is about the same moment
    after = next((pair.position for pair in pairs if pair.key == key), places)
    if after >= places or any(pair.position == after + 1 for pair in pairs):
        return None
    # Versions are numbered without gaps, so that the last of each pair tells how many there are.
    return Upcoming(pairs[0].number, after, tuple(pairs), sum(pair.answer.version for pair in pairs if pair.answer))


def record(
    connection: sa.Connection,
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
    if count_versions(connection, participant_id) != choice.upcoming.answers:
        return None
    position = keep(connection, token_hash, new)
    connection.execute(
        sa.insert(appearances),
        {
            **place,
            "key": choice.key,
            **asdict(choice.pair),
            "answer_model_id": choice.model_id,
            "answers_known": count_versions(connection, participant_id),
        },
    )
    return position


def count_versions(connection: sa.Connection, participant_id: int) -> int:
    """How many answers a participant gave, all versions counted."""
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
_EVERYONES = CURRENT.with_only_columns(participants.c.number, appearances.c.a, appearances.c.b, answers.c.answer).where(
    HAS_ANSWER
)


def newest(connection: sa.Connection) -> StoredModel | None:
    """The one that was learned last, by whichever process."""
    row = connection.execute(_NEWEST).one_or_none()
    return None if row is None else StoredModel(*row)


def how_many_answered(connection: sa.Connection) -> int:
    """Pairs that have an answer, of everyone."""
    return connection.execute(sa.select(sa.func.count()).where(answers.c.version == 1)).scalar_one()


def everyones_answers(connection: sa.Connection) -> list[ParticipantAnswer]:
    """Everyone's current answers, to learn from; participants are named by their numbers."""
    return [
        ParticipantAnswer(str(number), a, b, Answer(answer)) for number, a, b, answer in connection.execute(_EVERYONES)
    ]


def keep(connection: sa.Connection, *, learned_from: int, parameters: str, at: datetime) -> int:
    """Keep what was learned; returns its id."""
    values = {"learned_from": learned_from, "made_at": at, "parameters": parameters}
    return int(connection.execute(sa.insert(answer_models).returning(answer_models.c.id), values).scalar_one())
