"""Pages of the console with a thousand participants who gave fifty answers each, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from benchmarks.answering import postgresql
from benchmarks.row import Row, seconds, table
from benchmarks.served_study import make_study
from fairwise.judgments import Answer
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.operators import Operator, add_operator, begin_session
from fairwise.store.schema import answers, appearances, closings, invitations, participants
from fairwise.study.recruitment import Keys
from fairwise.web.app import Site
from fairwise.web.console.base import COOKIE

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from fairwise.study.folder import StudyFolder

PARTICIPANTS, PAIRS = 1_000, 50
_TIMES = 7
_BAR = 0.3
PAGES = (
    "",
    "/live",
    "/participants",
    "/participants?page=20&sort=flags&order=down",
    "/participants?find=Invited+9",
    "/participants/500",
    "/participants/500/erase",
    "/coming",
    "/downloads",
    "/study",
    "/fits",
    "/results",
    "/accounts",
)


def run() -> Row:
    lines, slowest = [], 0.0
    with tempfile.TemporaryDirectory() as home, postgresql() as address:
        design = {"anchors": 10, "anchor_pool": 100, "repeats": 4, "checks": 2}
        databases: dict[str, str | Path] = {"sqlite": Path(home) / "full.sqlite", "postgresql": address}
        first, taken = zip(
            *(measured(make_study(Path(home), name, design=design, pairs=PAIRS), at) for name, at in databases.items()),
            strict=True,
        )
    for page in PAGES:
        both = [times[page] for times in taken]
        slowest = max(slowest, *(middle for middle, _ in both))
        lines.append([f"`/admin{page}`", *(f"{1e3 * middle:.0f} ({1e3 * worst:.0f})" for middle, worst in both)])
    return Row(
        what=f"console pages with {PARTICIPANTS:,} participants × {PAIRS} answers",
        bar="≤ 300 ms each",
        measured=f"at most {1e3 * slowest:.0f} ms",
        reached=slowest <= _BAR,
        notes="Milliseconds of the server for each page: the middle of "
        f"{_TIMES} requests (the slowest), each of which has to look at the database again because somebody answered "
        "since. Agreement is computed beside the pages. All answers are read once, in a thread when the server starts: "
        f"{first[0]:.1f} s on SQLite, {first[1]:.1f} s on PostgreSQL.\n\n"
        + table(["page", "SQLite", "PostgreSQL"], lines),
        ratios={"bar / slowest page": _BAR / slowest},
    )


def measured(folder: Path, database: str | Path) -> tuple[float, dict[str, tuple[float, float]]]:
    """Time to read everything once; then of each page the median and worst time, one more answer before each."""
    site = Site(folder, database)
    site.open()
    try:
        study = site.host.study
        assert study is not None
        engine = writing_engine(database_url(database))
        with engine.begin() as connection:
            fill(connection, study)
        engine.dispose()
        token = Keys.new()
        site.host.store.change_now(lambda connection: log_in(connection, token))
        site.host.watch.forget()
        first = seconds(lambda: site.host.watch.now(study))
        return first, asyncio.run(_times(site, token))
    finally:
        site.close()


async def _times(site: Site, token: str) -> dict[str, tuple[float, float]]:
    found = {}
    for page in PAGES:
        times = []
        for turn in range(_TIMES):
            site.host.store.change_now(partial(_one_more, turn=turn))
            site.host.watch.forget()
            start = perf_counter()
            status = await _get(site, f"/admin{page}", token)
            times.append(perf_counter() - start)
            if status != 200:
                raise RuntimeError(f"/admin{page} answered {status}")
        found[page] = (median(times), max(times))
    return found


async def _get(site: Site, path: str, token: str) -> int:
    """Ask the app itself, so that what is measured is the server and not a client."""
    bare, _, query = path.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": bare,
        "raw_path": bare.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"cookie", f"{COOKIE}={token}".encode())],
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await site(scope, receive, send)
    return int(sent[0]["status"])


def log_in(connection: Connection, token: str) -> None:
    """Make an owner who is known by this token."""
    now = datetime.now(UTC)
    never = "no password opens this"
    add_operator(connection, "Ada", never, "owner", now)
    begin_session(connection, Operator(1, "Ada", "owner").id, never, Keys.hashed(token), now)


def _one_more(connection: Connection, turn: int) -> None:
    """Somebody changes their mind."""
    which = connection.execute(sa.select(sa.func.min(appearances.c.id) + turn)).scalar_one()
    last = connection.execute(
        sa.select(sa.func.max(answers.c.version)).where(answers.c.appearance_id == which)
    ).scalar_one()
    connection.execute(sa.insert(answers), _answer(which, datetime.now(UTC), version=last + 1))


def fill(connection: Connection, study: StudyFolder) -> None:
    """Everyone has answered everything, over a week; by SQL, as a thousand visits would take an hour."""
    rng, now = np.random.default_rng(0), datetime.now(UTC)
    people: list[dict[str, Any]] = [
        {
            "number": number,
            "slot": number - 1,
            "token_hash": Keys.hashed(Keys.new()),
            "consent_version": "v1",
            "consented_at": now - timedelta(days=7 * (1 - number / PARTICIPANTS), minutes=20),
            "stage": "finished",
            "finished_at": now - timedelta(days=7 * (1 - number / PARTICIPANTS)),
            "came_by": "personal",
            "language": "en",
        }
        for number in range(1, PARTICIPANTS + 1)
    ]
    connection.execute(sa.insert(participants), people)
    ids = dict(connection.execute(sa.select(participants.c.number, participants.c.id)).tuples().all())
    invited = [{"token_hash": one["token_hash"], "name": f"Invited {one['number']}", "made_at": now} for one in people]
    connection.execute(sa.insert(invitations), invited)
    shown = [
        {
            "participant_id": ids[number],
            "position": position,
            "key": Keys.new(),
            "a": pair.a,
            "b": pair.b,
            "design": pair.design,
            "selection_probability": pair.selection_probability,
        }
        for number in ids
        for position, pair in enumerate(study.schedule(number, number - 1), start=1)
    ]
    connection.execute(sa.insert(appearances), shown)
    begun = {ids[one["number"]]: one["consented_at"] for one in people}
    rows = connection.execute(sa.select(appearances.c.id, appearances.c.participant_id, appearances.c.position)).all()
    kinds = rng.choice([str(answer) for answer in Answer], len(rows), p=[0.3, 0.3, 0.3, 0.1])
    lasting = rng.lognormal(2, 0.6, len(rows))
    said = [
        _answer(row.id, begun[row.participant_id] + timedelta(seconds=20 * row.position), str(kind), float(time))
        for row, kind, time in zip(rows, kinds, lasting, strict=True)
    ]
    connection.execute(sa.insert(answers), said)
    ends = [{"participant_id": one, "rules": "", "expressible": "", "comments": ""} for one in ids.values()]
    connection.execute(sa.insert(closings), ends)


def _answer(
    appearance_id: int, at: datetime, answer: str = "same", seconds: float = 9.0, *, version: int = 1
) -> dict[str, Any]:
    return {
        "appearance_id": appearance_id,
        "version": version,
        "nonce": Keys.new(),
        "answer": answer,
        "why": "",
        "confidence": None,
        "seconds": seconds,
        "answered_at": at,
    }
