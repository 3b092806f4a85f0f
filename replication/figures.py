"""The figures of section 5: the paper's (a) to (e), what its dynamics do, and the panel's curve."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle

from fairwise.reporting import drawing
from fairwise.reporting.drawing import Drawing, Tooltip, annotate, draw
from fairwise.reporting.words import decimal
from replication import measures
from replication.study import AT_GAMMA, METHOD_NAMES, PANEL_METHODS, PAPER_BOUND, PAPER_ROUNDS, Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_VIOLATION = "Largest violation of a pair"
_ERROR = "Error"
_PANEL_COLORS = {"paper": drawing.WARM, "same_oracle": drawing.SOFT, "default": drawing.ACCENT}
_SHORT = {
    "paper": "the paper's algorithm",
    "same_oracle": "its heuristic, column generation",
    "default": "default solver",
}
_SIDE_BY_SIDE = ("paper", "default")
_DASHED = (0, (4, 3))


def draw_figures(study: Study) -> dict[str, Drawing]:
    """Every figure by its name; the heat maps only where there are groups."""
    drawings = [trajectory_figure(study), *(scatter_figure(study, column) for column in ("constraints", "opposing"))]
    if study.groups is not None:
        drawings += [rates_figure(study, method) for method in METHOD_NAMES]
    drawings += [pareto_figure(study, method) for method in METHOD_NAMES if method not in _SIDE_BY_SIDE]
    return {drawing.name: drawing for drawing in drawings} | draw_main_figures(study)


def draw_main_figures(study: Study) -> dict[str, Drawing]:
    """Those of the short page."""
    curves = [pareto_figure(study, method) for method in _SIDE_BY_SIDE]
    return {drawing.name: drawing for drawing in [*curves, *dynamics_figures(study), panel_figure(study)]}


def trajectory_figure(study: Study) -> Drawing:
    """(a): error against violation of the running average, round by round, at several gammas."""

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        ends = []
        gamma: Any
        for gamma, rounds in study.trajectories.groupby("gamma", sort=False):
            axes.axhline(float(gamma), color=drawing.SOFT, linewidth=0.9, linestyle=_DASHED)
            axes.plot(rounds["error"], rounds["max_violation"], color=drawing.ACCENT, linewidth=1.1, alpha=0.9)
            last = rounds.iloc[-1]
            axes.plot([last["error"]], [last["max_violation"]], marker="o", color=drawing.WARM, markersize=6, zorder=4)
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "fontsize": 9.5}
            annotate(axes, f"γ = {gamma:g}", (0, gamma), (3, 3), drawing.MUTED, **place)
            text = f"γ = {gamma:g}, round {last['round']:.0f}: error {last['error']:.3f}, violation "
            ends.append(Tooltip(axes, last["error"], last["max_violation"], f"{text}{last['max_violation']:.2f}"))
        axes.set_xlabel(_ERROR)
        axes.set_title(_VIOLATION, color=drawing.MUTED)
        return ends

    last = study.trajectories.groupby("gamma").tail(1)
    return draw(
        "a-trajectories",
        f"(a) The paper's algorithm, round by round, for subject {study.subject}",
        "After 1,000 rounds the violation is "
        + ", ".join(
            f"{violation:.2f} at γ = {gamma:g}"
            for gamma, violation in zip(last["gamma"], last["max_violation"], strict=True)
        )
        + ".",
        height=300,
        simulated=study.simulated,
        paint=paint,
    )


def pareto_figure(study: Study, method: str) -> Drawing:
    """(b): every subject's curve, and the worst-case line."""
    curves = study.curves[study.curves["method"] == method]
    worst, lowest = measures.worst_error(study), measures.lowest_error(study, method)

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        points = []
        for judge, curve in curves.groupby("judge", sort=False):
            axes.plot(curve["max_violation"], curve["error"], color=drawing.ACCENT, linewidth=0.9, alpha=0.55)
            points += [
                Tooltip(axes, violation, error, f"{judge}: error {error:.3f} at violation {violation:.2f}")
                for violation, error in zip(curve["max_violation"], curve["error"], strict=True)
            ]
        axes.plot([0, 1], [worst, lowest], color=drawing.WARM, linewidth=1.8, linestyle=_DASHED)
        annotate(axes, "worst case: mixing with a constant", (0, worst), (16, 5), drawing.WARM)
        axes.set_xlabel(_VIOLATION)
        axes.set_title(_ERROR, color=drawing.MUTED)
        axes.set_xlim(-0.02, 1.02)
        every = study.curves["error"]  # one scale for all methods
        axes.set_ylim(float(every.min()) - 0.02, max(worst + 0.03, float(every.max()) + 0.01))
        return points

    table = measures.subjects(study)
    scores = table.loc[table["method"] == method, "difficulty"]
    return draw(
        f"b-pareto-{method}",
        f"(b) Curves of all subjects: {METHOD_NAMES[method]}",
        "Each line is a subject. Difficulty, the area under the curve relative to the worst case, is "
        f"{scores.mean():.2f} on average, from {scores.min():.2f} to {scores.max():.2f}.",
        height=300,
        simulated=study.simulated,
        paint=paint,
    )


