"""Answers a second on a slow disk while somebody sends forms that are refused, beside forms that change nothing."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import uvloop

from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import make_study, served
from benchmarks.slow_disk_server import SECONDS as SYNC

PARTICIPANTS = 12
VISITORS = 4
SECONDS = 3.0
TURNS = 4


class Visitor(LeanParticipant):
    """Sends the form of one pair again and again, with its own key or one that nobody has."""

    async def begin(self, link: str = "/") -> None:
        await super().begin(link)
        self._pair, self._sent = self._path, dict(self._form)
        await self._send(self._pair, {"answer": "same"})

    async def repeat(self, *, refused: bool) -> None:
        self._form = {**self._sent, b"key": b"unknown"} if refused else dict(self._sent)
        try:
            await self._send(self._pair, {"answer": "same"})
        except RuntimeError as error:
            if not (refused and "404" in str(error)):
                raise


def run() -> Row:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), pairs=1000)
        with served(folder, "--no-jobs", module="benchmarks.slow_disk_server") as server:
            rates, forms = uvloop.run(_compared(server.port))
    ratio = median(rates[True]) / median(rates[False])
    return Row(
        what=f"answers a second beside {VISITORS} visitors whose forms are refused, SQLite on a disk whose sync takes "
        f"{1000 * SYNC:.0f} ms longer, {PARTICIPANTS} people without thinking time",
        bar="≥ 0.9 × of those beside forms that are accepted and change nothing",
        measured=f"{ratio:.2f} × ({median(rates[True]):.0f} against {median(rates[False]):.0f} / s)",
        reached=ratio >= 0.9,
        notes=f"{TURNS} times {SECONDS:.0f} s each, in turns on one server; medians. Refused forms are those of a pair "
        f"that nobody has, {forms[True] / (TURNS * SECONDS):.0f} a second; the others repeat an answer, "
        f"{forms[False] / (TURNS * SECONDS):.0f} a second.",
        ratios={"answers beside refused / beside accepted": ratio},
    )


async def _compared(port: int) -> tuple[dict[bool, list[float]], dict[bool, int]]:
    everyone = [await LeanParticipant.connected(port) for _ in range(PARTICIPANTS)]
    visitors = [await Visitor.connected(port) for _ in range(VISITORS)]
    for someone in (*everyone, *visitors):
        await someone.begin()
    rates: dict[bool, list[float]] = {True: [], False: []}
    forms = {True: 0, False: 0}
    for turn in range(2 * TURNS):
        refused = turn % 2 == 0
        start = perf_counter()
        counts = [0, 0]

        async def answer(someone: LeanParticipant, end: float = start + SECONDS, counts: list[int] = counts) -> None:
            while perf_counter() < end and await someone.answer(counts[0]):
                counts[0] += 1

        async def visit(
            visitor: Visitor, end: float = start + SECONDS, counts: list[int] = counts, *, refused: bool = refused
        ) -> None:
            while perf_counter() < end:
                await visitor.repeat(refused=refused)
                counts[1] += 1

        await asyncio.gather(*map(answer, everyone), *map(visit, visitors))
        rates[refused].append(counts[0] / (perf_counter() - start))
        forms[refused] += counts[1]
    for someone in (*everyone, *visitors):
        await someone.close()
    return rates, forms
