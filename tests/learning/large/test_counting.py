"""Counts of labels are those of labels one by one, however near a boundary people are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.learning.large.counting import LabelCounter
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.oracles.linear import LinearClassifiers


def _gram(rows: FloatArray) -> FloatArray:
    z = np.column_stack([np.ones(len(rows)), rows])
    return np.asarray(z.T @ z)


def _rounds(rng: np.random.Generator, d: int, k: int) -> LinearClassifiers:
    """Like those of a game: near a line, on either side of 0, of very different sizes."""
    beta = rng.normal(size=1 + d) * np.sign(rng.normal(size=(k, 1))) + 0.03 * rng.normal(size=(k, 1 + d))
    beta *= 10.0 ** rng.uniform(-9, 3, size=(k, 1))
    return LinearClassifiers(np.ascontiguousarray(beta[:, 1:]), beta[:, 0].copy())


def _check(rows: FloatArray, classifiers: LinearClassifiers, gram: FloatArray | None = None) -> LabelCounter:
    n_cells = 3
    cell = np.random.default_rng(1).integers(n_cells, size=len(rows))
    counter = LabelCounter.of(classifiers, _gram(rows) if gram is None else gram)
    pieces = [(np.ascontiguousarray(rows[some].T), cell[some]) for some in np.array_split(np.arange(len(rows)), 2)]
    people, ones = counter.counts(pieces, n_cells)
    assert np.array_equal(people, np.bincount(cell, minlength=n_cells))
    labels = classifiers.labels(rows)
    assert np.array_equal(ones, [labels[:, cell == c].sum(axis=1) for c in range(n_cells)])
    return counter


@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 1500), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_labels(d: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _check(rng.normal(3.0, 1.0, size=(n, d)), _rounds(rng, d, k))


def test_people_on_a_boundary() -> None:
    """Sums that are 0 or hardly differ from it: single precision alone would decide them by chance."""
    rng = np.random.default_rng(0)
    classifiers = _rounds(rng, 4, 40)
    rows = rng.normal(2.0, 1.0, size=(5000, 4))
    of = rng.integers(40, size=len(rows))
    to_zero = (classifiers.intercept[of] + (rows * classifiers.coef[of]).sum(axis=1)) / classifiers.coef[of, 0]
    rows[:, 0] -= to_zero * (1.0 + rng.choice([0.0, 1e-15, -1e-12, 1e-8], size=len(rows)))
    _check(rows, classifiers)


def test_whole_numbers_and_ties() -> None:
    rng = np.random.default_rng(0)
    coef = rng.integers(-2, 3, size=(50, 3)).astype(float)
    _check(
        rng.integers(0, 4, size=(3000, 3)).astype(float), LinearClassifiers(coef, rng.integers(-3, 4, 50).astype(float))
    )


def test_numbers_beyond_single_precision_do_not_hide_the_others() -> None:
    rows = np.array([[1e39, 1e37], [1.0, 1.0], [2.0, -1.0]])
    _check(rows, LinearClassifiers(np.array([[-0.5, 0.86]]), np.zeros(1)), np.diag([3.0, 3.0, 3.0]))


@pytest.mark.parametrize("known", [True, False])
def test_what_cannot_be_measured_is_asked_exactly(*, known: bool) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 3))
    rows[:, 2] = 7.0  # no spread
    gram = _gram(rows) if known else np.full((4, 4), np.inf)
    rows[::7, 0] = 1e200
    rows[::11, 1] = -1e-300
    classifiers = _rounds(rng, 3, 20)
    coef = np.concatenate([classifiers.coef, np.zeros((3, 3)), [[0.0, 0.0, 1.0]], [[1e-320, 0.0, 0.0]], [[1e300] * 3]])
    intercept = np.concatenate([classifiers.intercept, [0.0, 1.0, -1.0, -7.0, 0.0, 1e300]])
    _check(rows, LinearClassifiers(coef, intercept), gram)


def test_rounds_that_agree_are_asked_together() -> None:
    rng = np.random.default_rng(0)
    beta = rng.normal(size=6) * rng.choice([-1.0, 1.0], size=(300, 1)) + 1e-6 * rng.normal(size=(300, 6))
    counter = _check(rng.normal(size=(2000, 5)), LinearClassifiers(beta[:, 1:].copy(), beta[:, 0].copy()))
    assert len(counter.groups.centres) == 1


@pytest.mark.parametrize("scale", [1.0, 1e-3, 0.3])
def test_every_member_is_within_its_groups_reach(scale: float) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=7) + scale * rng.normal(size=(400, 7))
    rows = rng.normal(size=(50, 6))
    counter = LabelCounter.of(LinearClassifiers(points[:, 1:].copy(), points[:, 0].copy()), _gram(rows))
    groups = counter.groups
    assert sorted(counter.order) == list(range(400))
    group = np.repeat(np.arange(len(groups.centres)), np.diff(groups.starts))
    far = np.sqrt(((groups.members.astype(float) - groups.centres[group]) ** 2).sum(axis=1))
    assert (far < groups.within[group]).all()


def test_groups_are_found_among_very_many_equal_ones() -> None:
    same = LinearClassifiers(np.ones((5000, 2)), np.zeros(5000))
    counter = LabelCounter.of(same, _gram(np.random.default_rng(0).normal(size=(9, 2))))
    assert len(counter.groups.centres) == 1
