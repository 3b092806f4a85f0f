"""The pairs someone is shown, and their answers: every version kept, one current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from fairwise.judgments.answer import Answer
from fairwise.store.errors import AlreadyFinished, ChangedTooOften, NotShownAgain, NotYet, Unknown
from fairwise.store.study_state import STATE, refuse_unless_open
from fairwise.store.tables import answers, appearances, participants, repeats
from fairwise.study.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from sqlalchemy import Connection

    Said = tuple[str, str, int | None]


# The pairs someone is shown, and their answers: every version kept, one current.

MOST_VERSIONS = 50
"""How often a pair can be answered, all changes counted."""

_MOST_OF_ONE_FORM = 10
_MOST_REPEATS = 100


@dataclass(frozen=True)
class Shown:
    """A pair as it is to be shown, with the answer that is current."""

    stage: str
    position: int
    answered: int
    key: str
    a: str
    b: str
    answer: Answer | None
    why: str
    confidence: int | None


@dataclass(frozen=True)
class NewAnswer:
    """What a form says about a pair."""

    key: str
    nonce: str
    answer: Answer
    why: str
    confidence: int | None
    seconds: float | None
    at: datetime


_versions = answers.alias()
_latest = (
    sa.select(sa.func.max(_versions.c.version))
    .where(_versions.c.appearance_id == appearances.c.id)
    .correlate(appearances)
    .scalar_subquery()
)
CURRENT = (answers.c.appearance_id == appearances.c.id) & (answers.c.version == _latest)
"""Joins an appearance with its current answer."""

_others, _first = appearances.alias(), answers.alias()
_theirs = _others.c.participant_id == participants.c.id
# A question about each of a participant's pairs: asked of all at once, PostgreSQL would read everybody's answers.
_has_answer = (
    sa.select(_first.c.version)
    .where(_first.c.appearance_id == _others.c.id, _first.c.version == 1)
    .correlate(_others)
    .scalar_subquery()
)
_has_answered = sa.select(_has_answer).where(_theirs, _has_answer.is_not(None)).correlate(participants).exists()
_answered = sa.select(sa.func.count(_has_answer)).where(_theirs).correlate(participants).scalar_subquery()
_SHOWN = (
    sa.select(
        participants.c.stage,
        appearances.c.position,
        _answered.label("answered"),
        appearances.c.key,
        appearances.c.a,
        appearances.c.b,
        answers.c.answer,
        answers.c.why,
        answers.c.confidence,
    )
    .select_from(participants)
    .join(appearances, appearances.c.participant_id == participants.c.id)
    .outerjoin(answers, CURRENT)
    .where(participants.c.token_hash == sa.bindparam("token_hash"), appearances.c.position == sa.bindparam("position"))
)
_LISTED = (
    sa.select(appearances.c.position, answers.c.answer)
    .select_from(participants)
    .join(appearances, appearances.c.participant_id == participants.c.id)
    .outerjoin(answers, CURRENT)
    .where(participants.c.token_hash == sa.bindparam("token_hash"))
    .order_by(appearances.c.position)
)
_APPEARANCE = (
    sa.select(
        appearances.c.id,
        appearances.c.position,
        participants.c.stage,
        participants.c.consented_at,
        STATE.label("state"),
        _has_answered.label("has_answered"),
    )
    .select_from(appearances)
    .join(participants, appearances.c.participant_id == participants.c.id)
    .where(appearances.c.key == sa.bindparam("key"), participants.c.token_hash == sa.bindparam("token_hash"))
    .with_for_update(of=appearances)  # several processes on PostgreSQL take turns at one pair
)
# Whatever is looked up of earlier versions is found by an index, and bounded: an answer costs the same however many
# came before it.
_of_pair = answers.c.appearance_id == sa.bindparam("appearance_id")
_what = (answers.c.answer, answers.c.why, answers.c.confidence)
_LAST = sa.select(answers.c.version, *_what).where(_of_pair).order_by(answers.c.version.desc()).limit(1)
_OF_FORM = sa.select(*_what).where(_of_pair, answers.c.nonce.in_(sa.bindparam("nonces", expanding=True)))
_INSERT = sa.insert(answers)
_of_form = (repeats.c.appearance_id == sa.bindparam("appearance_id")) & (repeats.c.nonce == sa.bindparam("nonce"))
_REPEATED = (
    sa.select(answers.c.version, *_what)
    .join(repeats, (repeats.c.appearance_id == answers.c.appearance_id) & (repeats.c.version == answers.c.version))
    .where(_of_form)
)
_HOW_MANY_REPEATS = sa.select(sa.func.count()).select_from(
    sa.select(repeats.c.version)
    .where(repeats.c.appearance_id == sa.bindparam("appearance_id"))
    .limit(_MOST_REPEATS)
    .subquery()
)


def shown(connection: Connection, token_hash: bytes, position: int, places: int = 0) -> Shown:
    """One pair of a participant; it may not be laid out yet, if it is one of so many `places`."""
    row = connection.execute(_SHOWN, {"token_hash": token_hash, "position": position}).one_or_none()
    if row is None and 1 <= position <= places and listed(connection, token_hash):
        raise NotYet
    if row is None:
        raise Unknown
    answer = None if row.answer is None else Answer(row.answer)
    return Shown(*row[:6], answer, row.why or "", row.confidence)


def listed(connection: Connection, token_hash: bytes) -> list[tuple[int, Answer | None]]:
    """All positions of a participant with the current answers."""
    rows = connection.execute(_LISTED, {"token_hash": token_hash})
    return [(row.position, None if row.answer is None else Answer(row.answer)) for row in rows]


def record(
    connection: Connection,
    token_hash: bytes,
    new: NewAnswer,
    shown_again: Callable[[Connection, bytes], Collection[int]] | None = None,
    before_first: Callable[[Connection, bytes], None] | None = None,
) -> int:
    """Keep an answer; returns the position of its pair.

    The first answer is version 1. A form sent again, or one that says what is current already, changes nothing;
    anything else is a new version, and the old ones stay, up to MOST_VERSIONS of them. In a second look, when only what
    is `shown_again` can be answered, it is one of the second round. Before the participant's very first answer
    `before_first` may refuse it.
    """
    found = connection.execute(_APPEARANCE, {"key": new.key, "token_hash": token_hash}).one_or_none()
    if found is None:
        raise Unknown
    refuse_unless_open(found.state)  # known without another question
    if found.stage == Stage.FINISHED:
        raise AlreadyFinished
    again = found.stage == Stage.SECOND_LOOK
    if again and (shown_again is None or found.position not in shown_again(connection, token_hash)):
        raise NotShownAgain
    if found.stage != Stage.PAIRS and not again:
        raise NotYet
    if before_first is not None and not found.has_answered:
        before_first(connection, token_hash)
    position = int(found.position)
    said = (str(new.answer), new.why, new.confidence)
    last = connection.execute(_LAST, {"appearance_id": found.id}).one_or_none()
    form = new.nonce.partition("+")[0]
    of_this_form = [] if last is None else _of_this_form(connection, found.id, form)
    if last is not None and (said in of_this_form or _repeated(connection, found.id, form, said, last)):
        return position
    version = 1 if last is None else last.version + 1
    if version > MOST_VERSIONS or len(of_this_form) == _MOST_OF_ONE_FORM:
        raise ChangedTooOften
    # One form with two different answers: someone pressed another button before the first reply came.
    nonce = f"{form}+{len(of_this_form)}" if of_this_form else form
    connection.execute(
        _INSERT,
        {
            "appearance_id": found.id,
            "version": version,
            "nonce": nonce,
            "answer": str(new.answer),
            "why": new.why,
            "confidence": new.confidence,
            "seconds": new.seconds,
            "answered_at": max(found.consented_at, new.at),  # also where the clock was put back meanwhile
            "round": SECOND if again else FIRST,
        },
    )
    return position


def _of_this_form(connection: Connection, appearance_id: int, form: str) -> list[Said]:
    """What a form said so far: its first answer is kept under its nonce, others under ``nonce+1`` and so on."""
    nonces = [form, *(f"{form}+{number}" for number in range(1, _MOST_OF_ONE_FORM))]
    rows = connection.execute(_OF_FORM, {"appearance_id": appearance_id, "nonces": nonces})
    return [(row.answer, row.why, row.confidence) for row in rows]


def _repeated(connection: Connection, appearance_id: int, nonce: str, said: Said, last: Any) -> bool:
    """Whether a form says what is current already, or did so when it was sent for the first time.

    It is remembered, since sent again after another answer it would undo that answer.
    """
    form = {"appearance_id": appearance_id, "nonce": nonce}
    version, current = last[0], tuple(last[1:])
    known = {number: tuple(what) for number, *what in connection.execute(_REPEATED, form)}
    if current != said:
        return said in known.values()
    if version not in known and connection.execute(_HOW_MANY_REPEATS, form).scalar_one() < _MOST_REPEATS:
        connection.execute(sa.insert(repeats), {**form, "version": version})
    return True


# Answers before and after a participant's second look. Both are kept; of each round, the last version stands.

FIRST, SECOND = 1, 2

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


# The pairs that a participant judged, each with the answer that is current.


class Judged(NamedTuple):
    """A pair with its answer, `a` on the left."""

    position: int
    a: str
    b: str
    design: str
    answer: Answer


def anyone_answered(connection: Connection) -> bool:
    """Whether there is any answer at all."""
    return connection.execute(sa.select(answers.c.id).limit(1)).first() is not None


def judged(connection: Connection, number: int) -> list[Judged]:
    """All pairs that the participant of this number answered, in order."""
    query = (
        sa.select(appearances.c.position, appearances.c.a, appearances.c.b, appearances.c.design, answers.c.answer)
        .select_from(participants)
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .join(answers, CURRENT)
        .where(participants.c.number == number)
        .order_by(appearances.c.position)
    )
    return [Judged(*row[:4], Answer(row.answer)) for row in connection.execute(query)]
