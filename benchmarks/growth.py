"""How the time of a fit grows with people, columns, judgments and judges: curves and their exponents."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import compas, large_file
from benchmarks.row import Row, busy_seconds, table
from fairwise import LargeTable, PairwiseFairClassifier, frontier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PEOPLE = (500_000, 1_000_000, 2_000_000, 4_000_000)
_COLUMNS = (5, 10, 20, 40)
_JUDGMENTS = (12_500, 25_000, 50_000, 100_000)
_JUDGES = (5, 10, 20, 40)
_FEW = 1_000


def run() -> Row:
    with TemporaryDirectory() as folder:
        curves = {
            "people n": _curve(_PEOPLE, lambda n: _fit(folder, n, 20, _FEW)),
            "columns d": _curve(_COLUMNS, lambda d: _fit(folder, 1_000_000, d, _FEW)),
            "judgments K": _curve(_JUDGMENTS, lambda count: _fit(folder, 250_000, 20, count)),
            "judges": _curve(_JUDGES, _trace),
        }
    grows = {name: _exponent(*curve) for name, curve in curves.items()}
    lines = [
        [name, ", ".join(f"{size:,}" for size in sizes), ", ".join(f"{t:.2f}" for t in times), f"{grows[name]:.2f}"]
        for name, (sizes, times) in curves.items()
    ]
    return Row(
        what="growth of a fit's time: exponent of the time as a power of n and of K",
        bar="linear in n and K",
        measured=", ".join(f"{name}: {value:.2f}" for name, value in grows.items()),
        reached=grows["people n"] <= 1.1 and grows["judgments K"] <= 1.1,
        notes="Processor time; slope of the line through the logarithms, best of two runs at each size, 1,000 rounds. "
        f"n and d: a table read in blocks, {_FEW:,} judgments (d at n = 1,000,000). K: n = 250,000. Judges: `frontier` "
        "by judge on COMPAS, 11 values of gamma, the paper's dynamics.\n\n"
        + table(["in", "sizes", "seconds", "exponent"], lines),
    )


def _curve(sizes: Sequence[int], measure: Callable[[int], float]) -> tuple[Sequence[int], list[float]]:
    return sizes, [measure(size) for size in sizes]


def _exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def _fit(folder: str, n: int, d: int, count: int) -> float:
    path = Path(folder) / f"{n}-{d}.parquet"
    if not path.exists():
        large_file.write(path, n, d)
    said = large_file.judgments(n, count)
    model = PairwiseFairClassifier("linear-regression", gamma=0.3, solver="no-regret")

    def fit() -> object:
        return model.fit(LargeTable(path, outcome="outcome", id="id"), None, judgments=said)

    return min(busy_seconds(fit) for _ in range(2))


def _trace(judges: int) -> float:
    people, outcome = compas.people()
    panel = compas.panel().select(compas.judges()[:judges])
    settings = {"estimator": "linear-regression", "solver": "no-regret"}
    return min(busy_seconds(lambda: frontier(people, outcome, panel, by="judge", **settings)) for _ in range(2))
