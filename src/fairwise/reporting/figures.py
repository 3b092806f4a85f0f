"""The figures of a report: what it costs, what people asked for, and which groups gain or lose by it."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from fairwise.messages import marked
from fairwise.reporting import annex_figures
from fairwise.reporting.drawing import (
    ACCENT,
    INK,
    MUTED,
    PAPER,
    SOFT,
    WARM,
    Drawing,
    Tooltip,
    annotate,
    draw,
    number_axis,
    percent_axis,
    wrapped,
)
from fairwise.reporting.words import ENGLISH, ErrorWords, TreatmentWords, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.auditing.findings import Findings

MOST_GROUPS = 8
"""Number of groups of each kind that a figure shows, the largest; the annex has all."""

FEW_PEOPLE = 30
MOST_KINDS = 12
_WISHES = {
    "same": marked("Treat the two the same"),
    "order": marked("Treat one at least as well as the other"),
    "nothing": marked("Leave the model free"),
}
_DONE = {
    "followed": (ACCENT, marked("followed")),
    "not followed": (WARM, marked("not followed")),
    "asks nothing": (SOFT, marked("nothing to follow")),
}


def draw_figures(findings: Findings, words: Words = ENGLISH, *, named: bool = False) -> dict[str, Drawing]:
    """Every figure there is something to show in, by name; participants have theirs only where they are ``named``."""
    drawings = [
        message_figure(findings, words),
        wishes_figure(findings, words),
        kinds_figure(findings, words),
        gains_figure(findings, words, "good"),
        gains_figure(findings, words, "wrong"),
        annex_figures.frontier_figure(findings, words, named=named),
        annex_figures.judges_figure(findings, words, named=named),
        annex_figures.lorenz_figure(findings, words),
    ]
    return {drawing.name: drawing for drawing in drawings if drawing is not None}


# The first page


def message_figure(findings: Findings, words: Words) -> Drawing:
    """Draw how often each way of deciding is wrong, and what following people costs."""
    say, errors = words.translate, ErrorWords(findings.measure, words)
    error, plain, constant = findings.headline.compared
    ways = [(say("Following what people asked for"), error, ACCENT)]
    if plain is not None:
        ways.insert(0, (say("Without what they asked for"), plain, SOFT))
    if constant is not None:
        ways.append((say("Always “{label}”").format(label=findings.guess_label), constant, SOFT))
    names = [wrapped(name, 22, 3) for name, _, _ in ways]
    intervals = _intervals(findings, [error for _, error, _ in ways])

    def paint(figure: Figure) -> list[Tooltip]:
        axes, points = figure.add_subplot(), []
        for place, ((name, error, color), (low, high)) in enumerate(zip(ways, intervals, strict=True)):
            axes.barh(place, error, height=0.62, color=color)
            _whisker(axes, low, high, place)
            label = errors.short(error)
            annotate(axes, label, (high, place), (6, 0), INK, va="center", fontsize=13, fontweight="bold")
            text = f"{name}: {label}{errors.interval(low, high)}"
            points.append(Tooltip(axes, error, place, text))
        _draw_cost(axes, findings, words)
        _rows(axes, names)
        axes.set_xlim(0, 1.12 * max(high for _, high in intervals))
        axes.set_xlabel(errors.name)
        axes.set_ylabel(say("Way of deciding"))
        _count_axis(axes, errors)
        return points

    description = "; ".join(f"{name}: {errors.short(error)}" for name, error, _ in ways)
    height = 92 + sum(24 + 14 * name.count("\n") for name in names)
    return draw(
        "message",
        errors.name,
        f"{description}.",
        height=height,
        panel=findings.panel,
        paint=paint,
        words=words,
    )


def _intervals(findings: Findings, errors: Sequence[float]) -> list[tuple[float, float]]:
    """Source of the first page's errors: new people, or the people of the fit."""
    held = findings.held_out
    if held is None:
        return [findings.interval(error) for error in errors]
    ends = [(one.low, one.high) for one in (held.plain, held, held.constant)]
    return [(error, error) if isnan(high) else (low, high) for error, (low, high) in zip(errors, ends, strict=True)]


