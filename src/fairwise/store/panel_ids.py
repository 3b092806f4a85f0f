"""Ids of a panel that may come, kept as keyed hashes: they can be recognised, but not read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.erasure import note_deletion
from fairwise.store.tables import panel_ids

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
