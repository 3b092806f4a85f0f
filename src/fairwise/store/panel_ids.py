"""Ids of a panel: those that may come or withdrew, kept as keyed hashes, and those that several say they have."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.erasure import note_deletion
from fairwise.store.tables import panel_ids, participants, withdrawals

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection


def how_many_listed(connection: Connection) -> int:
    """How many ids may come; 0 for all of them."""
    return connection.execute(sa.select(sa.func.count()).select_from(panel_ids)).scalar_one()


def may_come(connection: Connection, mark: bytes | None) -> bool:
    """Whether there is no list, or this id is on it."""
    listed = sa.select(panel_ids.c.mark)
    if connection.execute(listed.where(panel_ids.c.mark == mark)).first() is not None:
        return True
    return connection.execute(listed.limit(1)).first() is None


def list_ids(connection: Connection, marks: Iterable[bytes], at: datetime) -> int:
    """Put ids on the list; returns how many were not on it yet."""
    there = set(connection.execute(sa.select(panel_ids.c.mark)).scalars())
    new = [{"mark": mark, "added_at": at} for mark in dict.fromkeys(marks) if mark not in there]
    if new:
        connection.execute(sa.insert(panel_ids), new)
    return len(new)


def delete_list(connection: Connection) -> int:
    """From now on any id may come; returns how many were on the list."""
    gone = connection.execute(sa.delete(panel_ids)).rowcount
    if gone:
        note_deletion(connection)
    return gone


def withdrawal_mark(mark: bytes, *, signed: bool) -> bytes:
    """What is kept of an id that withdrew; another where the panel `signed` for whoever did."""
    return hashlib.sha256(b"signed " + mark).digest() if signed else mark


def withdrew(connection: Connection, mark: bytes, *, signed: bool) -> bool:
    """Whether someone with this id withdrew; to whoever the panel `signed` for, whether they did so themselves."""
    marks = [withdrawal_mark(mark, signed=vouched) for vouched in {True, signed}]
    gone = sa.select(withdrawals.c.id).where(withdrawals.c.mark.in_(marks))
    return connection.execute(gone).first() is not None


def same_ids(connection: Connection) -> dict[int, list[int]]:
    """By number of a participant, those of others who say that they have the same id."""
    which = participants.c.came_by, participants.c.panel_id
    several = sa.select(*which).where(which[1].is_not(None)).group_by(*which).having(sa.func.count() > 1).subquery()
    same = (several.c.came_by == which[0]) & (several.c.panel_id == which[1])
    rows = connection.execute(sa.select(participants.c.number, *which).join(several, same).order_by("number")).all()
    together: dict[tuple[str, str], list[int]] = {}
    for number, *whose in rows:
        together.setdefault(tuple(whose), []).append(number)
    return {
        number: [other for other in numbers if other != number] for numbers in together.values() for number in numbers
    }
