"""Randomisation inference: how the same people would differ, had chance given them other arms.

Nothing is assumed of who takes part. What is random is the assignment alone, drawn again the way it was drawn: within
blocks where there were blocks, else among everyone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.results.effects import CHECKS, HYPOTHESES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

N_DRAWS = 1999
"""Number of other assignments; with the one that took place 2,000, of which 5 % are exactly 100."""

_ROUNDING = 1e-9
_HALVINGS = 50
_DOUBLINGS = 12


@dataclass(frozen=True, eq=False)
class Assignments:
    """Ways in which the arm could have fallen to ``n`` judges, ``drawn`` ``(B, n)``, and the one that was, ``(n,)``.

    With ``exact`` these are all there are, the one that was among them; else they are drawn at random beside it.
    """

    treated: Bools
    drawn: Floats
    exact: bool

    @cached_property
    def _rank(self) -> tuple[float, Floats]:
        """A number of each assignment, by which those of equal statistics are put in an order."""
        weight = np.random.default_rng(0).random(len(self.treated))
        return float(self.treated @ weight), self.drawn @ weight

    @classmethod
    def of(cls, treated: Bools, blocks: NDArray[np.int64] | None, n_draws: int, seed: int) -> Assignments:
        """Draw assignments with as many of the arm in each block; ``blocks`` ``(n,)`` is None where all are in one."""
        where = np.zeros(len(treated), dtype=np.int64) if blocks is None else blocks
        members = [np.flatnonzero(where == block) for block in np.unique(where)]
        counts = [int(treated[block].sum()) for block in members]
        if prod(comb(len(block), count) for block, count in zip(members, counts, strict=True)) <= n_draws + 1:
            choices = [list(combinations(block, count)) for block, count in zip(members, counts, strict=True)]
            every = [[judge for part in parts for judge in part] for parts in product(*choices)]
            drawn = np.zeros((len(every), len(treated)))
            for row, chosen in enumerate(every):
                drawn[row, chosen] = 1.0
            return cls(treated, drawn, exact=True)
        rng = np.random.default_rng(seed)
        drawn = np.tile(treated.astype(np.float64), (n_draws, 1))
        for block in members:
            drawn[:, block] = rng.permuted(drawn[:, block], axis=1)
        return cls(treated, drawn, exact=False)

    def of_members(self, unit: NDArray[np.int64]) -> Assignments:
        """Return the assignments of judges, each in the unit ``(n,)`` to which the arm fell."""
        return Assignments(self.treated[unit], self.drawn[:, unit], self.exact)

    def p_value(self, observed: float, others: Floats) -> float:
        """The share of assignments with a statistic at least as far from 0; unknown ones count as far.

        Shares of few answers are often equal. Counting all that are equal would make p-values too large, so they are in
        an order that depends on the assignment alone: as the assignment is random, p-values are uniform.
        """
        size, far = abs(observed), np.abs(np.where(np.isnan(others), np.inf, others))
        equal = np.isclose(far, size, rtol=_ROUNDING, atol=_ROUNDING)
        if equal.all():
            return 1.0
        own, ranks = self._rank
        counted = np.where(equal, ranks >= own - _ROUNDING, far > size)
        return float(counted.mean()) if self.exact else float((1 + counted.sum()) / (1 + len(counted)))


@dataclass(frozen=True)
class Difference:
    """Difference of an arm and the control arm, with its interval and p-value."""

    effect: float
    low: float
    high: float
    p_value: float
    note: str = ""


def compare(values: Floats, assignments: Assignments, confidence: float, bounds: tuple[float, float]) -> Difference:
    """Compare the means of two arms by Welch's t, with the assignments in the place of Student's distribution.

    ``values`` ``(n,)`` has a number of each judge. The p-value is two-sided and exact where the arm changes nobody. The
    interval holds each shift ``d`` for which the p-value of ``values - d treated`` is above ``1 - confidence``, so it
    holds 0 just where that of the values is. If the arm shifts different people differently, it is about the mean shift
    over these judges, and too wide rather than too narrow the more judges there are (Neyman).
    """
    statistic = _Shifted(values, assignments)
    effect, p_value = statistic.effect, statistic.p_value(0.0)
    if np.ptp(values) <= _ROUNDING:
        return Difference(0.0, np.nan, np.nan, 1.0, "no two of them differ")
    level = 1 - confidence
    ends = [_end(statistic.p_value, effect, side, level, float(np.ptp(values))) for side in (-1.0, 1.0)]
    if np.isinf(ends).any():
        return Difference(effect, np.nan, np.nan, p_value, "too few for an interval")
    low, high = np.clip(ends, *bounds)
    return Difference(effect, min(float(low), effect), max(float(high), effect), p_value)


class _Shifted:
    """The p-value of a shift; what depends on assignments is summed once."""

    def __init__(self, values: Floats, assignments: Assignments) -> None:
        self._assignments = assignments
        treated = assignments.treated.astype(np.float64)
        self.effect = float(values[assignments.treated].mean() - values[~assignments.treated].mean())
        columns = np.stack([values, treated, values**2, values * treated], axis=1)
        every = np.vstack([treated, assignments.drawn])
        self._within, self._all = (every @ columns).T, columns.sum(axis=0)[:, None]
        self._n, self._n_treated = len(values), treated.sum()

    def p_value(self, shift: float) -> float:
        arm = self._moments(self._within, shift, self._n_treated)
        control = self._moments(self._all - self._within, shift, self._n - self._n_treated)
        gap, variance = arm[0] - control[0], arm[1] + control[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(np.abs(gap) <= _ROUNDING, 0.0, gap / np.sqrt(variance))
        return self._assignments.p_value(float(t[0]), t[1:])

    @staticmethod
    def _moments(sums: Floats, shift: float, n: float) -> tuple[Floats, Floats]:
        """Means, and how much they vary; a single judge shows no spread, so it counts alike for every assignment."""
        values, treated, squares, products = sums
        mean = (values - shift * treated) / n
        if n < 2:
            return mean, np.zeros_like(mean)
        square = (squares - 2 * shift * products + shift**2 * treated) / n
        spread = square - mean**2
        return mean, np.where(spread > _ROUNDING * np.maximum(square, _ROUNDING), spread, 0.0) / (n - 1)


def _end(p_value: Callable[[float], float], effect: float, side: float, level: float, step: float) -> float:
    """The farthest shift on one side of the effect that is not refused; infinite where none is."""
    for doubling in range(_DOUBLINGS):
        outside = effect + side * step * 2**doubling
        if p_value(outside) <= level:
            break
    else:
        return side * np.inf
    inside = effect
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p_value(middle) > level else (inside, middle)
    return inside


def holm(p_values: Floats) -> Floats:
    """P-values for several questions at once: a wrong answer to any is as rare as each says.

    >>> holm(np.array([0.04, 0.01, 0.5])).tolist()
    [0.08, 0.03, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * (len(p_values) - np.arange(len(p_values))))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


_COLUMNS = [
    *("arm", "name", "statement", "check", "in_arm", "in_control"),
    *("effect", "low", "high", "p_value", "note"),
]


def line_of(
    arm: str, name: str, in_arm: float, in_control: float, found: Difference, *, check: bool = False
) -> dict[str, object]:
    """Return a line of a table of tests."""
    return {
        "arm": arm,
        "name": name,
        "statement": (CHECKS if check else HYPOTHESES).get(name, ""),
        "check": check,
        "in_arm": in_arm,
        "in_control": in_control,
        "effect": found.effect,
        "low": found.low,
        "high": found.high,
        "p_value": found.p_value,
        "note": found.note,
    }


def with_holm(lines: list[dict[str, object]]) -> pd.DataFrame:
    """Return the lines as a table, with p-values for all of them at once, checks apart."""
    table = pd.DataFrame(lines, columns=_COLUMNS)
    tested = ~table["check"].astype(bool) & table["p_value"].notna()
    table["p_adjusted"] = np.nan
    table.loc[tested, "p_adjusted"] = holm(table.loc[tested, "p_value"].to_numpy(dtype=np.float64))
    return table
