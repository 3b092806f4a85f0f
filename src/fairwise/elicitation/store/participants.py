"""Participants: from consent to the end, or to withdrawal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.elicitation.store.problems import NotYet, Unknown
from fairwise.elicitation.store.slots import lowest_free
from fairwise.elicitation.store.tables import answers, appearances, closings, counters, participants, withdrawals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from fairwise.elicitation.designs import ShownPair


@dataclass(frozen=True)
class Participant:
    """Where someone is."""

    id: int
    number: int
    slot: int
    stage: str
    check_tries: int
    finished_at: datetime | None


_FIND = sa.select(
    participants.c.id,
    participants.c.number,
    participants.c.slot,
    participants.c.stage,
    participants.c.check_tries,
    participants.c.finished_at,
).where(participants.c.token_hash == sa.bindparam("token_hash"))


def find(connection: Connection, token_hash: bytes) -> Participant:
    """The participant of this token."""
    row = connection.execute(_FIND, {"token_hash": token_hash}).one_or_none()
    if row is None:
        raise Unknown
    return Participant(*row)


@dataclass(frozen=True)
class Consent:
    """Someone who agreed to take part."""

    token_hash: bytes
    version: str
    at: datetime
    first_stage: str
    lease: timedelta
    """For how long, without an answer, their slot is kept for them."""


def start(
    connection: Connection,
    consent: Consent,
    schedule: Callable[[int, int], Sequence[ShownPair]],
    new_key: Callable[[], str],
) -> Participant:
    """Take someone in and lay out the pairs of their number and slot; the same consent sent again changes nothing."""
    try:
        return find(connection, consent.token_hash)
    except Unknown:
        number = _next_number(connection)  # first, as only one at a time can then choose a slot
    slot = lowest_free(connection, since=consent.at - consent.lease)
    participant_id = connection.execute(
        sa.insert(participants).returning(participants.c.id),
        {
            "number": number,
            "slot": slot,
            "token_hash": consent.token_hash,
            "consent_version": consent.version,
            "consented_at": consent.at,
            "stage": consent.first_stage,
        },
    ).scalar_one()
    connection.execute(
        sa.insert(appearances),
        [
            {
                "participant_id": participant_id,
                "position": position,
                "key": new_key(),
                "a": pair.a,
                "b": pair.b,
                "design": pair.design,
                "selection_probability": pair.selection_probability,
            }
            for position, pair in enumerate(schedule(number, slot), start=1)
        ],
    )
    return Participant(participant_id, number, slot, consent.first_stage, 0, None)


def _next_number(connection: Connection) -> int:
    """A number that nobody had before, also nobody who withdrew; the row's lock orders several processes."""
    taken = connection.execute(
        sa.update(counters)
        .where(counters.c.name == "participants")
        .values(value=counters.c.value + 1)
        .returning(counters.c.value)
    ).scalar_one()
    return int(taken)


def move_on(connection: Connection, token_hash: bytes, leaving: str, to: str) -> None:
    """Go from one stage to the next; sent again, or from a page left long ago, it changes nothing."""
    connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash, participants.c.stage == leaving)
        .values(stage=to)
    )


def count_try(connection: Connection, token_hash: bytes) -> int:
    """One more try at the comprehension check; returns how many there were."""
    tries = connection.execute(
        sa.update(participants)
        .where(participants.c.token_hash == token_hash, participants.c.stage == "check")
        .values(check_tries=participants.c.check_tries + 1)
        .returning(participants.c.check_tries)
    ).scalar_one_or_none()
    return int(tries or 0)


def finish(
    connection: Connection, token_hash: bytes, *, rules: str, expressible: str, comments: str, at: datetime
) -> None:
    """Keep the closing answers and end; sent again it changes nothing."""
    who = find(connection, token_hash)
    if who.stage == "finished":
        return
    if who.stage != "pairs" or _open_pairs(connection, who.id):
        raise NotYet
    connection.execute(
        sa.insert(closings),
        {"participant_id": who.id, "rules": rules, "expressible": expressible, "comments": comments},
    )
    connection.execute(
        sa.update(participants).where(participants.c.id == who.id).values(stage="finished", finished_at=at)
    )


def _open_pairs(connection: Connection, participant_id: int) -> int:
    answered = sa.select(answers.c.id).where(answers.c.appearance_id == appearances.c.id).exists()
    return connection.execute(
        sa.select(sa.func.count())
        .select_from(appearances)
        .where(appearances.c.participant_id == participant_id, ~answered)
    ).scalar_one()


def withdraw(connection: Connection, token_hash: bytes, at: datetime) -> None:
    """Delete everything about someone. What remains is that on this day somebody withdrew."""
    gone = connection.execute(sa.delete(participants).where(participants.c.token_hash == token_hash))
    if not gone.rowcount:
        raise Unknown
    connection.execute(sa.insert(withdrawals), {"day": at.date()})
