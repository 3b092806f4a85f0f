"""Several servers on one database, of which one is killed now and then; participants go to any of them."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from faults.crowd import Crowd
from faults.ledger import compared
from faults.postgres import Postgres
from faults.run import THINKING
from faults.server import Server
from faults.study import PAIRS, make_study

if TYPE_CHECKING:
    from faults.crowd import Seen
    from faults.ledger import Compared


@dataclass(frozen=True)
class Together:
    """What was found after several servers had shared a database."""

    what: str
    kills: int
    seconds: float
    seen: Seen
    compared: Compared
    finished: int


SETTINGS = {
    "two servers on one SQLite file": (2, 1, False),
    "two servers on one PostgreSQL": (2, 1, True),
    "one server with two workers on PostgreSQL": (1, 2, True),
}
"""How many servers, how many workers each, and whether on PostgreSQL."""


def run(what: str, *, people: int, kills: int, thinking: float = THINKING) -> Together:
    servers, workers, on_postgres = SETTINGS[what]
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(Postgres.running()).url if on_postgres else None
        return asyncio.run(_run(what, home, url, servers, workers, people, kills, thinking))


async def _run(
    what: str, home: Path, url: str | None, n_servers: int, workers: int, people: int, kills: int, thinking: float
) -> Together:
    folder, start = make_study(home), perf_counter()
    servers = [Server(folder, url, "--workers", str(workers)) for _ in range(n_servers)]
    for server in servers:
        await server.start()
    crowd = Crowd(*(server.port for server in servers), places=people, pairs=PAIRS, thinking=thinking)
    crowd.begin()
    try:
        for turn in range(kills):
            await crowd.answers(100)
            await servers[turn % n_servers].kill()
            await servers[turn % n_servers].start()
        await crowd.finish()
        after = await asyncio.to_thread(compared, servers[0].database, crowd.ledgers)
    finally:
        await crowd.leave()
        for server in servers:
            await server.stop()
    finished = sum(ledger.finished for ledger in crowd.ledgers)
    return Together(what, kills, perf_counter() - start, crowd.seen, after, finished)
