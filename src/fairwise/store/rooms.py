"""Rooms: a class or meeting that participants join by a code. A room that talks goes from pair to pair together."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.judgments.answer import Answer, PairDesign
from fairwise.store.answers import CURRENT, HAS_ANSWER, LAST_OF_EACH_ROUND, Appearance, read_appearances
from fairwise.store.errors import Unknown
from fairwise.store.quotas import IS_EXCLUDED
from fairwise.store.schema import AnyRow, Query, answers, appearances, participants, rooms
from fairwise.store.study_state import FIRST, SECOND
from fairwise.study.deliberation import Step, Turn
from fairwise.study.settings import ANSWERING, Stage

TwoPeople = tuple[str, str]
"""Pair on the sides on which the wall shows it."""

# No letter looks or sounds like another one on a wall.
_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 6


@dataclass(frozen=True)
class Room:
    """A room, and how many participants came by its code."""

    id: int
    name: str
    code: str
    is_open: bool
    started: int
    finished: int


_ROOMS = (
    sa.select(
        rooms.c.id,
        rooms.c.name,
        rooms.c.code,
        rooms.c.closed_at.is_(None),
        sa.func.count(participants.c.id),
        sa.func.count(participants.c.finished_at),
    )
    .outerjoin(participants, participants.c.room_id == rooms.c.id)
    .group_by(rooms.c.id)
    .order_by(rooms.c.id)
)


def open_room(connection: sa.Connection, name: str, at: datetime) -> str:
    """Create a room; return its code."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    connection.execute(sa.insert(rooms), {"name": name, "code": code, "made_at": at})
    return code


def close_room(connection: sa.Connection, code: str, at: datetime) -> bool:
    """Let nobody else join by this code; return whether there is such a room. Whoever joined goes on."""
    closed = sa.update(rooms).where(rooms.c.code == code).values(closed_at=sa.func.coalesce(rooms.c.closed_at, at))
    return bool(connection.execute(closed).rowcount)


def all_rooms(connection: sa.Connection) -> list[Room]:
    """Return every room, the oldest first."""
    return [Room(*row) for row in connection.execute(_ROOMS)]


def find_room(connection: sa.Connection, code: str) -> Room | None:
    """Return the room of a code."""
    row = connection.execute(_ROOMS.where(rooms.c.code == code)).one_or_none()
    return None if row is None else Room(*row)


def lock_open_room(connection: sa.Connection, code: str) -> int | None:
    """Return the id of an open room, which nobody closes before this transaction ends; None if there is none."""
    is_open = (rooms.c.code == code) & rooms.c.closed_at.is_(None)
    return connection.execute(sa.select(rooms.c.id).where(is_open).with_for_update(read=True)).scalar_one_or_none()


def read_code(text: str) -> str:
    """Return a code as it was created, however it was typed.

    >>> read_code(" abc-def ")
    'ABCDEF'
    """
    return "".join(letter for letter in text.upper() if letter in _LETTERS)[:16]


# Rooms that talk


class Talk(NamedTuple):
    """A room that talks, and its turn."""

    room_id: int
    turn: Turn


_TALK: Query = sa.select(rooms.c.id, rooms.c.turn_pair, rooms.c.turn_step)
_OF_TOKEN = _TALK.join(participants, participants.c.room_id == rooms.c.id).where(
    participants.c.token_hash == sa.bindparam("token_hash")
)
# On PostgreSQL an answer and a change of the turn wait for each other: no answer is written for a past turn.
_OF_TOKEN_LOCKED = _OF_TOKEN.with_for_update(of=rooms, read=True)


def _talk(row: AnyRow | None) -> Talk | None:
    return None if row is None else Talk(row.id, Turn(row.turn_pair, Step(row.turn_step)))


def talk_in(connection: sa.Connection, code: str) -> Talk | None:
    """Return the turn of the room with this code."""
    return _talk(connection.execute(_TALK.where(rooms.c.code == code)).one_or_none())


def talk_of(connection: sa.Connection, token_hash: bytes, *, locked: bool = False) -> Talk | None:
    """Return the turn of a participant's room, None if they came by no room. A `locked` one cannot change meanwhile."""
    query = _OF_TOKEN_LOCKED if locked else _OF_TOKEN
    return _talk(connection.execute(query, {"token_hash": token_hash}).one_or_none())


def change_turn(connection: sa.Connection, code: str, seen: Turn, to: Turn, pairs: int) -> bool:
    """Move a room from the turn that an operator saw to another one; return whether it was still there.

    So a button that is pressed twice, or by two operators, counts once.
    """
    if to not in seen.following(pairs):
        return False
    is_seen = (rooms.c.code == code) & (rooms.c.turn_pair == seen.pair) & (rooms.c.turn_step == seen.step)
    moved = connection.execute(sa.update(rooms).where(is_seen).values(turn_pair=to.pair, turn_step=to.step))
    return bool(moved.rowcount)


def _is_about(two: TwoPeople) -> sa.ColumnElement[bool]:
    """Return the condition that an appearance is the fixed pair of these two, on either sides."""
    a, b = appearances.c.a, appearances.c.b
    either = sa.and_(a == two[0], b == two[1]) | sa.and_(a == two[1], b == two[0])
    return either & (appearances.c.design == PairDesign.FIXED)


def own_pair(connection: sa.Connection, token_hash: bytes, two: TwoPeople) -> Appearance:
    """Return a participant's own appearance of a fixed pair, with the current answer."""
    pairs = read_appearances(connection, CURRENT.where(participants.c.token_hash == token_hash, _is_about(two)))
    if not pairs:
        raise Unknown
    return pairs[0]


def is_asked(pair: Appearance, turn: Turn) -> bool:
    """Return whether a participant may answer now: alone, or again if they had answered alone."""
    return turn.step == Step.ALONE or (turn.step == Step.AGAIN and pair.answer is not None)


def has_answered(pair: Appearance, turn: Turn) -> bool:
    """Return whether a participant has given the answer of this turn."""
    return pair.answer is not None and (turn.step != Step.AGAIN or pair.answer.round == SECOND)


class RoomAnswers(NamedTuple):
    """Answers of a room about a pair, on the wall's sides, without participants whom an operator excluded."""

    present: int
    """Number of participants who came as far as the pairs."""

    alone: Mapping[Answer, int]
    again: Mapping[Answer, int]


_ANSWERS = LAST_OF_EACH_ROUND.with_only_columns(appearances.c.a, answers.c.answer, answers.c.round)


def room_answers(connection: sa.Connection, room_id: int, two: TwoPeople | None) -> RoomAnswers:
    """Count the answers of a room now, so that nothing of a participant who withdrew is included."""
    is_here = (participants.c.room_id == room_id) & ~IS_EXCLUDED
    at_pairs = participants.c.stage.in_((*ANSWERING, Stage.FINISHED))
    present = sa.select(sa.func.count()).select_from(participants).where(is_here, at_pairs)
    counts: dict[int, Counter[Answer]] = {FIRST: Counter(), SECOND: Counter()}
    if two is not None:
        for a, answer, number in connection.execute(_ANSWERS.where(is_here, _is_about(two), HAS_ANSWER)):
            counts[number][Answer(answer) if a == two[0] else Answer(answer).swapped()] += 1
    return RoomAnswers(connection.execute(present).scalar_one(), counts[FIRST], counts[SECOND])
