"""What the axes of several figures have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis


def share_axis(axis: Axis) -> None:
    """From 0 to 1, with labels so short that those of neighbouring axes do not meet."""
    axis.set_ticks([0, 0.5, 1], ["0", "50 %", "100"])


def percent_axis(axis: Axis) -> None:
    """Label shares as per cent, at few places."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 3):g} %"))
