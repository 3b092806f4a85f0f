"""Answers of several people in one transaction: pairs are looked up at once, and what is said is written at once.

An answer needs three questions to the database. On PostgreSQL each of them takes a way there and back, and one that is
asked about two hundred pairs takes no more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import TypeVar

import sqlalchemy as sa

from fairwise.store.errors import Unknown
from fairwise.store.study_state import FIRST, LOCKED
from fairwise.store.tables import AnyRow, answers, appearances, participants

T = TypeVar("T")

_others, _first, _later = appearances.alias(), answers.alias(), answers.alias()
# A question about each of a participant's pairs: asked of all at once, PostgreSQL would read everybody's answers.
FIRST_VERSION = (
    sa.select(_first.c.version)
    .where(_first.c.appearance_id == _others.c.id, _first.c.version == 1)
    .correlate(_others)
    .scalar_subquery()
)
HAS_ANSWERED = (
    sa.select(FIRST_VERSION)
    .where(_others.c.participant_id == participants.c.id, FIRST_VERSION.is_not(None))
    .correlate(participants)
    .exists()
)
"""Of a participant, whether any pair has an answer."""

ANSWERED = (
    sa.select(sa.func.count(FIRST_VERSION))
    .where(_others.c.participant_id == participants.c.id)
    .correlate(participants)
    .scalar_subquery()
)
"""Of a participant, how many pairs have one."""


def is_last(*same: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Of an answer to an appearance, whether it is the last version, or the last of those that are the `same`."""
    last = sa.select(sa.func.max(LATER.c.version)).where(LATER.c.appearance_id == appearances.c.id, *same)
    return answers.c.version == last.correlate(appearances, answers).scalar_subquery()


LATER = _later
"""Other versions of the same answer."""

_PAIRS = (
    sa.select(
        appearances.c.id,
        appearances.c.key,
        appearances.c.position,
        participants.c.token_hash,
        participants.c.stage,
        participants.c.consented_at,
        LOCKED.c.state,
        sa.func.coalesce(LOCKED.c.round, FIRST).label("round"),
        sa.func.coalesce(LOCKED.c.round_over, sa.false()).label("round_over"),
        HAS_ANSWERED.label("has_answered"),
    )
    .select_from(appearances)
    .join(participants, appearances.c.participant_id == participants.c.id)
    .outerjoin(LOCKED, sa.true())
    .where(appearances.c.key.in_(sa.bindparam("keys", expanding=True)))
    .order_by(appearances.c.id)
    .with_for_update(of=appearances)  # several processes on PostgreSQL take turns at one pair
)
# Asked after the pairs are locked. It is found by an index: an answer costs the same however many came before it.
_LAST = (
    sa.select(answers, appearances.c.id.label("pair"))
    .select_from(appearances)
    .join(answers, (answers.c.appearance_id == appearances.c.id) & is_last())
    .where(appearances.c.id.in_(sa.bindparam("pairs", expanding=True)))
)
_INSERT = sa.insert(answers)


class AnswerBatch:
    """What is known of the pairs that answers are `sent` for, and what is to be written of them.

    Nothing of it is written before :meth:`write`; of an answer that came alone, at once.
    """

    def __init__(self, connection: sa.Connection, sent: Collection[tuple[bytes, str]] = ()) -> None:
        """`sent`: of each answer, the hash of whose token it came with, and the key of its pair."""
        self._connection, self._alone = connection, len(sent) <= 1
        self._rows: list[Mapping[str, object]] = []
        known = self._look_up([key for _, key in sent])
        self._unknown = {key for _, key in sent} - known.keys()
        people = Counter(known[key][0].token_hash for _, key in sent if key in known)
        # Of two forms that somebody sent at the same time, the second one depends on what became of the first.
        self._known = {key: pair for key, pair in known.items() if people[pair[0].token_hash] == 1}

    def find(self, token_hash: bytes, key: str) -> tuple[AnyRow, AnyRow | None]:
        """A participant's pair, and the last version of their answer to it, if there is one."""
        known = self._known
        if key in self._unknown:
            raise Unknown
        if key not in known:
            self.write()
            known = self._look_up([key])
        if key not in known or known[key][0].token_hash != token_hash:
            raise Unknown
        return known[key]

    def add(self, values: Mapping[str, object]) -> None:
        """A row of the answers."""
        self._rows.append(values)
        if self._alone:
            self.write()

    def write(self) -> None:
        """Whatever was added: before a question whose answer depends on it, and at the end."""
        if self._rows:
            self._connection.execute(_INSERT, self._rows)
            self._rows = []

    def _look_up(self, keys: Sequence[str]) -> dict[str, tuple[AnyRow, AnyRow | None]]:
        pairs = self._asked(_PAIRS, "keys", keys)
        last = {row.pair: row for row in self._asked(_LAST, "pairs", [pair.id for pair in pairs])}
        return {pair.key: (pair, last.get(pair.id)) for pair in pairs}

    def _asked(self, query: sa.Select[*tuple[object, ...]], name: str, values: Sequence[object]) -> list[AnyRow]:
        return list(self._connection.execute(query, {name: padded(values)})) if values else []


def padded(values: Sequence[T]) -> list[T]:
    """Repeat the last value until there are 1, 2, 4, 8, … of them, so that there are few texts of a query to prepare.

    >>> padded("abcde")
    ['a', 'b', 'c', 'd', 'e', 'e', 'e', 'e']
    """
    return [*values, *repeat(values[-1], (1 << (len(values) - 1).bit_length()) - len(values))]
