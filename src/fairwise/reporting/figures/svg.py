"""Matplotlib's SVG made fit for a page: no style attributes, no foreign ids, colours by role, values at the points."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from fairwise.reporting.figures.palette import PAPER, ROLES

_NAMESPACE = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_DROPPED_STYLES = {"font-family"}  # the page's own


@dataclass(frozen=True)
class Mark:
    """A value shown at a place of the drawing, in its pixels."""

    x: float
    y: float
    text: str


def inline_svg(drawn: str, name: str, title: str, description: str, marks: list[Mark]) -> str:
    """An ``<svg>`` for use inside HTML, under a policy that allows no style attribute."""
    root = ET.fromstring(drawn)  # noqa: S314 - written by matplotlib a moment ago
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
    """The same drawing as a file: with a size, a typeface and white paper."""
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
        used.update(found for value in element.attrib.values() for found in _REFERENCE.findall(value))
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
