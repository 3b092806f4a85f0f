"""A logarithmic axis with a few plain numbers on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axis import Axis

_LETTERS = ((1e6, "M"), (1e3, "k"))
_POWERS = [10.0**power for power in range(-6, 7)]
_MOST = 5


def at(axis: Axis, values: Iterable[float]) -> None:
    """Numbers at these values and nowhere else."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_locator(NullLocator())


def near(axis: Axis, values: Sequence[float]) -> None:
    """Round numbers between the smallest and the largest of these values, or just beyond."""
    low, high = 0.8 * min(values), 1.25 * max(values)
    fine, coarse = (
        [value for value in sorted(marks) if low <= value <= high]
        for marks in ([digit * power for power in _POWERS for digit in (1, 2, 5)], _POWERS)
    )
    at(axis, fine if len(fine) <= _MOST else coarse)


def _short(value: float) -> str:
    for unit, letter in _LETTERS:
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