def scatter_figure(study: Study, column: str) -> Drawing:
    """(c) and (d): a subject's number of constraints, or of opposing ones, against their error at gamma = 0.3."""
    table = measures.subjects(study)
    words = {"constraints": "constraints", "opposing": "constraints between people whose true labels differ"}[column]
    of = {method: table[table["method"] == method] for method in _SIDE_BY_SIDE}
    correlations = {method: measures.correlation(own[column], own["error"]) for method, own in of.items()}

    def paint(figure: Figure) -> list[Tooltip]:
        points: list[Tooltip] = []
        axes: list[Axes] = list(figure.subplots(1, 2, sharey=True))
        for at, method in zip(axes, _SIDE_BY_SIDE, strict=True):
            points += _scatter(at, of[method], column)
            at.set_title(f"{_SHORT[method]}\nr = {correlations[method].r:.2f}", color=drawing.MUTED)
            at.set_xlabel("Opposing constraints" if column == "opposing" else "Constraints")
        axes[0].set_ylabel(f"Error at γ = {AT_GAMMA}")
        return points

    described = " and ".join(
        f"{r.r:.2f} ({r.low:.2f} to {r.high:.2f}) by {METHOD_NAMES[method]}" for method, r in correlations.items()
    )
    letter = "c" if column == "constraints" else "d"
    return draw(
        f"{letter}-{column}",
        f"({letter}) Number of {words} against error",
        f"Correlation {described}; 95 % intervals over subjects.",
        height=290,
        simulated=study.simulated,
        paint=paint,
    )


def _scatter(axes: Axes, table: pd.DataFrame, column: str) -> list[Tooltip]:
    if column == "constraints":
        axes.axvspan(*measures.ABOUT_16, color=drawing.RULE, alpha=0.5, linewidth=0)
    dots: dict[str, Any] = {"color": drawing.ACCENT, "alpha": 0.75, "markeredgecolor": drawing.PAPER}
    axes.plot(table[column], table["error"], linestyle="none", marker="o", markersize=5, **dots)
    return [
        Tooltip(axes, row[column], row["error"], f"{row['judge']}: {row[column]} constraints, error {row['error']:.3f}")
        for row in table.to_dict("records")
    ]


def rates_figure(study: Study, method: str) -> Drawing:
    """(e): for each pair of groups, how the gap in false positive rates goes with the violation allowed."""
    cells = measures.rate_correlations(study, method)
    groups = sorted({*cells["group"], *cells["other"]}, key=str)

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        points = []
        for row in cells.to_dict("records"):
            x, y = groups.index(row["group"]), groups.index(row["other"]) - 1
            points.append(_cell(axes, x, y, row))
        axes.set_xlim(-0.5, len(groups) - 1.5)
        axes.set_ylim(len(groups) - 1.5, -0.5)
        axes.set_xticks(range(len(groups) - 1), [_short(group) for group in groups[:-1]])
        axes.set_yticks(range(len(groups) - 1), [_short(group) for group in groups[1:]])
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        return points

    described = "; ".join(
        f"{row['group']} and {row['other']} {row['correlation']:.2f}{' (few people)' if row['few'] else ''}"
        for row in cells.to_dict("records")
    )
    return draw(
        f"e-rates-{method}",
        f"(e) Correlation of the gap in false positive rates with the violation: {METHOD_NAMES[method]}",
        f"Mean over subjects: {described}.",
        height=300,
        simulated=study.simulated,
        paint=paint,
    )


def _cell(axes: Axes, x: int, y: int, row: Mapping[Hashable, Any]) -> Tooltip:
    r = row["correlation"]
    strength = 0.0 if np.isnan(r) else min(abs(r), 1.0)
    color = drawing.ACCENT if not r < 0 else drawing.WARM
    shade = Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, facecolor=color, alpha=0.06 + 0.34 * strength, linewidth=0)
    axes.add_patch(shade)
    text = decimal(r)
    words = text + ("\nfew people" if row["few"] else "")
    axes.text(x, y, words, ha="center", va="center", fontsize=10, color=drawing.INK)
    counts = f"{row['subjects']} subjects, {row['people']} people in the smaller group"
    return Tooltip(axes, x, y, f"{row['group']} and {row['other']}: {text}, {counts}")


def _short(group: object) -> str:
    return str(group).replace("-", "-\n").replace(" ", "\n")


