"""How unevenly disappointment and price are spread over the pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.reporting.figures import palette
from fairwise.reporting.figures.drawing import Drawing, Tooltip, draw, percent_axis
from fairwise.reporting.words import percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.reporting.findings import Findings

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)


def lorenz_figure(findings: Findings) -> Drawing | None:
    """Share of the total that the most expensive, and the most disappointed, pairs make up."""
    spread = [
        (words, curve, color, line)
        for words, curve, color, line in (
            ("price", findings.lorenz_price, palette.ACCENT, "-"),
            ("excess", findings.lorenz_excess, palette.WARM, (0, (5, 2))),
        )
        if has_any(curve)
    ]
    if not spread:
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], color=palette.SOFT, linewidth=1, linestyle=(0, (1, 2)))
        points = []
        for words, curve, color, line in spread:
            reached = curve.iloc[: int((curve["total"] < 1).sum()) + 1]
            axes.plot([*reached["share"], 1], [*reached["total"], 1], color=color, linewidth=2, linestyle=line)
            points += _points(axes, words, curve)
        for words, _, color, line in spread:
            axes.plot([], [], color=color, linewidth=2, linestyle=line, label=words)
        axes.plot([], [], color=palette.SOFT, linewidth=1, linestyle=(0, (1, 2)), label="if spread evenly")
        axes.legend(loc="lower right", frameon=False)
        axes.set_xlabel("Pairs, the largest first")
        axes.set_title("Share of the total", color=palette.MUTED)
        for axis in (axes.xaxis, axes.yaxis):
            percent_axis(axis)
        return points

    told = "; ".join(
        f"the top 10 % of the pairs make up {percent(at_share(curve, 0.1))} of the {words}"
        for words, curve, _, _ in spread
    )
    title = "How unevenly price and excess are spread over the pairs"
    return draw("lorenz", title, f"{told[0].upper()}{told[1:]}.", height=300, simulated=findings.simulated, paint=paint)


def has_any(curve: pd.DataFrame) -> bool:
    """Whether there is anything to be uneven."""
    return bool(curve["total"].iloc[-1] > 0)


def at_share(curve: pd.DataFrame, share: float) -> float:
    """Read off the curve: how much of the total the largest ``share`` makes up."""
    return float(curve.loc[curve["share"] <= share + 1e-12, "total"].iloc[-1])


def _points(axes: Axes, words: str, curve: pd.DataFrame) -> list[Tooltip]:
    return [
        Tooltip(
            axes,
            share,
            at_share(curve, share),
            f"top {share:.0%} of pairs: {percent(at_share(curve, share))} of {words}",
        )
        for share in SHARES
    ]
