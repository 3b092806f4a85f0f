"""Operators: accounts, sessions, and the audit log of their changes.

Every change leaves an event with its time and operator.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.store.errors import LastOwner, NameTaken, NotAllowed, NotLoggedIn
from fairwise.store.schema import events, operators, sessions

LONGEST = timedelta(hours=12)
"""Longest session."""

IDLE = timedelta(hours=1)
"""Longest time between two pages of a session."""

LONGEST_NAME = 100

_TURNS = 0x6F776E65  # any number will do, as long as it is always the same, and not that of the migrations


@dataclass(frozen=True)
class Operator:
    """Account of an operator."""

    id: int
    name: str
    role: str

    @property
    def is_owner(self) -> bool:
        return self.role == "owner"


COMMAND_LINE = Operator(0, "(command line)", "owner")
"""Operator of commands. Who can read the study's folder may do everything."""

CLOCK_BELIEVED = "clock said to be right"
"""Entry of the audit log that needs no account."""


def authorised(connection: sa.Connection, token_hash: bytes, role: str, at: datetime) -> Operator:
    """Return the operator with this token if they have the role now; until the commit that stays so.

    Every change by an operator begins with this, in the same transaction: rights may have changed since the request
    began, or by another process.
    """
    take_turns(connection)
    return check_role(operator_of(connection, token_hash, at), role)


def check_role(operator: Operator | None, role: str) -> Operator:
    """Refuse a session that has ended, and viewers what needs an owner."""
    if operator is None:
        raise NotLoggedIn
    if role == "owner" and not operator.is_owner:
        raise NotAllowed
    return operator


def take_turns(connection: sa.Connection) -> None:
    """Make changes of accounts and by operators wait for each other, also between processes.

    On SQLite every writing transaction does so anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURNS})")


def add_operator(connection: sa.Connection, name: str, password_hash: str, role: str, at: datetime) -> int:
    """Create an account; return its id. A name that exists, in any case of its letters, is refused."""
    if credentials(connection, name) is not None or same_letters(name) == COMMAND_LINE.name:
        raise NameTaken
    values = {"name": name, "password_hash": password_hash, "role": role, "made_at": at}
    return int(connection.execute(sa.insert(operators).returning(operators.c.id), values).scalar_one())


def add_first_owner(connection: sa.Connection, name: str, password_hash: str, at: datetime) -> int | None:
    """Create the account of the first owner, unless there ever was an account."""
    take_turns(connection)
    if was_set_up(connection):
        return None
    operator_id = add_operator(connection, name, password_hash, "owner", at)
    note(connection, Operator(operator_id, name, "owner"), "first account made", name, at)
    return operator_id


def was_set_up(connection: sa.Connection) -> bool:
    """Return whether there is or ever was an account."""
    done = sa.select(events.c.id).where(events.c.action != CLOCK_BELIEVED)  # which needs no account
    return any(connection.execute(query.limit(1)).first() for query in (sa.select(operators.c.id), done))


def all_operators(connection: sa.Connection) -> list[Operator]:
    """Return every account."""
    rows = connection.execute(sa.select(operators.c.id, operators.c.name, operators.c.role).order_by(operators.c.id))
    return [Operator(*row) for row in rows]


def has_owner(connection: sa.Connection) -> bool:
    """Return whether any account can change something."""
    return connection.execute(sa.select(operators.c.id).where(operators.c.role == "owner")).first() is not None


def remove_operator(connection: sa.Connection, operator_id: int) -> None:
    """Delete an account and its sessions, unless it is the last owner's."""
    take_turns(connection)
    had_owner = has_owner(connection)
    connection.execute(sa.delete(operators).where(operators.c.id == operator_id))
    if had_owner and not has_owner(connection):
        raise LastOwner


def change_password(connection: sa.Connection, operator_id: int, before: str, after: str) -> bool:
    """Change a password and end every session of the account, if its password is still the one before."""
    take_turns(connection)
    same = (operators.c.id == operator_id) & (operators.c.password_hash == before)
    if not connection.execute(sa.update(operators).where(same).values(password_hash=after)).rowcount:
        return False
    connection.execute(sa.delete(sessions).where(sessions.c.operator_id == operator_id))
    return True


def credentials(connection: sa.Connection, name: str) -> tuple[int, str] | None:
    """Return id and password hash of the account with this name."""
    rows = connection.execute(sa.select(operators.c.id, operators.c.name, operators.c.password_hash).order_by("id"))
    letters = same_letters(name)
    return next(((row.id, row.password_hash) for row in rows if same_letters(row.name) == letters), None)


