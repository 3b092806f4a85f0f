"""What the judgments cost: error as one knob varies, with the chosen point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairwise.reporting.figures import palette
from fairwise.reporting.figures.drawing import Drawing, Tooltip, annotate, draw, percent_axis
from fairwise.reporting.words import interval, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.auditing.frontier_slice import Curve
    from fairwise.reporting.findings import Findings

_KNOB = {
    "gamma": ("Allowed difference between two people (\N{GREEK SMALL LETTER GAMMA})", "\N{GREEK SMALL LETTER GAMMA}"),
    "eta": ("Allowed mean excess of the panel (η)", "η"),
}
_OVER_LINES = {"facecolor": palette.PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1.5}


def frontier_figure(findings: Findings) -> Drawing | None:
    """Error against the knob that varies: the panel with its interval, single judges in grey, the plain model."""
    curve = findings.curve
    if curve is None:
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        points = [*_draw_judges(axes, curve), *_draw_panel(axes, curve), *_draw_chosen(axes, curve)]
        _draw_plain_model(axes, findings)
        axes.set_xlabel(_KNOB[curve.knob][0])
        axes.set_title("People decided wrongly", color=palette.MUTED)
        percent_axis(axes.yaxis)
        axes.margins(x=0.03, y=0.1)
        return points

    title = f"Error of the model as {_KNOB[curve.knob][1]} varies"
    return draw("frontier", title, _description(findings, curve), height=300, simulated=findings.simulated, paint=paint)


def _draw_panel(axes: Axes, curve: Curve) -> list[Tooltip]:
    rows = curve.panel
    if rows.empty:
        return []
    if curve.has_interval:
        axes.fill_between(
            rows[curve.knob], rows["error_low"], rows["error_high"], color=palette.ACCENT, alpha=0.18, linewidth=0
        )
    axes.plot(rows[curve.knob], rows["error"], color=palette.ACCENT, linewidth=2, marker="o", markersize=4)
    return [
        Tooltip(axes, at, error, f"{_KNOB[curve.knob][1]} = {at:g}: {percent(error)} wrong{interval(low, high)}")
        for at, error, low, high in rows[[curve.knob, "error", "error_low", "error_high"]].itertuples(
            index=False, name=None
        )
    ]


def _draw_judges(axes: Axes, curve: Curve) -> list[Tooltip]:
    points = []
    for judge, rows in curve.judges.groupby("judge", sort=False):
        axes.plot(rows[curve.knob], rows["error"], color=palette.SOFT, linewidth=0.8, alpha=0.5)
        points += [
            Tooltip(axes, at, error, f"{judge} alone, {_KNOB[curve.knob][1]} = {at:g}: {percent(error)} wrong")
            for at, error in zip(rows[curve.knob], rows["error"], strict=True)
        ]
    return points


def _draw_chosen(axes: Axes, curve: Curve) -> list[Tooltip]:
    chosen = curve.chosen
    if chosen is None:
        return []
    diamond: dict[str, Any] = {"marker": "D", "markersize": 9, "markeredgecolor": palette.PAPER, "markeredgewidth": 1.5}
    axes.plot([chosen.at], [chosen.error], color=palette.WARM, zorder=5, **diamond)
    low, high = axes.get_xlim()
    at_the_right = chosen.at > low + 0.6 * (high - low)
    over_lines = _OVER_LINES if len(curve.judges) else None
    side = {"ha": "right" if at_the_right else "left", "bbox": over_lines, "zorder": 6}
    offset = (6, 13) if at_the_right else (9, 9)
    annotate(axes, f"chosen: {percent(chosen.error)}", (chosen.at, chosen.error), offset, palette.WARM, **side)
    words = f"chosen: {percent(chosen.error)} wrong{interval(chosen.low, chosen.high)}"
    return [Tooltip(axes, chosen.at, chosen.error, words)]


def _draw_plain_model(axes: Axes, findings: Findings) -> None:
    if findings.plain_error is None:
        return
    axes.axhline(findings.plain_error, color=palette.MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    text, at = f"no judgments: {percent(findings.plain_error)}", (0, findings.plain_error)
    annotate(axes, text, at, (2, -13), palette.MUTED, xycoords=("axes fraction", "data"))


def _description(findings: Findings, curve: Curve) -> str:
    said = []
    if len(curve.panel):
        first, last = curve.panel.iloc[0], curve.panel.iloc[-1]
        said.append(
            f"For the panel, error goes from {percent(first['error'])} at {_KNOB[curve.knob][1]} = "
            f"{first[curve.knob]:g} to {percent(last['error'])} at {last[curve.knob]:g}."
        )
    if len(curve.judges):
        said.append(f"{curve.judges['judge'].nunique()} thin lines show single judges.")
    if curve.chosen is not None:
        said.append(f"The chosen point has {percent(curve.chosen.error)}.")
    if findings.plain_error is not None:
        said.append(f"Without judgments it is {percent(findings.plain_error)}.")
    return " ".join(said)
