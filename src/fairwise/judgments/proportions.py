"""A share of so many, with Wilson's interval."""

from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtri

from fairwise.equal_nan import EqualNan
from fairwise.errors import InputError

Floats: TypeAlias = NDArray[np.float64]


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
    def out_of(cls, count: int, of: int, confidence: float) -> "Share":
        low, high = wilson(count, of, confidence)
        return cls(count, of, count / of if of else np.nan, float(low), float(high), confidence)

    def __str__(self) -> str:
        if not self.of:
            return "0 of 0"
        interval = f"{self.confidence:.0%} interval {self.low:.0%} to {self.high:.0%}"
        return f"{self.count} of {self.of}, {self.share:.0%} ({interval})"


def wilson(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's bounds for a share p of n, NaN where n is 0.

    They are the shares q with |p - q| = z sqrt(q (1 - q) / n):
    (p + z²/2n ± z sqrt(p (1 - p)/n + z²/4n²)) / (1 + z²/n), never outside 0 and 1.
    """
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r}; allowed: above 0 and below 1")
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    n = np.where(n > 0, n, np.nan)
    z = float(ndtri((1 + confidence) / 2))
    p = k / n
    middle, width = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    low, high = (middle - width) / (1 + z**2 / n), (middle + width) / (1 + z**2 / n)
    # Exactly 0 and 1 at the ends, which rounding just misses.
    return np.where(k == 0, 0 * low, np.maximum(low, 0)), np.where(k == n, 1 + 0 * high, np.minimum(high, 1))


def fair_coin(count: ArrayLike, of: ArrayLike) -> Floats:
    """Return the exact two-sided p-value of so many heads from a fair coin, NaN without a toss."""
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(k, n - k), n.astype(np.int64), 0.5))
    return np.where(n > 0, p, np.nan)


def by_judge(
    judges: pd.Index, judge: pd.Series, hit: NDArray[np.bool_], names: tuple[str, str], confidence: float
) -> pd.DataFrame:
    """Return one row per judge: how many (``names[0]``), how many of them hit (``names[1]``), share, low, high."""
    tally = pd.DataFrame({"of": 1, "count": hit}).groupby(judge.to_numpy()).sum().reindex(judges, fill_value=0)
    low, high = wilson(tally["count"], tally["of"], confidence)
    of, count = (tally[name].to_numpy(dtype=np.int64) for name in ("of", "count"))
    share = np.divide(count, of, out=np.full(len(of), np.nan), where=of > 0)
    return pd.DataFrame({names[0]: of, names[1]: count, "share": share, "low": low, "high": high}, index=judges)
