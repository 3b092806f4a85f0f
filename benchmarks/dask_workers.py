"""The same fit by one and by two local dask workers, and by two of which one is killed in a pass."""

from __future__ import annotations

import logging
import os
import signal
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from benchmarks import large_file
from benchmarks.row import Row, seconds
from fairwise import LargeTable, PairwiseFairClassifier

PEOPLE, FEATURES, JUDGMENTS, TIMES = 10_000_000, 20, 100_000, 5


def run() -> Row:
    said = large_file.judgments(PEOPLE, JUDGMENTS)
    took: dict[int, list[float]] = {1: [], 2: []}
    found: dict[str, PairwiseFairClassifier] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        large_file.write(path, PEOPLE, FEATURES)

        def fit(client: Any) -> PairwiseFairClassifier:
            table = LargeTable(path, outcome="outcome", id="id")
            model = PairwiseFairClassifier("linear-regression", gamma=0.3, solver="no-regret")
            return model.fit(table, None, judgments=said, client=client)

        options: dict[str, Any] = {
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "silence_logs": logging.CRITICAL,
        }
        for workers in (1, 2):
            with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
                found[str(workers)] = fit(client)
                took[workers] = [seconds(partial(fit, client)) for _ in range(TIMES)]
                if workers == 2:
                    victim = next(iter(client.run(os.getpid).values()))
                    Thread(target=_kill_later, args=(victim, 0.1 * median(took[2]))).start()
                    found["killed"] = fit(client)
                    died = victim not in client.run(os.getpid).values()
    same = all(_equal(model, found["1"]) for model in found.values())
    ratio = median(took[2]) / median(took[1])
    return Row(
        what=f"the same table ({PEOPLE:,} × {FEATURES}), 2 local dask workers, one killed during a pass",
        bar="same labels and numbers; without the kill ≤ 0.7 of one worker's time (median of 5)",
        measured=f"{'same' if same else 'DIFFERENT'} classifiers and certificate with one worker, with two, and with "
        f"one of two killed; {median(took[2]):.1f} s against {median(took[1]):.1f} s, ratio {ratio:.2f}",
        reached=bool(same and died and ratio <= 0.7),
        notes="Workers of one thread each. The game between the passes is played by the client on one core, so the "
        f"ratio cannot reach 0.5. One worker: {_listed(took[1])} s; two: {_listed(took[2])} s.",
        ratios={"one worker / two": 1 / ratio},
    )


def _kill_later(pid: int, delay: float) -> None:
    sleep(delay)
    os.kill(pid, signal.SIGKILL)


def _equal(model: PairwiseFairClassifier, other: PairwiseFairClassifier) -> bool:
    mine, theirs = model.classifiers_.state(), other.classifiers_.state()
    return all(np.array_equal(mine[name], theirs[name]) for name in mine) and model.certificate_ == other.certificate_


def _listed(times: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in times)
