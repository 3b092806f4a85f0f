"""Answers a second on a slow disk while somebody sends forms that are refused, beside forms that change nothing."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import uvloop

from benchmarks.answering import postgresql
from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import make_study, served
from benchmarks.slow_disk_server import SECONDS as SYNC

PARTICIPANTS = 12
VISITORS = 4
PACE = 0.025
"""Seconds between two forms of a visitor: what is refused is answered sooner, and would else be sent more often."""

SECONDS = 3.0
TURNS = 4
ACCEPTED = "repeated"
REFUSED = {"answers": "HTTP/1.1 404", "consents": "HTTP/1.1 200"}
"""Refused forms, and the reply to them: answers to a pair that nobody has, and consents to a study that is full."""


class Visitor(LeanParticipant):
    """Sends one form again and again: an answer that is kept already, or what is refused."""

    async def begin(self, link: str = "/") -> None:
        await self.arrive(link)
        consent = {**self._form, b"decision": b"agree"}
        await super().begin(link)
        answer = {**self._form, b"answer": b"same"}
        forms = {ACCEPTED: answer, "answers": {**answer, b"key": b"unknown"}}
        self._forms = {kind: (self._path, form) for kind, form in forms.items()} | {"consents": (b"/consent", consent)}
        await self.repeat(ACCEPTED)

    async def repeat(self, kind: str) -> None:
        path, self._form = self._forms[kind]
        try:
            await self._send(path, {})
        except RuntimeError as error:
            if kind == ACCEPTED or not str(error).startswith(REFUSED[kind]):
                raise


def run() -> Row:
    ratios: dict[str, float] = {}
    notes: list[str] = []
    with postgresql() as address:
        for database, words in {"SQLite": (), "PostgreSQL": ("--database", address)}.items():
            with tempfile.TemporaryDirectory() as home:
                folder = make_study(Path(home), pairs=1000, recruitment={"most": PARTICIPANTS + VISITORS})
                with served(folder, "--no-jobs", *words, module="benchmarks.slow_disk_server") as server:
                    rates, forms = uvloop.run(_compared(server.port))
            beside = median(rates[ACCEPTED])
            ratios |= {f"{database}, refused {kind}": median(rates[kind]) / beside for kind in REFUSED}
            counts = ", ".join(
                f"{median(rates[kind]):.0f} beside {forms[kind] / (TURNS * SECONDS):.0f} {kind} form(s)"
                for kind in (ACCEPTED, *REFUSED)
            )
            notes.append(f"{database}, answers a second: {counts} a second.")
    return Row(
        what=f"answers a second beside {VISITORS} visitors whose forms are refused, on a disk whose sync takes "
        f"{1000 * SYNC:.0f} ms longer, {PARTICIPANTS} people without thinking time",
        bar="≥ 0.9 × of those beside forms that are accepted and change nothing",
        measured="; ".join(f"{what}: {ratio:.2f} ×" for what, ratio in ratios.items()),
        reached=min(ratios.values()) >= 0.9,
        notes=f"{TURNS} times {SECONDS:.0f} s of each kind, in turns on one server; medians. Each visitor sends at "
        f"most {1 / PACE:.0f} forms a second. Refused are answers to a pair that nobody has, and consents to a full "
        f"study. {' '.join(notes)}",
        ratios=ratios,
    )


async def _compared(port: int) -> tuple[dict[str, list[float]], dict[str, int]]:
    everyone = [await LeanParticipant.connected(port) for _ in range(PARTICIPANTS)]
    visitors = [await Visitor.connected(port) for _ in range(VISITORS)]
    for someone in (*everyone, *visitors):
        await someone.begin()
    for someone in (*everyone, *visitors):  # the server closes connections on which nothing is said for long
        await someone.reconnect()
    kinds = (ACCEPTED, *REFUSED)
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    forms = dict.fromkeys(kinds, 0)
    for turn in range(TURNS * len(kinds)):
        kind = kinds[turn % len(kinds)]
        start, counts = perf_counter(), [0, 0]

        async def answer(someone: LeanParticipant, end: float = start + SECONDS, counts: list[int] = counts) -> None:
            while perf_counter() < end and await someone.answer(counts[0]):
                counts[0] += 1

        async def visit(
            visitor: Visitor, kind: str = kind, end: float = start + SECONDS, counts: list[int] = counts
        ) -> None:
            while (now := perf_counter()) < end:
                await visitor.repeat(kind)
                counts[1] += 1
                await asyncio.sleep(now + PACE - perf_counter())

        await asyncio.gather(*map(answer, everyone), *map(visit, visitors))
        rates[kind].append(counts[0] / (perf_counter() - start))
        forms[kind] += counts[1]
    for someone in (*everyone, *visitors):
        await someone.close()
    return rates, forms
