"""How long the server takes for a pair page while 50 people answer with a second of thinking."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import uvloop

from benchmarks.lean_client import thinking_panel
from benchmarks.row import Row
from benchmarks.served_study import make_study, served
from benchmarks.timed_server import TIMES

PARTICIPANTS = 50
PAIRS = 20
THINKING = 1.0


def run() -> Row:
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), pairs=PAIRS)
        times = Path(home) / "times.json"
        os.environ[TIMES] = str(times)
        with served(folder, module="benchmarks.timed_server") as server:
            uvloop.run(thinking_panel(server.port, PARTICIPANTS, THINKING))
        spent = json.loads(times.read_text(encoding="utf-8"))
    pages, answers = (1000 * np.quantile(spent[method], [0.5, 0.99, 1.0]) for method in ("GET", "POST"))
    return Row(
        what=f"pair page, server time, SQLite, one worker, {PARTICIPANTS} people with {THINKING:.0f} s of thinking",
        bar="median ≤ 8 ms, p99 ≤ 40 ms",
        measured=f"median {pages[0]:.1f} ms, p99 {pages[1]:.1f} ms",
        reached=bool(pages[0] <= 8 and pages[1] <= 40),
        notes=f"A clock around the app in the server's own process: {len(spent['GET'])} pages, the slowest "
        f"{pages[2]:.1f} ms. Taking an answer, on the disk before it is acknowledged: median {answers[0]:.1f} ms, "
        f"p99 {answers[1]:.1f} ms.",
        ratios={"bar / median": 8 / pages[0]},
    )
