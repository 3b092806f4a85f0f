"""Intervals of averages ``N / D`` over answers, for other judges and other pairs drawn like these.

Answers of one judge resemble each other, and so do answers about one pair. Leaving out a unit ``u`` (a judge, or a
pair) with sums ``n_u`` and ``d_u`` moves ``q = N / D`` by ``(n_u - q d_u) / (D - d_u)``, so the jackknife's variance
over ``U`` units of one kind is

    V = (U - 1) / U sum_u ((n_u - q d_u) / (D - d_u))^2,

and under both kinds that of two-way clustering (Cameron, Gelbach and Miller, 2011), at least either of the first two:

    V_judges + V_pairs - V_cells,

where a cell is what one judge said about one pair. Of pairs that a single judge answered, the last two cancel: only
pairs that two or more judges answered are summed. Where every judge had their own pairs, ``V_judges`` remains.

The variance is itself estimated. That of ``U`` equal units has ``U - 1`` degrees of freedom; unequal ones are worth
``(sum d)^2 / sum d^2`` (Kish), and where only ``K`` units differ from all the others (the few with a violation) the
variance has a relative variance of about ``1 / K``, as with ``2 K`` degrees. The least of the three is taken, and the
two kinds are put together by Satterthwaite's rule: ``1 / f = sum_kinds (V_kind / V)^2 / f_kind``.

An average lies between 0 and some ``L``, and its variance shrinks towards both ends. So the interval is Wilson's, all
``p`` with ``(q - p)^2 <= t^2 V p (L - p) / (q (L - q))``, ``t`` Student's quantile. Where no two units differ, ``V`` is
0 and says nothing: ``U`` units are all alike with a chance of ``a / 2`` or more only if a share of at least
``s = (a / 2)^(1 / U)`` of all units is like them, and the others may be anything, so the interval is ``s q`` to
``s q + (1 - s) L``.

How often such intervals hold the truth is measured by ``python -m benchmarks interval-coverage``. It is not 95 % with
fewer than ``LEAST_JUDGES`` judges, or fewer than ``LEAST_PAIRS`` pairs on one side (with a violation, or without one);
`Interval.covered` tells where.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairwise.auditing.tables import MeasuredAnswers
    from fairwise.constraints.pairs import FloatArray, IntArray, Weighting
    from fairwise.judgments import Judgments


LEAST_JUDGES = 5
LEAST_PAIRS = 10
_ROUNDING = 1e-9
AVERAGES = ("mean_violation", "mean_excess", "fairness_loss", "share_followed")


@dataclass(frozen=True, eq=False)
class AnswerMeans:
    """``value = numerator.sum(0) / whole``, one column for each of `AVERAGES`; mostly ``whole = denominator.sum(0)``.

    With weight ``w`` of an answer, ``v`` its violation and ``x`` its excess:

    ==============  ==================  =============================
    average         numerator           denominator
    ==============  ==================  =============================
    mean_violation  ``w v`` if same     ``w`` if same
    mean_excess     ``w x``             ``2 w``
    fairness_loss   ``w x``             ``2 w``
    share_followed  ``w`` if followed   ``w`` if it asks for anything
    ==============  ==================  =============================

    ``fairness_loss`` is the paper's: pairs that a judge was not shown count as not asked for by them, so its ``whole``
    is 2 x distinct pairs x judges, whatever was answered (``celled``). Under ``weighting="panel"`` mean_excess is the
    same number.

    Attributes
    ----------
    numerator, denominator
        ``(N, 4)``, a line per answer.
    celled
        ``(4,)`` which columns are divided by 2 x pairs x judges.
    largest
        ``(4,)`` what the quotient of numerators and denominators is at most.
    judge, pair
        ``(N,)`` numbers of each answer's judge and unordered pair.
    """

    numerator: FloatArray
    denominator: FloatArray
    celled: NDArray[np.bool_]
    judge: IntArray
    pair: IntArray
    largest: FloatArray = field(default_factory=lambda: np.array([1.0, 0.5, 0.5, 1.0]))

    def where(self, chosen: NDArray[np.bool_] | IntArray) -> AnswerMeans:
        """Return the averages over these answers only, a mask or positions."""
        parts = {name: getattr(self, name)[chosen] for name in ("numerator", "denominator", "judge", "pair")}
        return replace(self, **parts)

    @property
    def n_judges(self) -> int:
        """Number of judges who gave these answers."""
        return int(np.count_nonzero(np.bincount(self.judge)))

    @property
    def n_pairs(self) -> int:
        """Number of distinct pairs that the answers are about."""
        return int(np.count_nonzero(np.bincount(self.pair)))

    def whole(self) -> FloatArray:
        """``(4,)`` denominators of the whole."""
        return np.where(self.celled, 2.0 * self.n_pairs * self.n_judges, self.denominator.sum(axis=0))

    def value(self) -> FloatArray:
        """``(4,)`` averages, NaN where there is nothing to average."""
        return ratio(self.numerator.sum(axis=0), self.whole())

    def reported(self) -> dict[str, float]:
        """The averages by name: 0 where there is nothing to violate, but no share of nothing is kept."""
        values = dict(zip(AVERAGES, self.value().tolist(), strict=True))
        return {name: 0.0 if np.isnan(value) and name != "share_followed" else value for name, value in values.items()}


def answer_means(measured: MeasuredAnswers, weighting: Weighting, weight: FloatArray | None = None) -> AnswerMeans:
    """The averages of these answers; ``weight`` instead of their own where given."""
    table = measured.table
    w = table["weight"].to_numpy(dtype=float) if weight is None else weight
    v, x = table["violation"].to_numpy(dtype=float), table["excess"].to_numpy(dtype=float)
    return AnswerMeans(
        numerator=np.stack([w * measured.same * v, w * x, w * x, w * measured.followed], axis=1),
        denominator=np.stack([w * measured.same, 2.0 * w, 2.0 * w, w * measured.asks], axis=1),
        celled=np.array([False, weighting == "panel", True, False]),
        judge=measured.judge,
        pair=measured.pair,
    )


def has_design_weights(judgments: Judgments) -> bool:
    """Whether some of the answers that count say how likely their pair was to be shown."""
    if "selection_probability" not in judgments.frame:
        return False
    rows = judgments.counted()["row"].to_numpy()
    return bool(judgments.frame["selection_probability"].notna().to_numpy()[rows].any())


def design_weights(judgments: Judgments, answers: pd.DataFrame) -> FloatArray:
    """``weight / selection_probability`` where the latter is known, in units in which no quotient is endless."""
    weight = answers["weight"].to_numpy(dtype=float)
    if not has_design_weights(judgments):
        return weight
    chance = judgments.frame["selection_probability"].to_numpy(dtype=float)[answers["row"].to_numpy()]
    unknown = np.isnan(chance)
    if unknown.any():
        raise InputError(
            f"selection_probability is empty in {unknown.sum()} of the {len(chance)} rows that count: fill all, or none"
        )
    weighted: FloatArray = weight * (chance.min() / chance)
    return weighted


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Elementwise quotient, NaN where the denominator is 0."""
    undefined = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    quotient: FloatArray = np.divide(numerator, denominator, out=undefined, where=denominator > 0)
    return quotient


