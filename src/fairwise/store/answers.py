"""Read the pairs that participants are shown, and their answers: every version is stored, the last one is current."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby, repeat
from typing import NamedTuple, TypeVar

import sqlalchemy as sa

from fairwise.judgments.answer import Answer
from fairwise.store.errors import NotYet, Unknown
from fairwise.store.schema import AnyRow, Query, answers, appearances, participants
from fairwise.store.study_state import FIRST
from fairwise.study.schedules import PairAnswer

T = TypeVar("T")


class Appearance(NamedTuple):
    """A pair of a participant's schedule, and their answers to it."""

    number: int
    """Number of the participant."""

    stage: str
    """Stage of the participant."""

    position: int
    key: str
    a: str
    b: str
    design: str
    versions: tuple[PairAnswer, ...]
    """Versions of the answer that were asked for, the current one last."""

    @property
    def answer(self) -> PairAnswer | None:
        """Current answer."""
        return self.versions[-1] if self.versions else None


# Conditions and counts for queries about participants. A subquery per pair: if all were joined, PostgreSQL would read
# everybody's answers.

_pairs, _first, _other = appearances.alias(), answers.alias(), answers.alias()
_FIRST_VERSION = (
    sa.select(_first.c.version)
    .where(_first.c.appearance_id == _pairs.c.id, _first.c.version == 1)
    .correlate(_pairs)
    .scalar_subquery()
)
HAS_ANSWERED = (
    sa.select(_FIRST_VERSION)
    .where(_pairs.c.participant_id == participants.c.id, _FIRST_VERSION.is_not(None))
    .correlate(participants)
    .exists()
)
"""Condition on a participant: any pair has an answer."""

_N_ANSWERED = (
    sa.select(sa.func.count(_FIRST_VERSION))
    .where(_pairs.c.participant_id == participants.c.id)
    .correlate(participants)
    .scalar_subquery()
)


