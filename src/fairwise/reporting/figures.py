"""The figures of a report: what judgments cost, what each judge gets, how unevenly it is spread, groups of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fairwise.auditing.findings import Findings
from fairwise.auditing.frontier import Curve
from fairwise.numbers import counted
from fairwise.reporting import drawing
from fairwise.reporting.drawing import Drawing, Tooltip, annotate, draw, palette_of, percent_axis, share_axis
from fairwise.reporting.words import decimal, interval, percent, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KNOB = {
    "gamma": ("Tolerance \N{GREEK SMALL LETTER GAMMA}: difference between two people", "\N{GREEK SMALL LETTER GAMMA}"),
    "eta": ("Allowance η: mean excess of the panel", "η"),
}
MOST_GROUPS = 20
FEW_PEOPLE = 30
_RATES = {"error": "Error", "false_positive_rate": "False positives", "true_positive_rate": "True positives"}
MOST_NAMED = 24
JUDGE_MEASURES = {"share_followed": "Followed", "mean_excess": "Mean excess"}
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)


def draw_figures(findings: Findings) -> dict[str, Drawing]:
    """Every figure there is something to show in, by name."""
    drawn = [frontier_figure(findings), judges_figure(findings), lorenz_figure(findings), *group_figures(findings)]
    return {drawing.name: drawing for drawing in drawn if drawing is not None}


def frontier_figure(findings: Findings) -> Drawing | None:
    """Error against the knob that varies: the panel with its interval, single judges in grey, the plain model."""
    curve = findings.curve
    if curve is None:
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        return draw_frontier(figure.add_subplot(), curve, findings.plain_error)

    title = f"Error of the model as {_KNOB[curve.knob][1]} varies"
    description = _frontier_description(findings, curve)
    return draw("frontier", title, description, height=300, simulated=findings.simulated, paint=paint)


def draw_frontier(axes: Axes, curve: Curve, plain_error: float | None, **line: Any) -> list[Tooltip]:
    """Draw it on these axes; ``line`` are matplotlib's settings for the line of the panel."""
    points = [*_draw_judges(axes, curve), *_draw_panel(axes, curve, line), *_draw_chosen(axes, curve)]
    if plain_error is not None:
        _draw_plain_model(axes, plain_error)
    axes.set_xlabel(_KNOB[curve.knob][0])
    axes.set_title("People decided wrongly", color=palette_of(axes).muted)
    percent_axis(axes.yaxis)
    axes.margins(x=0.03, y=0.1)
    return points


def _draw_panel(axes: Axes, curve: Curve, line: dict[str, Any]) -> list[Tooltip]:
    rows, accent = curve.panel, palette_of(axes).accent
    if rows.empty:
        return []
    if curve.has_interval:
        axes.fill_between(
            rows[curve.knob], rows["error_low"], rows["error_high"], color=accent, alpha=0.18, linewidth=0
        )
    style: dict[str, Any] = {"color": accent, "linewidth": 2, "marker": "o", "markersize": 4}
    axes.plot(rows[curve.knob], rows["error"], **style | line)
    return [
        Tooltip(axes, at, error, f"{_KNOB[curve.knob][1]} = {at:g}: {percent(error)} wrong{interval(low, high)}")
        for at, error, low, high in rows[[curve.knob, "error", "error_low", "error_high"]].itertuples(
            index=False, name=None
        )
    ]


def _draw_judges(axes: Axes, curve: Curve) -> list[Tooltip]:
    points, soft = [], palette_of(axes).soft
    for judge, rows in curve.judges.groupby("judge", sort=False):
        axes.plot(rows[curve.knob], rows["error"], color=soft, linewidth=0.8, alpha=0.5)
        points += [
            Tooltip(axes, at, error, f"{judge} alone, {_KNOB[curve.knob][1]} = {at:g}: {percent(error)} wrong")
            for at, error in zip(rows[curve.knob], rows["error"], strict=True)
        ]
    return points


def _draw_chosen(axes: Axes, curve: Curve) -> list[Tooltip]:
    chosen, colours = curve.chosen, palette_of(axes)
    if chosen is None:
        return []
    diamond: dict[str, Any] = {"marker": "D", "markersize": 9, "markeredgecolor": colours.paper, "markeredgewidth": 1.5}
    axes.plot([chosen.at], [chosen.error], color=colours.warm, zorder=5, **diamond)
    low, high = axes.get_xlim()
    at_the_right = chosen.at > low + 0.6 * (high - low)
    over_lines = (
        {"facecolor": colours.paper, "edgecolor": "none", "alpha": 0.8, "pad": 1.5} if len(curve.judges) else None
    )
    side = {"ha": "right" if at_the_right else "left", "bbox": over_lines, "zorder": 6}
    offset = (6, 13) if at_the_right else (9, 9)
    annotate(axes, f"chosen: {percent(chosen.error)}", (chosen.at, chosen.error), offset, colours.warm, **side)
    words = f"chosen: {percent(chosen.error)} wrong{interval(chosen.low, chosen.high)}"
    return [Tooltip(axes, chosen.at, chosen.error, words)]