@dataclass(frozen=True, eq=False)
class Interval:
    """Lower and upper ends, ``(k,)`` each, NaN where there is one unit only; and where they hold their level."""

    low: FloatArray
    high: FloatArray
    covered: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Units:
    """Sums over the answers of each judge, pair or person.

    Attributes
    ----------
    numerator, denominator
        ``(U, k)`` of averages.
    largest
        ``(k,)`` what their quotient is at most.
    """

    numerator: FloatArray
    denominator: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, averages: AnswerMeans, unit: IntArray) -> Units:
        """Sum the answers by the number of their unit, ``(N,)``; numbers without an answer are left out."""
        present = np.bincount(unit) > 0
        both = (averages.numerator, averages.denominator)
        numerator, denominator = (sums_by_unit(each, unit, len(present))[present] for each in both)
        return cls(numerator, denominator, averages.largest)

    @property
    def counts(self) -> IntArray:
        """``(k,)`` units that have anything to average."""
        return _column_counts(self.denominator > 0)

    @property
    def differing(self) -> IntArray:
        """``(k,)`` units above 0, or units below the largest possible, whichever are fewer."""
        least = _ROUNDING * self.denominator
        above = _column_counts(self.numerator > least)
        below = _column_counts(self.largest * self.denominator - self.numerator > least)
        return np.minimum(above, below)

    def variance(self, value: FloatArray, total: FloatArray, of: IntArray) -> FloatArray:
        """``(k,)`` jackknife variance of ``value = N / total``; ``of`` is how many units there are in all."""
        moved = np.nan_to_num(ratio(self.numerator - value * self.denominator, total - self.denominator))
        summed: FloatArray = (moved**2).sum(axis=0)
        return summed * (1 - 1 / np.maximum(of, 1))

    @property
    def degrees(self) -> FloatArray:
        """``(k,)`` degrees of freedom of the variance, at least 1."""
        equal = ratio(self.denominator.sum(axis=0) ** 2, (self.denominator**2).sum(axis=0))
        least: FloatArray = np.fmin(np.minimum(self.counts - 1.0, 2.0 * self.differing), equal)
        return least.clip(1.0)