def _draw_cost(axes: Axes, findings: Findings, words: Words) -> None:
    """The part of the model's bar that following people adds, where it adds any."""
    error, plain, _ = findings.headline.compared
    errors = ErrorWords(findings.measure, words)
    if plain is None or errors.shows(error, plain) <= 0:
        return
    axes.barh(1, error - plain, left=plain, height=0.62, color=WARM)
    axes.axvline(plain, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    style: dict[str, Any] = {"va": "bottom", "fontsize": 12, "fontweight": "bold"}
    annotate(axes, errors.signed(error, plain), (plain, 0.69), (4, 1), WARM, **style)


# What they asked for, and who gets it


def wishes_figure(findings: Findings, words: Words) -> Drawing | None:
    """Draw how often each thing was asked for, and how often it is done."""
    counts, total = findings.wishes, len(findings.audit.judgments)
    bars = [
        (kind, status, int(counts.loc[kind, status]))
        for kind in counts.index
        for status in counts.columns
        if counts.loc[kind, status]
    ]
    if not bars:
        return None

    def paint(figure: Figure) -> list[Tooltip]:
        axes, points, place, ticks = figure.add_subplot(), [], 0.0, []
        for kind in counts.index:
            own = [(status, count) for of, status, count in bars if of == kind]
            ticks.append((place + (len(own) - 1) * 0.31, wrapped(words.translate(_WISHES[kind]), 22)))
            for number, (status, count) in enumerate(own):
                color, done = _DONE[status]
                at = place + 0.62 * number
                axes.barh(at, count / total, height=0.54, color=color)
                label = f"{words.counted(count)} {words.translate(done)}"
                annotate(axes, label, (count / total, at), (5, 0), MUTED if color == SOFT else color, va="center")
                points.append(Tooltip(axes, count / total, at, label))
            place += max(0.62 * len(own), 0.62) + 0.5
        axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks], parse_math=False)
        axes.set_ylim(place - 0.5, -0.5)
        axes.set_xlim(0, 1.55 * max(count for *_, count in bars) / total)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(words.translate("Share of all answers"))
        axes.set_ylabel(words.translate("What was asked for"))
        percent_axis(axes.xaxis, words)
        return points

    say = words.translate
    description = "; ".join(f"{say(_WISHES[kind])}: {count} {say(_DONE[status][1])}" for kind, status, count in bars)
    return draw(
        "wishes",
        say("What was asked for, and what is done"),
        f"{description}.",
        height=110 + 22 * len(bars) + 12 * len(counts),
        panel=findings.panel,
        paint=paint,
        words=words,
    )


def kinds_figure(findings: Findings, words: Words) -> Drawing | None:
    """Draw the share of requests of each kind of participant that is followed, with its interval."""
    table = findings.audit.by_attribute
    rows = table[(table["in_force"] > 0) & table["share_followed"].notna()] if len(table) else table
    if not 1 < len(rows) <= MOST_KINDS:
        return None
    named = ["" if value is None else str(value) for value in rows["value"]]
    names = [wrapped(name or words.translate("not known"), 24, 3) for name in named]

    def paint(figure: Figure) -> list[Tooltip]:
        axes, points = figure.add_subplot(), []
        for place, line in enumerate(rows.to_dict("records")):
            share, low, high = (line[f"share_followed{end}"] for end in ("", "_low", "_high"))
            if not isnan(low):
                _whisker(axes, low, high, place, dashed=not line["share_followed_covered"])
            axes.plot([share], [place], marker="o", markersize=8, color=ACCENT)
            label = words.percent(share, 0)
            annotate(axes, label, (share, place), (0, 8), ACCENT, ha="center", fontweight="bold")
            points.append(Tooltip(axes, share, place, f"{names[place]}: {label}{words.interval(low, high, 0)}"))
        _rows(axes, names)
        axes.set_ylim(len(names) - 0.5, -0.75)
        axes.set_xlim(-0.04, 1.06)
        axes.set_xlabel(words.translate("Share of what they asked for that is followed"))
        axes.set_ylabel(words.translate("Who asked"))
        percent_axis(axes.xaxis, words)
        return points

    shares = zip(names, rows["share_followed"], strict=True)
    return draw(
        "kinds",
        words.translate("What is followed, by who asked"),
        "; ".join(f"{name}: {words.percent(share, 0)}" for name, share in shares) + ".",
        height=90 + sum(26 + 13 * name.count("\n") for name in names),
        panel=findings.panel,
        paint=paint,
        words=words,
    )


# Who gains, who loses


