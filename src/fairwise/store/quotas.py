"""How many may take part: in all, and of each relation to the decision. Places are provisional at first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import sqlalchemy as sa

from fairwise.store.errors import Full, Unknown
from fairwise.store.exclusions import exclude
from fairwise.store.slots import taking_part
from fairwise.store.tables import answers, appearances, counters, participants

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from fairwise.study.settings import StudySettings

BY_ITSELF = "Fairwise"
"""Who is said to have left somebody out whom no operator did."""

SAME_ID = "Another participant answered first under the same id of the panel. Compare with the panel's list who it was."


@dataclass(frozen=True)
class Quotas:
    """How many may take part, and for how long a place is held."""

    most: int
    """0 for any number."""

    lease: timedelta
    """For someone who answered, after their last answer."""

    hold: timedelta
    """For someone who has not answered yet, after they agreed; never longer than the lease."""

    of_relations: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: StudySettings) -> Self:
        """Return those of a study."""
        recruitment = settings.recruitment
        of_relations = {relation.name: relation.most for relation in settings.relations}
        return cls(recruitment.most, settings.design.lease, recruitment.hold, of_relations)

    def since(self, at: datetime) -> dict[str, datetime]:
        """Who counts as taking part at a moment: see slots.py."""
        return {"since": at - self.lease, "begun": at - min(self.hold, self.lease)}

    def are_full(self, connection: Connection, at: datetime, relation: str | None = None) -> bool:
        """Whether as many take part as may, in all or of a relation."""
        since = self.since(at)
        if is_full(connection, self.most, **since):
            return True
        most = self.of_relations.get(relation or "")
        return most is not None and taking_part(connection, since["since"], _of(relation), begun=since["begun"]) >= most


def is_full(connection: Connection, most: int, since: datetime, begun: datetime | None = None) -> bool:
    """Whether as many take part as may: those who finished, and those at it who answered `since` or began then."""
    return bool(most) and taking_part(connection, since, begun=begun) >= most


def choose_relation(
    connection: Connection,
    token_hash: bytes,
    *,
    relation: str,
    most: int | None,
    since: datetime,
    begun: datetime | None = None,
    onward: str,
) -> None:
    """Keep what someone is to the decision, and go on; or screen them out, if there are enough of these.

    Sent again it changes nothing.
    """
    _one_at_a_time(connection)
    stage = connection.execute(
        sa.select(participants.c.stage).where(participants.c.token_hash == token_hash)
    ).scalar_one_or_none()
    if stage is None:
        raise Unknown
    if stage != "relation":
        return
    full = most is not None and taking_part(connection, since, _of(relation), begun=begun) >= most
    connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash)
        .values(relation=relation, stage="screened_out" if full else onward)
    )


def _of(relation: str | None) -> sa.ColumnElement[bool]:
    return participants.c.relation == relation


def _one_at_a_time(connection: Connection) -> None:
    """So that two who come together do not both take the last place."""
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=counters.c.value))


_HAS_ANSWERED = (
    sa.select(answers.c.id)
    .join(appearances, answers.c.appearance_id == appearances.c.id)
    .where(appearances.c.participant_id == participants.c.id, answers.c.version == 1)
    .correlate(participants)
    .exists()
)
_WHO = sa.select(
    participants.c.id,
    participants.c.number,
    participants.c.consented_at,
    participants.c.relation,
    participants.c.came_by,
    participants.c.panel_id,
    participants.c.panel_signed,
    _HAS_ANSWERED.label("has_answered"),
).where(participants.c.token_hash == sa.bindparam("token_hash"))


def lost_place(connection: Connection, token_hash: bytes, quotas: Quotas, at: datetime) -> bool:
    """Whether someone agreed too long ago without an answer, and there is no place any more."""
    who = connection.execute(_WHO, {"token_hash": token_hash}).one_or_none()
    if who is None:
        raise Unknown
    lapsed = not who.has_answered and who.consented_at <= quotas.since(at)["begun"]
    return lapsed and quotas.are_full(connection, at, who.relation)


def take_place(connection: Connection, token_hash: bytes, quotas: Quotas, at: datetime) -> None:
    """Before someone's first answer: refuse them if their place went to others, and count a panel's id once.

    Of several who say that they have one id, the first to answer counts; the others are left out until an operator
    has found out who the panel sent.
    """
    _one_at_a_time(connection)
    if lost_place(connection, token_hash, quotas, at):
        raise Full
    who = connection.execute(_WHO, {"token_hash": token_hash}).one()
    same = (participants.c.came_by == who.came_by) & (participants.c.panel_id == who.panel_id)
    same &= participants.c.panel_signed | sa.literal(not who.panel_signed)
    others = sa.select(participants.c.id).where(same, participants.c.id != who.id, _HAS_ANSWERED).limit(1)
    if who.panel_id is not None and connection.execute(others).first() is not None:
        exclude(connection, who.number, reason=SAME_ID, by=BY_ITSELF, at=at)
