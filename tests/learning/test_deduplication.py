"""Equal rows become one point, and nothing is lost; keys depend on nothing but the content of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from fairwise.learning import deduplication
from fairwise.learning.deduplication import append, column_order, merge_equal, row_keys, uniforms


@pytest.fixture
def people() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return (
        rng.integers(3, size=(100, 2)).astype(float),
        rng.integers(2, size=100),
        rng.choice([0.5, 1.0, 2.0], size=100),
    )


NOBODY = np.empty((0, 2))


def test_each_distinct_row_is_one_point_with_the_costs_of_all_its_people(people: tuple[Any, Any, Any]) -> None:
    rows, outcome, weight = people
    points = merge_equal(rows, outcome, weight, NOBODY).points
    assert sorted(map(tuple, points.rows)) == sorted(set(map(tuple, rows)))
    for row, cost, mass in zip(points.rows, points.error_cost, points.multiplicity, strict=True):
        here = (rows == row).all(axis=1)
        assert mass == pytest.approx(weight[here].sum())
        assert cost == pytest.approx((weight * (1 - 2 * outcome))[here].sum() / weight.sum())
    assert points.error_offset == pytest.approx(weight @ outcome / weight.sum())


def test_no_classifier_notices(people: tuple[Any, Any, Any]) -> None:
    rows, outcome, weight = people
    folded = merge_equal(rows, outcome, weight, NOBODY).points
    plain = append(rows, outcome, weight, NOBODY).points
    assert len(plain.rows) == 100
    for threshold in (-0.5, 0.5, 1.5, 2.5):
        errors = [points.errors((points.rows[:, :1] > threshold).T)[0] for points in (folded, plain)]
        assert errors[0] == pytest.approx(errors[1])
        assert errors[0] == pytest.approx(weight @ ((rows[:, 0] > threshold) != outcome) / weight.sum())


@pytest.mark.parametrize("place", [merge_equal, append])
def test_judged_people_find_their_point_inside_and_outside(people: tuple[Any, Any, Any], place: Any) -> None:
    rows, outcome, weight = people
    judged = np.array([rows[7], [9.0, 9.0], rows[3], [9.0, 9.0], [8.0, 0.0]])
    placed = place(rows, outcome, weight, judged)
    assert np.array_equal(placed.points.rows[placed.judged], judged)
    assert np.array_equal(placed.points.rows[placed.people], rows)
    outside = placed.judged[[1, 3, 4]]
    assert placed.points.error_cost[outside].tolist() == [0.0] * 3
    assert (placed.points.multiplicity[outside] > 0).all()
    # Nobody's error changes because somebody else was judged.
    alone = place(rows, outcome, weight, NOBODY).points
    found = placed.points.errors((placed.points.rows[:, :1] > 0.5).T)
    assert found == pytest.approx(alone.errors((alone.rows[:, :1] > 0.5).T))


def test_judged_people_who_are_alike_share_a_point(people: tuple[Any, Any, Any]) -> None:
    positions = merge_equal(*people, np.array([[9.0, 9.0], [8.0, 0.0], [9.0, 9.0]])).judged
    assert positions[0] == positions[2] != positions[1]


def test_the_order_of_people_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    rows, outcome = rng.integers(3, size=(60, 2)).astype(float), rng.integers(2, size=60)
    judged = np.vstack([rows[:4], [[7.0, 7.0]]])
    order = rng.permutation(60)
    straight = merge_equal(rows, outcome, np.ones(60), judged)
    shuffled = merge_equal(rows[order], outcome[order], np.ones(60), judged)
    for name in ("rows", "error_cost", "error_offset", "multiplicity"):
        assert np.array_equal(getattr(straight.points, name), getattr(shuffled.points, name))
    assert np.array_equal(straight.judged, shuffled.judged)
    assert np.array_equal(straight.people[order], shuffled.people)


@pytest.mark.parametrize("collide", ["all", "some"])
def test_rows_with_one_key_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, people: tuple[Any, Any, Any], collide: str
) -> None:
    rows, outcome, weight = people
    judged = np.array([rows[0], [5.0, 5.0]])
    expected = merge_equal(rows, outcome, weight, judged).points

    def poor_keys(table: Any, **_: Any) -> Any:
        return (np.zeros(len(table)) if collide == "all" else table[:, 0]).astype(np.uint64)

    monkeypatch.setattr(deduplication, "row_keys", poor_keys)
    placed = merge_equal(rows, outcome, weight, judged)
    points, positions = placed.points, placed.judged
    assert len(points.rows) == len(expected.rows)
    assert np.array_equal(points.rows[positions], judged)
    by_row = dict(zip(map(tuple, expected.rows), expected.error_cost, strict=True))
    assert dict(zip(map(tuple, points.rows), points.error_cost, strict=True)) == pytest.approx(by_row)


def test_every_chunk_is_checked_for_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplication, "_CHUNK", 4)
    rows = np.arange(12, dtype=float)[:, None]
    assert deduplication._same(rows, np.arange(12))
    for wrong in (0, 5, 11):
        other = np.arange(12)
        other[wrong] = (wrong + 1) % 12
        assert not deduplication._same(rows, other)


def test_zeros_of_both_signs_are_one_point() -> None:
    placed = merge_equal(np.array([[0.0], [-0.0]]), np.array([0, 1]), np.ones(2), np.empty((0, 1)))
    assert len(placed.points.rows) == 1


def test_appended_people_keep_their_table_and_order() -> None:
    table = pd.DataFrame({"x": [3.0, 1.0, 3.0], "g": ["a", None, "a"]}, index=["p", "q", "r"])
    judged = pd.DataFrame({"x": [1.0, 3.0, 3.0], "g": [None, "a", "b"]}, index=["q", "r", "z"])
    placed = append(table, np.array([0, 1, 1]), np.ones(3), judged)
    points, positions = placed.points, placed.judged
    assert isinstance(points.rows, pd.DataFrame)
    assert points.rows.index.tolist() == ["p", "q", "r", "z"]
    assert positions.tolist() == [1, 0, 3]  # the first equal training row; a row of their own where there is none
    assert points.error_cost == pytest.approx([1 / 3, -1 / 3, -1 / 3, 0.0])


matrices = st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=20).map(np.array)


@examples(60)
@given(matrices, st.integers(0, 2**31), st.randoms())
def test_keys_are_the_same_in_any_batch_and_order(rows: Any, seed: int, random: Any) -> None:
    keys = row_keys(rows, seed)
    order = list(range(len(rows)))
    random.shuffle(order)
    assert np.array_equal(row_keys(rows[order], seed), keys[order])
    assert [int(row_keys(rows[i : i + 1], seed)[0]) for i in range(len(rows))] == keys.tolist()
    assert np.array_equal(row_keys(np.asfortranarray(rows), seed), keys)


@examples(60)
@given(matrices)
def test_equal_rows_have_equal_keys_and_other_rows_others(rows: Any) -> None:
    twice = np.concatenate([rows, rows])
    keys = row_keys(twice)
    assert np.array_equal(keys[: len(rows)], keys[len(rows) :])
    distinct = {tuple("nan" if np.isnan(x) else x for x in row) for row in rows}
    assert len(set(keys.tolist())) == len(distinct)


def test_zero_has_no_sign_and_nan_no_kind() -> None:
    assert row_keys(np.array([[0.0]])) == row_keys(np.array([[-0.0]]))
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(float)
    keys = row_keys(np.array([[np.nan], *other_nan[:, None]]))
    assert len(set(keys.tolist())) == 1


def test_columns_are_not_interchangeable() -> None:
    assert row_keys(np.array([[1.0, 2.0]])) != row_keys(np.array([[2.0, 1.0]]))
    assert row_keys(np.array([[0.0]])) != row_keys(np.array([[0.0, 0.0]]))


def test_another_seed_gives_other_keys() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 2))
    assert not np.any(row_keys(rows, 1) == row_keys(rows, 2))


def test_tables_with_text_have_keys_too() -> None:
    table = pd.DataFrame({"x": [1, 1, 2, 1], "g": ["a", "a", "a", None], "c": pd.Categorical(["u", "u", "u", "u"])})
    keys = row_keys(table)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3
    assert np.array_equal(row_keys(table.iloc[[3, 1]]), keys[[3, 1]])
    assert np.array_equal(row_keys(table.astype({"g": object, "x": float})), keys)


def test_a_missing_text_is_neither_empty_nor_the_word() -> None:
    table = pd.DataFrame({"g": ["", None, "None", "nan"]}, dtype=object)
    assert len(set(row_keys(table).tolist())) == 4


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_uniforms_are_uniform(seed: int) -> None:
    """Kolmogorov-Smirnov distance below what one in ten thousand samples exceeds; rows differ as little as can be."""
    n = 20_000
    for rows in (np.arange(n, dtype=float)[:, None], np.random.default_rng(seed).normal(size=(n, 3))):
        drawn = np.sort(uniforms(row_keys(rows, seed)))
        assert drawn[0] >= 0.0
        assert drawn[-1] < 1.0
        distance = np.abs(drawn - (np.arange(n) + 0.5) / n).max()
        assert distance < 2.23 / np.sqrt(n)


def test_draws_of_two_seeds_have_nothing_to_do_with_each_other() -> None:
    rows = np.arange(20_000, dtype=float)[:, None]
    one, two = uniforms(row_keys(rows, 1)), uniforms(row_keys(rows, 2))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.03


def test_uniforms_reach_from_zero_to_just_below_one() -> None:
    ends = uniforms(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert ends[0] == 0.0
    assert ends[1] == 1.0 - 2.0**-53


@pytest.mark.parametrize("seed", range(20))
def test_columns_have_an_order_of_their_own(seed: int) -> None:
    """Whatever the order of columns and people; those that are the same for everyone are left out."""
    rng = np.random.default_rng(seed)
    rows, outcome = rng.integers(2, size=(12, 4)).astype(float), rng.integers(2, size=8)
    rows[0], rows[1] = 0.0, [1.0, 1.0, 1.0, 0.0]
    rows[8] = [0.0, 1.0, 0.0, 1.0]  # a judged person
    people, columns = rng.permutation(8), rng.permutation(5)
    other = np.column_stack([rows, np.full(12, 3.0)])[[*people, *range(8, 12)]][:, columns]
    placed = merge_equal(rows[:8], outcome, np.ones(8), rows[8:])
    again = merge_equal(other[:8], outcome[people], np.ones(8), other[8:])
    twice = merge_equal(np.tile(other[:8], (2, 1)), np.tile(outcome[people], 2), np.full(16, 0.3), other[8:])
    one = placed.points
    for two in (again.points, twice.points):
        assert np.array_equal(one.rows[:, one.column_order], two.rows[:, two.column_order])
        assert one.error_cost == pytest.approx(two.error_cost, abs=1e-15)
    assert np.array_equal(placed.people[people], again.people)
    assert np.array_equal(placed.judged, again.judged)


def test_of_columns_that_are_all_the_same_one_is_left() -> None:
    keys = np.zeros(3, dtype=np.uint64)
    columns, n_own = column_order(np.ones((3, 2)), np.ones(3, dtype=bool), keys, keys)
    assert (columns.tolist(), n_own) == ([0], 0)
