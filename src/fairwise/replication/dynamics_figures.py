"""Figures about the paper's dynamics: what more rounds and other bounds change, and which regret stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.replication import excess
from fairwise.replication.sensitivity import PAPER_BOUND
from fairwise.reporting.figures import palette
from fairwise.reporting.figures.drawing import Drawing, Point, draw

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.replication.study import Study

_DASHED = (0, (4, 3))


def dynamics_figures(study: Study) -> list[Drawing]:
    """Both figures, from the same table."""
    table = excess.excess_by_rounds(study)
    return [rounds_figure(table, simulated=study.simulated), regrets_figure(table, simulated=study.simulated)]


def rounds_figure(table: pd.DataFrame, *, simulated: bool) -> Drawing:
    """How far above the default solver the average, its classifiers and its heuristic are, against the rounds."""
    levels = {
        "average of the rounds (the paper)": (table["excess"], palette.WARM, "-"),
        "best weights on the same classifiers": (table["excess"] - table["averaging"], palette.INK, "-"),
        "its heuristic in column generation": (table["stronger_search"], palette.SOFT, _DASHED),
    }

    def paint(figure: Figure) -> list[Point]:
        points = _lines(figure, table, levels)
        figure.axes[0].set_ylabel("Error above the default solver")
        figure.axes[0].set_ylim(0, 1.12 * max(float(values.max()) for values, _, _ in levels.values()))
        return points

    first, last = _ends(table)
    return draw(
        "f-rounds",
        "Error above the default solver at the same violation, against the number of rounds",
        f"With C_λ = 1 the average is {first['excess']:.3f} above after {first['rounds']:,.0f} rounds and "
        f"{last['excess']:.3f} after {last['rounds']:,.0f}.",
        height=330,
        simulated=simulated,
        paint=paint,
    )


def regrets_figure(table: pd.DataFrame, *, simulated: bool) -> Drawing:
    """Both players' average regret against the rounds, and what the theorem allows for the dual player's."""
    lines = {
        "the classifiers' regret (at least)": (table["primal_regret"], palette.WARM, "-"),
        "the multipliers' regret": (table["dual_regret"], palette.ACCENT, "-"),
        "what the theorem allows for the multipliers'": (table["promised"], palette.ACCENT, _DASHED),
    }

    def paint(figure: Figure) -> list[Point]:
        points = _lines(figure, table, lines)
        figure.axes[0].set_ylabel("Regret, in units of error")
        for axes in figure.axes:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.minorticks_off()
        return points

    first, last = _ends(table)
    return draw(
        "g-regrets",
        "Average regret of both players against the number of rounds",
        f"With C_λ = 1, from {first['rounds']:,.0f} to {last['rounds']:,.0f} rounds, that of the multipliers goes from "
        f"{first['dual_regret']:.3f} to {last['dual_regret']:.3f}, that of the oracle from "
        f"{first['primal_regret']:.3f} to {last['primal_regret']:.3f}.",
        height=330,
        simulated=simulated,
        paint=paint,
    )


def _lines(figure: Figure, table: pd.DataFrame, lines: Mapping[str, tuple[pd.Series, str, Any]]) -> list[Point]:
    """One plot for each bound on lambda, side by side, with rounds on a logarithmic axis."""
    bounds = sorted(table["lambda_bound"].unique())
    side_by_side: list[Axes] = list(figure.subplots(1, len(bounds), sharey=True, squeeze=False)[0])
    points = []
    for axes, bound in zip(side_by_side, bounds, strict=True):
        rows = table[table["lambda_bound"] == bound].sort_values("rounds")
        for name, (values, color, style) in lines.items():
            own = values.loc[rows.index]
            axes.plot(
                rows["rounds"], own, color=color, linestyle=style, marker="o", markersize=4, linewidth=1.8, label=name
            )
            points += [
                Point(axes, x, y, f"C_λ = {bound:g}, {x:,.0f} rounds, {name}: {y:.3f}")
                for x, y in zip(rows["rounds"], own, strict=True)
            ]
        axes.set_title(f"C_λ = {bound:g}", color=palette.MUTED)
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(rows["rounds"], [_rounds(count) for count in rows["rounds"]])
        axes.margins(x=0.14)
    side_by_side[len(bounds) // 2].set_xlabel("Rounds")
    handles, labels = side_by_side[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", frameon=False, labelcolor=palette.MUTED, fontsize=10)
    return points


def _rounds(count: int) -> str:
    return f"{count // 1000}k" if count % 1000 == 0 else f"{count:,}"


def _ends(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The rows of the fewest and the most rounds at the paper's bound."""
    own = table[table["lambda_bound"] == PAPER_BOUND].sort_values("rounds")
    return own.iloc[0], own.iloc[-1]
