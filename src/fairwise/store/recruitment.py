"""Recruitment: personal links, and the ids of a panel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, cast

import sqlalchemy as sa

from fairwise.store.erasure import note_deletion
from fairwise.store.schema import invitations, panel_groups, panel_ids, participants, withdrawals

# Personal links: one for each person, which leads them to the consent page first and later to where they were.

InvitationState = Literal["invited", "revoked", "withdrawn"]


class Invited(NamedTuple):
    """A personal link; the link itself is stored nowhere."""

    id: int
    name: str
    made_at: datetime
    state: str
    """invited, revoked, withdrawn or, once someone began by it, used."""

    number: int | None
    """Number of the participant who began by it."""


INVITATION_STATE = sa.case(
    (invitations.c.withdrawn_on.is_not(None), "withdrawn"),
    (invitations.c.revoked_at.is_not(None), "revoked"),
    else_="invited",
)
_INVITED = sa.select(
    invitations.c.id,
    invitations.c.name,
    invitations.c.made_at,
    sa.case((participants.c.id.is_not(None), "used"), else_=INVITATION_STATE),
    participants.c.number,
).outerjoin(participants, participants.c.token_hash == invitations.c.token_hash)


def invite(connection: sa.Connection, people: Iterable[tuple[bytes, str]], at: datetime) -> None:
    """Store links: the hash of each one's token, and the operator's name for the person."""
    rows = [{"token_hash": token_hash, "name": name, "made_at": at} for token_hash, name in people]
    connection.execute(sa.insert(invitations), rows)


def invitation(connection: sa.Connection, token_hash: bytes) -> InvitationState | None:
    """Return the state of a link that nobody takes part by; None if there never was one."""
    state = sa.select(INVITATION_STATE).where(invitations.c.token_hash == token_hash)
    return cast("InvitationState | None", connection.execute(state).scalar_one_or_none())


def lock_invitation(connection: sa.Connection, token_hash: bytes) -> bool:
    """Return whether somebody may begin by this link; if so, nobody revokes it before this transaction ends."""
    usable = (invitations.c.token_hash == token_hash) & (INVITATION_STATE == "invited")
    query = sa.select(invitations.c.id).where(usable).with_for_update(read=True)
    return connection.execute(query).first() is not None


def all_invited(connection: sa.Connection) -> list[Invited]:
    """Return every personal link, the last one first."""
    return [Invited(*row) for row in connection.execute(_INVITED.order_by(invitations.c.id.desc()))]


def invite_once(connection: sa.Connection, people: Iterable[tuple[bytes, str]], at: datetime) -> int:
    """Store links of a form that may be sent again; return how many are new."""
    names = dict(people)
    there = set(connection.execute(sa.select(invitations.c.token_hash)).scalars())
    new = [(token_hash, name) for token_hash, name in names.items() if token_hash not in there]
    if new:
        invite(connection, new, at)
    return len(new)


def revoke_one(connection: sa.Connection, invitation_id: int, at: datetime) -> bool:
    """Let nobody begin by this link; return whether there is such a link. Who began by it goes on."""
    return _revoke(connection, invitations.c.id == invitation_id, at)


def revoke(connection: sa.Connection, token_hash: bytes, at: datetime) -> bool:
    """Revoke a link by the hash of its token."""
    return _revoke(connection, invitations.c.token_hash == token_hash, at)


def _revoke(connection: sa.Connection, which: sa.ColumnElement[bool], at: datetime) -> bool:
    revoked = connection.execute(
        sa.update(invitations).where(which).values(revoked_at=sa.func.coalesce(invitations.c.revoked_at, at))
    )
    return bool(revoked.rowcount)


# Ids of a panel: those that may come or withdrew, kept as keyed hashes, and those that several say they have.


def how_many_listed(connection: sa.Connection) -> int:
    """Return how many ids may begin; 0 for all."""
    return connection.execute(sa.select(sa.func.count()).select_from(panel_ids)).scalar_one()


def may_come(connection: sa.Connection, mark: bytes | None) -> bool:
    """Return whether there is no list, or this id is on it."""
    listed = sa.select(panel_ids.c.mark)
    if connection.execute(listed.where(panel_ids.c.mark == mark)).first() is not None:
        return True
    return connection.execute(listed.limit(1)).first() is None


def list_ids(connection: sa.Connection, marks: Iterable[bytes], at: datetime) -> int:
    """Put ids on the list; return how many were not on it yet."""
    there = set(connection.execute(sa.select(panel_ids.c.mark)).scalars())
    new = [{"mark": mark, "added_at": at} for mark in dict.fromkeys(marks) if mark not in there]
    if new:
        connection.execute(sa.insert(panel_ids), new)
    return len(new)


def delete_list(connection: sa.Connection) -> int:
    """Let any id begin; return how many were on the list."""
    gone = connection.execute(sa.delete(panel_ids)).rowcount
    if gone:
        note_deletion(connection)
    return gone


def kept_arm(connection: sa.Connection, mark: bytes | None) -> str | None:
    """Return the arm of an id of a panel from an earlier beginning."""
    return connection.execute(sa.select(panel_groups.c.arm).where(panel_groups.c.mark == mark)).scalar_one_or_none()


def keep_arm(connection: sa.Connection, mark: bytes, arm: str) -> None:
    """Store the arm of an id; others who do so wait for this one."""
    connection.execute(sa.insert(panel_groups), {"mark": mark, "arm": arm})


def forget_arm(connection: sa.Connection, mark: bytes) -> bool:
    """Delete the arm of an id at its person's request; return whether there was one."""
    gone = connection.execute(sa.delete(panel_groups).where(panel_groups.c.mark == mark)).rowcount
    if gone:
        note_deletion(connection)
    return bool(gone)


def withdrawal_mark(mark: bytes, *, signed: bool) -> bytes:
    """Return the mark of an id that withdrew; another one where the panel `signed` for the person."""
    return hashlib.sha256(b"signed " + mark).digest() if signed else mark


def withdrew(connection: sa.Connection, mark: bytes, *, signed: bool) -> bool:
    """Return whether this id withdrew; where the panel `signed` for the person, whether they did so themselves."""
    marks = [withdrawal_mark(mark, signed=vouched) for vouched in {True, signed}]
    gone = sa.select(withdrawals.c.id).where(withdrawals.c.mark.in_(marks))
    return connection.execute(gone).first() is not None


def same_ids(connection: sa.Connection) -> dict[int, list[int]]:
    """Return, by number of a participant, the numbers of others who claim the same id."""
    which = participants.c.came_by, participants.c.panel_id
    several = sa.select(*which).where(which[1].is_not(None)).group_by(*which).having(sa.func.count() > 1).subquery()
    same = (several.c.came_by == which[0]) & (several.c.panel_id == which[1])
    rows = connection.execute(sa.select(participants.c.number, *which).join(several, same).order_by("number")).all()
    numbers_by_id: dict[tuple[str, str], list[int]] = {}
    for number, *whose in rows:
        numbers_by_id.setdefault(tuple(whose), []).append(number)
    return {
        number: [other for other in numbers if other != number]
        for numbers in numbers_by_id.values()
        for number in numbers
    }
