"""The averages of an audit as ratios of sums over answers, so that any part of the panel can be measured alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairwise.auditing.violations import Measured
    from fairwise.constraints.pairs import FloatArray, IntArray, Weighting
    from fairwise.judgments import Judgments

AVERAGES = ("mean_violation", "mean_excess", "fairness_loss", "share_kept")


@dataclass(frozen=True, eq=False)
class Averages:
    """``value = numerator.sum(0) / whole``, one column for each of `AVERAGES`; mostly ``whole = denominator.sum(0)``.

    With weight ``w`` of an answer, ``v`` its violation and ``x`` its excess:

    ==============  ==================  =============================
    average         numerator           denominator
    ==============  ==================  =============================
    mean_violation  ``w v`` if same     ``w`` if same
    mean_excess     ``w x``             ``2 w``
    fairness_loss   ``w x``             ``2 w``
    share_kept      ``w`` if honoured   ``w`` if it asks for anything
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

    def where(self, chosen: NDArray[np.bool_] | IntArray) -> Averages:
        """The same averages over these answers only, a mask or positions."""
        parts = {name: getattr(self, name)[chosen] for name in ("numerator", "denominator", "judge", "pair")}
        return replace(self, **parts)

    @property
    def n_judges(self) -> int:
        """How many judges gave these answers."""
        return int(np.count_nonzero(np.bincount(self.judge)))

    @property
    def n_pairs(self) -> int:
        """How many distinct pairs the answers are about."""
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
        return {name: 0.0 if np.isnan(value) and name != "share_kept" else value for name, value in values.items()}


def averages_of(measured: Measured, weighting: Weighting, weight: FloatArray | None = None) -> Averages:
    """The averages of these answers; ``weight`` instead of their own where given."""
    table = measured.table
    w = table["weight"].to_numpy(dtype=float) if weight is None else weight
    v, x = table["violation"].to_numpy(dtype=float), table["excess"].to_numpy(dtype=float)
    return Averages(
        numerator=np.stack([w * measured.same * v, w * x, w * x, w * measured.honoured], axis=1),
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