def largest_groups(gains: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return everyone, then the largest groups of each column, as many as a figure can show."""
    parts = [(str(name), rows) for name, rows in gains[gains["attribute"] != ""].groupby("attribute", sort=False)]
    largest = [(name, rows.loc[rows["people"].nlargest(MOST_GROUPS).index.sort_values()]) for name, rows in parts]
    return [("", gains[gains["attribute"] == ""]), *largest]


def gains_figure(findings: Findings, words: Words, measure: str) -> Drawing | None:
    """Draw for each group how ``good`` or ``wrong`` changes from the model without judgments to this one."""
    if findings.gains is None:
        return None
    parts = largest_groups(findings.gains)
    better, errors = _better(findings, measure), _errors_of(findings, measure, words)
    everyone = words.translate("Everyone")
    rows: list[tuple[str, dict[str, Any] | None]] = []
    for name, table in parts:
        if name:
            rows.append((wrapped(name, 30, 1), None))
        for line in table.to_dict("records"):
            group = words.group(line["group"]) or everyone
            rows.append((wrapped(group, 22, 2), {str(key): value for key, value in line.items()}))

    def paint(figure: Figure) -> list[Tooltip]:
        axes = figure.add_subplot()
        points = []
        for place, (name, line) in enumerate(rows):
            if line is not None:
                points.append(_draw_change(axes, place, name, line, measure, better, errors))
        _name_ends(axes, rows[0][1], measure, words)
        _rows(axes, [name for name, _ in rows])
        for label, (_, line) in zip(axes.get_yticklabels(), rows, strict=True):
            if line is None:
                label.set_fontweight("bold")
                label.set_color(INK)
        axes.set_ylim(len(rows) - 0.4, -1.0)
        axes.set_xlabel(_measure_words(findings, measure, words))
        axes.set_ylabel(words.translate("Group"))
        _count_axis(axes, errors)
        axes.margins(x=0.12)
        return points

    of = [(name, line) for name, line in rows if line is not None]
    description = "; ".join(
        f"{name}: {errors.short(line[f'{measure}_without'])} → {errors.short(line[measure])}" for name, line in of
    )
    return draw(
        f"gains-{measure}",
        _measure_words(findings, measure, words),
        f"{description}.",
        height=100 + sum(25 + 12 * name.count("\n") for name, _ in rows),
        panel=findings.panel,
        paint=paint,
        words=words,
    )


def _better(findings: Findings, measure: str) -> int:
    """Whether more is better (1), worse (-1), or neither (0)."""
    if measure == "wrong":
        return -1
    return 0 if findings.labels.favorable is None else 1


def _measure_words(findings: Findings, measure: str, words: Words) -> str:
    if measure == "wrong":
        return ErrorWords(findings.measure, words).name
    if findings.labels.label_values is not None:
        return TreatmentWords(findings, words).name
    return words.translate("Chance of “{label}”, in 100").format(label=wrapped(findings.labels.treated, 36, 1))


def _errors_of(findings: Findings, measure: str, words: Words) -> ErrorWords:
    """Return how numbers of a measure are written: chances and points out of 100, as shares are."""
    return ErrorWords(findings.measure if measure == "wrong" else None, words)


def _draw_change(
    axes: Axes, place: int, name: str, line: dict[str, Any], measure: str, better: int, errors: ErrorWords
) -> Tooltip:
    before, after = line[f"{measure}_without"], line[measure]
    low, high = line[f"{measure}_change_low"], line[f"{measure}_change_high"]
    certain = low > 0 or high < 0
    color = MUTED if not certain or not better else ACCENT if (after > before) == (better > 0) else WARM
    if not isnan(low):
        _whisker(axes, max(before + low, 0), min(before + high, errors.measure.largest), place)
    axes.plot([before, after], [place, place], color=color, linewidth=2.5)
    hollow: dict[str, Any] = {"marker": "o", "markersize": 7, "markeredgewidth": 1.5, "linestyle": "none"}
    axes.plot([before], [place], color=color, markerfacecolor=PAPER, **hollow)
    axes.plot([after], [place], color=color, **hollow)
    change = errors.signed(after, before)
    style: dict[str, Any] = {"va": "center", "ha": "left", "fontweight": "bold", "annotation_clip": False}
    annotate(axes, change, (1, place), (4, 0), color, xycoords=("axes fraction", "data"), **style)
    few = errors.words.translate(" (few people)") if line["people"] < FEW_PEOPLE else ""
    return Tooltip(axes, after, place, f"{name}: {errors.short(before)} → {errors.short(after)}{few}")


def _name_ends(axes: Axes, line: dict[str, Any] | None, measure: str, words: Words) -> None:
    """Say at the first line which dot is which, each to its own side so that the two words never meet."""
    if line is None:
        return
    before, after = line[f"{measure}_without"], line[measure]
    sides = ("right", "left") if before <= after else ("left", "right")
    for at, side, text in ((before, sides[0], words.translate("without")), (after, sides[1], words.translate("with"))):
        offset = (4 if side == "right" else -4, 9)
        annotate(axes, text, (at, 0), offset, MUTED, ha=side, fontsize=9.5)


# What figures share


def _whisker(axes: Axes, low: float, high: float, place: float, *, dashed: bool = False) -> None:
    """Draw an interval for other people like these: a thin line with ends."""
    axes.plot([low, high], [place, place], color=INK, linewidth=1, linestyle=(0, (2, 2)) if dashed else "-")
    axes.plot([low, high], [place, place], color=INK, linestyle="none", marker="|", markersize=7)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """A line of the figure for each name, the first on top."""
    axes.set_yticks(range(len(names)), list(names), parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _count_axis(axes: Axes, errors: ErrorWords) -> None:
    """Shares as decisions in 100, costs as they are."""
    if not errors.is_share:
        number_axis(axes.xaxis, errors.words)
        return
    percent_axis(axes.xaxis, errors.words)
    formatter = axes.xaxis.get_major_formatter()
    axes.xaxis.set_major_formatter(lambda value, place: formatter(value, int(place)).removesuffix(" %"))
