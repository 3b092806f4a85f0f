"""Reasons that participants gave: which of them others may read. Nothing is ever edited, only released or hidden."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fairwise.judgments.answer import Answer
from fairwise.store.answers import LAST_OF_EACH_ROUND
from fairwise.store.deliberation import MEASURED, TwoPeople, two_people
from fairwise.store.exclusions import IS_EXCLUDED
from fairwise.store.operators import Operator, note
from fairwise.store.study_state import FIRST
from fairwise.store.tables import answers, appearances, reasons

RELEASED, HIDDEN = "released", "hidden"
ACTIONS = {RELEASED: "reason released", HIDDEN: "reason hidden"}
"""Entries of the audit log about a reason, by its keyed name."""

REPORTED = "reason reported"
PARTICIPANT = Operator(0, "(a participant)", "viewer")
"""Who reported a reason is not kept."""


class GivenReason(NamedTuple):
    """A reason of the first round, with what was decided about it."""

    answer_id: int
    two: TwoPeople
    answer: Answer
    """About the two in that order."""

    text: str
    state: str | None
    """None if nobody has decided yet; then nobody else reads it."""

    decided_by: str | None
    decided_at: datetime | None
    reported_at: datetime | None

    @property
    def waits(self) -> bool:
        """Whether it was reported and nobody has looked at it since."""
        return self.reported_at is not None and (self.decided_at is None or self.decided_at < self.reported_at)


_GIVEN = (
    LAST_OF_EACH_ROUND.with_only_columns(
        answers.c.id,
        appearances.c.a,
        appearances.c.b,
        answers.c.answer,
        answers.c.why,
        reasons.c.state,
        reasons.c.decided_by,
        reasons.c.decided_at,
        reasons.c.reported_at,
    )
    .outerjoin(reasons, reasons.c.answer_id == answers.c.id)
    .where(answers.c.round == FIRST, answers.c.why != "", ~MEASURED, ~IS_EXCLUDED)
)


def reasons_about(connection: sa.Connection, pairs: Collection[TwoPeople]) -> list[GivenReason]:
    """All reasons about these pairs, without those of whom an operator left out."""
    found = []
    for answer_id, a, b, answer, *more in connection.execute(_GIVEN):
        two, said = two_people(a, b), Answer(answer)
        if two in pairs:
            found.append(GivenReason(answer_id, two, said if two == (a, b) else said.swapped(), *more))
    return found


def all_answer_ids(connection: sa.Connection) -> list[int]:
    """Ids of the answers that have a reason which could be released."""
    return list(connection.execute(_GIVEN.with_only_columns(answers.c.id)).scalars())


def decide(connection: sa.Connection, names: Mapping[int, str], state: str, operator: Operator, at: datetime) -> None:
    """Release or hide the reasons of answers; each decision is written down under the reason's keyed name.

    What is gone, or decided so already, is left alone.
    """
    wanted = _GIVEN.where(answers.c.id.in_(names)).order_by(None).order_by(answers.c.id)
    for row in connection.execute(wanted).all():
        settled = row.decided_at is not None and (row.reported_at is None or row.reported_at <= row.decided_at)
        if row.state == state and settled:
            continue
        _put(connection, row.id, state=state, decided_by=operator.name, decided_at=at)
        note(connection, operator, ACTIONS[state], f"reason {names[row.id]}", at)


def report(connection: sa.Connection, answer_id: int, name: str, at: datetime) -> None:
    """Hide a reason at once that a participant says must not be read, until an operator decides.

    Whoever reports it again after an operator released it tells the operators so, and it stays: else one participant
    could keep it from all others for good.
    """
    # Locked, as on PostgreSQL an operator may hide it at the same moment through another process.
    reported = sa.select(reasons).where(reasons.c.answer_id == answer_id).with_for_update()
    row = connection.execute(reported).one_or_none()
    if row is None or row.state != RELEASED:
        return
    state = HIDDEN if row.reported_at is None else RELEASED
    _put(connection, answer_id, state=state, reported_at=at)
    note(connection, PARTICIPANT, REPORTED, f"reason {name}", at)


def waiting(connection: sa.Connection) -> int:
    """How many were reported and nobody has looked at since."""
    unseen = reasons.c.decided_at.is_(None) | (reasons.c.decided_at < reasons.c.reported_at)
    query = sa.select(sa.func.count()).select_from(reasons).where(reasons.c.reported_at.is_not(None), unseen)
    return connection.execute(query).scalar_one()


def _put(connection: sa.Connection, answer_id: int, **values: object) -> None:
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    row = insert(reasons).values(answer_id=answer_id, **values)
    connection.execute(row.on_conflict_do_update(index_elements=[reasons.c.answer_id], set_=values))