def panel_figure(study: Study) -> Drawing:
    """The whole panel at gamma = 0 with eta varied: error against the mean violation of its "same" pairs."""

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        points = []
        others = study.panel_games[study.panel_games["rounds"] == PAPER_ROUNDS]
        dots: dict[str, Any] = {"linestyle": "none", "markersize": 3.5, "alpha": 0.35, "markeredgewidth": 0}
        label = "the same with other bounds"
        axes.plot(others["mean_violation"], others["error"], marker="o", color=drawing.WARM, label=label, **dots)
        for method in PANEL_METHODS:
            curve = measures.panel_curve(study, method)
            label = f"{_SHORT[method]}, C_λ = C_τ = 1" if method == "paper" else _SHORT[method]
            line: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.8, "label": label}
            axes.plot(curve["mean_violation"], curve["error"], color=_PANEL_COLORS[method], **line)
            points += [
                Tooltip(axes, x, y, f"η = {eta:.3f}: error {y:.3f}, mean violation {x:.2f}")
                for x, y, eta in zip(curve["mean_violation"], curve["error"], curve["eta"], strict=True)
            ]
        error = study.unconstrained["paper"]
        axes.axhline(error, color=drawing.MUTED, linewidth=1.2, linestyle=_DASHED)
        annotate(axes, f"no judgments, the paper's heuristic: {error:.3f}", (0, error), (2, -13), drawing.MUTED)
        axes.set_xlabel("Mean violation of the panel's “same” pairs")
        axes.set_title(_ERROR, color=drawing.MUTED)
        handles, labels = axes.get_legend_handles_labels()
        order = [1, 0, 2, 3]  # the paper's dots after its line
        style: dict[str, Any] = {"frameon": False, "labelcolor": drawing.MUTED, "fontsize": 10, "loc": "upper right"}
        axes.legend([handles[i] for i in order], [labels[i] for i in order], **style)
        return points

    at = measures.panel_violation_at(measures.panel_curve(study, "default"), study.unconstrained["paper"])
    return draw(
        "panel",
        "The panel as a whole, γ = 0 and η varied",
        "The default solver "
        + ("never comes down to" if np.isnan(at) else f"comes, at a mean violation of {at:.2f}, down to")
        + " the error of the paper's unconstrained model.",
        height=300,
        simulated=study.simulated,
        paint=paint,
    )


def dynamics_figures(study: Study) -> list[Drawing]:
    """Against the rounds: how far above the default solver the dynamics end, and both players' average regret."""
    table = measures.excess_by_rounds(study)
    levels = {
        "average of the rounds (the paper)": (table["excess"], drawing.WARM, "-"),
        "best weights on the same classifiers": (table["excess"] - table["averaging"], drawing.INK, "-"),
        "its heuristic in column generation": (table["stronger_search"], drawing.SOFT, _DASHED),
    }
    regrets = {
        "the classifiers' regret (at least)": (table["primal_regret"], drawing.WARM, "-"),
        "the multipliers' regret": (table["dual_regret"], drawing.ACCENT, "-"),
        "what the theorem allows for the multipliers'": (table["promised"], drawing.ACCENT, _DASHED),
    }

    def paint_levels(figure: Figure) -> list[Tooltip]:
        points = _lines(figure, table, levels)
        figure.axes[0].set_ylabel("Error above the default solver")
        figure.axes[0].set_ylim(0, 1.12 * max(float(values.max()) for values, _, _ in levels.values()))
        return points

    def paint_regrets(figure: Figure) -> list[Tooltip]:
        points = _lines(figure, table, regrets)
        figure.axes[0].set_ylabel("Regret, in units of error")
        for axes in figure.axes:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.minorticks_off()
        return points

    usual = table[table["lambda_bound"] == PAPER_BOUND].sort_values("rounds")
    first, last = usual.iloc[0], usual.iloc[-1]
    excess = draw(
        "f-rounds",
        "Error above the default solver at the same violation, against the number of rounds",
        f"With C_λ = 1 the average is {first['excess']:.3f} above after {first['rounds']:,.0f} rounds and "
        f"{last['excess']:.3f} after {last['rounds']:,.0f}.",
        height=330,
        simulated=study.simulated,
        paint=paint_levels,
    )
    regret = draw(
        "g-regrets",
        "Average regret of both players against the number of rounds",
        f"With C_λ = 1, from {first['rounds']:,.0f} to {last['rounds']:,.0f} rounds, that of the multipliers goes from "
        f"{first['dual_regret']:.3f} to {last['dual_regret']:.3f}, that of the oracle from "
        f"{first['primal_regret']:.3f} to {last['primal_regret']:.3f}.",
        height=330,
        simulated=study.simulated,
        paint=paint_regrets,
    )
    return [excess, regret]


def _lines(figure: Figure, table: pd.DataFrame, lines: Mapping[str, tuple[pd.Series, str, Any]]) -> list[Tooltip]:
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
                Tooltip(axes, x, y, f"C_λ = {bound:g}, {x:,.0f} rounds, {name}: {y:.3f}")
                for x, y in zip(rows["rounds"], own, strict=True)
            ]
        axes.set_title(f"C_λ = {bound:g}", color=drawing.MUTED)
        axes.set_xscale("log")
        axes.minorticks_off()
        names = [f"{count // 1000}k" if count % 1000 == 0 else f"{count:,}" for count in rows["rounds"]]
        axes.set_xticks(rows["rounds"], names)
        axes.margins(x=0.14)
    side_by_side[len(bounds) // 2].set_xlabel("Rounds")
    handles, labels = side_by_side[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", frameon=False, labelcolor=drawing.MUTED, fontsize=10)
    return points
