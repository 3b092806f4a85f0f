"""How long an answer takes while strangers consent and withdraw in a loop, side by side with nobody doing that."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path

import numpy as np
import uvloop

from benchmarks.answers_while_fitting import SECONDS, THINKING, answer_for_a_while
from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import make_study, served

PARTICIPANTS = 20
STRANGERS = 30
PAUSE = 5.0
TURNS = 2
_BEFORE = 200
_PAIRS = 100


def run() -> Row:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), pairs=_PAIRS)
        with served(folder, "--no-jobs") as server:
            without, beside, gone = uvloop.run(_compared(server.port))
        size = (folder / "study.sqlite").stat().st_size
    (alone, p95_alone), (together, p95) = ((np.median(times), np.quantile(times, 0.95)) for times in (without, beside))
    ratio = together / alone
    return Row(
        what=f"an answer while {STRANGERS} strangers consent and withdraw in a loop, SQLite, one worker, "
        f"{PARTICIPANTS} people with {THINKING:.0f} s of thinking",
        bar="median ≤ 3 × without",
        measured=f"median {1000 * together:.1f} ms, {ratio:.2f} × the {1000 * alone:.1f} ms without",
        reached=bool(ratio <= 3),
        notes=f"{TURNS} times {SECONDS:.0f} s without and {SECONDS:.0f} s with strangers, in turns on the same server. "
        f"They withdrew {gone} times, without an answer and with about {PAUSE:g} s between two visits, in a study of "
        f"{size / 1e6:.0f} MB in which {_BEFORE} people take part. {len(without)} answers without, {len(beside)} "
        f"beside them; p95 {1000 * p95_alone:.1f} and {1000 * p95:.1f} ms, the slowest {max(beside):.2f} s.",
        ratios={"median without strangers / with": float(alone / together)},
    )


async def _compared(port: int) -> tuple[list[float], list[float], int]:
    for _ in range(_BEFORE):  # so that the database is not empty
        someone = await LeanParticipant.connected(port)
        await someone.begin()
        await someone.close()
    everyone = [await LeanParticipant.connected(port) for _ in range(PARTICIPANTS)]
    for someone in everyone:
        await someone.begin()
    without: list[float] = []
    beside: list[float] = []
    gone = 0
    for _ in range(TURNS):
        await answer_for_a_while(everyone, without)
        end = time.perf_counter() + SECONDS
        strangers = asyncio.gather(*(_come_and_go(port, end, number) for number in range(STRANGERS)))
        await answer_for_a_while(everyone, beside)
        gone += sum(await strangers)
    for someone in everyone:
        await someone.close()
    return without, beside, gone


async def _come_and_go(port: int, end: float, number: int) -> int:
    chance, count = random.Random(number), 0
    await asyncio.sleep(chance.uniform(0, 1) * PAUSE)
    while time.perf_counter() < end:
        stranger = await LeanParticipant.connected(port)
        await stranger.arrive()
        await stranger.agree()
        await stranger.withdraw()
        await stranger.close()
        count += 1
        await asyncio.sleep(chance.uniform(0.5, 1.5) * PAUSE)
    return count
