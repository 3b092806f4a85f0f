"""Intervals by resampling whole judges and whole pairs, on sums, never on rows.

Answers of one judge resemble each other, and so do answers about one pair. With ``psi`` the influence of an answer on
an average, the variance of the average under both is that of two-way clustering (Cameron, Gelbach and Miller, 2011):

    V = sum_judges (sum psi)^2 + sum_pairs (sum psi)^2 - sum_answers psi^2.

Judges are resampled, pairs are resampled, and the deviations are added, those of the pairs shrunk until the variances
add up to ``V``. Where every judge had their own pairs the last two terms cancel and this is the bootstrap over judges;
where all saw the same pairs it is a bootstrap over both. (Resampling judges and then again within each judge would
count the variation within a judge twice.)

With few units a percentile interval is too short. Its levels are therefore widened to the width that Student's t would
have (Hesterberg, 2015). Beyond ``MOST_UNITS`` units, random blocks of units are resampled in their place, which changes
nothing but the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairwise.auditing.estimates import ratio

if TYPE_CHECKING:
    from fairwise.auditing.estimates import Averages
    from fairwise.constraints.pairs import FloatArray, IntArray

MOST_UNITS = 2048


@dataclass(frozen=True, eq=False)
class Interval:
    """Lower and upper ends, ``(k,)`` each; NaN where there is nothing to resample."""

    low: FloatArray
    high: FloatArray


def interval(averages: Averages, *, n_bootstrap: int, confidence: float, rng: np.random.Generator) -> Interval:
    """Resample judges and pairs (see the module) and return an interval for each average."""
    value, whole = averages.value(), averages.whole()
    judges = Clusters.of(averages, averages.judge)
    pairs = Clusters.of(averages, averages.pair)
    extra = np.maximum(pairs.variance(whole) - _answer_variance(averages), 0.0)
    share = np.sqrt(np.nan_to_num(ratio(extra, pairs.variance(whole))))
    deviations = judges.deviations(n_bootstrap, rng)
    shared_pairs = bool((share > 0).any()) and pairs.n_units > 1
    if shared_pairs:
        deviations = deviations + share * pairs.deviations(n_bootstrap, rng)
    n_units = min(judges.n_units, pairs.n_units) if shared_pairs else judges.n_units
    return percentiles(value, deviations, n_units, confidence)


def percentiles(value: FloatArray, deviations: FloatArray, n_units: int, confidence: float) -> Interval:
    """Ends of the expanded percentile interval, within [0, 1]; ``deviations`` is ``(n_bootstrap, k)``.

    The level ``a = (1 - confidence) / 2`` becomes ``Phi(sqrt(u / (u - 1)) t_{u-1}^{-1}(a))`` with ``u`` units.
    """
    from scipy.special import ndtr, stdtrit

    nothing = np.full(value.shape, np.nan)
    if n_units < 2 or not len(deviations):
        return Interval(nothing, nothing)
    level = ndtr(np.sqrt(n_units / (n_units - 1)) * stdtrit(n_units - 1, (1 - confidence) / 2))
    ends = []
    for column in deviations.T:
        known = column[~np.isnan(column)]
        ends.append(np.quantile(known, [level, 1 - level]) if len(known) else [np.nan, np.nan])
    low, high = (value + np.array(ends).T).clip(0.0, 1.0)
    return Interval(np.minimum(low, value), np.maximum(high, value))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sums over the answers of each unit: ``(C, k)`` numerators and denominators of the averages."""

    numerator: FloatArray
    denominator: FloatArray

    @classmethod
    def of(cls, averages: Averages, unit: IntArray) -> Clusters:
        """Sum the answers of each unit (a judge, a pair); units without an answer are nobody."""
        present = np.bincount(unit) > 0
        numerator = _sums(averages.numerator, unit)[present]
        denominator = _sums(averages.denominator, unit)[present]
        if len(numerator):
            denominator[:, averages.celled] = averages.whole()[averages.celled] / len(numerator)
        return cls(numerator, denominator)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.numerator)

    def variance(self, whole: FloatArray) -> FloatArray:
        """``sum_units (sum psi)^2`` with ``psi = (numerator - value denominator) / whole``; ``(k,)``."""
        influence = ratio(self.numerator - np.nan_to_num(self.value()) * self.denominator, whole)
        return np.asarray(np.nan_to_num((influence**2).sum(axis=0)), dtype=float)

    def value(self) -> FloatArray:
        """``(k,)`` averages over all units."""
        return ratio(self.numerator.sum(axis=0), self.denominator.sum(axis=0))

    def deviations(self, n_bootstrap: int, rng: np.random.Generator) -> FloatArray:
        """``(n_bootstrap, k)`` averages of resampled units minus the average itself."""
        if self.n_units == 0:
            return np.empty((0, self.numerator.shape[1]))
        sums = np.concatenate([self.numerator, self.denominator], axis=1)
        # In an order of their own, so that the order of the rows changes nothing.
        sums = sums[np.argsort(sums @ np.sqrt(np.arange(2.0, 2.0 + sums.shape[1])), kind="stable")]
        if len(sums) > MOST_UNITS:
            sums = _sums(sums, rng.permutation(len(sums)) % MOST_UNITS)
        times = _times_drawn(n_bootstrap, len(sums), rng)
        numerator, denominator = np.split(times @ sums, 2, axis=1)
        return ratio(numerator, denominator) - self.value()


def _answer_variance(averages: Averages) -> FloatArray:
    """``sum_answers psi^2``, ``(k,)``; for ``celled`` averages over every pair and judge, answered or not."""
    value, whole = np.nan_to_num(averages.value()), averages.whole()
    plain = ratio(((averages.numerator - value * averages.denominator) ** 2).sum(axis=0), whole**2)
    cells = max(averages.n_pairs * averages.n_judges, 1)
    return np.nan_to_num(np.where(averages.celled, plain - value**2 / cells, plain))


def _sums(values: FloatArray, unit: IntArray) -> FloatArray:
    """Column sums of ``(N, k)`` values over each unit."""
    n_units = int(unit.max(initial=-1)) + 1
    return np.stack([np.bincount(unit, column, minlength=n_units) for column in values.T], axis=1)


def _times_drawn(n_bootstrap: int, n_units: int, rng: np.random.Generator) -> FloatArray:
    """``(n_bootstrap, n_units)``: how often each unit comes up in as many draws with replacement."""
    drawn = rng.integers(n_units, size=(n_bootstrap, n_units)) + n_units * np.arange(n_bootstrap)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n_bootstrap * n_units)
    return counts.reshape(n_bootstrap, n_units).astype(float)
