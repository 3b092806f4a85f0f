"""Rooms: a class or a meeting whose people come with a code."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.store.tables import participants, rooms

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

# Nothing that looks or sounds like something else on a wall.
_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_LENGTH = 6


@dataclass(frozen=True)
class Room:
    """A room, and how many came by its code."""

    id: int
    name: str
    code: str
    is_open: bool
    started: int
    finished: int


_LISTED = (
    sa.select(
        rooms.c.id,
        rooms.c.name,
        rooms.c.code,
        rooms.c.closed_at.is_(None),
        sa.func.count(participants.c.id),
        sa.func.count(participants.c.finished_at),
    )
    .outerjoin(participants, participants.c.room_id == rooms.c.id)
    .group_by(rooms.c.id)
    .order_by(rooms.c.id)
)


def open_room(connection: Connection, name: str, at: datetime) -> str:
    """Make a room; returns its code."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    connection.execute(sa.insert(rooms), {"name": name, "code": code, "made_at": at})
    return code


def close_room(connection: Connection, code: str, at: datetime) -> bool:
    """Let nobody else in by this code; returns whether there is such a room. Who is in goes on."""
    closed = connection.execute(
        sa.update(rooms).where(rooms.c.code == code).values(closed_at=sa.func.coalesce(rooms.c.closed_at, at))
    )
    return bool(closed.rowcount)


def all_rooms(connection: Connection) -> list[Room]:
    """Every room in the order in which they were made."""
    return [Room(row[0], row[1], row[2], bool(row[3]), row[4], row[5]) for row in connection.execute(_LISTED)]


def find_room(connection: Connection, code: str) -> Room | None:
    """The room of a code."""
    row = connection.execute(_LISTED.where(rooms.c.code == code)).one_or_none()
    return None if row is None else Room(row[0], row[1], row[2], bool(row[3]), row[4], row[5])


def read_code(typed: str) -> str:
    """Return a code as it was made, however it was typed.

    >>> read_code(" abc-def ")
    'ABCDEF'
    """
    return "".join(letter for letter in typed.upper() if letter in _LETTERS)[:16]