def _draw_plain_model(axes: Axes, error: float) -> None:
    muted = palette_of(axes).muted
    axes.axhline(error, color=muted, linewidth=1.2, linestyle=(0, (4, 3)))
    text, at = f"no judgments: {percent(error)}", (0, error)
    annotate(axes, text, at, (2, -13), muted, xycoords=("axes fraction", "data"))


def _frontier_description(findings: Findings, curve: Curve) -> str:
    sentences = []
    if len(curve.panel):
        first, last = curve.panel.iloc[0], curve.panel.iloc[-1]
        sentences.append(
            f"For the panel, error goes from {percent(first['error'])} at {_KNOB[curve.knob][1]} = "
            f"{first[curve.knob]:g} to {percent(last['error'])} at {last[curve.knob]:g}."
        )
    if len(curve.judges):
        sentences.append(f"{curve.judges['judge'].nunique()} thin lines show single judges.")
    if curve.chosen is not None:
        sentences.append(f"The chosen point has {percent(curve.chosen.error)}.")
    if findings.plain_error is not None:
        sentences.append(f"Without judgments it is {percent(findings.plain_error)}.")
    return " ".join(sentences)


def judges_figure(findings: Findings) -> Drawing | None:
    """A line per judge with two dots; with many judges, dots in order of rank."""
    asking = asking_judges(findings.audit.by_judge)
    if asking.empty:
        return None
    named = len(asking) <= MOST_NAMED

    def paint(figure: Figure) -> list[Tooltip]:
        panels = figure.subplots(1, 2, sharey=True) if named else figure.subplots(2, 1, sharex=True)
        points = []
        for axes, measure in zip(panels, JUDGE_MEASURES, strict=True):
            points += draw_judges(axes, asking, measure)
        if not named:
            panels[0].set_xlabel("")
        return points

    low, high = asking["share_followed"].min(), asking["share_followed"].max()
    description = (
        f"For {len(asking)} judges who asked for something: the share followed goes from {percent(low)} to "
        f"{percent(high)}, the mean excess up to {decimal(asking['mean_excess'].max(), 4)}. The table has every judge."
    )
    height = 75 + 19 * len(asking) if named else 340
    return draw("judges", "What each judge gets", description, height=height, simulated=findings.simulated, paint=paint)


def asking_judges(by_judge: pd.DataFrame) -> pd.DataFrame:
    """Those who asked for something, in order."""
    judges = in_order(by_judge)
    return judges[judges["in_force"] > 0].reset_index(drop=True)


def draw_judges(axes: Axes, judges: pd.DataFrame, measure: str, **dots: Any) -> list[Tooltip]:
    """Draw a dot for each judge: beside their name or, where they are many, in order of rank."""
    colours = palette_of(axes)
    color = colours.accent if measure == "share_followed" else colours.warm
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": color}
    axes.set_title(JUDGE_MEASURES[measure])
    return (_draw_named if len(judges) <= MOST_NAMED else _draw_ranked)(axes, judges, measure, style | dots)


def in_order(by_judge: pd.DataFrame) -> pd.DataFrame:
    """The least followed first, then the most disappointed; who asked for nothing comes last."""
    return by_judge.sort_values(
        ["share_followed", "mean_excess"], ascending=[True, False], kind="stable", na_position="last", ignore_index=True
    )


def _draw_named(axes: Axes, judges: pd.DataFrame, measure: str, style: dict[str, Any]) -> list[Tooltip]:
    places = range(len(judges))
    axes.plot(judges[measure], places, **{"markersize": 6} | style)
    axes.set_yticks(places, [shortened(judge, 16) for judge in judges["judge"]], parse_math=False)
    axes.set_ylim(len(judges) - 0.4, -0.6)
    _scale(axes, judges, measure, along="x")
    return [Tooltip(axes, value, at, _judge_words(judges, at, measure)) for at, value in enumerate(judges[measure])]


def _draw_ranked(axes: Axes, judges: pd.DataFrame, measure: str, style: dict[str, Any]) -> list[Tooltip]:
    places = range(1, len(judges) + 1)
    axes.plot(places, judges[measure], **{"markersize": 3.5} | style)
    axes.set_xlim(0, len(judges) + 1)
    axes.set_xlabel("Judges, the least followed first")
    _scale(axes, judges, measure, along="y")
    return [Tooltip(axes, at + 1, value, _judge_words(judges, at, measure)) for at, value in enumerate(judges[measure])]


def _scale(axes: Axes, judges: pd.DataFrame, measure: str, along: Literal["x", "y"]) -> None:
    """Shares from 0 to 1, excess from 0: dots then compare by their length, too."""
    limit, axis = (axes.set_xlim, axes.xaxis) if along == "x" else (axes.set_ylim, axes.yaxis)
    most = 1.0 if measure == "share_followed" else max(float(judges[measure].max()), 1e-3)
    limit(-0.04 * most, 1.06 * most)
    if measure == "share_followed":
        share_axis(axis)
    else:
        axes.locator_params(axis=along, nbins=3)


