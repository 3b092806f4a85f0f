"""From something to draw to a finished SVG: one size of type, one palette, the same bytes every time."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise.reporting.figures import palette
from fairwise.reporting.figures.svg import Mark, inline_svg, standalone_svg
from fairwise.reporting.words import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In points, which are pixels of the drawing. Narrow, so that type stays readable on a phone.
WIDTH = 440
_POINTS_PER_INCH = 72

_STYLE: dict[str, Any] = {
    "axes.edgecolor": palette.SOFT,
    "axes.labelcolor": palette.MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.titlecolor": palette.INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.grid": True,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": palette.RULE,
    "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "text.color": palette.INK,
    "text.parse_math": False,  # a judge may be called $x$
    "xtick.color": palette.MUTED,
    "xtick.major.size": 0,
    "ytick.color": palette.MUTED,
    "ytick.major.size": 0,
}


@dataclass(frozen=True)
class Drawing:
    """A figure: ``svg`` is for use inside the page, in its colours; the description says what is to be seen."""

    name: str
    title: str
    description: str
    svg: str

    def standalone(self) -> str:
        """The same as a file of its own, on white."""
        return standalone_svg(self.svg)


@dataclass(frozen=True)
class Point:
    """A point to hover over: where it is in the axes, and what it says."""

    axes: Axes
    x: float
    y: float
    text: str


def draw(
    name: str, title: str, description: str, *, height: float, simulated: bool, paint: Callable[[Figure], list[Point]]
) -> Drawing:
    """Let ``paint`` fill a figure and say which of its points carry values."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    if simulated:
        title, description = f"{title} (simulated people)", f"Simulated people: no real person was asked. {description}"
    style: Any = _STYLE | {"svg.hashsalt": name}  # ids that depend on the figure alone
    with warnings.catch_warnings(), mpl.rc_context(style):
        # A name in a script that the measuring font lacks: the browser has another font for it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(WIDTH / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=72, layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        points = paint(figure)
        for axes in figure.axes:
            axes.patch.set_visible(False)
        if simulated:
            figure.supxlabel(
                "Simulated people: no real person was asked", fontsize=9.5, color=palette.WARM, x=0.01, ha="left"
            )
        figure.draw_without_rendering()
        marks = [_mark(point, height) for point in points]
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Drawing(name, title, description, inline_svg(buffer.getvalue(), name, title, description, marks))


def _mark(point: Point, height: float) -> Mark:
    x, y = point.axes.transData.transform((point.x, point.y))
    return Mark(float(x), height - float(y), printable(point.text))
