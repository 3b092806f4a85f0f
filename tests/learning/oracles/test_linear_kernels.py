"""The compiled loops: sorting like numpy, labels that do not depend on the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.learning.oracles import descent_kernels, linear, linear_kernels
from fairwise.learning.oracles.linear import LinearClassifiers

SPECIAL = [np.inf, -np.inf, 0.0, 5e-324, -5e-324, 2.2e-308, -2.2e-308, 1.0, -1.0, 1e300, -1e300]


def sorted_positions(values: Any) -> list[int]:
    order, spare = np.empty(len(values), dtype=np.int64), np.empty((2, len(values)), dtype=np.uint64)
    descent_kernels.sorted_order(values, order, spare)
    return [int(position) for position in order]


@examples(200)
@given(st.lists(st.one_of(st.sampled_from(SPECIAL), st.floats(allow_nan=False)), min_size=1, max_size=60))
@example([np.inf, -np.inf, np.inf, 1e308])
@example([3.0])
def test_order_is_that_of_a_stable_argsort(values: list[float]) -> None:
    array = np.array(values) + 0.0  # zeros of one sign; those of two have a test of their own
    assert sorted_positions(array) == np.argsort(array, kind="stable").tolist()


def test_zeros_of_either_sign_are_ties() -> None:
    for values in ([0.0, -0.0], [-0.0, 0.0, -5e-324, 5e-324, -0.0], [1.0, 0.0, -0.0, 0.0, -1.0]):
        assert sorted_positions(np.array(values)) == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("size", [1, 2, 2047, 5000])
def test_order_of_many_numbers(size: int) -> None:
    rng = np.random.default_rng(size)
    for values in (rng.normal(size=size), np.round(rng.normal(size=size), 1) + 1.0, np.full(size, 7.0)):
        assert sorted_positions(values) == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("size", [3, 50, 3000])
def test_numbers_that_hardly_differ_are_ordered_too(size: int) -> None:
    """Few or many of them equal in their upper bits, in order, shuffled or the wrong way round."""
    rng = np.random.default_rng(size)
    step = np.arange(size) * np.finfo(float).eps
    for values in (1.0 + step, 1.0 + step[::-1], 1.0 + rng.permutation(step), rng.normal(size=size) + step[::-1]):
        assert sorted_positions(values) == np.argsort(values, kind="stable").tolist()
        assert sorted_positions(-values) == np.argsort(-values, kind="stable").tolist()
    mostly = np.sort(rng.normal(size=size))
    mostly[rng.integers(size)] = 0.0
    assert sorted_positions(mostly) == np.argsort(mostly, kind="stable").tolist()


def test_columns_with_one_level_are_recognised() -> None:
    columns = np.array([[0.0, 1, 1], [0, -2, 0], [0, 0, 0], [1, 2, 0], [3, 3, 3], [1, -1, 1]])
    assert descent_kernels.single_levels(columns).tolist() == [1.0, -2.0, 0.0, 0.0, 3.0, 0.0]


def test_only_the_part_in_use_is_ordered() -> None:
    order, spare = np.full(5, -1, dtype=np.int64), np.empty((2, 5), dtype=np.uint64)
    descent_kernels.sorted_order(np.array([2.0, 1.0, 3.0]), order, spare)
    assert order.tolist() == [1, 0, 2, -1, -1]


@pytest.fixture
def on_the_edge() -> tuple[Any, LinearClassifiers]:
    """People and classifiers that give many of them a score of nothing but rounding."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90, 7))
    rows[rng.random(rows.shape) < 0.3] = 0.0
    coef = rng.normal(size=(300, 7)) * 10.0 ** rng.integers(-3, 4, size=(300, 1))
    intercept = -(coef * rows[rng.integers(90, size=300)]).sum(axis=1)
    return rows, LinearClassifiers(coef, intercept)


