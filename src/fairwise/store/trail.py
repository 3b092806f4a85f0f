"""What operators did, by whom and when: read from the events that every change of theirs leaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

import sqlalchemy as sa

from fairwise.store.tables import events


class Event(NamedTuple):
    """One thing that was done."""

    at: datetime
    operator: str
    action: str
    about: str


@dataclass(frozen=True)
class TrailFilter:
    """Which events; whatever is left empty leaves nothing out."""

    operator: str = ""
    action: str = ""
    since: date | None = None
    until: date | None = None
    """Both days are included, in UTC."""

    @property
    def condition(self) -> sa.ColumnElement[bool]:
        wanted = [events.c[name] == value for name in ("operator", "action") if (value := getattr(self, name))]
        if self.since is not None:
            wanted.append(events.c.at >= _midnight(self.since))
        if self.until is not None:
            wanted.append(events.c.at < _midnight(self.until + timedelta(days=1)))
        return sa.and_(sa.true(), *wanted)


def trail(connection: sa.Connection, which: TrailFilter, *, first: int = 0, most: int | None = None) -> list[Event]:
    """What was done, the newest first: all of it, or so many after the `first` ones."""
    columns = (events.c.at, events.c.operator, events.c.action, events.c.about)
    query = sa.select(*columns).where(which.condition).order_by(events.c.id.desc()).offset(first)
    return [Event._make(row) for row in connection.execute(query if most is None else query.limit(most))]


def how_many(connection: sa.Connection, which: TrailFilter) -> int:
    """How many events there are of this kind."""
    return connection.execute(sa.select(sa.func.count()).select_from(events).where(which.condition)).scalar_one()


def values_of(connection: sa.Connection, column: str) -> list[str]:
    """Everyone who did something (``operator``), or everything that was done (``action``)."""
    return sorted(connection.execute(sa.select(events.c[column]).distinct()).scalars())


def was_done(connection: sa.Connection, action: str) -> bool:
    """Whether anyone ever did this."""
    return connection.execute(sa.select(events.c.id).where(events.c.action == action).limit(1)).first() is not None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
