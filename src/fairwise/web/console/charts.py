"""Where the points of a frontier are in its figure: error upwards, the allowance to the right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


# Where the points of a frontier are in its figure: error upwards, the allowance to the right.

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


# Answers over time as a small picture: bars, drawn here as SVG.

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_WIDTHS = {
    _MINUTE: "a minute",
    5 * _MINUTE: "5 minutes",
    15 * _MINUTE: "15 minutes",
    _HOUR: "an hour",
    3 * _HOUR: "3 hours",
    12 * _HOUR: "12 hours",
    _DAY: "a day",
    7 * _DAY: "a week",
    30 * _DAY: "30 days",
}
_MOST_BARS = 60
_HEIGHT = 60


@dataclass(frozen=True, eq=False)
class RateChart:
    """Bars of equal width in time, the last of which ends now."""

    begin: datetime
    end: datetime
    width: str
    """What one bar stands for, in words."""

    counts: NDArray[np.int64]

    @property
    def most(self) -> int:
        return int(self.counts.max(initial=0))

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def svg(self) -> Markup:
        """The bars; they are stretched to whatever width there is, so the words are beside them, not in them."""
        bars = "".join(
            f'<rect x="{10 * at + 1}" y="{_HEIGHT - height:.2f}" width="8" height="{height:.2f}"/>'
            for at, height in enumerate(_HEIGHT * self.counts / max(1, self.most))
            if height
        )
        size = f"0 0 {10 * len(self.counts)} {_HEIGHT}"
        return Markup(f'<svg viewBox="{size}" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>')  # noqa: S704 - numbers


def last_hour(answered_at: NDArray[np.float64], now: datetime) -> RateChart:
    """Each minute of the last hour."""
    return _chart(answered_at, now, _MINUTE, _HOUR // _MINUTE)


def whole_study(answered_at: NDArray[np.float64], now: datetime) -> RateChart | None:
    """From the first answer on; None before there is one."""
    if not len(answered_at):
        return None
    span = now.timestamp() - float(answered_at[0])
    width = next((seconds for seconds in _WIDTHS if span < seconds * _MOST_BARS), max(_WIDTHS))
    return _chart(answered_at, now, width, max(1, int(span // width) + 1))


def _chart(answered_at: NDArray[np.float64], now: datetime, width: int, bars: int) -> RateChart:
    end = now.timestamp()
    edges = end - width * np.arange(bars, -1, -1)
    # What came while the picture was made counts as now.
    inside = answered_at[answered_at > edges[0]].clip(max=end)
    counts, _ = np.histogram(inside, edges)
    return RateChart(now - timedelta(seconds=width * bars), now, _WIDTHS[width], counts)
