"""Slots: places in the rota of anchor pairs. One is held until its holder withdraws, or leaves without finishing.

Nothing is written for it but the slot itself: who has left follows from when they agreed and when they last answered.
Those who are at it answered `since` some moment, or agreed after `begun`, which may be a later one: a place is held for
less long until the first answer. Without `begun` both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.tables import answers, appearances, participants

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_since = sa.bindparam("since", type_=participants.c.consented_at.type)
_begun = sa.bindparam("begun", type_=participants.c.consented_at.type)
_finished = participants.c.stage == "finished"
_answered_since = (
    sa.select(answers.c.id)
    .join(appearances, answers.c.appearance_id == appearances.c.id)
    .where(appearances.c.participant_id == participants.c.id, answers.c.answered_at > _since)
    .correlate(participants)
    .exists()
)
_stays = participants.c.stage.not_in(["finished", "screened_out"])
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
    .where(appearances.c.design == "anchor")
    .group_by(appearances.c.a, appearances.c.b)
)


def taking_part(
    connection: Connection, since: datetime, *those: ColumnElement[bool], begun: datetime | None = None
) -> int:
    """How many finished, or are at it; all who say that they have one id of a panel count as one."""
    one_id = participants.c.came_by + "|" + participants.c.panel_id
    who = sa.func.coalesce(one_id, sa.cast(participants.c.id, sa.Text))
    query = sa.select(sa.func.count(sa.distinct(who))).where(_finished | _at_it, *those)
    return connection.execute(query, {"since": since, "begun": begun or since}).scalar_one()


def lowest_free(connection: Connection, since: datetime, begun: datetime | None = None) -> int:
    """The first slot that nobody holds: neither someone who finished, nor someone who is at it.

    Whoever asks must keep others from asking until their participant is there.
    """
    moments = {"since": since, "begun": begun or since}
    held, last = connection.execute(_HOW_MANY_HELD, moments).one()
    if held == last + 1:  # the usual case, in which none is free before the last
        return int(held)
    taken = set(connection.execute(_HELD, moments).scalars())
    return next(slot for slot in count() if slot not in taken)


@dataclass(frozen=True)
class AnchorCoverage:
    """How many participants an anchor pair has."""

    a: str
    b: str
    finished: int
    at_it: int
    """Those who have not finished, and answered or began not long ago."""


def anchor_coverage(
    connection: Connection, anchor_pool: Sequence[tuple[str, str]], since: datetime, begun: datetime | None = None
) -> list[AnchorCoverage]:
    """How many participants each anchor pair has, in the order of the pool, on whichever sides it was shown."""
    counts = {frozenset(pair): [0, 0] for pair in anchor_pool}
    for row in connection.execute(_ANCHORS, {"since": since, "begun": begun or since}):
        both = counts[frozenset((row.a, row.b))]
        both[0] += row.finished
        both[1] += row.at_it
    return [AnchorCoverage(a, b, *counts[frozenset((a, b))]) for a, b in anchor_pool]
