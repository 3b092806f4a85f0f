"""Answers over time as a small picture: bars, drawn here as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
