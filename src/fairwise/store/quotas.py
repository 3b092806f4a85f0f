"""Places in a study: how many may take part, in all and by relation, and the rota of anchor pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Self

import sqlalchemy as sa

from fairwise.judgments.answer import PairDesign
from fairwise.store.answer_batch import HAS_ANSWERED
from fairwise.store.errors import Full, Unknown
from fairwise.store.exclusions import IS_EXCLUDED, exclude
from fairwise.store.tables import answers, appearances, counters, participants
from fairwise.study.settings import ENDS, Stage, StudySettings

# Slots: places in the rota of anchor pairs. One is held until its holder withdraws, or leaves without finishing.

_since = sa.bindparam("since", type_=participants.c.consented_at.type)
_begun = sa.bindparam("begun", type_=participants.c.consented_at.type)
_finished = participants.c.stage == Stage.FINISHED
_answered_since = (
    sa.select(answers.c.id)
    .join(appearances, answers.c.appearance_id == appearances.c.id)
    .where(appearances.c.participant_id == participants.c.id, answers.c.answered_at > _since)
    .correlate(participants)
    .exists()
)
_stays = participants.c.stage.not_in(ENDS)
_at_it = _stays & ((participants.c.consented_at > _begun) | _answered_since)

_HELD = sa.select(participants.c.slot).where(_finished | _at_it)
_HOW_MANY_HELD = sa.select(
    sa.func.count(participants.c.slot.distinct()), sa.func.coalesce(sa.func.max(participants.c.slot), -1)
).where(_finished | _at_it)
# Who is at it is found once for each participant, not once for each of their pairs.
_holders = (
    sa.select(participants.c.id, sa.case((_finished, 1), else_=0).label("finished"))
    .add_columns(sa.case((_at_it, 1), else_=0).label("at_it"))
    .cte("holders")
    .prefix_with("MATERIALIZED")
)
_ANCHORS = (
    sa.select(
        appearances.c.a,
        appearances.c.b,
        sa.func.sum(_holders.c.finished).label("finished"),
        sa.func.sum(_holders.c.at_it).label("at_it"),
    )
    .join(_holders, appearances.c.participant_id == _holders.c.id)
    .where(appearances.c.design == PairDesign.ANCHOR)
    .group_by(appearances.c.a, appearances.c.b)
)


def taking_part(
    connection: sa.Connection, since: datetime, *those: sa.ColumnElement[bool], begun: datetime | None = None
) -> int:
    """How many finished, or are at it; all who say that they have one id of a panel count as one."""
    one_id = participants.c.came_by + "|" + participants.c.panel_id
    who = sa.func.coalesce(one_id, sa.cast(participants.c.id, sa.Text))
    query = sa.select(sa.func.count(sa.distinct(who))).where(_finished | _at_it, *those)
    return connection.execute(query, {"since": since, "begun": begun or since}).scalar_one()


def finished_by_relation(connection: sa.Connection, *, simulated: bool) -> dict[str | None, int]:
    """Return how many have finished and are not excluded, real people or simulated ones, by their relation."""
    counted = sa.select(participants.c.relation, sa.func.count()).group_by(participants.c.relation)
    query = counted.where(_finished, ~IS_EXCLUDED, participants.c.simulated == simulated)
    return {row[0]: row[1] for row in connection.execute(query)}


def free_slots(connection: sa.Connection, since: datetime, begun: datetime | None = None) -> Iterator[int]:
    """Slots that nobody holds, neither someone who finished, nor someone who is at it; the lowest first.

    Whoever asks must keep others from asking until their participant is there.
    """
    moments = {"since": since, "begun": begun or since}
    held, last = connection.execute(_HOW_MANY_HELD, moments).one()
    if held == last + 1:  # the usual case, in which none is free before the last
        return count(int(held))
    taken = set(connection.execute(_HELD, moments).scalars())
    return (slot for slot in count() if slot not in taken)


_TURNS = sa.select(participants.c.arm_turn).where(participants.c.arm_turn.is_not(None))


def free_turns(connection: sa.Connection) -> Iterator[int]:
    """Turns in the order of the arms that nobody has, the lowest first; others who ask wait until one is taken."""
    _one_at_a_time(connection)
    taken = set(connection.execute(_TURNS).scalars())
    return (turn for turn in count() if turn not in taken)


@dataclass(frozen=True)
class AnchorCoverage:
    """How many participants an anchor pair has."""

    a: str
    b: str
    finished: int
    at_it: int
    """Those who have not finished, and answered or began not long ago."""


def anchor_coverage(
    connection: sa.Connection, anchor_pool: Sequence[tuple[str, str]], since: datetime, begun: datetime | None = None
) -> list[AnchorCoverage]:
    """How many participants each anchor pair has, in the order of the pool, on whichever sides it was shown."""
    counts = {frozenset(pair): [0, 0] for pair in anchor_pool}
    for row in connection.execute(_ANCHORS, {"since": since, "begun": begun or since}):
        both = counts[frozenset((row.a, row.b))]
        both[0] += row.finished
        both[1] += row.at_it
    return [AnchorCoverage(a, b, *counts[frozenset((a, b))]) for a, b in anchor_pool]


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
        """Who counts as taking part at a moment: see slots above."""
        return {"since": at - self.lease, "begun": at - min(self.hold, self.lease)}

    def are_full(self, connection: sa.Connection, at: datetime, relation: str | None = None) -> bool:
        """Whether as many take part as may, in all or of a relation."""
        since = self.since(at)
        if is_full(connection, self.most, **since):
            return True
        most = self.of_relations.get(relation or "")
        return most is not None and taking_part(connection, since["since"], _of(relation), begun=since["begun"]) >= most


def is_full(connection: sa.Connection, most: int, since: datetime, begun: datetime | None = None) -> bool:
    """Whether as many take part as may: those who finished, and those at it who answered `since` or began then."""
    return bool(most) and taking_part(connection, since, begun=begun) >= most


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
    """Keep what someone is to the decision, and go on; or screen them out, if there are enough of these.

    Sent again it changes nothing.
    """
    _one_at_a_time(connection)
    stage = connection.execute(
        sa.select(participants.c.stage).where(participants.c.token_hash == token_hash)
    ).scalar_one_or_none()
    if stage is None:
        raise Unknown
    if stage != Stage.RELATION:
        return
    full = most is not None and taking_part(connection, since, _of(relation), begun=begun) >= most
    connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash)
        .values(relation=relation, stage=Stage.SCREENED_OUT if full else onward)
    )


def _of(relation: str | None) -> sa.ColumnElement[bool]:
    return participants.c.relation == relation


def _one_at_a_time(connection: sa.Connection) -> None:
    """So that two who come together do not both take the last place."""
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
    """Whether someone agreed too long ago without an answer, and there is no place any more."""
    who = connection.execute(_WHO, {"token_hash": token_hash}).one_or_none()
    if who is None:
        raise Unknown
    lapsed = not who.has_answered and who.consented_at <= quotas.since(at)["begun"]
    return lapsed and quotas.are_full(connection, at, who.relation)


def take_place(connection: sa.Connection, token_hash: bytes, quotas: Quotas, at: datetime) -> None:
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
    others = sa.select(participants.c.id).where(same, participants.c.id != who.id, HAS_ANSWERED).limit(1)
    if who.panel_id is not None and connection.execute(others).first() is not None:
        exclude(connection, who.number, reason=SAME_ID, by=BY_ITSELF, at=at)
