"""Locust against one study: how much it takes, how long answers take, and what the server needs for it."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import sqlalchemy as sa
from benchmarks.served_study import HOST

from fairwise.store.schema import answers, appearances, participants
from fairwise.store.store import snapshot
from faults.postgres import Postgres
from faults.server import Server
from faults.study import make_study

ANSWERS, PAIRS, THINKING = 50_000, 50, 2.0
STEPS = [(users, 20) for users in (50, 100, 200, 300, 400, 600, 800, 1000, 1250, 1500)]
_LOCUST = Path(__file__).parents[1] / ".venv-load" / "bin" / "locust"


@dataclass(frozen=True)
class Step:
    """So many users at the same time."""

    users: int
    per_second: float
    """Answers."""

    p50: float
    p95: float
    """Milliseconds until an answer was acknowledged."""


@dataclass(frozen=True)
class Loaded:
    """What came of it."""

    steps: list[Step]
    acknowledged: int
    lost: int
    doubled: int
    participants: int
    failures: int
    seconds: float
    memory: list[tuple[float, float]]
    """Seconds since the start, and MiB that the server has in memory."""

    @property
    def whole(self) -> bool:
        return not (self.lost or self.doubled or self.failures)

    @property
    def knee(self) -> Step:
        """The most users of whom 95 in 100 wait for a second at most."""
        good = [step for step in self.steps if step.p95 <= 1000]
        return max(good, key=lambda step: step.users, default=self.steps[0])


def loaded(database: str, *, answers_wanted: int = ANSWERS, steps: list[tuple[int, int]] = STEPS) -> Loaded:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(Postgres.running()).url if database == "PostgreSQL" else None
        return asyncio.run(_loaded(home, url, answers_wanted, steps))


async def _loaded(home: Path, url: str | None, answers_wanted: int, steps: list[tuple[int, int]]) -> Loaded:
    server, ledger = Server(make_study(home, pairs=PAIRS, practice=False), url), home / "ledger.json"
    told = {"LOAD_STEPS": json.dumps(steps), "LOAD_ANSWERS": str(answers_wanted), "LOAD_LEDGER": str(ledger)}
    told |= {"LOAD_THINKING": str(THINKING)}
    words = ["-f", str(Path(__file__).with_name("locustfile.py")), "--headless", "--csv", str(home / "load")]
    words += ["--csv-full-history", "--only-summary", "--host", f"http://{HOST}:{server.port}"]
    await server.start()
    try:
        process, start = psutil.Process(server.pid), time.monotonic()
        with (home / "locust.log").open("wb") as log:
            locust = await asyncio.create_subprocess_exec(
                str(_LOCUST), *words, env={**os.environ, **told}, stdout=log, stderr=log
            )
        ending, memory = asyncio.ensure_future(locust.wait()), list[tuple[float, float]]()
        while not ending.done():
            memory.append((time.monotonic() - start, process.memory_info().rss / 2**20))
            await asyncio.wait([ending], timeout=5)
        seconds = time.monotonic() - start
    finally:
        await server.stop()
    if not ledger.exists():
        raise RuntimeError((home / "locust.log").read_text(encoding="utf-8")[-2000:])
    said: dict[str, str] = json.loads(ledger.read_text(encoding="utf-8"))
    with snapshot(server.database) as connection:
        query = sa.select(appearances.c.key, answers.c.answer).join(answers)
        there = [(row.key, row.answer) for row in connection.execute(query)]
        people = connection.execute(sa.select(sa.func.count()).select_from(participants)).scalar_one()
    lost = len(said.items() - set(there))
    # What was under way when locust was stopped may be there without anyone having been told.
    doubled = len(there) - len({key for key, _ in there})
    failures = _failures(home / "load_stats.csv")
    return Loaded(
        _steps(home / "load_stats_history.csv", steps), len(said), lost, doubled, people, failures, seconds, memory
    )


def _steps(history: Path, steps: list[tuple[int, int]]) -> list[Step]:
    """The last line about answers while there were so many users."""
    with history.open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["Name"] == "answer"]
    found = []
    for users, _ in steps:
        at = [line for line in lines if int(line["User Count"]) == users and line["95%"] not in ("", "N/A")]
        if at:
            last = at[-1]
            found.append(Step(users, float(last["Requests/s"]), float(last["50%"]), float(last["95%"])))
    return found


def _failures(stats: Path) -> int:
    with stats.open(encoding="utf-8") as file:
        return sum(int(line["Failure Count"]) for line in csv.DictReader(file) if line["Name"] == "Aggregated")
