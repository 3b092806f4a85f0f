"""Equal rows become one point, and judged people find theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.learning import folding
from fairwise.learning.folding import append, fold


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
    points = fold(rows, outcome, weight, NOBODY).points
    assert sorted(map(tuple, points.rows)) == sorted(set(map(tuple, rows)))
    for row, cost, mass in zip(points.rows, points.error_cost, points.multiplicity, strict=True):
        here = (rows == row).all(axis=1)
        assert mass == pytest.approx(weight[here].sum())
        assert cost == pytest.approx((weight * (1 - 2 * outcome))[here].sum() / weight.sum())
    assert points.error_offset == pytest.approx(weight @ outcome / weight.sum())


def test_no_classifier_notices(people: tuple[Any, Any, Any]) -> None:
    rows, outcome, weight = people
    folded = fold(rows, outcome, weight, NOBODY).points
    plain = append(rows, outcome, weight, NOBODY).points
    assert len(plain.rows) == 100
    for threshold in (-0.5, 0.5, 1.5, 2.5):
        errors = [points.errors((points.rows[:, :1] > threshold).T)[0] for points in (folded, plain)]
        assert errors[0] == pytest.approx(errors[1])
        assert errors[0] == pytest.approx(weight @ ((rows[:, 0] > threshold) != outcome) / weight.sum())


@pytest.mark.parametrize("place", [fold, append])
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
    positions = fold(*people, np.array([[9.0, 9.0], [8.0, 0.0], [9.0, 9.0]])).judged
    assert positions[0] == positions[2] != positions[1]


def test_the_order_of_people_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    rows, outcome = rng.integers(3, size=(60, 2)).astype(float), rng.integers(2, size=60)
    judged = np.vstack([rows[:4], [[7.0, 7.0]]])
    order = rng.permutation(60)
    straight = fold(rows, outcome, np.ones(60), judged)
    shuffled = fold(rows[order], outcome[order], np.ones(60), judged)
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
    expected = fold(rows, outcome, weight, judged).points

    def poor_keys(table: Any) -> Any:
        return (np.zeros(len(table)) if collide == "all" else table[:, 0]).astype(np.uint64)

    monkeypatch.setattr(folding, "row_keys", poor_keys)
    placed = fold(rows, outcome, weight, judged)
    points, positions = placed.points, placed.judged
    assert len(points.rows) == len(expected.rows)
    assert np.array_equal(points.rows[positions], judged)
    by_row = dict(zip(map(tuple, expected.rows), expected.error_cost, strict=True))
    assert dict(zip(map(tuple, points.rows), points.error_cost, strict=True)) == pytest.approx(by_row)


def test_every_chunk_is_checked_for_collisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_CHUNK", 4)
    rows = np.arange(12, dtype=float)[:, None]
    assert folding._same(rows, np.arange(12))
    for wrong in (0, 5, 11):
        other = np.arange(12)
        other[wrong] = (wrong + 1) % 12
        assert not folding._same(rows, other)


def test_zeros_of_both_signs_are_one_point() -> None:
    placed = fold(np.array([[0.0], [-0.0]]), np.array([0, 1]), np.ones(2), np.empty((0, 1)))
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
