"""Drawings as finished SVG: one size of type, one palette, the same bytes every time."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fairwise.reporting.words import ENGLISH, Words, printable

if TYPE_CHECKING:
    from fairwise.auditing.panel import Panel

# The colours of figures: each has a role, and the page gives the role another value in the dark.

INK = "#17212b"
MUTED = "#4f5b66"
RULE = "#d3dadd"
SOFT = "#6d7a85"
ACCENT = "#0b5c6b"
WARM = "#a35c06"
PAPER = "#ffffff"
_HALF = 0.5  # of the way from black to white

ROLES = {INK: "ink", MUTED: "muted", RULE: "rule", SOFT: "soft", ACCENT: "accent", WARM: "warm", PAPER: "paper"}


@dataclass(frozen=True)
class Palette:
    """The colours of the roles that are drawn, in the light or in the dark."""

    muted: str
    soft: str
    accent: str
    warm: str
    paper: str


LIGHT = Palette(MUTED, SOFT, ACCENT, WARM, PAPER)
DARK = Palette(muted="#b1bdc5", soft="#8796a0", accent="#7fd0de", warm="#f0a443", paper="#12181c")


def palette_of(axes: Axes) -> Palette:
    """The colours to draw with on these axes: those of the report's page in the light or in the dark."""
    for patch in (axes.patch, axes.figure.patch):
        red, green, blue, alpha = to_rgba(patch.get_facecolor())
        if alpha > 0:
            dark = (red + green + blue) / 3 < _HALF
            return replace(DARK, paper=to_hex((red, green, blue))) if dark else LIGHT
    return LIGHT


# In points, which are pixels of the drawing. Narrow, so that type stays readable on a phone.
WIDTH = 440
_POINTS_PER_INCH = 72

_LAYOUT: Any = {
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.linewidth": 0.8,
    "lines.solid_capstyle": "round",
    "text.parse_math": False,  # a judge may be called $x$
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}
_STYLE: dict[str, Any] = _LAYOUT | {
    "axes.edgecolor": SOFT,
    "axes.facecolor": PAPER,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "figure.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.color": RULE,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


@dataclass(frozen=True)
class Drawing:
    """A figure: ``svg`` is for use inside the page, in its colours; the description says what is to be seen."""

    name: str
    title: str
    description: str
    svg: str

    def standalone(self) -> str:
        """Return the drawing as a file of its own, on white."""
        return standalone_svg(self.svg)


@dataclass(frozen=True)
class Tooltip:
    """A point to hover over: where it is in the axes, and what it says."""

    axes: Axes
    x: float
    y: float
    text: str


def draw(
    name: str,
    title: str,
    description: str,
    *,
    height: float,
    panel: Panel | None = None,
    simulated: bool = False,
    paint: Callable[[Figure], list[Tooltip]],
    words: Words = ENGLISH,
) -> Drawing:
    """Let ``paint`` fill a figure and say which of its points carry values."""
    notice = "" if panel is None else words.some_simulated(panel.n_simulated, panel.n_judges)
    if simulated or (panel is not None and panel.all_simulated):
        notice = words.translate("Simulated people: no real person was asked")
        title = words.translate("{title} (simulated people)").format(title=title)
    if notice:
        description = f"{notice.removesuffix('.')}. {description}"
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
        if notice:
            figure.supxlabel(notice, fontsize=9.5, color=WARM, x=0.01, ha="left")
        figure.draw_without_rendering()
        marks = [_mark(point, height) for point in points]
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Drawing(name, title, description, inline_svg(buffer.getvalue(), name, title, description, marks))


def _mark(point: Tooltip, height: float) -> Mark:
    x, y = point.axes.transData.transform((point.x, point.y))
    return Mark(float(x), height - float(y), printable(point.text))


_NAMESPACE = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^()]+)\)")
_LONG_NUMBER = re.compile(r"-?(?<!\d)\d+\.\d{3,}")
_DROPPED_STYLES = {"font-family"}  # the page's own


@dataclass(frozen=True)
class Mark:
    """A value shown at a place of the drawing, in its pixels."""

    x: float
    y: float
    text: str


def inline_svg(svg: str, name: str, title: str, description: str, marks: list[Mark]) -> str:
    """An ``<svg>`` for use inside HTML, under a policy that allows no style attribute."""
    root = ET.fromstring(svg)  # noqa: S314 - written by matplotlib a moment ago
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        _plain_attributes(element)
    for unwanted in ("metadata", "defs[style]"):
        for element in root.findall(unwanted):
            root.remove(element)
    _own_ids(root, name)
    view_box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib |= {"xmlns": _NAMESPACE, "viewBox": view_box, "role": "img"}
    root.attrib |= {"aria-labelledby": f"{name}-title", "aria-describedby": f"{name}-desc"}
    _add_text(root, "desc", description, at=0, id=f"{name}-desc")
    _add_text(root, "title", title, at=0, id=f"{name}-title")
    if marks:
        root.append(_marks(marks))
    return ET.tostring(root, encoding="unicode")


