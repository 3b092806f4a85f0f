"""Figures of the annex, which displays draw too: other settings, what each participant gets, how uneven it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fairwise.auditing.findings import Findings
from fairwise.auditing.frontier import Curve
from fairwise.messages import marked
from fairwise.reporting.drawing import (
    Drawing,
    Tooltip,
    annotate,
    draw,
    number_axis,
    palette_of,
    percent_axis,
    share_axis,
)
from fairwise.reporting.words import ENGLISH, ErrorWords, Words, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KNOB = {
    "gamma": (marked("Tolerance γ: how far two people may differ"), "γ"),
    "eta": (marked("Allowance η: what may be left aside on average"), "η"),
}
MOST_NAMED = 24
JUDGE_MEASURES = {"share_followed": marked("Followed"), "mean_excess": marked("Mean excess")}
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)


def frontier_figure(findings: Findings, words: Words, *, named: bool) -> Drawing | None:
    """Error against the knob that varies: the panel with its interval, single judges in grey, the plain model."""
    curve = findings.curve
    if curve is None:
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        errors = ErrorWords(findings.measure, words)
        return draw_frontier(figure.add_subplot(), curve, findings.plain_error, errors, named=named)

    title = words.translate("Error of the model as {symbol} varies").format(symbol=_KNOB[curve.knob][1])
    description = _frontier_description(findings, curve, words)
    return draw("frontier", title, description, height=300, panel=findings.panel, paint=paint, words=words)


def draw_frontier(
    axes: Axes,
    curve: Curve,
    plain_error: float | None,
    errors: ErrorWords | None = None,
    *,
    named: bool = True,
    **line: Any,
) -> list[Tooltip]:
    """Draw it on these axes; ``line`` are matplotlib's settings for the line of the panel."""
    errors = errors or ErrorWords()
    words = errors.words
    points = [
        *_draw_judges(axes, curve, errors, named=named),
        *_draw_panel(axes, curve, line, errors),
        *_draw_chosen(axes, curve, errors),
    ]
    if plain_error is not None:
        _draw_plain_model(axes, plain_error, errors)
    axes.set_xlabel(words.translate(_KNOB[curve.knob][0]))
    axes.set_ylabel(words.translate("People decided wrongly") if errors.is_share else errors.name)
    number_axis(axes.xaxis, words)
    (percent_axis if errors.is_share else number_axis)(axes.yaxis, words)
    axes.margins(x=0.03, y=0.1)
    return points


def _draw_panel(axes: Axes, curve: Curve, line: dict[str, Any], errors: ErrorWords) -> list[Tooltip]:
    rows, accent = curve.panel, palette_of(axes).accent
    if rows.empty:
        return []
    if curve.has_interval:
        axes.fill_between(
            rows[curve.knob], rows["error_low"], rows["error_high"], color=accent, alpha=0.18, linewidth=0
        )
    if curve.has_answer_band:
        axes.fill_between(
            rows[curve.knob], rows["answers_low"], rows["answers_high"], color=accent, alpha=0.4, linewidth=0
        )
    style: dict[str, Any] = {"color": accent, "linewidth": 2, "marker": "o", "markersize": 4}
    axes.plot(rows[curve.knob], rows["error"], **style | line)
    text = errors.words.translate("{at}: {error} wrong{interval}") if errors.is_share else "{at}: {error}{interval}"
    return [
        Tooltip(
            axes,
            at,
            error,
            text.format(
                at=_at(curve, at, errors.words), error=errors.error(error), interval=errors.interval(low, high)
            ),
        )
        for at, error, low, high in rows[[curve.knob, "error", "error_low", "error_high"]].itertuples(
            index=False, name=None
        )
    ]


def _at(curve: Curve, value: float, words: Words) -> str:
    return f"{_KNOB[curve.knob][1]} = {words.setting(value)}"


def _draw_judges(axes: Axes, curve: Curve, errors: ErrorWords, *, named: bool) -> list[Tooltip]:
    points, soft, words = [], palette_of(axes).soft, errors.words
    for judge, rows in curve.judges.groupby("judge", sort=False):
        axes.plot(rows[curve.knob], rows["error"], color=soft, linewidth=0.8, alpha=0.5)
        who = judge if named else words.translate("One participant")
        wrong, costs = (
            words.translate("{who} alone, {at}: {error} wrong"),
            words.translate("{who} alone, {at}: {error}"),
        )
        text = wrong if errors.is_share else costs
        points += [
            Tooltip(axes, at, error, text.format(who=who, at=_at(curve, at, words), error=errors.error(error)))
            for at, error in zip(rows[curve.knob], rows["error"], strict=True)
        ]
    return points


