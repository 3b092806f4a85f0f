"""The figure of the rivals: seconds and error of every problem, ours and theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks import log_axis
from benchmarks.rivals import median_times_faster
from fairwise.reporting import drawing
from fairwise.reporting.drawing import Drawing, Tooltip, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.rivals import Duel


def figure(rows: dict[str, tuple[Duel, ...]]) -> Drawing:
    """Seconds and error of every problem, a line from theirs to ours; down and to the left is better."""

    def paint(canvas: Figure) -> list[Tooltip]:
        axes = np.ravel(canvas.subplots(-(-len(rows) // 2), 2, squeeze=False))
        for beyond in axes[len(rows) :]:
            beyond.remove()
        for place, (name, duels) in zip(axes, rows.items(), strict=False):
            _paint(place, name, duels)
        canvas.supxlabel("Seconds", fontsize=10, color=drawing.MUTED)
        canvas.supylabel("Error", fontsize=10, color=drawing.MUTED)
        return []

    told = ", ".join(f"{name} {median_times_faster(duels):.3g}" for name, duels in rows.items())
    return draw(
        "benchmarks_rivals",
        "Seconds and error, ours (blue dots) and the rival's (orange squares)",
        f"Each line joins the two answers to one problem. Median of how many times faster ours is: {told}.",
        height=190 * -(-len(rows) // 2) + 20,
        paint=paint,
    )


def _paint(axes: Axes, name: str, duels: tuple[Duel, ...]) -> None:
    axes.set_xscale("log")
    for duel in duels:
        ends = [duel.them.seconds, duel.us.seconds], [duel.them.error, duel.us.error]
        axes.plot(*ends, color=drawing.SOFT, linewidth=0.8)
        axes.plot(duel.them.seconds, duel.them.error, marker="s", color=drawing.WARM, markersize=4.5, linestyle="")
        axes.plot(duel.us.seconds, duel.us.error, marker="o", color=drawing.ACCENT, markersize=4.5, linestyle="")
    log_axis.near(axes.xaxis, [side.seconds for duel in duels for side in (duel.us, duel.them)])
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.set_title(name, fontsize=10)