def standalone_svg(inline: str) -> str:
    """Return the drawing as a file, with a size, a typeface and white paper."""
    root = ET.fromstring(inline)  # noqa: S314 - written above
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib |= {"xmlns": _NAMESPACE, "width": width, "height": height}
    root.attrib["font-family"] = "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
    root.insert(2, ET.Element("rect", width=width, height=height, fill=PAPER))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _plain_attributes(element: ET.Element) -> None:
    """Styles become attributes, colours also a class, so that the page can say what a colour is in the dark."""
    for declaration in filter(str.strip, element.attrib.pop("style", "").split(";")):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key not in _DROPPED_STYLES:
            element.set(key, value.removesuffix("px") if key.startswith(("font-size", "stroke")) else value)
    if _LINK in element.attrib:
        element.set("href", element.attrib.pop(_LINK))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for key, value in element.attrib.items():
        element.set(key, " ".join(_LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", value).split()))
    roles = [f"{part}-{ROLES[element.attrib[part]]}" for part in ("fill", "stroke") if element.get(part) in ROLES]
    if element.tag == "text" and "fill" not in element.attrib:
        element.set("fill", "#000000")
    if roles:
        element.set("class", " ".join(roles))


def _own_ids(root: ET.Element, name: str) -> None:
    """Keep only ids that something refers to, and begin them with the figure's name: a page has several figures."""
    used = {element.attrib["href"][1:] for element in root.iter() if element.get("href", "").startswith("#")}
    for element in root.iter():
        used.update(reference for value in element.attrib.values() for reference in _REFERENCE.findall(value))
    for element in root.iter():
        if "id" in element.attrib:
            own = element.attrib.pop("id")
            if own in used:
                element.set("id", f"{name}-{own}")
        if "href" in element.attrib:
            element.set("href", f"#{name}-{element.attrib['href'][1:]}")
        for key, value in element.attrib.items():
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))


def _marks(marks: list[Mark]) -> ET.Element:
    """Invisible circles, each with its value as a title: what a browser shows, and what the page's script reads."""
    group = ET.Element("g", {"class": "marks", "fill": "none", "stroke": "none"})
    group.set("pointer-events", "all")
    for mark in marks:
        circle = ET.SubElement(group, "circle", cx=f"{mark.x:.1f}", cy=f"{mark.y:.1f}", r="7")
        ET.SubElement(circle, "title").text = mark.text
    return group


def _add_text(root: ET.Element, tag: str, text: str, *, at: int, **attributes: str) -> None:
    element = ET.Element(tag, attributes)
    element.text = text
    root.insert(at, element)


def annotate(
    axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], color: str, **style: Any
) -> None:
    """Write beside a point of the data, so many points to the right and up."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", color=color, **style)


def share_axis(axis: Axis) -> None:
    """Label shares from 0 to 1, so briefly that neighbouring labels do not meet."""
    axis.set_ticks([0, 0.5, 1], ["0", "50 %", "100"])


def percent_axis(axis: Axis, words: Words = ENGLISH) -> None:
    """Label shares as per cent, at few places."""
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{words.setting(round(100 * value, 3))} %"))


def number_axis(axis: Axis, words: Words = ENGLISH) -> None:
    """Label numbers as they are written in the language of the report."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.setting(round(value, 6) + 0.0)))


def wrapped(name: object, width: int = 20, lines: int = 2) -> str:
    """A name on so many lines at most, for beside a figure."""
    broken = textwrap.wrap(printable(str(name)), width, break_on_hyphens=False) or [""]
    if len(broken) > lines:
        broken = [*broken[: lines - 1], f"{broken[lines - 1][: width - 1]}…"]
    return "\n".join(broken)


def draw_on(axes: Axes | None, paint: Callable[[Axes], object], *, simulated: bool) -> Axes:
    """Let ``paint`` fill axes of the reader's own, or new ones of pyplot's, in the light or dark that they are in."""
    import matplotlib.pyplot as plt  # it chooses a backend for the screen, which a report has no use for

    with mpl.rc_context(_LAYOUT | {"grid.alpha": 0.3}):  # in a colour that is the reader's
        own = plt.subplots(layout="constrained")[1] if axes is None else axes
        paint(own)
        if simulated:
            own.set_title(f"{own.get_title(loc='left')} (simulated people)".strip(), loc="left")
    return own