def _draw_chosen(axes: Axes, curve: Curve, errors: ErrorWords) -> list[Tooltip]:
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
    label = errors.words.translate("chosen: {error}").format(error=errors.error(chosen.error))
    annotate(axes, label, (chosen.at, chosen.error), offset, colours.warm, **side)
    return [Tooltip(axes, chosen.at, chosen.error, f"{label}{errors.interval(chosen.low, chosen.high)}")]


def _draw_plain_model(axes: Axes, error: float, errors: ErrorWords) -> None:
    muted = palette_of(axes).muted
    axes.axhline(error, color=muted, linewidth=1.2, linestyle=(0, (4, 3)))
    text = errors.words.translate("without what people asked for: {error}").format(error=errors.error(error))
    annotate(axes, text, (0, error), (2, -13), muted, xycoords=("axes fraction", "data"))


def _frontier_description(findings: Findings, curve: Curve, words: Words) -> str:
    say, errors, sentences = words.translate, ErrorWords(findings.measure, words), []
    if len(curve.panel):
        first, last = curve.panel.iloc[0], curve.panel.iloc[-1]
        sentences.append(
            say("For everyone together, error goes from {first} at {begin} to {last} at {end}.").format(
                first=errors.error(first["error"]),
                begin=_at(curve, first[curve.knob], words),
                last=errors.error(last["error"]),
                end=_at(curve, last[curve.knob], words),
            )
        )
    if len(curve.judges):
        thin = say("{count} thin lines show single participants.")
        sentences.append(thin.format(count=curve.judges["judge"].nunique()))
    if curve.chosen is not None:
        sentences.append(say("The chosen point has {error}.").format(error=errors.error(curve.chosen.error)))
    if findings.plain_error is not None:
        without = say("Without what people asked for it is {error}.")
        sentences.append(without.format(error=errors.error(findings.plain_error)))
    return " ".join(sentences)


def judges_figure(findings: Findings, words: Words, *, named: bool) -> Drawing | None:
    """A line per participant with two dots; with many of them, or without names, dots in order of rank."""
    asking = asking_judges(findings.audit.by_judge)
    if asking.empty:
        return None
    named = named and len(asking) <= MOST_NAMED

    def paint(figure: Figure) -> list[Tooltip]:
        panels = figure.subplots(1, 2, sharey=True) if named else figure.subplots(2, 1, sharex=True)
        points = []
        for axes, measure in zip(panels, JUDGE_MEASURES, strict=True):
            points += draw_judges(axes, asking, measure, words, named=named)
        if not named:
            panels[0].set_xlabel("")
        return points

    low, high = asking["share_followed"].min(), asking["share_followed"].max()
    description = words.translate(
        "Of {count} participants who asked for something: the share followed goes from {low} to {high}, the mean "
        "excess up to {most}. The table has every one of them."
    ).format(
        count=len(asking),
        low=words.percent(low),
        high=words.percent(high),
        most=words.decimal(asking["mean_excess"].max(), 4),
    )
    title = words.translate("What each participant gets")
    height = 75 + 19 * len(asking) if named else 340
    return draw("judges", title, description, height=height, panel=findings.panel, paint=paint, words=words)


def asking_judges(by_judge: pd.DataFrame) -> pd.DataFrame:
    """Return the judges who asked for something, in order."""
    judges = in_order(by_judge)
    return judges[judges["in_force"] > 0].reset_index(drop=True)


def draw_judges(
    axes: Axes, judges: pd.DataFrame, measure: str, words: Words = ENGLISH, *, named: bool = True, **dots: Any
) -> list[Tooltip]:
    """Draw a dot for each judge: beside their name or, where they are many or nameless, in order of rank."""
    colours = palette_of(axes)
    color = colours.accent if measure == "share_followed" else colours.warm
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": color}
    axes.set_title(words.translate(JUDGE_MEASURES[measure]))
    if named and len(judges) <= MOST_NAMED:
        return _draw_named(axes, judges, measure, style | dots, words)
    return _draw_ranked(axes, judges, measure, style | dots, words, named=named)


def in_order(by_judge: pd.DataFrame) -> pd.DataFrame:
    """The least followed first, then the most disappointed; who asked for nothing comes last."""
    return by_judge.sort_values(
        ["share_followed", "mean_excess"], ascending=[True, False], kind="stable", na_position="last", ignore_index=True
    )


def _draw_named(axes: Axes, judges: pd.DataFrame, measure: str, style: dict[str, Any], words: Words) -> list[Tooltip]:
    places = range(len(judges))
    axes.plot(judges[measure], places, **{"markersize": 6} | style)
    axes.set_yticks(places, [shortened(judge, 16) for judge in judges["judge"]], parse_math=False)
    axes.set_ylim(len(judges) - 0.4, -0.6)
    _scale(axes, judges, measure, words, along="x")
    return [
        Tooltip(axes, value, at, _judge_words(judges, at, measure, words, named=True))
        for at, value in enumerate(judges[measure])
    ]


