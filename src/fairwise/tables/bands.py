"""Numbers of many values as a few bands, and groups of people in the order in which they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

BANDS = 4


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, and not yes and no."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def bands(column: pd.Series[Any]) -> pd.Series[Any]:
    """Each number's band of about a size, written as its least and its largest number: 18\N{EN DASH}24."""
    codes = pd.qcut(column, BANDS, labels=False, duplicates="drop")
    ends = column.groupby(codes).agg(["min", "max"])
    words = {
        code: f"{low:g}\N{EN DASH}{high:g}" if low < high else f"{low:g}"
        for code, low, high in ends.itertuples(name=None)
    }
    return codes.map(words)


def in_order(names: Iterable[str]) -> list[str]:
    """Numbers and bands from the least to the largest, then words by name.

    >>> in_order(["32\N{EN DASH}42", "not known", "9\N{EN DASH}25", "43\N{EN DASH}96"])
    ['9–25', '32–42', '43–96', 'not known']
    """

    def place(name: str) -> tuple[bool, float, str]:
        begins = re.match(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?=\N{EN DASH}|$)", name)
        return (begins is None, float(begins[0]) if begins else 0.0, name)

    return sorted(names, key=place)
