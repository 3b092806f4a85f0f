"""300 people who have the first page open agree to take part at the same moment, on each database."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
import uvloop

from benchmarks.answering import postgresql
from benchmarks.lean_client import LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import make_study, served
from fairwise.store.schema import appearances, participants
from fairwise.store.store import snapshot

PEOPLE = 300
_DESIGN = {"anchors": 6, "anchor_pool": 20, "repeats": 4, "checks": 2}


@dataclass(frozen=True)
class Started:
    """How long it took until all had their first page, and what they were given."""

    seconds: float
    slots: list[int]
    anchors: Counter[frozenset[str]]

    @property
    def is_right(self) -> bool:
        counts = self.anchors.values()
        return sorted(self.slots) == list(range(PEOPLE)) and len(counts) == 20 and max(counts) - min(counts) <= 1


def started(database: str | None) -> Started:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), design=_DESIGN)
        words = () if database is None else ("--database", database)
        with served(folder, *words) as server:
            seconds = uvloop.run(_together(server.port))
        with snapshot(database or folder / "study.sqlite") as connection:
            slots = list(connection.execute(sa.select(participants.c.slot)).scalars())
            shown = sa.select(appearances.c.a, appearances.c.b).where(appearances.c.design == "anchor")
            anchors = Counter(frozenset(row) for row in connection.execute(shown))
    return Started(seconds, slots, anchors)


async def _together(port: int) -> float:
    everyone = [await LeanParticipant.connected(port) for _ in range(PEOPLE)]
    for someone in everyone:
        await someone.arrive()
    start = time.perf_counter()
    await asyncio.gather(*(someone.agree() for someone in everyone))
    seconds = time.perf_counter() - start
    for someone in everyone:
        await someone.close()
    return seconds


def run() -> Row:
    with postgresql() as address:
        found = {"SQLite": started(None), "PostgreSQL": started(address)}
    return Row(
        what=f"{PEOPLE} participants starting within one second, each database",
        bar="every slot claimed once, anchors balanced within one",
        measured="; ".join(
            f"{name}: {'yes' if one.is_right else 'no'}, {one.seconds:.2f} s" for name, one in found.items()
        ),
        reached=all(one.is_right for one in found.values()),
        notes="All have the first page open and agree at once; the seconds are until the last has the page after it. "
        "50 pairs each are laid out for everyone, 6 of them from a pool of 20 anchors.",
        ratios={f"starts a second, {name}": PEOPLE / one.seconds for name, one in found.items()},
    )