def _draw_ranked(
    axes: Axes, judges: pd.DataFrame, measure: str, style: dict[str, Any], words: Words, *, named: bool
) -> list[Tooltip]:
    places = range(1, len(judges) + 1)
    axes.plot(places, judges[measure], **{"markersize": 3.5} | style)
    axes.set_xlim(0, len(judges) + 1)
    axes.set_xlabel(words.translate("Participants, the least followed first"))
    _scale(axes, judges, measure, words, along="y")
    return [
        Tooltip(axes, at + 1, value, _judge_words(judges, at, measure, words, named=named))
        for at, value in enumerate(judges[measure])
    ]


def _scale(axes: Axes, judges: pd.DataFrame, measure: str, words: Words, along: Literal["x", "y"]) -> None:
    """Shares from 0 to 1, excess from 0: dots then compare by their length, too."""
    limit, axis = (axes.set_xlim, axes.xaxis) if along == "x" else (axes.set_ylim, axes.yaxis)
    most = 1.0 if measure == "share_followed" else max(float(judges[measure].max()), 1e-3)
    limit(-0.04 * most, 1.06 * most)
    if measure == "share_followed":
        share_axis(axis)
    else:
        axes.locator_params(axis=along, nbins=3)
        number_axis(axis, words)


def _judge_words(judges: pd.DataFrame, at: int, measure: str, words: Words, *, named: bool) -> str:
    line = judges.iloc[at]
    who = line["judge"] if named else words.translate("One participant")
    if measure == "share_followed":
        text = words.translate("{who}: {count} of {all} followed ({share})")
        share = words.percent(line["share_followed"])
        return text.format(who=who, count=line["followed"], all=line["in_force"], share=share)
    excess = words.decimal(line["mean_excess"], 4)
    return words.translate("{who}: mean excess {excess}").format(who=who, excess=excess)


_SPREAD = {"price": marked("price"), "excess": marked("excess")}


def lorenz_figure(findings: Findings, words: Words) -> Drawing | None:
    """Share of the total that the most expensive, and the most disappointed, pairs make up."""
    spread = {"price": findings.lorenz_price, "excess": findings.lorenz_excess}
    if not any(map(has_any, spread.values())):
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        return draw_spread(figure.add_subplot(), spread, words)

    sentence = words.translate("The top 10 % of the pairs make up {share} of the {total}.")
    description = " ".join(
        sentence.format(share=words.percent(at_share(curve, 0.1)), total=words.translate(_SPREAD[name]))
        for name, curve in spread.items()
        if has_any(curve)
    )
    title = words.translate("How unevenly price and excess are spread over the pairs")
    return draw("lorenz", title, description, height=300, panel=findings.panel, paint=paint, words=words)


def draw_spread(axes: Axes, spread: dict[str, pd.DataFrame], words: Words = ENGLISH, **line: Any) -> list[Tooltip]:
    """Draw the Lorenz curves that there are, and the diagonal; ``line`` are matplotlib's settings for the curves."""
    colours = palette_of(axes)
    lines = {"price": (colours.accent, "-"), "excess": (colours.warm, (0, (5, 2)))}
    even: dict[str, Any] = {"color": colours.soft, "linewidth": 1, "linestyle": (0, (1, 2))}
    axes.plot([0, 1], [0, 1], **even)
    points = []
    for name, curve in spread.items():
        if has_any(curve):
            visible = curve.iloc[: int((curve["total"] < 1).sum()) + 1]
            color, dashes = lines[name]
            label = words.translate(_SPREAD[name])
            style: dict[str, Any] = {"linewidth": 2, "label": label, "color": color, "linestyle": dashes}
            axes.plot([*visible["share"], 1], [*visible["total"], 1], **style | line)
            points += _spread_points(axes, label, curve, words)
    axes.plot([], [], **even, label=words.translate("if spread evenly"))
    axes.legend(loc="lower right", frameon=False)  # the curves are too near to each other for words beside them
    axes.set_xlabel(words.translate("Pairs, the largest first"))
    axes.set_ylabel(words.translate("Share of the total"))
    for axis in (axes.xaxis, axes.yaxis):
        percent_axis(axis, words)
    return points


def has_any(curve: pd.DataFrame) -> bool:
    """Whether there is anything to be uneven."""
    return bool(curve["total"].iloc[-1] > 0)


def at_share(curve: pd.DataFrame, share: float) -> float:
    """Read off the curve: how much of the total the largest ``share`` makes up."""
    return float(curve.loc[curve["share"] <= share + 1e-12, "total"].iloc[-1])


def _spread_points(axes: Axes, total: str, curve: pd.DataFrame, words: Words) -> list[Tooltip]:
    text = words.translate("top {share} of pairs: {part} of {total}")
    return [
        Tooltip(
            axes,
            share,
            at_share(curve, share),
            text.format(share=words.percent(share, 0), part=words.percent(at_share(curve, share)), total=total),
        )
        for share in SHARES
    ]
