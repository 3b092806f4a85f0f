"""How the time of a fit grows with people, columns, judgments and judges: curves and their exponents."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import compas, large_file, log_axis
from benchmarks.row import Row, busy_seconds, table
from fairwise import LargeTable, PairwiseFairClassifier, frontier
from fairwise.reporting import drawing
from fairwise.reporting.drawing import Drawing, Tooltip, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    Curve = tuple[Sequence[int], list[float]]

_PEOPLE = (250_000, 500_000, 1_000_000, 2_000_000)
_COLUMNS = (5, 10, 20, 40)
_JUDGMENTS = (15_625, 62_500, 250_000, 1_000_000)
_JUDGES = (5, 10, 20, 40)
_FEW = 1_000


def run() -> Row:
    with TemporaryDirectory() as folder:
        curves = {
            "people n": _curve(_PEOPLE, lambda n: _fit(folder, n, 20, _FEW)),
            "columns d": _curve(_COLUMNS, lambda d: _fit(folder, 1_000_000, d, _FEW)),
            "judgments K": _curve(_JUDGMENTS, lambda count: _fit(folder, 1_000_000, 20, count)),
            "judges": _curve(_JUDGES, _trace),
        }
    grows = {name: _exponent(*curve) for name, curve in curves.items()}
    lines = [
        [name, ", ".join(f"{size:,}" for size in sizes), ", ".join(f"{t:.2f}" for t in times), f"{grows[name]:.2f}"]
        for name, (sizes, times) in curves.items()
    ]
    return Row(
        what="growth of a fit's time: its exponent as a power of people n, columns d, judgments K and judges",
        bar="≤ 1.0 in each, up to 1,000,000 people and more and 1,000,000 judgments",
        measured=", ".join(f"{name}: {value:.2f}" for name, value in grows.items()),
        reached=all(round(value, 2) <= 1.0 for value in grows.values()),
        notes="Processor time; slope of the line through the logarithms, best of two runs at each size, 1,000 rounds. "
        f"n and d: a table read in blocks, {_FEW:,} judgments (d and K at n = 1,000,000). Judges: `frontier` "
        "by judge on COMPAS, 11 values of gamma, the paper's dynamics.\n\n"
        + table(["in", "sizes", "seconds", "exponent"], lines),
        ratios={f"1 / exponent in {name}": 1 / value for name, value in grows.items()},
        figures=(figure(curves),),
    )


def figure(curves: dict[str, Curve]) -> Drawing:
    """Both axes logarithmic, so that a power is a line and its exponent the slope."""

    def paint(canvas: Figure) -> list[Tooltip]:
        for axes, (name, (sizes, times)) in zip(canvas.subplots(2, 2).flat, curves.items(), strict=True):
            exponent, offset = _line(sizes, times)
            axes.set_xscale("log")
            axes.set_yscale("log")
            fitted = np.exp(offset) * np.array(sizes, dtype=float) ** exponent
            axes.plot(sizes, fitted, color=drawing.SOFT, linewidth=1.2)
            axes.plot(sizes, times, marker="o", color=drawing.ACCENT, markersize=5, linestyle="")
            axes.margins(0.12)
            log_axis.at(axes.xaxis, sizes)
            log_axis.near(axes.yaxis, times)
            axes.set_title(f"{name}: exponent {exponent:.2f}", fontsize=10)
        canvas.supylabel("Seconds of processor time", fontsize=10, color=drawing.MUTED)
        return []

    told = ", ".join(f"{_exponent(*curve):.2f} in {name}" for name, curve in curves.items())
    return draw(
        "benchmarks_growth",
        "How the time of a fit grows",
        f"Both axes are logarithmic; lines are powers fitted to the dots. Exponents: {told}.",
        height=390,
        paint=paint,
    )


def _curve(sizes: Sequence[int], measure: Callable[[int], float]) -> Curve:
    return sizes, [measure(size) for size in sizes]


def _exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    return _line(sizes, times)[0]


def _line(sizes: Sequence[int], times: Sequence[float]) -> tuple[float, float]:
    """Slope and offset of the line through the logarithms."""
    slope, offset = np.polyfit(np.log(sizes), np.log(times), 1)
    return float(slope), float(offset)


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
    settings: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret"}
    return min(busy_seconds(lambda: frontier(people, outcome, panel, by="judge", **settings)) for _ in range(2))