def test_labels_do_not_depend_on_the_batch(on_the_edge: tuple[Any, LinearClassifiers]) -> None:
    rows, classifiers = on_the_edge
    whole = classifiers.labels(rows)
    assert 0 < whole.mean() < 1
    rng = np.random.default_rng(1)
    for _ in range(5):
        order = rng.permutation(len(rows))
        assert np.array_equal(classifiers.labels(rows[order]), whole[:, order])
        start, stop = sorted(rng.integers(len(rows) + 1, size=2))
        assert np.array_equal(classifiers.labels(rows[start:stop]), whole[:, start:stop])
        some = rng.integers(len(classifiers), size=40)
        assert np.array_equal(classifiers.take(some).labels(rows), whole[some])
    assert np.array_equal(np.hstack([classifiers.labels(rows[i : i + 1]) for i in range(len(rows))]), whole)


def test_labels_do_not_depend_on_how_memory_is_laid_out(on_the_edge: tuple[Any, LinearClassifiers]) -> None:
    rows, classifiers = on_the_edge
    whole = classifiers.labels(rows)
    assert np.array_equal(classifiers.labels(np.asfortranarray(rows)), whole)
    assert np.array_equal(classifiers.labels(np.repeat(rows, 2, axis=0)[::2]), whole)


def test_total_costs_are_those_of_the_labels(on_the_edge: tuple[Any, LinearClassifiers]) -> None:
    """With whole costs both sums are exact, so a single label that differs would show."""
    rows, classifiers = on_the_edge
    cost = np.random.default_rng(2).integers(-8, 9, size=len(rows)).astype(float)
    assert np.array_equal(classifiers.total_costs(rows, cost), classifiers.labels(rows) @ cost)


def test_labels_are_thresholds_of_the_score() -> None:
    rng = np.random.default_rng(3)
    rows, classifiers = rng.normal(size=(50, 3)), LinearClassifiers(rng.normal(size=(20, 3)), rng.normal(size=20))
    expected = (classifiers.coef @ rows.T + classifiers.intercept[:, None] > 0).astype(np.uint8)
    assert np.array_equal(classifiers.labels(rows), expected)
    assert classifiers.labels(rows).dtype == np.uint8


def test_a_score_of_zero_is_label_0() -> None:
    assert LinearClassifiers(np.zeros((1, 2)), np.zeros(1)).labels(np.ones((1, 2))).tolist() == [[0]]


def test_constants_say_0_and_1_to_everyone() -> None:
    constants = LinearClassifiers.constants(3)
    rows = np.random.default_rng(0).normal(size=(10, 3)) * 1e6
    assert constants.labels(rows).tolist() == [[0] * 10, [1] * 10]


def test_a_collection_is_taken_apart_and_put_together() -> None:
    rng = np.random.default_rng(4)
    both = LinearClassifiers(rng.normal(size=(5, 2)), rng.normal(size=5))
    again = both.take(np.array([0, 1])).joined(both.take(np.array([2, 3, 4])))
    assert np.array_equal(again.coef, both.coef)
    assert np.array_equal(again.intercept, both.intercept)
    assert len(both.take(np.empty(0, dtype=np.intp))) == 0
    rebuilt = LinearClassifiers(**both.state())
    assert np.array_equal(rebuilt.coef, both.coef)
    assert np.array_equal(rebuilt.intercept, both.intercept)


def exact_labels(rows: Any, coef: Any, intercept: Any) -> Any:
    labels = np.empty((len(rows), len(intercept)), dtype=np.uint8)
    linear_kernels.exact(rows, np.ascontiguousarray(coef.T), intercept, None, labels)
    return labels


