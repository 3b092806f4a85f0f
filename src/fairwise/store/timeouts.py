"""How long we wait for PostgreSQL: a server that hangs looks like one that thinks, and says nothing for ever.

The server is asked to give up by itself. That does not help when it is the server that hangs; and as long as its
machine answers for it, TCP finds nothing wrong. So whoever waits looks at the clock as well.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Generator

    from sqlalchemy.engine import URL, Engine

CONNECT_SECONDS = 4
SILENT_SECONDS = 8.0
"""While people wait, who are told soon after that it takes too long."""

PATIENT_SECONDS = 60.0
"""For commands, whose questions may be large."""

GIVE_UP = "-c statement_timeout=30000 -c lock_timeout=5000"
"""What the server is asked to do by itself, in milliseconds."""

_NETWORK = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,
}


class Silent(psycopg.OperationalError):
    """Nothing was heard from the server for too long; the connection is closed, as nobody knows what it is at."""


class _Impatient(psycopg.Connection[Any]):
    """A connection that waits for so many seconds without a word from the server."""

    seconds = PATIENT_SECONDS

    def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
        try:
            return super().wait(_while_heard(gen, self.seconds), *given, **more)
        except Silent:
            self.pgconn.finish()
            raise


def impatient_engine(url: URL, seconds: float | None, give_up: str = "", **options: Any) -> Engine:
    """For PostgreSQL: questions end after `seconds` of silence. With None only connecting has an end.

    `give_up` are settings of the server's. What the address says about these things itself is left as it is.
    """
    wanted: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, **_NETWORK}
    given = {name: value for name, value in wanted.items() if name not in url.query}
    if give_up:
        given["options"] = " ".join([give_up, *url.normalized_query.get("options", ())])
    engine = sa.create_engine(url, connect_args=given, **options)
    if seconds is not None:

        def connect(_dialect: Any, _record: Any, words: list[Any], named: dict[str, Any]) -> Any:
            connection = _Impatient.connect(*words, **named)
            connection.seconds = seconds
            return connection

        sa.event.listen(engine, "do_connect", connect)
    return engine


def _while_heard(gen: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Pass on what psycopg waits for, and what became ready; several times a second that is nothing."""
    heard = monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif monotonic() - heard > seconds:
                raise Silent(f"the server has said nothing for {seconds:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as done:
        return done.value
