"""A number for every row that depends on nothing but its content: for folding equal rows and for stable draws."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.learning.oracles.base import FloatArray

    KeyArray = NDArray[np.uint64]


def row_keys(rows: FloatArray | pd.DataFrame, seed: int = 0) -> KeyArray:
    """64-bit keys ``(n,)`` of the rows, the same in any batch and order; equal rows have equal keys."""
    n, d = rows.shape
    keys = np.full(n, _mix(np.array([seed % 2**64], dtype=np.uint64))[0])
    for j in range(d):
        keys = _mix(keys ^ _column_bits(rows.iloc[:, j] if isinstance(rows, pd.DataFrame) else rows[:, j]))
    return keys


def uniforms(keys: KeyArray) -> FloatArray:
    """Keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(float) * 2.0**-53


def _column_bits(column: Any) -> KeyArray:
    if isinstance(column, pd.Series):
        if not pd.api.types.is_numeric_dtype(column):
            codes, different = pd.factorize(column)  # -1 for anything missing
            bits = np.array([_value_bits(value) for value in [*different, np.nan]], dtype=np.uint64)
            return bits[codes]
        return _column_bits(column.to_numpy(dtype=float, na_value=np.nan))
    values = np.ascontiguousarray(column, dtype=float) + 0.0  # -0.0 becomes 0.0
    return np.where(np.isnan(values), np.nan, values).view(np.uint64)


def _value_bits(value: Any) -> int:
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
