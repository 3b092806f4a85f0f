"""How long the server takes for an answer in active mode, until it and the pair chosen next are on the disk."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa
import uvloop

from benchmarks.lean_client import ANSWERS, thinking_panel
from benchmarks.row import Row, table
from benchmarks.served_study import make_study, served
from benchmarks.timed_server import TIMES
from fairwise.store import participants
from fairwise.store.places import DATABASE_FILE
from fairwise.store.schema import answer_models, answers, appearances
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from sqlalchemy import Connection

_EARLIER, _THEIR_PAIRS = 43, 50
_PAIRS, _ACTIVE = 20, 18
_THINKING = 1.0
_AT_ONCE = (1, 20, 50)
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> Row:
    spent, models = zip(*(_served_to(people) for people in _AT_ONCE), strict=True)
    quantiles = [1000 * np.quantile(times["POST"], [0.5, 0.95, 0.99, 1.0]) for times in spent]
    pages = [1000 * np.quantile(times["GET"], [0.5, 0.99]) for times in spent]
    lines = [
        [str(people), str(len(times["POST"])), *(f"{value:.1f}" for value in (*answer, *page)), str(learned)]
        for people, times, answer, page, learned in zip(_AT_ONCE, spent, quantiles, pages, models, strict=True)
    ]
    header = ["people at once", "answers", "median", "p95", "p99", "slowest", "page, median", "page, p99", "models"]
    place = _AT_ONCE.index(20)
    return Row(
        what="an answer in active mode, until it and the next pair are on the disk, 5,829 people, server time, SQLite, "
        f"one worker, {_AT_ONCE[place]} people with {_THINKING:.0f} s of thinking",
        bar="≤ 50 ms",
        measured=", ".join(f"{name} {ms:.1f} ms" for name, ms in zip(header[2:5], quantiles[place], strict=False)),
        reached=bool(quantiles[place][1] <= 50),
        notes=f"A clock around the app in the server's own process, after {_EARLIER} people answered {_THEIR_PAIRS} "
        f"pairs each; {_ACTIVE} of {_PAIRS} pairs are active. An answer is taken, the next pair chosen with it, and "
        "both are committed. Milliseconds; models is how often what people have in common was learned anew meanwhile, "
        f"beside all this.\n\n{table(header, lines)}",
        ratios={"bar / p95": 50 / quantiles[place][1]},
    )


def _served_to(people: int) -> tuple[dict[str, list[float]], int]:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), pairs=_PAIRS, design={"active": _ACTIVE})
        before = StudyFolder.open(make_study(Path(home), "before", pairs=_THEIR_PAIRS))
        store = Store.open(folder / DATABASE_FILE, StudyFolder.open(folder).fingerprint)
        store.change_now(lambda connection: _fill(connection, before))
        store.close()
        times = Path(home) / "times.json"
        os.environ[TIMES] = str(times)
        with served(folder, module="benchmarks.timed_server") as server:
            uvloop.run(thinking_panel(server.port, people, _THINKING))
        store = Store.open(folder / DATABASE_FILE, StudyFolder.open(folder).fingerprint)
        learned = store.read_now(
            lambda c: c.execute(sa.select(sa.func.count()).select_from(answer_models)).scalar_one()
        )
        store.close()
        return json.loads(times.read_text(encoding="utf-8")), learned


def _fill(connection: Connection, before: StudyFolder) -> None:
    """People who came earlier, and were shown uniform pairs only."""
    for _ in range(_EARLIER):
        consent = participants.Consent(Keys.hashed(Keys.new()), "v1", _NOW, Stage.PAIRS, timedelta(days=1))
        participants.start(connection, consent, before.schedule, Keys.new)
    same_for_all = {"version": 1, "why": "", "confidence": None, "seconds": 1.5, "answered_at": _NOW}
    shown = connection.execute(sa.select(appearances.c.id)).scalars().all()
    rows = [{"appearance_id": one, "nonce": Keys.new(), "answer": ANSWERS[one % 4], **same_for_all} for one in shown]
    connection.execute(sa.insert(answers), rows)
