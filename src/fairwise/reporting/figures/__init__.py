"""The figures of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.reporting.figures.frontier import frontier_figure
from fairwise.reporting.figures.groups import group_figures
from fairwise.reporting.figures.judges import judges_figure
from fairwise.reporting.figures.lorenz import lorenz_figure

if TYPE_CHECKING:
    from fairwise.reporting.figures.drawing import Drawing
    from fairwise.reporting.findings import Findings


def draw_figures(findings: Findings) -> dict[str, Drawing]:
    """Every figure there is something to show in, by name."""
    drawn = [frontier_figure(findings), judges_figure(findings), lorenz_figure(findings), *group_figures(findings)]
    return {drawing.name: drawing for drawing in drawn if drawing is not None}