def is_last(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return the condition that an answer is the last version, or the last of those that meet the conditions."""
    last = sa.select(sa.func.max(_other.c.version)).where(_other.c.appearance_id == appearances.c.id, *conditions)
    return answers.c.version == last.correlate(appearances, answers).scalar_subquery()


# Every query about answers is one of these three with a WHERE of its own. Pairs without an answer have empty columns.


def _pairs_with(condition: sa.ColumnElement[bool]) -> Query:
    return (
        sa.select(
            participants.c.number,
            participants.c.stage,
            *(appearances.c[name] for name in Appearance._fields[2:-1]),
            *(answers.c[name] for name in ("answer", *PairAnswer._fields[5:])),
        )
        .select_from(participants)
        .join(appearances, appearances.c.participant_id == participants.c.id)
        .outerjoin(answers, (answers.c.appearance_id == appearances.c.id) & condition)
        .order_by(participants.c.number, appearances.c.position, answers.c.version)
    )


ALL_VERSIONS = _pairs_with(sa.true())
"""Pairs with every version of their answers."""

CURRENT = _pairs_with(is_last())
"""Pairs with their current answers."""

LAST_OF_EACH_ROUND = _pairs_with(is_last(_other.c.round == answers.c.round))
"""Pairs with the last answer of each round; for many participants at once."""

HAS_ANSWER = answers.c.id.is_not(None)
"""Condition on a pair of these queries."""

_CURRENT_OF_TOKEN = CURRENT.where(participants.c.token_hash == sa.bindparam("token_hash"))
_VERSIONS_OF_TOKEN = ALL_VERSIONS.where(participants.c.token_hash == sa.bindparam("token_hash"), HAS_ANSWER)
_N_COLUMNS = len(CURRENT.selected_columns)


def read_appearances(
    connection: sa.Connection, query: Query, parameters: dict[str, object] | None = None
) -> list[Appearance]:
    """Run one of the three queries; return pairs in the order of participants and positions."""
    return _appearances(connection.execute(query, parameters))


def _appearances(rows: Iterable[AnyRow]) -> list[Appearance]:
    def answer(row: AnyRow) -> PairAnswer:
        _, _, position, _, a, b, design, answer, *more = row[:_N_COLUMNS]
        return PairAnswer(position, a, b, Answer(answer), design, *more)

    return [
        Appearance._make((*pair, tuple(answer(row) for row in versions if row.answer is not None)))
        for pair, versions in groupby(rows, key=lambda row: row[:7])
    ]


def appearances_of(connection: sa.Connection, token_hash: bytes) -> list[Appearance]:
    """Return all pairs of a participant that exist so far, with current answers."""
    return read_appearances(connection, _CURRENT_OF_TOKEN, {"token_hash": token_hash})


def appearance_at(
    connection: sa.Connection, token_hash: bytes, position: int, places: int = 0
) -> tuple[Appearance, int]:
    """Return a participant's pair at a position, and how many of all have an answer.

    A pair within the `places` that does not exist yet is chosen later.
    """
    (pair,) = appearances_at(connection, [(token_hash, position)])
    if pair is None:
        raise NotYet if 1 <= position <= places and appearances_of(connection, token_hash) else Unknown
    return pair


def appearances_at(
    connection: sa.Connection, wanted: Sequence[tuple[bytes, int]]
) -> list[tuple[Appearance, int] | None]:
    """Do the same for several token hashes and positions; None where there is no pair."""
    repeated, parameters = padded(wanted), dict[str, object]()
    for place, (token_hash, position) in enumerate(repeated):
        parameters[f"token_hash_{place}"], parameters[f"position_{place}"] = token_hash, position
    rows = {row.place: row for row in connection.execute(_at_positions(len(repeated)), parameters)}
    return [
        (_appearances([row])[0], int(row.answered)) if (row := rows.get(place)) is not None else None
        for place in range(len(wanted))
    ]


@cache
def _at_positions(number: int) -> Query:
    """Return the query for so many positions."""
    # As text: SQLAlchemy compiles its own constructs for rows of values anew each time.
    rows = [
        f"SELECT {row} AS place, :token_hash_{row} AS token_hash, :position_{row} AS position" for row in range(number)
    ]
    hashes = [sa.bindparam(f"token_hash_{row}", type_=sa.LargeBinary) for row in range(number)]
    positions = [sa.bindparam(f"position_{row}", type_=sa.Integer) for row in range(number)]
    text = sa.text(" UNION ALL ".join(rows)).bindparams(*hashes, *positions)
    wanted = text.columns(place=sa.Integer, token_hash=sa.LargeBinary, position=sa.Integer).cte("wanted")
    at = (participants.c.token_hash == wanted.c.token_hash) & (appearances.c.position == wanted.c.position)
    return CURRENT.add_columns(_N_ANSWERED.label("answered"), wanted.c.place).where(at).order_by(None)


def padded(values: Sequence[T]) -> list[T]:
    """Repeat the last value until there are 1, 2, 4, 8, … of them, so that few texts of a query are prepared.

    >>> padded("abcde")
    ['a', 'b', 'c', 'd', 'e', 'e', 'e', 'e']
    """
    return [*values, *repeat(values[-1], (1 << (len(values) - 1).bit_length()) - len(values))]


def current_answers(connection: sa.Connection, number: int) -> list[PairAnswer]:
    """Return the current answers of the participant with this number, in the order of their pairs."""
    pairs = read_appearances(connection, CURRENT.where(participants.c.number == number, HAS_ANSWER))
    return [answer for pair in pairs for answer in pair.versions]


def first_and_current(connection: sa.Connection, token_hash: bytes) -> list[tuple[PairAnswer, PairAnswer]]:
    """Return the last answer of the first round and the current one of each pair that a participant answered."""
    pairs = read_appearances(connection, _VERSIONS_OF_TOKEN, {"token_hash": token_hash})
    return [([one for one in versions if one.round == FIRST][-1], versions[-1]) for *_, versions in pairs]


def anyone_answered(connection: sa.Connection) -> bool:
    """Return whether there is any answer."""
    return connection.execute(sa.select(answers.c.id).limit(1)).first() is not None
