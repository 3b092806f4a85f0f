"""What each judge gets: the share of what they asked for that is followed, and how far the rest is from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fairwise.reporting.figures import palette
from fairwise.reporting.figures.drawing import Drawing, Tooltip, draw, share_axis
from fairwise.reporting.words import decimal, percent, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.reporting.findings import Findings

MOST_NAMED = 24
_MEASURES = {"share_followed": "Followed", "mean_excess": "Mean excess"}


def judges_figure(findings: Findings) -> Drawing | None:
    """A line per judge with two dots; with many judges, dots in order of rank."""
    judges = in_order(findings.audit.by_judge)
    asking = judges[judges["in_force"] > 0].reset_index(drop=True)
    if asking.empty:
        return None
    named = len(asking) <= MOST_NAMED

    def paint(figure: Figure) -> list[Tooltip]:
        panels = figure.subplots(1, 2, sharey=True) if named else figure.subplots(2, 1, sharex=True)
        points = []
        for axes, (measure, words) in zip(panels, _MEASURES.items(), strict=True):
            color = palette.ACCENT if measure == "share_followed" else palette.WARM
            points += (_draw_named if named else _draw_ranked)(axes, asking, measure, color)
            axes.set_title(words)
        return points

    low, high = asking["share_followed"].min(), asking["share_followed"].max()
    description = (
        f"For {len(asking)} judges who asked for something: the share followed goes from {percent(low)} to "
        f"{percent(high)}, the mean excess up to {decimal(asking['mean_excess'].max(), 4)}. The table has every judge."
    )
    height = 75 + 19 * len(asking) if named else 340
    return draw("judges", "What each judge gets", description, height=height, simulated=findings.simulated, paint=paint)


def in_order(by_judge: pd.DataFrame) -> pd.DataFrame:
    """The least followed first, then the most disappointed; who asked for nothing comes last."""
    return by_judge.sort_values(
        ["share_followed", "mean_excess"], ascending=[True, False], kind="stable", na_position="last", ignore_index=True
    )


def _draw_named(axes: Axes, judges: pd.DataFrame, measure: str, color: str) -> list[Tooltip]:
    places = range(len(judges))
    axes.plot(judges[measure], places, linestyle="none", marker="o", markersize=6, color=color)
    axes.set_yticks(places, [shortened(judge, 16) for judge in judges["judge"]])
    axes.set_ylim(len(judges) - 0.4, -0.6)
    _scale(axes, judges, measure, along="x")
    return [Tooltip(axes, value, at, _words(judges, at, measure)) for at, value in enumerate(judges[measure])]


def _draw_ranked(axes: Axes, judges: pd.DataFrame, measure: str, color: str) -> list[Tooltip]:
    places = range(1, len(judges) + 1)
    axes.plot(places, judges[measure], linestyle="none", marker="o", markersize=3.5, color=color)
    axes.set_xlim(0, len(judges) + 1)
    if measure == "mean_excess":
        axes.set_xlabel("Judges, the least followed first")
    _scale(axes, judges, measure, along="y")
    return [Tooltip(axes, at + 1, value, _words(judges, at, measure)) for at, value in enumerate(judges[measure])]


def _scale(axes: Axes, judges: pd.DataFrame, measure: str, along: Literal["x", "y"]) -> None:
    """Shares from 0 to 1, excess from 0: dots then compare by their length, too."""
    limit, axis = (axes.set_xlim, axes.xaxis) if along == "x" else (axes.set_ylim, axes.yaxis)
    most = 1.0 if measure == "share_followed" else max(float(judges[measure].max()), 1e-3)
    limit(-0.04 * most, 1.06 * most)
    if measure == "share_followed":
        share_axis(axis)
    else:
        axes.locator_params(axis=along, nbins=3)


def _words(judges: pd.DataFrame, at: int, measure: str) -> str:
    line = judges.iloc[at]
    if measure == "share_followed":
        return f"{line['judge']}: {line['followed']} of {line['in_force']} followed ({percent(line['share_followed'])})"
    return f"{line['judge']}: mean excess {decimal(line['mean_excess'], 4)}"
