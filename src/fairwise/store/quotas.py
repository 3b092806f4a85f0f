"""Limits on who takes part: places in all and by relation, slots in the rota of anchor pairs, and exclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Self

import sqlalchemy as sa

from fairwise.judgments.answer import PairDesign
from fairwise.store.answers import HAS_ANSWERED
from fairwise.store.errors import Full, Unknown
from fairwise.store.schema import answers, appearances, counters, exclusions, participants
from fairwise.study.settings import ENDS, Stage, StudySettings

# Exclusions: participants whom an operator leaves out of all results. Nothing of theirs is changed or deleted.

IS_EXCLUDED = (
    sa.select(exclusions.c.id)
    .where(exclusions.c.participant_id == participants.c.id, exclusions.c.included_at.is_(None))
    .correlate(participants)
    .exists()
)
"""Condition on a participant: an exclusion is in force."""


@dataclass(frozen=True)
class Exclusion:
    """A decision to exclude a participant, and when it was taken back."""

    reason: str
    excluded_at: datetime
    excluded_by: str
    included_at: datetime | None
    included_by: str | None


def exclude(connection: sa.Connection, number: int, *, reason: str, by: str, at: datetime) -> None:
    """Exclude a participant. One who is excluded already stays so, for the first reason."""
    participant_id = _locked_id(connection, number)
    is_excluded = sa.select(IS_EXCLUDED).where(participants.c.id == participant_id)
    if not connection.execute(is_excluded).scalar_one():
        values = {"participant_id": participant_id, "reason": reason, "excluded_at": at, "excluded_by": by}
        connection.execute(sa.insert(exclusions), values)


def include(connection: sa.Connection, number: int, *, by: str, at: datetime) -> None:
    """Take an exclusion back; called again it changes nothing."""
    connection.execute(
        sa.update(exclusions)
        .where(exclusions.c.participant_id == _locked_id(connection, number), exclusions.c.included_at.is_(None))
        .values(included_at=at, included_by=by)
    )


def exclusion_history(connection: sa.Connection, number: int) -> list[Exclusion]:
    """Return all exclusions of a participant, the first one first."""
    rows = connection.execute(
        sa.select(
            exclusions.c.reason,
            exclusions.c.excluded_at,
            exclusions.c.excluded_by,
            exclusions.c.included_at,
            exclusions.c.included_by,
        )
        .join(participants, exclusions.c.participant_id == participants.c.id)
        .where(participants.c.number == number)
        .order_by(exclusions.c.id)
    )
    return [Exclusion(*row) for row in rows]


def _locked_id(connection: sa.Connection, number: int) -> int:
    """Return the id of a participant. Several processes on PostgreSQL take turns at one."""
    locked = sa.select(participants.c.id).where(participants.c.number == number).with_for_update()
    participant_id = connection.execute(locked).scalar_one_or_none()
    if participant_id is None:
        raise Unknown
    return int(participant_id)


# Slots: places in the rota of anchor pairs. One is held until its holder withdraws, or leaves without finishing.

_since = sa.bindparam("since", type_=participants.c.consented_at.type)
_begun = sa.bindparam("begun", type_=participants.c.consented_at.type)
_is_finished = participants.c.stage == Stage.FINISHED
_answered_since = (
    sa.select(answers.c.id)
    .join(appearances, answers.c.appearance_id == appearances.c.id)
    .where(appearances.c.participant_id == participants.c.id, answers.c.answered_at > _since)
    .correlate(participants)
    .exists()
)
_is_unfinished = participants.c.stage.not_in(ENDS)
_is_active = _is_unfinished & ((participants.c.consented_at > _begun) | _answered_since)

_HELD = sa.select(participants.c.slot).where(_is_finished | _is_active)
_N_HELD = sa.select(
    sa.func.count(participants.c.slot.distinct()), sa.func.coalesce(sa.func.max(participants.c.slot), -1)
).where(_is_finished | _is_active)
# Evaluated once for each participant, not once for each of their pairs.
_holders = (
    sa.select(participants.c.id, sa.case((_is_finished, 1), else_=0).label("finished"))
    .add_columns(sa.case((_is_active, 1), else_=0).label("active"))
    .cte("holders")
    .prefix_with("MATERIALIZED")
)
_ANCHORS = (
    sa.select(
        appearances.c.a,
        appearances.c.b,
        sa.func.sum(_holders.c.finished).label("finished"),
        sa.func.sum(_holders.c.active).label("active"),
    )
    .join(_holders, appearances.c.participant_id == _holders.c.id)
    .where(appearances.c.design == PairDesign.ANCHOR)
    .group_by(appearances.c.a, appearances.c.b)
)


def count_taking_part(
    connection: sa.Connection, since: datetime, *conditions: sa.ColumnElement[bool], begun: datetime | None = None
) -> int:
    """Return how many finished or are active. All who claim one id of a panel count as one."""
    one_id = participants.c.came_by + "|" + participants.c.panel_id
    identity = sa.func.coalesce(one_id, sa.cast(participants.c.id, sa.Text))
    query = sa.select(sa.func.count(sa.distinct(identity))).where(_is_finished | _is_active, *conditions)
    return connection.execute(query, {"since": since, "begun": begun or since}).scalar_one()


def finished_by_relation(connection: sa.Connection, *, simulated: bool) -> dict[str | None, int]:
    """Return how many have finished and are not excluded, real people or simulated ones, by their relation."""
    counted = sa.select(participants.c.relation, sa.func.count()).group_by(participants.c.relation)
    query = counted.where(_is_finished, ~IS_EXCLUDED, participants.c.simulated == simulated)
    return {row[0]: row[1] for row in connection.execute(query)}


def free_slots(connection: sa.Connection, since: datetime, begun: datetime | None = None) -> Iterator[int]:
    """Yield slots that nobody holds who finished or is active, the lowest first.

    The caller must keep others from asking until their participant is stored.
    """
    moments = {"since": since, "begun": begun or since}
    held, last = connection.execute(_N_HELD, moments).one()
    if held == last + 1:  # the usual case, in which none is free before the last
        return count(int(held))
    taken = set(connection.execute(_HELD, moments).scalars())
    return (slot for slot in count() if slot not in taken)


def free_turns(connection: sa.Connection) -> Iterator[int]:
    """Yield free turns in the order of the arms, the lowest first. Other callers wait until one is taken."""
    _take_turns(connection)
    turns = sa.select(participants.c.arm_turn).where(participants.c.arm_turn.is_not(None))
    taken = set(connection.execute(turns).scalars())
    return (turn for turn in count() if turn not in taken)


@dataclass(frozen=True)
class AnchorCoverage:
    """Number of participants of an anchor pair."""

    a: str
    b: str
    finished: int
    active: int
    """Number of participants who have not finished, and answered or began recently."""


def anchor_coverage(
    connection: sa.Connection, anchor_pool: Sequence[tuple[str, str]], since: datetime, begun: datetime | None = None
) -> list[AnchorCoverage]:
    """Return the number of participants of each anchor pair, in the order of the pool, shown on either sides."""
    counts = {frozenset(pair): [0, 0] for pair in anchor_pool}
    for row in connection.execute(_ANCHORS, {"since": since, "begun": begun or since}):
        both = counts[frozenset((row.a, row.b))]
        both[0] += row.finished
        both[1] += row.active
    return [AnchorCoverage(a, b, *counts[frozenset((a, b))]) for a, b in anchor_pool]


BY_ITSELF = "Fairwise"
"""Author of an exclusion that no operator decided."""

SAME_ID = "Another participant answered first under the same id of the panel. Compare with the panel's list who it was."


@dataclass(frozen=True)
class Quotas:
    """Limits on participants, and times for which places are held."""

    most: int
    """0 for any number."""

    lease: timedelta
    """Time after the last answer of a participant who answered."""

    hold: timedelta
    """Time after the consent of a participant who has not answered yet; never longer than the lease."""

    of_relations: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: StudySettings) -> Self:
        """Return the quotas of a study."""
        recruitment = settings.recruitment
        of_relations = {relation.name: relation.most for relation in settings.relations}
        return cls(recruitment.most, settings.design.lease, recruitment.hold, of_relations)

    def since(self, at: datetime) -> dict[str, datetime]:
        """Return the moments after which a participant counts as active: see slots above."""
        return {"since": at - self.lease, "begun": at - min(self.hold, self.lease)}

    def are_full(self, connection: sa.Connection, at: datetime, relation: str | None = None) -> bool:
        """Return whether as many take part as may, in all or of a relation."""
        since = self.since(at)
        if is_full(connection, self.most, **since):
            return True
        most = self.of_relations.get(relation or "")
        of_relation = participants.c.relation == relation
        return (
            most is not None
            and count_taking_part(connection, since["since"], of_relation, begun=since["begun"]) >= most
        )


def is_full(connection: sa.Connection, most: int, since: datetime, begun: datetime | None = None) -> bool:
    """Return whether as many take part as may: those who finished, and those who answered `since` or began then."""
    return bool(most) and count_taking_part(connection, since, begun=begun) >= most


def choose_relation(
    connection: sa.Connection,
    token_hash: bytes,
    *,
    relation: str,
    most: int | None,
    since: datetime,
    begun: datetime | None = None,
    onward: Stage,
) -> None:
    """Store a participant's relation to the decision and go on, or screen them out if its places are taken.

    Called again it changes nothing.
    """
    _take_turns(connection)
    mine = participants.c.token_hash == token_hash
    stage = connection.execute(sa.select(participants.c.stage).where(mine)).scalar_one_or_none()
    if stage is None:
        raise Unknown
    if stage != Stage.RELATION:
        return
    of_relation = participants.c.relation == relation
    full = most is not None and count_taking_part(connection, since, of_relation, begun=begun) >= most
    values = {"relation": relation, "stage": Stage.SCREENED_OUT if full else onward}
    connection.execute(sa.update(participants).where(mine).values(values))


def _take_turns(connection: sa.Connection) -> None:
    """Lock a row, so that two who come together do not both take the last place."""
    connection.execute(sa.update(counters).where(counters.c.name == "participants").values(value=counters.c.value))


_WHO = sa.select(
    participants.c.id,
    participants.c.number,
    participants.c.consented_at,
    participants.c.relation,
    participants.c.came_by,
    participants.c.panel_id,
    participants.c.panel_signed,
    HAS_ANSWERED.label("has_answered"),
).where(participants.c.token_hash == sa.bindparam("token_hash"))


def lost_place(connection: sa.Connection, token_hash: bytes, quotas: Quotas, at: datetime) -> bool:
    """Return whether a participant agreed too long ago without an answer, and all places are taken."""
    who = connection.execute(_WHO, {"token_hash": token_hash}).one_or_none()
    if who is None:
        raise Unknown
    lapsed = not who.has_answered and who.consented_at <= quotas.since(at)["begun"]
    return lapsed and quotas.are_full(connection, at, who.relation)


def take_place(connection: sa.Connection, token_hash: bytes, quotas: Quotas, at: datetime) -> None:
    """Refuse a participant's first answer if their place went to others, and count a panel's id once.

    Of several who claim one id, the first to answer counts. The others are excluded until an operator has found out
    whom the panel sent.
    """
    _take_turns(connection)
    if lost_place(connection, token_hash, quotas, at):
        raise Full
    who = connection.execute(_WHO, {"token_hash": token_hash}).one()
    same = (participants.c.came_by == who.came_by) & (participants.c.panel_id == who.panel_id)
    same &= participants.c.panel_signed | sa.literal(not who.panel_signed)
    others = sa.select(participants.c.id).where(same, participants.c.id != who.id, HAS_ANSWERED).limit(1)
    if who.panel_id is not None and connection.execute(others).first() is not None:
        exclude(connection, who.number, reason=SAME_ID, by=BY_ITSELF, at=at)
