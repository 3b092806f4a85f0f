"""One side of a split, measured, with the honest number of independent units behind each number.

*By judge* the units are judges, *by pair* distinct pairs, each with the weight it has in the average: units of weights
``u`` are worth ``(sum u)^2 / sum u^2`` equal ones (Kish). *By person*, pairs that share a person are not independent.
With at most ``D`` pairs to a person, the pairs fall into ``D + 1`` classes in which nobody occurs twice (Vizing), and
averages over them concentrate as if there were ``D + 1`` times fewer (Janson, 2004); with ``D = 1`` none is lost.
For error the units are people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairwise.auditing.estimates import AVERAGES, ratio
from fairwise.auditing.intervals import LEAST_JUDGES, LEAST_PAIRS, Units, ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.estimates import Averages
    from fairwise.auditing.splits import Asked, By
    from fairwise.constraints.pairs import FloatArray, IntArray

METRICS = ("error", "mean_violation", "mean_excess", "share_kept")
_CHOSEN = [AVERAGES.index(name) for name in METRICS[1:]]


@dataclass(frozen=True, eq=False)
class Part:
    """``(4,)`` numbers for each of `METRICS`, and what they were measured on."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    units: IntArray
    independent_units: FloatArray
    covered: NDArray[np.bool_]
    averages: Averages
    errors: FloatArray
    ends: tuple[IntArray, IntArray] | None
    by: By

    def line(self) -> dict[str, float | int]:
        """Values and counts by name."""
        values = dict(zip(METRICS, self.value.tolist(), strict=True))
        counts = {"people": len(self.errors), "judges": self.averages.n_judges, "pairs": self.averages.n_pairs}
        return values | counts | {"answers": len(self.averages.judge)}

    def with_interval(self, confidence: float) -> Part:
        """The same with intervals: people vary for error, judges, pairs or people (``by``) for the rest."""
        everyone = Units(self.errors[:, None], np.ones((len(self.errors), 1)), np.ones(1))
        of_error = _varied(everyone, everyone)
        pairs = _units(self.averages, self.averages.pair)
        if self.ends is not None:
            of_answers = _of_people(self.averages, self.ends, pairs)
        else:
            of_answers = _varied(_units(self.averages, self.averages.judge) if self.by == "judge" else pairs, pairs)
        varied = _Varied(*(np.concatenate(both) for both in zip(of_error, of_answers, strict=True)))
        largest = np.concatenate([[1.0], self.averages.largest[_CHOSEN]])
        low, high = ends(np.nan_to_num(self.value), varied.variance, varied.degrees, varied.units, largest, confidence)
        nothing = varied.units < 2
        covered = ~nothing & (varied.differing >= LEAST_PAIRS)
        if self.by == "judge":
            covered[1:] &= varied.units[1:] >= LEAST_JUDGES
        return replace(self, low=np.where(nothing, np.nan, low), high=np.where(nothing, np.nan, high), covered=covered)


class _Varied(NamedTuple):
    """``(k,)`` of each average: its variance, degrees of freedom, units, and pairs (or people) on the rarer side."""

    variance: FloatArray
    degrees: FloatArray
    units: IntArray
    differing: IntArray


def part_of(
    averages: Averages, errors: FloatArray, asked: Asked, by: By, *, people: IntArray, answers: NDArray[np.bool_]
) -> Part:
    """Measure these people's errors and these answers."""
    chosen = averages.where(answers)
    ends = (asked.a[answers], asked.b[answers]) if by == "person" else None
    unit = chosen.judge if by == "judge" else chosen.pair
    masses = _units(chosen, unit).denominator
    independent = np.nan_to_num(ratio(masses.sum(axis=0) ** 2, (masses**2).sum(axis=0)))
    if ends is not None:
        independent = independent / _classes_of_disjoint_pairs(chosen.pair, *ends)
    own_errors = errors[people]
    nothing = np.full(len(METRICS), np.nan)
    return Part(
        value=np.concatenate([[own_errors.mean() if len(people) else np.nan], chosen.value()[_CHOSEN]]),
        low=nothing,
        high=nothing,
        units=np.array([len(people), *(masses > 0).sum(axis=0).tolist()]),
        independent_units=np.array([float(len(people)), *independent.tolist()]),
        covered=np.zeros(len(METRICS), dtype=bool),
        averages=chosen,
        errors=own_errors,
        ends=ends,
        by=by,
    )


def _classes_of_disjoint_pairs(pair: IntArray, a: IntArray, b: IntArray) -> int:
    """Into how many classes, each without a repeated person, the distinct pairs certainly fall."""
    _, first = np.unique(pair, return_index=True)
    most = int(np.bincount(np.concatenate([a[first], b[first]])).max(initial=0))
    return 1 if most <= 1 else most + 1


def _units(averages: Averages, unit: IntArray) -> Units:
    every = Units.of(averages, unit)
    return Units(every.numerator[:, _CHOSEN], every.denominator[:, _CHOSEN], every.largest[_CHOSEN])


def _varied(units: Units, pairs: Units) -> _Varied:
    total = units.denominator.sum(axis=0)
    value = np.nan_to_num(ratio(units.numerator.sum(axis=0), total))
    return _Varied(units.variance(value, total, units.counts), units.degrees, units.counts, pairs.differing)


def _of_people(averages: Averages, ends: tuple[IntArray, IntArray], pairs: Units) -> _Varied:
    """Pairs that share people: ``V_people - V_pairs``, at least ``V_pairs``; each answer counts for both its people."""
    of_pairs = _varied(pairs, pairs)
    total = pairs.denominator.sum(axis=0)
    value = np.nan_to_num(ratio(pairs.numerator.sum(axis=0), total))
    both = averages.where(np.arange(len(averages.judge)).repeat(2))
    people = _units(both, np.stack(ends, axis=1).ravel())
    variance = np.maximum(people.variance(value, total, people.counts) - of_pairs.variance, of_pairs.variance)
    degrees = np.minimum(people.degrees / 2, of_pairs.degrees).clip(1.0)
    return _Varied(variance, degrees, np.minimum(people.counts // 2, of_pairs.units), of_pairs.differing)
