"""Rooms that talk: where each is, who answered the pair that it is at, and what was said in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.judgments.answer import Answer, PairDesign
from fairwise.store.answer_batch import AnswerBatch
from fairwise.store.answers import (
    CURRENT,
    HAS_ANSWER,
    LAST_OF_EACH_ROUND,
    Appearance,
    NewAnswer,
    read_appearances,
    record,
)
from fairwise.store.errors import NotYet, Unknown
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.study_state import FIRST, SECOND
from fairwise.store.tables import AnyRow, Query, answers, appearances, participants, rooms
from fairwise.study.deliberation import Step, Turn
from fairwise.study.settings import ANSWERING, Stage

TwoPeople = tuple[str, str]
"""On the sides on which the wall shows them."""


class Talk(NamedTuple):
    """A room, and where it is."""

    room_id: int
    turn: Turn


_TALK: Query = sa.select(rooms.c.id, rooms.c.turn_pair, rooms.c.turn_step)
_OF_TOKEN = _TALK.join(participants, participants.c.room_id == rooms.c.id).where(
    participants.c.token_hash == sa.bindparam("token_hash")
)
# On PostgreSQL an answer and the operator who goes on take turns: none is kept for a turn that is over.
_OF_TOKEN_KEPT = _OF_TOKEN.with_for_update(of=rooms, read=True)


def _talk(row: AnyRow | None) -> Talk | None:
    return None if row is None else Talk(row.id, Turn(row.turn_pair, Step(row.turn_step)))


def talk_in(connection: sa.Connection, code: str) -> Talk | None:
    """Where the room of a code is."""
    return _talk(connection.execute(_TALK.where(rooms.c.code == code)).one_or_none())


def talk_of(connection: sa.Connection, token_hash: bytes, *, kept: bool = False) -> Talk | None:
    """Where the room of a participant is; None for someone who came by no room. `kept`: until the change is made."""
    query = _OF_TOKEN_KEPT if kept else _OF_TOKEN
    return _talk(connection.execute(query, {"token_hash": token_hash}).one_or_none())


def go_on(connection: sa.Connection, code: str, seen: Turn, to: Turn, pairs: int) -> bool:
    """Lead a room from the turn that an operator saw to another one; returns whether it was still there.

    So a button that is pressed twice, or by two operators, counts once.
    """
    if to not in seen.following(pairs):
        return False
    is_seen = (rooms.c.code == code) & (rooms.c.turn_pair == seen.pair) & (rooms.c.turn_step == seen.step)
    moved = connection.execute(sa.update(rooms).where(is_seen).values(turn_pair=to.pair, turn_step=to.step))
    return bool(moved.rowcount)


# What is said


def _about(two: TwoPeople) -> sa.ColumnElement[bool]:
    """The fixed pair of these two, whichever sides it was laid out on."""
    a, b = appearances.c.a, appearances.c.b
    either = sa.and_(a == two[0], b == two[1]) | sa.and_(a == two[1], b == two[0])
    return either & (appearances.c.design == PairDesign.FIXED)


def own_pair(connection: sa.Connection, token_hash: bytes, two: TwoPeople) -> Appearance:
    """A participant's own appearance of a fixed pair, with the current answer."""
    found = read_appearances(connection, CURRENT.where(participants.c.token_hash == token_hash, _about(two)))
    if not found:
        raise Unknown
    return found[0]


def is_asked(pair: Appearance, turn: Turn) -> bool:
    """Whether a participant may answer now: alone, or again if they had answered alone."""
    return turn.step == Step.ALONE or (turn.step == Step.AGAIN and pair.answer is not None)


def has_answered(pair: Appearance, turn: Turn) -> bool:
    """Whether a participant has said what this turn asks for."""
    return pair.answer is not None and (turn.step != Step.AGAIN or pair.answer.round == SECOND)


def record_in_room(
    connection: sa.Connection,
    token_hash: bytes,
    new: NewAnswer,
    *,
    seen: Turn,
    pairs: Sequence[TwoPeople],
    before_first: Callable[[sa.Connection, bytes], None] | None = None,
    batch: AnswerBatch | None = None,
) -> int:
    """Keep an answer that was given at the turn `seen`, on the wall's sides; returns the pair's position.

    Refused as :class:`NotYet` once the room has gone on. An answer given again is one of the second round, also if it
    is the same.
    """
    talk = talk_of(connection, token_hash, kept=True)
    if talk is None:
        raise Unknown
    if talk.turn != seen or not 1 <= seen.pair <= len(pairs):
        raise NotYet
    two = pairs[seen.pair - 1]
    pair = own_pair(connection, token_hash, two)
    if pair.key != new.key or not is_asked(pair, seen):
        raise NotYet
    if (pair.a, pair.b) != two:
        new = replace(new, answer=new.answer.swapped())
    talked = seen.step == Step.AGAIN
    return record(connection, token_hash, new, before_first=before_first, talked=talked, batch=batch)


def record_outside(
    connection: sa.Connection,
    token_hash: bytes,
    new: NewAnswer,
    shown_again: Callable[[sa.Connection, bytes], Collection[int]] | None = None,
    before_first: Callable[[sa.Connection, bytes], None] | None = None,
    until: datetime | None = None,
    batch: AnswerBatch | None = None,
) -> int:
    """Keep an answer of someone who is in a room that talks, given without it: what it has not been about, afterwards.

    Who saw what the others said must not say anew what they would have said alone.
    """
    talk = talk_of(connection, token_hash, kept=True)
    if talk is not None:
        if talk.turn.step != Step.OVER:
            raise NotYet
        own = CURRENT.where(participants.c.token_hash == token_hash, appearances.c.key == new.key)
        talked = own.where(appearances.c.design == PairDesign.FIXED, HAS_ANSWER)
        if read_appearances(connection, talked):
            raise NotYet
    return record(connection, token_hash, new, shown_again, before_first, until=until, batch=batch)


# What the wall shows


class InRoom(NamedTuple):
    """How many are there, and what they said about a pair, on the wall's sides; nobody whom an operator left out."""

    present: int
    """So many have come as far as the pairs."""

    alone: Mapping[Answer, int]
    again: Mapping[Answer, int]


_SAID = LAST_OF_EACH_ROUND.with_only_columns(appearances.c.a, answers.c.answer, answers.c.round)


def in_room(connection: sa.Connection, room_id: int, two: TwoPeople | None) -> InRoom:
    """Counted anew each time, so that nothing of someone who withdrew is in it."""
    here = (participants.c.room_id == room_id) & ~IS_EXCLUDED
    there = participants.c.stage.in_((*ANSWERING, Stage.FINISHED))
    count = sa.select(sa.func.count()).select_from(participants).where(here, there)
    counts: dict[int, Counter[Answer]] = {FIRST: Counter(), SECOND: Counter()}
    if two is not None:
        for a, answer, turn in connection.execute(_SAID.where(here, _about(two), HAS_ANSWER)):
            counts[turn][Answer(answer) if a == two[0] else Answer(answer).swapped()] += 1
    return InRoom(connection.execute(count).scalar_one(), counts[FIRST], counts[SECOND])
