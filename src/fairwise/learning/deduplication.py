"""From people to points: equal rows become one, and judged people find their place among them.

Rows are compared by keys that depend on nothing but their content, from which draws that are stable come, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import fsum
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.constraints.pairs import sums
from fairwise.learning.oracles.base import FloatArray, IntArray, Rows
from fairwise.learning.problem import Points

KeyArray = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Placement:
    """The points, and where among them each training person ``(n,)`` and each judged person ``(m,)`` is."""

    points: Points
    people: IntArray
    judged: IntArray


def merge_equal(rows: Rows, labels: IntArray | FloatArray, weights: FloatArray, judged: Rows) -> Placement:
    """Points with equal rows merged.

    ``labels`` are the people's own ``(n,)``, 0 or 1, or what each label would cost each of them ``(n, k)``.

    A merged point carries the sum of its people's costs, so nothing is lost: every classifier treats equals equally.
    A judged person whose row is in no training row becomes a point without error cost. The points come in the order of
    their keys, whatever the order of the people and of the columns.
    """
    everyone = np.concatenate([rows, judged]) if len(judged) else rows
    first, point = _distinct(row_keys(everyone))
    if not _same(everyone, first[point]):  # two different rows with one 64-bit key: sort the rows themselves
        _, first, point = np.unique(everyone, axis=0, return_index=True, return_inverse=True)
        point = point.ravel()
    n, distinct = len(rows), everyone[first]
    total = fsum(weights)
    mass = sums(point[:n], weights, len(distinct))
    first_loss, more = relative_losses(labels)
    costs = np.stack([sums(point[:n], weights * column, len(distinct)) / total for column in more.T])
    largest = np.abs(costs).max(initial=0.0) or 1.0
    of_costs = row_keys(
        (costs.T / largest).astype(np.float32)
    )  # in any unit, and alike for weights and repeated people
    of_judged = of_costs.copy()
    np.add.at(of_judged, point[n:], _mix(np.arange(len(judged), dtype=np.uint64)))
    columns, n_own = column_order(distinct, mass > 0, of_costs, of_judged)
    # Whoever else is judged changes the order of the training people as little as that of their columns.
    by = sorted({len(columns), n_own}, reverse=True)  # the last is what is sorted by first
    order = np.lexsort([row_keys(distinct, columns=columns[:first_few]) for first_few in by])
    point = np.argsort(order)[point]
    mass, costs = mass[order], costs[:, order]
    points = Points(
        rows=distinct[order],
        error_cost=_table(list(costs)),
        error_offset=fsum(weights * first_loss) / total,
        # Someone outside the table weighs as much as a point inside it does on average, whatever the weights' scale.
        multiplicity=np.where(mass > 0, mass, total / np.count_nonzero(mass)),
        column_order=columns,
    )
    return Placement(points, point[:n].astype(np.intp), point[n:].astype(np.intp))


def _distinct(keys: KeyArray) -> tuple[IntArray, IntArray]:
    """Where each different key is first, in the order of keys, and which of them each row has; hashed, not sorted."""
    codes, different = pd.factorize(keys)
    rank = np.empty(len(different), dtype=np.intp)
    rank[np.argsort(different)] = np.arange(len(different))
    point = rank[codes]
    first = np.empty(len(different), dtype=np.intp)
    first[point[::-1]] = np.arange(len(keys))[::-1]  # of several, the last that is written stays
    return first, point


def relative_losses(labels: IntArray | FloatArray) -> tuple[FloatArray, FloatArray]:
    """What label 0 costs each person ``(n,)``, and by how much more every other label does ``(n, k - 1)``.

    From people's own labels, 0 or 1, an error of which costs 1; or from what each label costs ``(n, k)``.
    """
    losses = np.asarray(np.stack([labels, 1 - labels], axis=1) if labels.ndim == 1 else labels, dtype=float)
    return np.ascontiguousarray(losses[:, 0]), losses[:, 1:] - losses[:, :1]


def _table(columns: list[FloatArray]) -> FloatArray:
    """A column for each label but the first; of two labels the only one, as a vector."""
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def append(rows: Rows, labels: IntArray | FloatArray, weights: FloatArray, judged: Rows) -> Placement:
    """Points that are the people themselves, for estimators that are to see every row as it is.

    A judged person takes the first equal training row, and a row of their own behind all others where there is none.
    """
    own = pd.Series(np.arange(len(labels)), index=row_keys(rows))
    place = own[~own.index.duplicated()].reindex(row_keys(judged)).to_numpy(dtype=float, copy=True)
    new = np.flatnonzero(np.isnan(place))
    place[new] = len(labels) + np.arange(len(new))
    if isinstance(rows, pd.DataFrame):
        everyone: Rows = pd.concat([rows, judged.iloc[new]]) if len(new) else rows
    else:
        everyone = np.concatenate([rows, judged[new]])
    padding = np.zeros(len(new))
    total = weights.sum()
    first_loss, more = relative_losses(labels)
    points = Points(
        rows=everyone,
        error_cost=_table([np.concatenate([weights * column / total, padding]) for column in more.T]),
        error_offset=float(weights @ first_loss / total),
        multiplicity=np.concatenate([weights, padding + 1]),
    )
    return Placement(points, np.arange(len(labels)), place.astype(np.intp))


def _same(rows: FloatArray, other: IntArray) -> bool:
    """Whether every row equals the row at the position given for it."""
    return all(
        np.array_equal(rows[start : start + _CHUNK], rows[other[start : start + _CHUNK]])
        for start in range(0, len(rows), _CHUNK)
    )


def column_order(rows: FloatArray, trained: BoolArray, of_costs: KeyArray, of_judged: KeyArray) -> tuple[IntArray, int]:
    """The columns that differ among these rows, in an order that follows from what they hold.

    First come those that differ among the ``trained`` rows ``(n,)``, whatever the others are; returns how many these
    are, too. The last two arguments are keys of the rows ``(n,)``, of what else is known of them. A column's key is the
    sum of its numbers' keys, each times a key of its row: of what the row costs, and of all its numbers. Columns that
    have equal keys on the trained rows are ordered by keys on all rows, of who is judged; where these are equal, too,
    they stay as they stand.
    """
    n, d = rows.shape
    differ, keys = np.zeros((2, d), dtype=bool), np.zeros((2, d), dtype=np.uint64)
    first = rows[np.argmax(trained)]
    for start in range(0, n, _CHUNK):
        other = rows[start : start + _CHUNK] != first
        differ[0] |= other[trained[start : start + _CHUNK]].any(axis=0)
        differ[1] |= other.any(axis=0)
    columns = np.flatnonzero(differ[1]) if differ.any() else np.arange(1)
    everyone = np.ones(n, dtype=bool)
    for start in range(0, n, _CHUNK):
        some = slice(start, start + _CHUNK)
        bits = _mix(_column_bits(rows[some][:, columns]))
        parts = zip(keys, differ[:, columns], (of_costs, of_judged), (trained, everyone), strict=True)
        for totals, varied, own, counted in parts:
            numbers = (bits * varied).sum(axis=1, dtype=np.uint64)
            row = _mix(own[some] ^ numbers) * counted[some]
            totals[columns] += (bits * row[:, None]).sum(axis=0, dtype=np.uint64)
    order = np.lexsort((keys[1, columns], keys[0, columns], ~differ[0, columns]))
    return columns[order], int(differ[0].sum())


def row_keys(rows: Rows, seed: int = 0, columns: IntArray | None = None) -> KeyArray:
    """64-bit keys ``(n,)`` of the rows, the same in any batch and order; equal rows have equal keys.

    With ``columns`` of these only, in this order.
    """
    n, d = rows.shape
    keys = np.full(n, _mix(np.array([seed % 2**64], dtype=np.uint64))[0])
    for j in range(d) if columns is None else columns:
        keys = _mix(keys ^ _column_bits(rows.iloc[:, j] if isinstance(rows, pd.DataFrame) else rows[:, j]))
    return keys


def uniforms(keys: KeyArray) -> FloatArray:
    """Keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(float) * 2.0**-53


def _column_bits(column: pd.Series | FloatArray) -> KeyArray:
    if isinstance(column, pd.Series):
        if not pd.api.types.is_numeric_dtype(column):
            codes, different = pd.factorize(column)  # -1 for anything missing
            bits = np.array([_value_bits(value) for value in [*different, np.nan]], dtype=np.uint64)
            return bits[codes]
        return _column_bits(column.to_numpy(dtype=float, na_value=np.nan))
    values = np.ascontiguousarray(column, dtype=float) + 0.0  # -0.0 becomes 0.0
    return np.where(np.isnan(values), np.nan, values).view(np.uint64)


def _value_bits(value: object) -> int:
    """A number by its value and anything else by its text, whatever the type of its column."""
    if isinstance(value, Real | Decimal):
        return int(_column_bits(np.array([float(value)]))[0])
    return int(pd.util.hash_array(np.array([str(value)], dtype=object))[0])


def _mix(x: KeyArray) -> KeyArray:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
