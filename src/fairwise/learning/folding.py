"""From people to points: equal rows become one, and judged people find their place among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.learning.keys import row_keys
from fairwise.learning.problem import Points

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, IntArray

_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Placement:
    """The points, and where among them each training person ``(n,)`` and each judged person ``(m,)`` is."""

    points: Points
    people: IntArray
    judged: IntArray


def fold(rows: Any, labels: IntArray, weights: FloatArray, judged: Any) -> Placement:
    """Points with equal rows merged.

    A merged point carries the sum of its people's costs, so nothing is lost: every classifier treats equals equally.
    A judged person whose row is in no training row becomes a point without error cost. The points come in the order of
    their keys, whatever the order of the people.
    """
    everyone = np.concatenate([rows, judged]) if len(judged) else rows
    _, first, point = np.unique(row_keys(everyone), return_index=True, return_inverse=True)
    if _same(everyone, first[point]):
        distinct = everyone[first]
    else:  # two different rows with one 64-bit key: sort the rows themselves
        distinct, point = np.unique(everyone, axis=0, return_inverse=True)
        point = point.ravel()
    n = len(rows)
    total = weights.sum()
    mass = np.bincount(point[:n], weights, minlength=len(distinct))
    points = Points(
        rows=np.ascontiguousarray(distinct),
        error_cost=np.bincount(point[:n], weights * (1 - 2 * labels), minlength=len(distinct)) / total,
        error_offset=float(weights @ labels / total),
        # Someone outside the table weighs as much as a point inside it does on average, whatever the weights' scale.
        multiplicity=np.where(mass > 0, mass, total / np.count_nonzero(mass)),
    )
    return Placement(points, point[:n].astype(np.intp), point[n:].astype(np.intp))


def append(rows: Any, labels: IntArray, weights: FloatArray, judged: Any) -> Placement:
    """Points that are the people themselves, for estimators that are to see every row as it is.

    A judged person takes the first equal training row, and a row of their own behind all others where there is none.
    """
    own = pd.Series(np.arange(len(labels)), index=row_keys(rows))
    place = own[~own.index.duplicated()].reindex(row_keys(judged)).to_numpy(dtype=float, copy=True)
    new = np.flatnonzero(np.isnan(place))
    place[new] = len(labels) + np.arange(len(new))
    if isinstance(rows, pd.DataFrame):
        everyone: Any = pd.concat([rows, judged.iloc[new]]) if len(new) else rows
    else:
        everyone = np.concatenate([rows, judged[new]])
    padding = np.zeros(len(new))
    total = weights.sum()
    points = Points(
        rows=everyone,
        error_cost=np.concatenate([weights * (1 - 2 * labels) / total, padding]),
        error_offset=float(weights @ labels / total),
        multiplicity=np.concatenate([weights, padding + 1]),
    )
    return Placement(points, np.arange(len(labels)), place.astype(np.intp))


def _same(rows: FloatArray, other: IntArray) -> bool:
    """Whether every row equals the row at the position given for it."""
    return all(
        np.array_equal(rows[start : start + _CHUNK], rows[other[start : start + _CHUNK]])
        for start in range(0, len(rows), _CHUNK)
    )
