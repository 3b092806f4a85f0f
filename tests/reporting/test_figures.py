"""Figures: valid, described, in the page's colours, with values at their points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from fairwise.reporting.drawing import ROLES, Mark, inline_svg
from fairwise.reporting.figures import draw_figures

if TYPE_CHECKING:
    from fairwise.reporting import Findings
    from fairwise.reporting.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawings(complete: Findings) -> dict[str, Drawing]:
    return draw_figures(complete)


def test_there_is_a_figure_for_everything(drawings: dict[str, Drawing]) -> None:
    main = ["message", "wishes", "kinds", "gains-good", "gains-wrong"]
    assert list(drawings) == [*main, "frontier", "judges", "lorenz"]


def test_both_axes_of_every_figure_have_titles(drawings: dict[str, Drawing]) -> None:
    for name in ("message", "wishes", "kinds", "gains-good", "gains-wrong", "frontier", "lorenz"):
        turned = [
            text
            for text in ET.fromstring(drawings[name].svg).iter(f"{SVG}text")
            if "rotate(-90" in text.get("transform", "")
        ]
        assert len(turned) == 1, name


def test_the_words_of_a_figure_do_not_overprint(drawings: dict[str, Drawing], nasty: Findings) -> None:
    """Boxes of upright words, as wide as letters usually are."""
    for drawing in [*drawings.values(), *draw_figures(nasty).values()]:
        boxes = [box for box in map(_box, ET.fromstring(drawing.svg).iter(f"{SVG}text")) if box is not None]
        for at, (words, left, top, right, bottom) in enumerate(boxes):
            for other, from_left, from_top, to_right, to_bottom in boxes[:at]:
                apart = left >= to_right or from_left >= right or top >= to_bottom or from_top >= bottom
                assert apart, (drawing.name, words, other)


def _box(text: ET.Element) -> tuple[str, float, float, float, float] | None:
    words, at = text.text or "", re.findall(r"-?[\d.]+", text.get("transform", ""))
    if "rotate(-90" in text.get("transform", "") or not words.strip():
        return None
    x, y = (float(text.get("x", at[0] if at else 0)), float(text.get("y", at[1] if at else 0)))
    size = float(text.get("font-size", "11"))
    width = 0.5 * size * len(words)
    left = x - {"middle": width / 2, "end": width}.get(text.get("text-anchor", "start"), 0.0)
    return words, left, y - 0.7 * size, left + width, y


def test_figures_say_simulated_in_the_drawing_itself(drawings: dict[str, Drawing]) -> None:
    for drawing in drawings.values():
        root = ET.fromstring(drawing.svg)
        assert any("Simulated people" in (text.text or "") for text in root.iter(f"{SVG}text"))
        assert "simulated" in drawing.title


def test_every_colour_has_a_role(drawings: dict[str, Drawing]) -> None:
    for drawing in drawings.values():
        for element in ET.fromstring(drawing.svg).iter():
            for part in ("fill", "stroke"):
                colour = element.get(part, "none")
                if colour != "none":
                    assert colour in ROLES, (drawing.name, element.tag, element.attrib)
                    assert f"{part}-{ROLES[colour]}" in element.get("class", "")


def test_text_is_text_and_has_the_colour_of_a_role(drawings: dict[str, Drawing]) -> None:
    texts = list(ET.fromstring(drawings["frontier"].svg).iter(f"{SVG}text"))
    assert any("Tolerance" in (text.text or "") for text in texts)
    assert all(text.get("class") for text in texts)


def test_marks_are_where_the_points_are(drawings: dict[str, Drawing], complete: Findings) -> None:
    assert complete.curve is not None
    root = ET.fromstring(drawings["frontier"].svg)
    (group,) = [element for element in root.iter(f"{SVG}g") if element.get("class") == "marks"]
    marks = [(float(c.attrib["cx"]), float(c.attrib["cy"]), c[0].text or "") for c in group]
    assert len(marks) == len(complete.curve.panel) + 1  # and the chosen one
    assert "γ = 0.3" in marks[1][2]
    drawn = [(float(use.attrib["x"]), float(use.attrib["y"])) for use in root.iter(f"{SVG}use")]
    for x, y, text in marks:
        assert min(abs(x - at) + abs(y - up) for at, up in drawn) < 0.2, text


def test_files_stand_alone(drawings: dict[str, Drawing]) -> None:
    for drawing in drawings.values():
        root = ET.fromstring(drawing.standalone().encode())
        assert float(root.attrib["width"]) == 440
        assert root.find(f"{SVG}rect") is not None
        assert "style" not in {name for element in root.iter() for name in element.attrib}


def test_odd_names_are_drawn_as_they_are(nasty: Findings) -> None:
    judges = ET.fromstring(draw_figures(nasty, named=True)["judges"].svg)
    words = [text.text or "" for text in judges.iter(f"{SVG}text")]
    assert any(word.startswith("<script>") and word.endswith("…") for word in words)


def test_drawing_leaves_matplotlib_as_it_was(complete: Findings) -> None:
    before = dict(mpl.rcParams)
    draw_figures(complete)
    assert dict(mpl.rcParams) == before


def test_styles_become_attributes() -> None:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g id="a"><path id="b" d="M 1.23456 2" '
        'style="fill: none; stroke: #0b5c6b; stroke-width: 2"/></g><g clip-path="url(#b)"/></svg>'
    )
    svg = inline_svg(drawn, "name", "Title", "Words", [Mark(1.0, 2.0, "a < b")])
    assert 'd="M 1.23 2" fill="none" stroke="#0b5c6b" stroke-width="2" class="stroke-accent"' in svg
    assert re.findall(r' id="([^"]+)"', svg) == ["name-title", "name-desc", "name-b"]
    assert "url(#name-b)" in svg
    assert "<title>a &lt; b</title>" in svg
