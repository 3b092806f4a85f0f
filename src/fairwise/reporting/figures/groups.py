"""Rates of groups of people, one figure for each way of dividing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.reporting.figures import palette
from fairwise.reporting.figures.drawing import Drawing, Tooltip, draw, share_axis
from fairwise.reporting.words import counted, percent, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from fairwise.reporting.findings import Findings

MOST_GROUPS = 20
FEW_PEOPLE = 30
_RATES = {"error": "Error", "false_positive_rate": "False positives", "true_positive_rate": "True positives"}


def group_figures(findings: Findings) -> list[Drawing]:
    """For each attribute, a line per group with a dot for each rate."""
    by_group = findings.audit.by_group
    if by_group is None:
        return []
    return [
        _figure(findings, str(attribute), rows, number)
        for number, (attribute, rows) in enumerate(by_group.groupby("attribute", sort=False), 1)
    ]


def largest_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """As many groups as a figure can show, the largest first."""
    return rows.sort_values("people", ascending=False, kind="stable", ignore_index=True).head(MOST_GROUPS)


def _figure(findings: Findings, attribute: str, rows: pd.DataFrame, number: int) -> Drawing:
    shown = largest_groups(rows)

    def paint(figure: Figure) -> list[Tooltip]:
        points = []
        for axes, (rate, words) in zip(figure.subplots(1, len(_RATES), sharey=True), _RATES.items(), strict=True):
            for at, line in shown.iterrows():
                hollow = line["people"] < FEW_PEOPLE
                axes.plot(
                    [line[rate]],
                    [at],
                    marker="o",
                    markersize=6,
                    color=palette.ACCENT,
                    markerfacecolor=palette.PAPER if hollow else palette.ACCENT,
                )
                if line[rate] == line[rate]:  # nobody of a group may have had the outcome
                    said = f"{line['group']}: {words.lower()} {percent(line[rate])} of {counted(line['people'])} people"
                    points.append(Tooltip(axes, line[rate], int(str(at)), said))
            axes.set_yticks(range(len(shown)), [shortened(group, 16) for group in shown["group"]])
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.set_title(words)
            axes.set_xlim(-0.05, 1.05)
            share_axis(axes.xaxis)
        return points

    error = shown["error"]
    description = (
        f"{len(shown)} groups by {attribute}: error from {percent(error.min())} to {percent(error.max())}. "
        "The table has all rates."
    )
    return draw(
        f"groups-{number}",
        f"Rates by {attribute}",
        description,
        height=85 + 21 * len(shown),
        simulated=findings.simulated,
        paint=paint,
    )
