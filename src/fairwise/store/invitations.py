"""Personal links: one for each person, which leads them to the consent page first and later to where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import sqlalchemy as sa

from fairwise.store.tables import invitations, participants

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

InvitationState = Literal["invited", "revoked", "withdrawn"]


class Invited(NamedTuple):
    """A personal link that was made; the link itself is kept nowhere."""

    id: int
    name: str
    made_at: datetime
    state: str
    """invited, revoked, withdrawn or, once someone began by it, used."""

    number: int | None
    """Of the participant who began by it."""


_INVITED = sa.select(
    invitations.c.id,
    invitations.c.name,
    invitations.c.made_at,
    sa.case(
        (participants.c.id.is_not(None), "used"),
        (invitations.c.withdrawn_on.is_not(None), "withdrawn"),
        (invitations.c.revoked_at.is_not(None), "revoked"),
        else_="invited",
    ),
    participants.c.number,
).outerjoin(participants, participants.c.token_hash == invitations.c.token_hash)


def invite(connection: Connection, people: Iterable[tuple[bytes, str]], at: datetime) -> None:
    """Keep the links of these people: the hash of each one's token, and what the operator calls them."""
    rows = [{"token_hash": token_hash, "name": name, "made_at": at} for token_hash, name in people]
    connection.execute(sa.insert(invitations), rows)


def invitation(connection: Connection, token_hash: bytes) -> InvitationState | None:
    """What became of a link that nobody takes part by; None if there never was one."""
    row = connection.execute(
        sa.select(invitations.c.revoked_at, invitations.c.withdrawn_on).where(invitations.c.token_hash == token_hash)
    ).one_or_none()
    if row is None:
        return None
    if row.withdrawn_on is not None:
        return "withdrawn"
    return "invited" if row.revoked_at is None else "revoked"


def all_invited(connection: Connection) -> list[Invited]:
    """Every personal link, the last one first."""
    return [Invited(*row) for row in connection.execute(_INVITED.order_by(invitations.c.id.desc()))]


def invite_once(connection: Connection, people: Iterable[tuple[bytes, str]], at: datetime) -> int:
    """The same for a form that may be sent again: links that are there already are left alone; returns how many not."""
    wanted = dict(people)
    there = set(connection.execute(sa.select(invitations.c.token_hash)).scalars())
    new = [(token_hash, name) for token_hash, name in wanted.items() if token_hash not in there]
    if new:
        invite(connection, new, at)
    return len(new)


def revoke_one(connection: Connection, invitation_id: int, at: datetime) -> bool:
    """Let nobody begin by this link; returns whether there is such a link. Who began by it goes on."""
    return _revoke(connection, invitations.c.id == invitation_id, at)


def revoke(connection: Connection, token_hash: bytes, at: datetime) -> bool:
    """The same by the hash of the link's token."""
    return _revoke(connection, invitations.c.token_hash == token_hash, at)


def _revoke(connection: Connection, which: sa.ColumnElement[bool], at: datetime) -> bool:
    revoked = connection.execute(
        sa.update(invitations).where(which).values(revoked_at=sa.func.coalesce(invitations.c.revoked_at, at))
    )
    return bool(revoked.rowcount)
