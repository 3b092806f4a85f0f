"""The store as the web app uses it: changes through one writer, reads beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fairwise.elicitation.store.engine import database_url, reading_engine, writing_engine
from fairwise.elicitation.store.migrate import migrate
from fairwise.elicitation.store.problems import StoreUnavailable
from fairwise.elicitation.store.tables import participants, study
from fairwise.elicitation.store.writer import Writer
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

T = TypeVar("T")
_READERS = 8


class Store:
    """Opened once per process; nothing happens before :meth:`open`."""

    def __init__(self, writing: Engine, reading: Engine) -> None:
        self._writing, self._reading = writing, reading
        self._writer = Writer(writing)
        self._lock = Lock()
        # SQLite answers within a fraction of a millisecond, less than handing the question to a thread would take.
        self._at_once = reading.dialect.name == "sqlite"
        self._threads = None if self._at_once else ThreadPoolExecutor(_READERS, "fairwise-reader")

    @classmethod
    def open(cls, address: str | Path, fingerprint: str | None) -> Self:
        """Bring the tables up to date and check that they are this study's, if there is one yet."""
        url = database_url(address)
        writing = writing_engine(url)
        try:
            migrate(writing)
            if fingerprint is not None:
                with writing.begin() as connection:
                    claim(connection, fingerprint)
        except (DBAPIError, sqlite3.Error) as error:
            writing.dispose()
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise InputError(f"{url.render_as_string()}: the database cannot be used: {reason}") from None
        except InputError:
            writing.dispose()
            raise
        return cls(writing, reading_engine(url))

    def claim(self, fingerprint: str) -> None:
        """Check that the answers are this study's, or make them so while there are none."""
        self.change_now(lambda connection: claim(connection, fingerprint))

    async def write(self, change: Callable[[Connection], T]) -> T:
        """Run a change; when this returns, it is on the disk."""
        result: T = await asyncio.wrap_future(self._writer.submit(change))
        return result

    def change_now(self, change: Callable[[Connection], T]) -> T:
        """The same for those who wait."""
        result: T = self._writer.submit(change).result()
        return result

    async def read(self, question: Callable[[Connection], T]) -> T:
        if self._threads is None:
            return self.read_now(question)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.read_now, question)

    def read_now(self, question: Callable[[Connection], T]) -> T:
        try:
            return self._ask(question)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise StoreUnavailable(str(error.orig)) from error
        try:  # the database was started anew, and only now there is a new connection
            return self._ask(question)
        except DBAPIError as error:
            raise StoreUnavailable(str(error.orig)) from error

    def _ask(self, question: Callable[[Connection], T]) -> T:
        with self._lock if self._at_once else nullcontext(), self._reading.connect() as connection:
            return question(connection)

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()
        if self._threads is not None:
            self._threads.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def claim(connection: Connection, fingerprint: str) -> None:
    """Refuse a database with answers to another study, or to this one before its people were changed."""
    known = connection.execute(sa.select(study.c.fingerprint)).scalar_one_or_none()
    if known == fingerprint:
        return
    someone = connection.execute(sa.select(sa.func.count()).select_from(participants)).scalar_one()
    if known is not None and someone:
        raise InputError(
            "The database holds answers to another study, or to this one before its people, columns or pairs were "
            "changed. Give each study a database of its own."
        )
    if known is None:
        connection.execute(sa.insert(study), {"id": 1, "fingerprint": fingerprint})
    else:
        connection.execute(sa.update(study).values(fingerprint=fingerprint))
