"""Exact minimisation over linear thresholds in two whole-number features, by enumeration.

Every way in which a line can cut a finite set of points is, for some direction ``u`` between two of them and its
normal ``v``, a cut of the points sorted by ``(v . x, u . x)``: shift the line until it touches a point, turn it around
that one until it touches another; the points on it are then cut somewhere along it. So all sorted orders over all
directions on the grid, cut everywhere, from either side, are all linear thresholds and nothing else. Whole numbers make
ties exact.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairwise.learning.oracles.base import FloatArray, IntArray


def least_costs(points: IntArray, costs: FloatArray) -> FloatArray:
    """Least cost ``(k,)`` of any linear threshold on points ``(P, 2)`` under each of the costs ``(k, P)``."""
    least: FloatArray = np.minimum(costs.sum(axis=1), 0.0)
    total = costs.sum(axis=1, keepdims=True)
    for across, along in _directions(points):
        below = np.cumsum(costs[:, np.lexsort((along, across))], axis=1)
        least = np.minimum(least, np.minimum(below, total - below).min(axis=1))
    return least


def _directions(points: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """``v . x`` and ``u . x`` of all points, for each direction of the grid and both orders along the line."""
    width, height = np.ptp(points, axis=0)
    x, y = points.T
    for dx in range(width + 1):
        for dy in range(-height, height + 1):
            if gcd(dx, dy) == 1 and (dx, dy) != (0, -1):
                across, along = dx * y - dy * x, dx * x + dy * y
                yield across, along
                yield across, -along
