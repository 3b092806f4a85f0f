"""The default model on Adult: linear thresholds and what 20 simulated judges say about 1,000 pairs."""

from __future__ import annotations

import warnings
from statistics import median
from time import perf_counter, process_time

from sklearn.exceptions import ConvergenceWarning

from benchmarks.row import Row, table
from fairwise import PairwiseFairClassifier
from fairwise.datasets import load_adult
from fairwise.simulation import simulate_panel

_PEOPLE, _JUDGES, _PAIRS, _PANELS, _BAR = 30_000, 20, 50, 3, 8.0


def run() -> Row:
    people, outcome = load_adult()
    people, outcome = people.iloc[:_PEOPLE], outcome.iloc[:_PEOPLE]
    PairwiseFairClassifier("linear").fit(people.iloc[:500], outcome.iloc[:500])  # compiled code
    times, lines = [], []
    for seed in range(_PANELS):
        panel = simulate_panel(people, _JUDGES, _PAIRS, seed=seed)
        model = PairwiseFairClassifier("linear")
        start, busy = perf_counter(), process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # told in the table
            model.fit(people, outcome, judgments=panel)
        times.append(perf_counter() - start)
        found = model.certificate_
        numbers = f"{found.error:.4f}", f"{found.plain_error:.4f}", f"{found.max_violation:.3f}", found.stopped
        lines.append([f"{seed}", f"{times[-1]:.1f} s", f"{process_time() - busy:.1f} s", *numbers])
    header = ["panel", "seconds", "processor", "error", "plain model's", "largest violation", "stopped by"]
    return Row(
        what=f"`linear` on {_PEOPLE:,} people of Adult with {_JUDGES * _PAIRS:,} simulated judgments, default settings",
        bar=f"≤ {_BAR:.0f} s, median of {_PANELS} panels",
        measured=f"{median(times):.1f} s ({min(times):.1f} to {max(times):.1f} s)",
        reached=median(times) <= _BAR,
        notes="With this many numbers the search ends after 100 questions to its oracle, and the fit warns where it "
        "could have gone on.\n\n" + table(header, lines),
        ratios={"bar / seconds": _BAR / median(times)},
    )