def near_ties(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, Any, Any]:
    """Classifiers that pass through one of the rows, up to the last bits."""
    rows = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-3, 4, size=d)
    rows[rng.random(size=(n, d)) < 0.3] = 0.0
    coef = rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-12, 3, size=(k, 1))
    through = rows[rng.integers(n, size=k)]
    intercept = -(coef * through).sum(axis=1) * (1 + rng.integers(-2, 3, size=k) * 2.0**-52)
    return rows, coef, intercept


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 40), st.integers(1, 300))
def test_labels_are_exact_near_and_on_the_boundary(seed: int, n: int, d: int, k: int) -> None:
    rows, coef, intercept = near_ties(np.random.default_rng(seed), n, d, k)
    assert np.array_equal(linear.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_the_boundary_is_where_single_precision_fails() -> None:
    """The test above would pass for nothing if plain single precision got these right too."""
    rows, coef, intercept = near_ties(np.random.default_rng(0), 300, 20, 300)
    single = rows.astype(np.float32) @ coef.T.astype(np.float32) + intercept.astype(np.float32) > 0
    assert (single != exact_labels(rows, coef, intercept)).any()


def test_sums_by_cell_add_the_rows_in_order() -> None:
    rng = np.random.default_rng(1)
    rows, coef, intercept = near_ties(rng, 500, 7, 300)
    cell, value = rng.integers(3, size=500), rng.normal(size=500)
    labels = exact_labels(rows, coef, intercept)
    expected = np.zeros((3, 300))
    for p in range(500):
        expected[cell[p]] += value[p] * labels[p]
    assert np.array_equal(linear.cell_totals(rows, coef, intercept, cell, value, 3), expected)
    counts = linear.cell_totals(rows, coef, intercept, cell, np.ones(500, dtype=np.int32), 3)
    assert counts.dtype == np.int32
    assert np.array_equal(counts, [labels[cell == c].sum(axis=0) for c in range(3)])


@pytest.mark.parametrize("large", [1e16, 1e40, 1e300])
def test_numbers_beyond_single_precision(large: float) -> None:
    rng = np.random.default_rng(2)
    rows, coef, intercept = near_ties(rng, 60, 4, 50)
    rows[::7, 1] = large
    rows[3, 2] = -large
    assert np.array_equal(linear.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_classifiers_that_are_zero_or_tiny() -> None:
    rows = np.random.default_rng(3).normal(size=(20, 3))
    coef, intercept = np.zeros((20, 3)), np.zeros(20)
    coef[1], intercept[2], coef[3, 0], coef[4] = 1e-310, 5e-324, -1e-300, [1.0, 1e-60, -1e-60]
    assert np.array_equal(linear.labels_of_many(rows, coef, intercept), exact_labels(rows, coef, intercept))


def test_few_and_many_classifiers_agree() -> None:
    rows, coef, intercept = near_ties(np.random.default_rng(4), 200, 5, 40)
    cost = np.random.default_rng(5).normal(size=200)
    many = LinearClassifiers(coef, intercept)
    one_by_one = [many.take(np.array([t])) for t in range(40)]
    assert np.array_equal(many.labels(rows), np.concatenate([one.labels(rows) for one in one_by_one]))
    costs = np.concatenate([one.total_costs(rows, cost) for one in one_by_one])
    assert np.array_equal(many.total_costs(rows, cost), costs)


@pytest.mark.parametrize("caution", [None, 1.0])
def test_a_sparse_column_is_searched_as_any_other(monkeypatch: pytest.MonkeyPatch, caution: float | None) -> None:
    """Costs in whole numbers make every sum exact, in any order."""
    monkeypatch.setattr(descent_kernels, "_MANY", 0)
    sizes = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 400))
        kinds = [rng.normal(size=n), *(rng.random(n) < share for share in (0.02, 0.1, 0.2, 0.5)), np.zeros(n)]
        rows = np.stack([*kinds, rng.normal(size=n) * (rng.random(n) < 0.15)], axis=1).astype(float)
        cost = rng.integers(-3, 4, size=n).astype(float)
        found = []
        for share in (0.25, 0.0):
            monkeypatch.setattr(descent_kernels, "_SPARSE", share)
            table, coef = descent_kernels.Columns.of(rows), np.ones(rows.shape[1])
            intercept = descent_kernels.descend(table, cost, coef, 0.1, 30, 0.0, caution)
            found.append([intercept, *coef])
            sizes.add(len(table.members) > 0)
        assert found[0] == found[1]
    assert sizes == {True, False}
