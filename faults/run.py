"""All faults on one database, and what was found after each."""

from __future__ import annotations

import asyncio
import random
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from fairwise.archive.bundle import write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.store.store import snapshot
from fairwise.study.folder import StudyFolder
from faults.crowd import Crowd
from faults.disk import SmallDisk
from faults.ledger import compared
from faults.phases import PHASES, Scene
from faults.postgres import Postgres
from faults.server import Server
from faults.study import PAIRS, make_study

if TYPE_CHECKING:
    from collections.abc import Iterable

    from faults.crowd import Seen
    from faults.ledger import Compared

THINKING = 1.0


@dataclass(frozen=True)
class Found:
    """After one fault, with nothing under way."""

    database: str
    phase: str
    times: int
    seconds: float
    seen: Seen
    compared: Compared
    finished: int

    @property
    def whole(self) -> bool:
        return self.compared.whole and not self.seen.tracebacks and not self.seen.strange_pages


def run(
    database: str, *, people: int, hard: float = 1.0, thinking: float = THINKING, phases: Iterable[str] = PHASES
) -> list[Found]:
    """Let so many answer at the same time, while each of the faults happens in turn."""
    with ExitStack() as stack:
        on_sqlite = database == "SQLite"
        disk = stack.enter_context(SmallDisk.mounted()) if on_sqlite else None
        postgres = None if on_sqlite else stack.enter_context(Postgres.running())
        home = disk.path if disk else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return asyncio.run(_run(home, disk, postgres, hard, people, thinking, list(phases)))


async def _run(
    home: Path,
    disk: SmallDisk | None,
    postgres: Postgres | None,
    hard: float,
    people: int,
    thinking: float,
    phases: list[str],
) -> list[Found]:
    server = Server(make_study(home), None if postgres is None else postgres.url)
    await server.start()
    crowd = Crowd(server.port, places=people, pairs=PAIRS, thinking=thinking)
    scene = Scene(server, crowd, disk, postgres, random.Random(0), hard)
    name, found = "SQLite" if postgres is None else "PostgreSQL", list[Found]()

    async def look(phase: str, times: int, start: float) -> None:
        await crowd.rest()
        after = await asyncio.to_thread(compared, server.database, crowd.ledgers)
        finished = sum(ledger.finished for ledger in crowd.ledgers)
        found.append(Found(name, phase, times, perf_counter() - start, crowd.seen, after, finished))
        print(f"{name}, {phase}: {after}, {crowd.seen}", flush=True)
        crowd.go_on()

    crowd.begin()
    try:
        for phase in phases:
            start = perf_counter()
            times = await PHASES[phase](scene)
            if times:
                await look(phase, times, start)
        start = perf_counter()
        await crowd.finish()
        await look("everyone goes on to the end", 0, start)
        await asyncio.to_thread(_verify, server)
    finally:
        await crowd.leave()
        await server.stop()
    return found


def _verify(server: Server) -> None:
    """A bundle of all that happened must be as a bundle of any other study: nothing in it that cannot be."""
    with tempfile.TemporaryDirectory() as home, snapshot(server.database) as connection:
        write_bundle(Path(home) / "bundle.zip", StudyFolder.open(server.folder), connection)
        verify_bundle(Path(home) / "bundle.zip")