def interval(averages: AnswerMeans, confidence: float) -> Interval:
    """An interval of each average for other judges and other pairs like these."""
    total = averages.denominator.sum(axis=0)
    value = np.nan_to_num(ratio(averages.numerator.sum(axis=0), total))
    judges, pairs = (Units.of(averages, unit) for unit in (averages.judge, averages.pair))
    row, cell = _shared_cells(averages)
    about_shared = averages.where(row)
    shared, cells = (Units.of(about_shared, unit) for unit in (about_shared.pair, cell))

    n_judges, n_pairs, n_shared = judges.counts, pairs.counts, shared.counts
    of_judges, judge_degrees = judges.variance(value, total, n_judges), judges.degrees
    of_pairs, pair_degrees = shared.variance(value, total, n_pairs), shared.degrees
    of_cells = cells.variance(value, total, _column_counts(averages.denominator > 0))
    variance = np.maximum(of_judges + of_pairs - of_cells, np.maximum(of_judges, of_pairs))
    fewest = np.where(n_shared > 0, np.minimum(judge_degrees, pair_degrees), judge_degrees)
    joint_degrees = ratio(variance**2, of_judges**2 / judge_degrees + of_pairs**2 / pair_degrees)
    units = np.where(n_shared > 1, np.minimum(n_judges, n_shared), n_judges)

    low, high = ends(value, variance, np.fmax(joint_degrees, fewest), units, averages.largest, confidence)
    enough = (n_judges > 1) & (n_pairs > 1)
    # Which pairs a judge was not shown is the study's doing: it changes the scale, not what is uncertain.
    scale = np.where(enough, ratio(total, averages.whole()), np.nan)
    covered = enough & (n_judges >= LEAST_JUDGES) & (pairs.differing >= LEAST_PAIRS)
    return Interval(scale * low, scale * high, covered)


def _shared_cells(averages: AnswerMeans) -> tuple[IntArray, IntArray]:
    """Positions of the answers about pairs that two or more judges answered, and the number of each one's cell."""
    judge, pair = averages.judge, averages.pair
    row = np.flatnonzero(np.bincount(pair)[pair] > 1) if len(pair) else np.empty(0, dtype=np.intp)
    width = int(pair.max(initial=0)) + 1
    cells, cell = np.unique(judge[row] * width + pair[row], return_inverse=True)
    by_several = np.bincount(cells % width, minlength=width) > 1
    chosen = by_several[pair[row]]
    return row[chosen], cell[chosen]


def ends(
    value: FloatArray,
    variance: FloatArray,
    degrees: FloatArray,
    units: IntArray,
    largest: FloatArray,
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Both ends of Wilson's interval with Student's t, ``(k,)`` each (see the module)."""
    outside = (1 - confidence) / 2
    share = value / largest
    spread = variance / largest**2
    alike = spread <= _ROUNDING**2
    t = stdtrit(degrees, 1 - outside)
    # t^2 over the number of independent draws of 0 and 1 that would have this variance
    c = t**2 * np.where(alike, 0.0, ratio(spread, share * (1 - share)))
    half = t * np.sqrt(spread + c**2 / (4 * t**2))
    like_these = outside ** (1 / np.maximum(units, 1))
    low = np.where(alike, like_these * share, (share + c / 2 - half) / (1 + c))
    high = np.where(alike, like_these * share + 1 - like_these, (share + c / 2 + half) / (1 + c))
    return largest * np.clip(low, 0.0, share), largest * np.clip(high, share, 1.0)


def _column_counts(chosen: NDArray[np.bool_]) -> IntArray:
    """``(k,)`` how many of each column of ``(U, k)``."""
    return np.asarray(np.count_nonzero(chosen, axis=0), dtype=np.intp)


def sums_by_unit(values: FloatArray, unit: IntArray, n_units: int) -> FloatArray:
    """Column sums of ``(N, k)`` values over each unit."""
    return np.stack([np.bincount(unit, column, minlength=n_units) for column in values.T], axis=1)
