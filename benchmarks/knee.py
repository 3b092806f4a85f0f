"""How many people can answer at the same time, thinking in between, before one in twenty waits for over a second."""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

from benchmarks.answering import kept_answers, postgresql
from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row, table
from benchmarks.served_study import make_study, served

STEPS = (500, 1000, 1250, 1500, 1750)
THINKING, LONGEST = 2.0, 1.0
_SETTLING, _SECONDS, _AT_ONCE = 3.0, 10.0, 50


@dataclass(frozen=True)
class Step:
    """So many users at the same time, and how long it took in the last seconds until each answer was acknowledged."""

    users: int
    times: list[float]

    @property
    def p95(self) -> float:
        return float(np.quantile(self.times, 0.95))

    @property
    def cells(self) -> list[str]:
        p50, p95 = 1000 * np.quantile(self.times, [0.5, 0.95])
        return [str(self.users), f"{len(self.times) / _SECONDS:.0f}", f"{p50:.0f} ms", f"{p95:.0f} ms"]


class Crowd:
    """People who take part one pair after the other; whoever is through is followed by another."""

    def __init__(self, port: int) -> None:
        self._port, self._room, self._stop = port, asyncio.Semaphore(_AT_ONCE), False
        self._people: list[asyncio.Task[None]] = []
        self.accepted: dict[str, str] = {}
        self.times: list[float] = []

    async def grow(self, users: int) -> None:
        """Until there are so many, all of them at their pairs."""
        arrived = [asyncio.Event() for _ in range(users - len(self._people))]
        self._people += [
            asyncio.create_task(self._take_part(one, len(self._people) + n)) for n, one in enumerate(arrived)
        ]
        coming: asyncio.Future[Any] = asyncio.gather(*(one.wait() for one in arrived))
        await asyncio.wait([coming, *self._people], return_when=asyncio.FIRST_COMPLETED)
        for one in self._people:
            if one.done():
                one.result()  # which failed: nobody leaves before they are told to

    async def leave(self) -> None:
        self._stop = True
        await asyncio.gather(*self._people)

    async def _take_part(self, arrived: asyncio.Event, number: int) -> None:
        chance = random.Random(number)
        while not self._stop:
            async with self._room:
                someone = await LeanParticipant.connected(self._port)
                await someone.begin()
            arrived.set()
            more = True
            while more and not self._stop:
                await asyncio.sleep(chance.uniform(0.5, 1.5) * THINKING)
                more = await someone.answer(chance.randrange(4))
                self.times += [someone.acknowledged_after] if more else []
            self.accepted |= someone.accepted
            await someone.close()


def knee(name: str, bar: int, database: str | None, steps: tuple[int, ...] = STEPS) -> Row:
    """The row of a database."""
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home))
        words = () if database is None else ("--database", database)
        with served(folder, "--no-jobs", *words) as server:
            measured, accepted = uvloop.run(_measured(server.port, steps))
        kept = kept_answers(database or folder / "study.sqlite")
    lost, doubled = len(accepted.items() - set(kept)), len(kept) - len({key for key, _ in kept})
    whole = not lost and not doubled and len(kept) == len(accepted)
    most = max((step.users for step in measured if step.p95 <= LONGEST), default=0)
    lines = table(["users", "answers a second", "half within", "95 of 100 within"], [step.cells for step in measured])
    return Row(
        what=f"users at the same time of whom 95 in 100 wait at most {LONGEST:.0f} s until an answer is acknowledged, "
        f"{THINKING:.0f} s of thinking, {name}, one worker",
        bar=f"≥ {bar}; none lost, none doubled",
        measured=f"{most}{' or more' if most == max(steps) else ''}; {lost} lost, {doubled} doubled",
        reached=most >= bar and whole,
        notes=f"`fairwise serve` in a process of its own and the load generator on the same cores. Each user thinks "
        f"for {0.5 * THINKING:g} to {1.5 * THINKING:g} s about a pair; times are those of {_SECONDS:.0f} s after "
        f"everyone has come. It ends with the first number of whom more than 5 in 100 waited longer. `make load` "
        f"measures the same with locust, which needs more of the two cores.\n\n{lines}",
        ratios={"users at the knee / bar": most / bar},
    )


async def _measured(port: int, steps: tuple[int, ...]) -> tuple[list[Step], dict[str, str]]:
    crowd, found = Crowd(port), list[Step]()
    for users in steps:
        await crowd.grow(users)
        await asyncio.sleep(_SETTLING)
        crowd.times.clear()
        await asyncio.sleep(_SECONDS)
        found.append(Step(users, list(crowd.times)))
        if found[-1].p95 > LONGEST:
            break
    await crowd.leave()
    return found, crowd.accepted


def on_sqlite() -> Row:
    return knee("SQLite", 1500, None)


def on_postgresql() -> Row:
    with postgresql() as address:
        return knee("PostgreSQL", 1000, address)
