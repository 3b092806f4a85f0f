"""P-values and intervals from other assignments: against enumeration, and against what they promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kstest, permutation_test

from fairwise.auditing.randomisation import Assignments, compare, holm


def _assignments(n_treated: int, n_control: int, n_draws: int = 1999, blocks: object = None) -> Assignments:
    treated = np.arange(n_treated + n_control) < n_treated
    return Assignments.of(treated, blocks, n_draws, 0)  # type: ignore[arg-type]


def test_few_assignments_are_all_looked_at_once() -> None:
    found = _assignments(3, 4)
    assert found.exact
    rows = {tuple(np.flatnonzero(row).tolist()) for row in found.drawn}
    assert rows == {tuple(chosen) for chosen in combinations(range(7), 3)}
    assert len(found.drawn) == 35


def test_blocks_keep_their_numbers_in_every_assignment() -> None:
    blocks = np.repeat(np.arange(10), 4)
    treated = np.tile([True, True, False, False], 10)
    treated[:3] = [True, False, False]
    for n_draws in (199, 1999):
        drawn = Assignments.of(treated, blocks, n_draws, 0).drawn
        counts = np.array([drawn[:, blocks == block].sum(axis=1) for block in range(10)])
        assert (counts == [[treated[blocks == block].sum()] for block in range(10)]).all()
        assert len(np.unique(drawn, axis=0)) > n_draws // 2


def test_without_ties_it_is_the_permutation_test_of_others() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=11)
    found = compare(values, _assignments(5, 6), 0.95, (-9, 9))

    def welch(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        spread = x.var(axis=axis, ddof=1) / x.shape[axis] + y.var(axis=axis, ddof=1) / y.shape[axis]
        return np.asarray(np.abs((x.mean(axis=axis) - y.mean(axis=axis)) / np.sqrt(spread)))

    theirs = permutation_test((values[:5], values[5:]), welch, alternative="greater", vectorized=True, n_resamples=9999)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.effect == pytest.approx(values[:5].mean() - values[5:].mean())


@pytest.mark.parametrize("shift", [0.0, 0.3, 5.0])
def test_an_interval_holds_the_shifts_that_are_not_refused(shift: float) -> None:
    rng = np.random.default_rng(1)
    assignments = _assignments(12, 9)
    values = rng.normal(size=21) + shift * assignments.treated
    found = compare(values, assignments, 0.9, (-99, 99))
    for end, inwards in ((found.low, 1e-4), (found.high, -1e-4)):
        inside, outside = (
            compare(values - (end + step) * assignments.treated, assignments, 0.9, (-99, 99)).p_value
            for step in (inwards, -inwards)
        )
        assert outside <= 0.1 < inside
    assert found.low < found.effect < found.high
    assert (found.p_value <= 0.1) == (not found.low <= 0 <= found.high)


def test_p_values_are_uniform_although_most_values_are_equal() -> None:
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(1500):
        treated = rng.permutation(np.arange(24) < 12)
        values = rng.binomial(5, 0.1, 24) / 5
        p_values.append(compare(values, Assignments.of(treated, None, 99, 0), 0.95, (-1, 1)).p_value)
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert 0.035 <= np.mean(np.array(p_values) <= 0.05) <= 0.065


def test_what_cannot_be_said_is_not() -> None:
    alike = compare(np.full(8, 0.2), _assignments(4, 4), 0.95, (-1, 1))
    assert (alike.effect, alike.p_value, alike.note) == (0.0, 1.0, "no two of them differ")
    few = compare(np.array([0.0, 1.0, 0.5]), _assignments(1, 2), 0.95, (-1, 1))
    assert np.isnan([few.low, few.high]).all()
    assert few.note == "too few for an interval"
    assert few.p_value >= 1 / 3


def test_unknown_statistics_count_as_far() -> None:
    assignments = _assignments(3, 4)
    assert assignments.p_value(1.0, np.full(35, np.nan)) == 1.0


def test_holm_is_at_least_each_and_at_most_bonferroni() -> None:
    p_values = np.random.default_rng(3).random(9) ** 3
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(9 * p_values, 1)).all()
    assert adjusted.min() == pytest.approx(9 * p_values.min())
    assert (np.argsort(adjusted, kind="stable")[0]) == p_values.argmin()
