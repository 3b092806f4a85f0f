"""The splits that trees are grown from: thresholds, chains, folding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairwise.learning.oracles.tree_classifiers import Splits, midpoints

if TYPE_CHECKING:
    from fairwise.learning.oracles.tree_classifiers import Grown

HUGE = float(np.finfo(float).max)
TINY = 5e-324
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=1, max_size=20))
@example([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)])
@example([-HUGE, HUGE, np.nextafter(HUGE, 0.0)])
@example([0.0, TINY, 3 * TINY, 4 * TINY, -0.0])
def test_midpoints_separate_all_neighbours(values: list[float]) -> None:
    column, distinct = np.array(values), np.unique(values)
    cuts = midpoints(column)
    assert cuts.size == distinct.size - 1
    assert np.all((distinct[:-1] <= cuts) & (cuts < distinct[1:]))


def test_midpoints_are_in_the_middle() -> None:
    assert midpoints(np.array([3.0, 1.0, 1.0, 4.0])).tolist() == [2.0, 3.5]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 12))
def test_capped_midpoints_are_that_many_of_all(values: list[int], most: int) -> None:
    column = np.array(values, float)
    every, some = midpoints(column), midpoints(column, most)
    assert some.size == min(most, every.size)
    assert np.isin(some, every).all()
    assert np.all(np.diff(some) > 0)


def test_capped_midpoints_are_spread_over_the_points() -> None:
    assert midpoints(np.arange(100.0), 3).tolist() == [24.5, 49.5, 74.5]
    skewed = np.concatenate([np.linspace(0, 1, 97), [50, 60, 70]])
    assert midpoints(skewed, 3).max() < 1
    for crowd in (0, 12):
        assert np.unique(midpoints(np.array([crowd] * 90 + [*range(1, 11)], float), 4)).size == 4


def test_chains_say_which_points_are_in_which_split() -> None:
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.integers(6, size=50), rng.random(50) < 0.1, rng.random(50) < 0.9, np.ones(50)])
    splits = Splits.at(features, [midpoints(column) for column in features.T])
    inside = splits.inside(features)
    for point in range(50):
        slots = splits.slot[splits.start[point] : splits.start[point + 1]]
        held = [np.any((slots <= s) & (splits.first[slots] == splits.first[s])) for s in range(len(splits))]
        assert inside[point].tolist() == held
    for s in range(len(splits)):
        assert np.array_equal(splits.inside(features, s), inside[:, s])
    assert splits.slot.size < 0.6 * inside.shape[0] * 3, "rare values should take no slots"


@given(arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=st.integers(0, 3)))
def test_folding_keeps_each_partition_once(features: Any) -> None:
    every = Splits.at(features, [midpoints(column) for column in features.T])
    folded = every.deduplicated(features)

    def partitions(splits: Splits) -> list[bytes]:
        inside = splits.inside(features)
        return [column.tobytes() for column in (inside ^ inside[:1]).T]

    assert len(set(partitions(folded))) == len(folded)
    assert set(partitions(folded)) == set(partitions(every))


def test_of_equal_splits_the_first_column_is_kept() -> None:
    column = np.array([0.0, 1.0, 2.0])
    features = np.column_stack([np.ones(3), column, column, -10 * column, column == 1])
    every = Splits.at(features, [midpoints(values) for values in features.T])
    folded = every.deduplicated(features)
    assert folded.column.tolist() == [1, 1, 4]
    assert sorted(folded.threshold) == [0.5, 0.5, 1.5]


@pytest.mark.parametrize("depth", [3, 4])
def test_a_grown_tree_labels_as_its_splits_say(depth: int) -> None:
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.integers(5, size=60), rng.random(60) < 0.2, rng.random(60) < 0.8])
    splits = Splits.at(features, [midpoints(column) for column in features.T])
    inside = splits.inside(features)
    assert 0 < splits.above.sum() < len(splits)

    def grow(level: int) -> Grown:
        if level == 0 or rng.random() < 0.2:
            return int(rng.integers(2))
        return int(rng.integers(len(splits))), grow(level - 1), grow(level - 1)

    def label(tree: Grown, point: int) -> int:
        while not isinstance(tree, int):
            split, within, without = tree
            tree = within if inside[point, split] else without
        return tree

    for _ in range(30):
        tree = grow(3)
        labels = splits.classifier(tree, depth).labels(features)
        assert labels.tolist() == [[label(tree, point) for point in range(60)]]