def _judge_words(judges: pd.DataFrame, at: int, measure: str) -> str:
    line = judges.iloc[at]
    if measure == "share_followed":
        return f"{line['judge']}: {line['followed']} of {line['in_force']} followed ({percent(line['share_followed'])})"
    return f"{line['judge']}: mean excess {decimal(line['mean_excess'], 4)}"


def lorenz_figure(findings: Findings) -> Drawing | None:
    """Share of the total that the most expensive, and the most disappointed, pairs make up."""
    spread = {"price": findings.lorenz_price, "excess": findings.lorenz_excess}
    if not any(map(has_any, spread.values())):
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        return draw_spread(figure.add_subplot(), spread)

    sentence = "; ".join(
        f"the top 10 % of the pairs make up {percent(at_share(curve, 0.1))} of the {words}"
        for words, curve in spread.items()
        if has_any(curve)
    )
    title = "How unevenly price and excess are spread over the pairs"
    return draw(
        "lorenz", title, f"{sentence[0].upper()}{sentence[1:]}.", height=300, simulated=findings.simulated, paint=paint
    )


def draw_spread(axes: Axes, spread: dict[str, pd.DataFrame], **line: Any) -> list[Tooltip]:
    """Draw the Lorenz curves that there are, and the diagonal; ``line`` are matplotlib's settings for the curves."""
    colours = palette_of(axes)
    lines = {"price": (colours.accent, "-"), "excess": (colours.warm, (0, (5, 2)))}
    even: dict[str, Any] = {"color": colours.soft, "linewidth": 1, "linestyle": (0, (1, 2))}
    axes.plot([0, 1], [0, 1], **even)
    points = []
    for words, curve in spread.items():
        if has_any(curve):
            reached = curve.iloc[: int((curve["total"] < 1).sum()) + 1]
            color, dashes = lines[words]
            style: dict[str, Any] = {"linewidth": 2, "label": words, "color": color, "linestyle": dashes}
            axes.plot([*reached["share"], 1], [*reached["total"], 1], **style | line)
            points += _spread_points(axes, words, curve)
    axes.plot([], [], **even, label="if spread evenly")
    axes.legend(loc="lower right", frameon=False)
    axes.set_xlabel("Pairs, the largest first")
    axes.set_title("Share of the total", color=colours.muted)
    for axis in (axes.xaxis, axes.yaxis):
        percent_axis(axis)
    return points


def has_any(curve: pd.DataFrame) -> bool:
    """Whether there is anything to be uneven."""
    return bool(curve["total"].iloc[-1] > 0)


def at_share(curve: pd.DataFrame, share: float) -> float:
    """Read off the curve: how much of the total the largest ``share`` makes up."""
    return float(curve.loc[curve["share"] <= share + 1e-12, "total"].iloc[-1])


def _spread_points(axes: Axes, words: str, curve: pd.DataFrame) -> list[Tooltip]:
    return [
        Tooltip(
            axes,
            share,
            at_share(curve, share),
            f"top {share:.0%} of pairs: {percent(at_share(curve, share))} of {words}",
        )
        for share in SHARES
    ]


def group_figures(findings: Findings) -> list[Drawing]:
    """For each attribute, a line per group with a dot for each rate."""
    by_group = findings.audit.by_group
    if by_group is None:
        return []
    return [
        _group_figure(findings, str(attribute), rows, number)
        for number, (attribute, rows) in enumerate(by_group.groupby("attribute", sort=False), 1)
    ]


def largest_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """As many groups as a figure can show, the largest first."""
    return rows.sort_values("people", ascending=False, kind="stable", ignore_index=True).head(MOST_GROUPS)


def _group_figure(findings: Findings, attribute: str, rows: pd.DataFrame, number: int) -> Drawing:
    largest = largest_groups(rows)

    def paint(figure: Figure) -> list[Tooltip]:
        points = []
        for axes, (rate, words) in zip(figure.subplots(1, len(_RATES), sharey=True), _RATES.items(), strict=True):
            for at, line in largest.iterrows():
                hollow = line["people"] < FEW_PEOPLE
                axes.plot(
                    [line[rate]],
                    [at],
                    marker="o",
                    markersize=6,
                    color=drawing.ACCENT,
                    markerfacecolor=drawing.PAPER if hollow else drawing.ACCENT,
                )
                if line[rate] == line[rate]:  # nobody of a group may have had the outcome
                    text = f"{line['group']}: {words.lower()} {percent(line[rate])} of {counted(line['people'])} people"
                    points.append(Tooltip(axes, line[rate], int(str(at)), text))
            axes.set_yticks(range(len(largest)), [shortened(group, 16) for group in largest["group"]])
            axes.set_ylim(len(largest) - 0.4, -0.6)
            axes.set_title(words)
            axes.set_xlim(-0.05, 1.05)
            share_axis(axes.xaxis)
        return points

    error = largest["error"]
    description = (
        f"{len(largest)} groups by {attribute}: error from {percent(error.min())} to {percent(error.max())}. "
        "The table has all rates."
    )
    return draw(
        f"groups-{number}",
        f"Rates by {attribute}",
        description,
        height=85 + 21 * len(largest),
        simulated=findings.simulated,
        paint=paint,
    )
