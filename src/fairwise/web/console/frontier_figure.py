"""Where the points of a frontier are in its figure: error upwards, the budget to the right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 20, 18, 58
_TICKS = 5


@dataclass(frozen=True)
class Tick:
    """A line of the grid, and what it stands for."""

    at: float
    words: str


@dataclass(frozen=True)
class Figure:
    """Places in a drawing of WIDTH by HEIGHT."""

    spots: tuple[tuple[float, float], ...]
    """Of each point, in their order."""

    across: tuple[Tick, ...]
    upwards: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM

    @property
    def line(self) -> str:
        """Through all points."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.spots)


def drawn(etas: Sequence[float], errors: Sequence[float]) -> Figure:
    """Return the figure of a frontier of one point or more."""
    across, upwards = _ticks(min(etas), max(etas)), _ticks(min(errors), max(errors))

    def x_of(eta: float) -> float:
        return _LEFT + (eta - across[0]) / (across[-1] - across[0]) * (WIDTH - _LEFT - _RIGHT)

    def y_of(error: float) -> float:
        return HEIGHT - _BOTTOM - (error - upwards[0]) / (upwards[-1] - upwards[0]) * (HEIGHT - _TOP - _BOTTOM)

    digits = max(0, math.ceil(-math.log10(100 * (upwards[1] - upwards[0])) - 1e-9))
    return Figure(
        spots=tuple((x_of(eta), y_of(error)) for eta, error in zip(etas, errors, strict=True)),
        across=tuple(Tick(x_of(eta), f"{eta:g}") for eta in across),
        upwards=tuple(Tick(y_of(error), f"{100 * error:.{digits}f} %") for error in upwards),
    )


def _ticks(least: float, most: float) -> list[float]:
    """Round numbers from below the least to above the most, two at least.

    >>> _ticks(0.31, 0.344), _ticks(0.2, 0.2)
    ([0.31, 0.32, 0.33, 0.34, 0.35], [0.195, 0.2, 0.205])
    """
    if most - least < 1e-9:  # one point, or a flat line: in the middle
        half = 0.005
        return [round(least + turn * half, 9) for turn in ((-1, 0, 1) if least >= half else (0, 1, 2))]
    rough = (most - least) / (_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(turn * step, 9) for turn in range(first, last + 1)]