def password_hash_of(connection: sa.Connection, operator_id: int) -> str | None:
    """Return the password hash of an account; None if there is no such account."""
    query = sa.select(operators.c.password_hash).where(operators.c.id == operator_id)
    return connection.execute(query).scalar_one_or_none()


def same_letters(name: str) -> str:
    """Return a name in a form that does not depend on how it was typed.

    Compared here, as SQLite knows the case of English letters only.

    >>> same_letters("Strauß") == same_letters("STRAUSS")
    True
    """
    return unicodedata.normalize("NFKC", name).casefold()


def begin_session(
    connection: sa.Connection, operator_id: int, password_hash: str, token_hash: bytes, at: datetime
) -> bool:
    """Begin a session with this token, if the password that was checked is still that of the account.

    Sessions that have ended are deleted.
    """
    take_turns(connection)
    if password_hash_of(connection, operator_id) != password_hash:
        return False
    connection.execute(sa.delete(sessions).where(_ended(at)))
    values = {"token_hash": token_hash, "operator_id": operator_id, "begun_at": at, "used_at": at}
    connection.execute(sa.insert(sessions), values)
    return True


def operator_of(connection: sa.Connection, token_hash: bytes, at: datetime) -> Operator | None:
    """Return the operator with this token, if their session has not ended."""
    row = connection.execute(
        sa.select(operators.c.id, operators.c.name, operators.c.role)
        .join(sessions, sessions.c.operator_id == operators.c.id)
        .where(sessions.c.token_hash == token_hash, ~_ended(at))
    ).one_or_none()
    return None if row is None else Operator(*row)


def use_session(connection: sa.Connection, token_hash: bytes, at: datetime) -> None:
    """Extend a session."""
    connection.execute(sa.update(sessions).where(sessions.c.token_hash == token_hash).values(used_at=at))


def end_session(connection: sa.Connection, token_hash: bytes) -> None:
    connection.execute(sa.delete(sessions).where(sessions.c.token_hash == token_hash))


def note(connection: sa.Connection, operator: Operator, action: str, about: str, at: datetime) -> None:
    """Add an entry to the audit log."""
    connection.execute(sa.insert(events), {"at": at, "operator": operator.name, "action": action, "about": about})


def _ended(at: datetime) -> sa.ColumnElement[bool]:
    return (sessions.c.begun_at < at - LONGEST) | (sessions.c.used_at < at - IDLE)


class Event(NamedTuple):
    """Entry of the audit log."""

    at: datetime
    operator: str
    action: str
    about: str


@dataclass(frozen=True)
class TrailFilter:
    """Filter of the audit log. Empty fields match everything."""

    operator: str = ""
    action: str = ""
    since: date | None = None
    until: date | None = None
    """Last day, in UTC; both days are included."""

    @property
    def condition(self) -> sa.ColumnElement[bool]:
        conditions = [events.c[name] == value for name in ("operator", "action") if (value := getattr(self, name))]
        if self.since is not None:
            conditions.append(events.c.at >= _midnight(self.since))
        if self.until is not None:
            conditions.append(events.c.at < _midnight(self.until + timedelta(days=1)))
        return sa.and_(sa.true(), *conditions)


def trail(connection: sa.Connection, which: TrailFilter, *, first: int = 0, most: int | None = None) -> list[Event]:
    """Return entries of the audit log, the newest first: all of them, or `most` after the `first` ones."""
    columns = (events.c.at, events.c.operator, events.c.action, events.c.about)
    query = sa.select(*columns).where(which.condition).order_by(events.c.id.desc()).offset(first)
    return [Event._make(row) for row in connection.execute(query if most is None else query.limit(most))]


def count_events(connection: sa.Connection, which: TrailFilter) -> int:
    """Return the number of matching entries."""
    return connection.execute(sa.select(sa.func.count()).select_from(events).where(which.condition)).scalar_one()


def event_values(connection: sa.Connection, column: str) -> list[str]:
    """Return all values of a column of the audit log, ``operator`` or ``action``."""
    return sorted(connection.execute(sa.select(events.c[column]).distinct()).scalars())


def was_done(connection: sa.Connection, action: str) -> bool:
    """Return whether the audit log has this action."""
    return connection.execute(sa.select(events.c.id).where(events.c.action == action).limit(1)).first() is not None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
