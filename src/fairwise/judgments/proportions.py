"""A share of so many, with an interval."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, ndtri

from fairwise.equal_nan import EqualNan
from fairwise.errors import InputError
from fairwise.rounding import digits_beside

Floats: TypeAlias = NDArray[np.float64]
Bounds: TypeAlias = Callable[[ArrayLike, ArrayLike, float], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Share(EqualNan):
    """``count`` out of ``of``; the share and its bounds are NaN where there was nothing to count."""

    count: int
    of: int
    share: float
    low: float
    high: float
    confidence: float

    @classmethod
    def out_of(cls, count: int, of: int, confidence: float, bounds: "Bounds | None" = None) -> "Share":
        low, high = (bounds or wilson)(count, of, confidence)
        return cls(count, of, count / of if of else np.nan, float(low), float(high), confidence)

    def __str__(self) -> str:
        return self.beside(None)

    def beside(self, limit: float | None) -> str:
        """Return it in words, with as many digits as it takes to see on which side of a limit each bound is."""
        if not self.of:
            return "0 of 0"
        share, low, high = (
            f"{value:.{0 if limit is None else digits_beside(100 * value, 100 * limit, 0)}%}"
            for value in (self.share, self.low, self.high)
        )
        return f"{self.count} of {self.of}, {share} ({self.confidence:.0%} interval {low} to {high})"


def wilson(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's bounds for a share p of n, NaN where n is 0.

    They are the shares q with |p - q| = z sqrt(q (1 - q) / n):
    (p + z²/2n ± z sqrt(p (1 - p)/n + z²/4n²)) / (1 + z²/n), never outside 0 and 1.
    """
    k, n = _counts(count, of, confidence)
    z = float(ndtri((1 + confidence) / 2))
    p = k / n
    middle, width = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    low, high = (middle - width) / (1 + z**2 / n), (middle + width) / (1 + z**2 / n)
    # Exactly 0 and 1 at the ends, which rounding just misses.
    return np.where(k == 0, 0 * low, np.maximum(low, 0)), np.where(k == n, 1 + 0 * high, np.minimum(high, 1))


def clopper_pearson(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return the exact bounds for a share of n, NaN where n is 0.

    They are the shares q under which at least, and at most, so many have probability (1 - confidence) / 2. So 1/2 is
    outside if and only if :func:`fair_coin` is below 1 - confidence.
    """
    k, n, tail = *_counts(count, of, confidence), (1 - confidence) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    nothing = np.where(np.isnan(n), np.nan, 0.0)
    return low + nothing, high + nothing


def fair_coin(count: ArrayLike, of: ArrayLike) -> Floats:
    """Return the exact two-sided p-value of so many heads from a fair coin, NaN without a toss."""
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(k, n - k), n.astype(np.int64), 0.5))
    return np.where(n > 0, p, np.nan)


def _counts(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r}; allowed: above 0 and below 1")
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    return k, np.where(n > 0, n, np.nan)


def by_judge(
    judges: pd.Index,
    judge: pd.Series,
    hit: NDArray[np.bool_],
    names: tuple[str, str],
    confidence: float,
    bounds: Bounds = wilson,
) -> pd.DataFrame:
    """Return one row per judge: how many (``names[0]``), how many of them hit (``names[1]``), share, low, high."""
    tally = pd.DataFrame({"of": 1, "count": hit}).groupby(judge.to_numpy()).sum().reindex(judges, fill_value=0)
    low, high = bounds(tally["count"], tally["of"], confidence)
    of, count = (tally[name].to_numpy(dtype=np.int64) for name in ("of", "count"))
    share = np.divide(count, of, out=np.full(len(of), np.nan), where=of > 0)
    return pd.DataFrame({names[0]: of, names[1]: count, "share": share, "low": low, "high": high}, index=judges)
