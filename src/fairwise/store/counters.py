"""Numbers by name, about nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairwise.store.tables import counters

if TYPE_CHECKING:
    from sqlalchemy import Connection


def counter(connection: Connection, name: str) -> int:
    """What it says; 0 if there is none yet."""
    return connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar_one_or_none() or 0


def set_counter(connection: Connection, name: str, value: Any, first: int) -> None:
    """Set it to a value, which may be an expression of ``counters.c.value``; or to ``first``, if there is none yet."""
    there = connection.execute(sa.update(counters).where(counters.c.name == name).values(value=value))
    if not there.rowcount:
        connection.execute(sa.insert(counters), {"name": name, "value": first})
