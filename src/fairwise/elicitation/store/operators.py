"""Operators: their accounts, and the sessions in which they are known."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairwise.elicitation.store.problems import NameTaken
from fairwise.elicitation.store.tables import events, operators, sessions

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

LONGEST = timedelta(hours=12)
"""After so long one must log in again, whatever one does."""

IDLE = timedelta(hours=1)
"""After so long without a page, too."""


@dataclass(frozen=True)
class Operator:
    """Someone who is logged in."""

    id: int
    name: str
    role: str

    @property
    def is_owner(self) -> bool:
        return self.role == "owner"


def add_operator(connection: Connection, name: str, password_hash: str, role: str, at: datetime) -> int:
    """Make an account and return its id; a name that is there already, in whatever letters, is refused."""
    if credentials(connection, name) is not None:
        raise NameTaken
    values = {"name": name, "password_hash": password_hash, "role": role, "made_at": at}
    made = connection.execute(sa.insert(operators), values).inserted_primary_key
    assert made is not None
    return int(made[0])


def add_first_owner(connection: Connection, name: str, password_hash: str, at: datetime) -> int | None:
    """Make the account of the first owner, unless somebody else was faster."""
    return None if has_owner(connection) else add_operator(connection, name, password_hash, "owner", at)


def all_operators(connection: Connection) -> list[Operator]:
    """Every account."""
    rows = connection.execute(sa.select(operators.c.id, operators.c.name, operators.c.role).order_by(operators.c.id))
    return [Operator(*row) for row in rows]


def has_owner(connection: Connection) -> bool:
    """Whether anyone could log in and change something."""
    return connection.execute(sa.select(operators.c.id).where(operators.c.role == "owner")).first() is not None


def remove_operator(connection: Connection, operator_id: int) -> None:
    """Delete an account and end its sessions."""
    connection.execute(sa.delete(operators).where(operators.c.id == operator_id))


def change_password(connection: Connection, operator_id: int, password_hash: str) -> None:
    """Keep another password, and end every session of this account."""
    connection.execute(sa.update(operators).where(operators.c.id == operator_id).values(password_hash=password_hash))
    connection.execute(sa.delete(sessions).where(sessions.c.operator_id == operator_id))


def credentials(connection: Connection, name: str) -> tuple[int, str] | None:
    """Id and hash of the password of the account of this name."""
    rows = connection.execute(sa.select(operators.c.id, operators.c.name, operators.c.password_hash).order_by("id"))
    return next(((row.id, row.password_hash) for row in rows if _letters(row.name) == _letters(name)), None)


def _letters(name: str) -> str:
    """A name however it is typed; compared here, as SQLite knows the case of English letters only."""
    return unicodedata.normalize("NFKC", name).casefold()


def begin_session(connection: Connection, operator_id: int, token_hash: bytes, at: datetime) -> None:
    """Know whoever has this token from now on; sessions that have ended are forgotten."""
    connection.execute(sa.delete(sessions).where(_ended(at)))
    values = {"token_hash": token_hash, "operator_id": operator_id, "begun_at": at, "used_at": at}
    connection.execute(sa.insert(sessions), values)


def operator_of(connection: Connection, token_hash: bytes, at: datetime) -> Operator | None:
    """Who has this token, if their session has not ended."""
    row = connection.execute(
        sa.select(operators.c.id, operators.c.name, operators.c.role)
        .join(sessions, sessions.c.operator_id == operators.c.id)
        .where(sessions.c.token_hash == token_hash, ~_ended(at))
    ).one_or_none()
    return None if row is None else Operator(*row)


def use_session(connection: Connection, token_hash: bytes, at: datetime) -> None:
    """The operator is still there."""
    connection.execute(sa.update(sessions).where(sessions.c.token_hash == token_hash).values(used_at=at))


def end_session(connection: Connection, token_hash: bytes) -> None:
    connection.execute(sa.delete(sessions).where(sessions.c.token_hash == token_hash))


def note(connection: Connection, operator: Operator, action: str, about: str, at: datetime) -> None:
    """Write down what an operator did."""
    connection.execute(sa.insert(events), {"at": at, "operator": operator.name, "action": action, "about": about})


def _ended(at: datetime) -> sa.ColumnElement[bool]:
    return (sessions.c.begun_at < at - LONGEST) | (sessions.c.used_at < at - IDLE)
