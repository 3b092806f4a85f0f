"""One side of a split, measured, with the honest number of independent units behind each number.

*By judge* the units are judges, *by pair* distinct pairs, each with the weight it has in the average: units of weights
``u`` are worth ``(sum u)^2 / sum u^2`` equal ones (Kish). *By person*, pairs that share a person are not independent.
With at most ``D`` pairs to a person, the pairs fall into ``D + 1`` classes in which nobody occurs twice (Vizing), and
averages over them concentrate as if there were ``D + 1`` times fewer (Janson, 2004); with ``D = 1`` none is lost.
For error the units are people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairwise.auditing.bootstrap import Clusters, percentiles
from fairwise.auditing.estimates import AVERAGES, ratio

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
    averages: Averages
    errors: FloatArray
    ends: tuple[IntArray, IntArray] | None
    by: By

    def line(self) -> dict[str, float | int]:
        """Values and counts by name."""
        values = dict(zip(METRICS, self.value.tolist(), strict=True))
        counts = {"people": len(self.errors), "judges": self.averages.n_judges, "pairs": self.averages.n_pairs}
        return values | counts | {"answers": len(self.averages.judge)}

    def with_interval(self, *, n_bootstrap: int, confidence: float, rng: np.random.Generator) -> Part:
        """The same with bootstrap intervals: people are resampled for error, units for the rest."""
        people = Clusters(self.errors[:, None], np.ones((len(self.errors), 1)))
        of_error = percentiles(self.value[:1], people.deviations(n_bootstrap, rng), people.n_units, confidence)
        if self.ends is None:
            units = Clusters.of(self.averages, self.averages.judge if self.by == "judge" else self.averages.pair)
            deviations, n_units = units.deviations(n_bootstrap, rng), units.n_units
        else:
            deviations, n_units = _person_deviations(self.averages, self.ends, n_bootstrap, rng)
        of_answers = percentiles(self.value[1:], deviations[:, _CHOSEN], n_units, confidence)
        return replace(
            self,
            low=np.concatenate([of_error.low, of_answers.low]),
            high=np.concatenate([of_error.high, of_answers.high]),
        )


def part_of(
    averages: Averages, errors: FloatArray, asked: Asked, by: By, *, people: IntArray, answers: NDArray[np.bool_]
) -> Part:
    """Measure these people's errors and these answers."""
    chosen = averages.where(answers)
    ends = (asked.a[answers], asked.b[answers]) if by == "person" else None
    unit = chosen.judge if by == "judge" else chosen.pair
    masses = Clusters.of(chosen, unit).denominator[:, _CHOSEN]
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


def _person_deviations(
    averages: Averages, ends: tuple[IntArray, IntArray], n_bootstrap: int, rng: np.random.Generator
) -> tuple[FloatArray, int]:
    """Deviations with the variance of pairs that share people, ``sum_people (sum psi)^2 - sum_pairs (sum psi)^2``.

    Each answer counts for both its people, so resampling people gives a quarter of the first sum.
    """
    both = averages.where(np.arange(len(averages.judge)).repeat(2))
    person = np.stack(ends, axis=1).ravel()
    people = Clusters.of(both, person)
    whole = averages.whole()
    of_people = people.variance(whole)
    of_pairs = Clusters.of(averages, averages.pair).variance(whole)
    wanted = np.maximum(of_people - of_pairs, of_pairs)
    scale = 2.0 * np.sqrt(np.nan_to_num(ratio(wanted, of_people)))
    return scale * people.deviations(n_bootstrap, rng), people.n_units // 2
