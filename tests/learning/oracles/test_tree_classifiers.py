"""Trees as arrays: labels, joining, saving, words."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.errors import InputError
from fairwise.learning.oracles import tree_classifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairwise.learning.oracles.tree_classifiers import Splits, midpoints

if TYPE_CHECKING:
    from fairwise.learning.oracles.tree_classifiers import Grown


INF = np.inf


def random_trees(rng: np.random.Generator, k: int, depth: int, columns: int = 3) -> TreeClassifiers:
    nodes = (k, 2**depth - 1)
    threshold = rng.choice([-INF, -1.0, 0.0, 0.5, 1.0, INF], size=nodes)
    return TreeClassifiers(
        rng.integers(columns, size=nodes), threshold, rng.integers(2, size=(k, 2**depth), dtype=np.uint8)
    )


def random_rows(rng: np.random.Generator, n: int, columns: int = 3) -> Any:
    return rng.choice([-INF, -2.0, -1.0, 0.0, 0.5, 0.7, 1.0, 2.0, INF, np.nan], size=(n, columns))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("n", [1, 255, 256, 700])
def test_votes_are_the_weighted_labels_to_the_last_bit(depth: int, n: int) -> None:
    rng = np.random.default_rng(n + depth)
    trees, weights, rows = random_trees(rng, 9, depth), rng.dirichlet(np.ones(9)), np.nan_to_num(random_rows(rng, n))
    expected = np.zeros(n)
    for weight, labels in zip(weights, trees.labels(rows), strict=True):
        expected += weight * labels
    wider = np.repeat(rows, 2, axis=1)[:, ::2]
    for matrix in (rows, np.asfortranarray(rows), wider):
        assert np.array_equal(trees.votes(matrix, weights), expected)
    used = trees.columns
    assert np.array_equal(trees.over(used).votes(rows[:, used], weights), expected)


def test_trees_that_never_split_need_one_column_whatever_it_holds() -> None:
    constants = TreeClassifiers.constants(2)
    assert constants.columns.tolist() == [0]
    assert constants.votes(np.full((3, 2), np.nan), np.array([0.25, 0.75])).tolist() == [0.75] * 3
    assert constants.over(constants.columns).votes(np.empty((3, 1)), np.array([0.25, 0.75])).tolist() == [0.75] * 3


def walk(trees: TreeClassifiers, tree: int, row: Any) -> int:
    node = 0
    for _ in range(trees.depth):
        goes_left = row[trees.feature[tree, node]] <= trees.threshold[tree, node]
        node = 2 * node + (1 if goes_left else 2)
    return int(trees.leaf[tree, node - trees.feature.shape[1]])


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_labels_are_those_of_a_walk_down_each_tree(depth: int) -> None:
    rng = np.random.default_rng(depth)
    trees, rows = random_trees(rng, 7, depth), random_rows(rng, 101)
    labels = trees.labels(rows)
    assert labels.dtype == np.uint8
    assert labels.tolist() == [[walk(trees, tree, row) for row in rows] for tree in range(7)]


@pytest.mark.parametrize("scratch", [1, 1000, 1 << 24])
def test_labels_do_not_depend_on_the_batch(scratch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    trees, rows = random_trees(rng, 5, 3), random_rows(rng, 333)
    whole = trees.labels(rows)
    monkeypatch.setattr(tree_classifiers, "_SCRATCH", scratch)
    order = rng.permutation(333)
    assert np.array_equal(trees.labels(rows), whole)
    assert np.array_equal(trees.labels(rows[order]), whole[:, order])
    assert np.array_equal(np.hstack([trees.labels(rows[:130]), trees.labels(rows[130:])]), whole)
    assert np.array_equal(np.vstack([trees.take(np.array([i])).labels(rows) for i in range(5)]), whole)


def test_labelling_needs_little_more_memory_than_its_result() -> None:
    rng = np.random.default_rng(0)
    trees, rows = random_trees(rng, 200, 2), rng.normal(size=(300_000, 3))
    tracemalloc.start()
    trees.labels(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 300_000 + 3 * tree_classifiers._SCRATCH


def test_nothing_to_label() -> None:
    trees = random_trees(np.random.default_rng(0), 4, 2)
    assert trees.labels(np.empty((0, 3))).shape == (4, 0)
    assert trees.take(np.array([], np.intp)).labels(np.zeros((6, 3))).shape == (0, 6)


def test_constants_ignore_their_rows() -> None:
    rows = random_rows(np.random.default_rng(0), 9)
    assert TreeClassifiers.constants(2).labels(rows).tolist() == [[0] * 9, [1] * 9]


@pytest.mark.parametrize(("one", "two"), [(2, 2), (1, 3), (4, 2)])
def test_joined_trees_keep_their_labels_at_the_deeper_depth(one: int, two: int) -> None:
    rng = np.random.default_rng(0)
    first, second, rows = random_trees(rng, 3, one), random_trees(rng, 4, two), random_rows(rng, 80)
    joined = first.joined(second)
    assert (len(joined), joined.depth) == (7, max(one, two))
    assert np.array_equal(joined.labels(rows), np.vstack([first.labels(rows), second.labels(rows)]))


def test_taken_and_restored_trees_are_the_same() -> None:
    rng = np.random.default_rng(0)
    trees: Classifiers = random_trees(rng, 6, 3)
    rows, which = random_rows(rng, 50), np.array([4, 0, 4])
    restored = type(trees)(**trees.state())
    assert np.array_equal(restored.labels(rows), trees.labels(rows))
    assert np.array_equal(restored.take(which).labels(rows), trees.labels(rows)[which])


def test_trees_can_be_indexed_and_iterated() -> None:
    rng = np.random.default_rng(0)
    trees, rows = random_trees(rng, 6, 3), random_rows(rng, 50)
    assert np.array_equal(np.vstack([tree.labels(rows) for tree in trees]), trees.labels(rows))
    assert np.array_equal(trees[-1].labels(rows), trees.labels(rows)[5:])
    assert len(trees[2]) == 1
    assert np.array_equal(trees[1:3].labels(rows), trees.labels(rows)[1:3])
    with pytest.raises(IndexError):
        trees[6]


def test_a_tree_in_words() -> None:
    trees = TreeClassifiers(
        np.array([[1, 0, 0], [0, 0, 0]]),
        np.array([[3.5, INF, 21.0], [1.0, 2.0, 3.0]]),
        np.array([[0, 1, 1, 0], [1] * 4], np.uint8),
    )
    assert trees.describe(0, ["age", "priors"]).split("\n") == [
        "if priors <= 3.5:",
        "    predict 0",
        "else:",
        "    if age <= 21.0:",
        "        predict 1",
        "    else:",
        "        predict 0",
    ]
    assert trees.describe(0).startswith("if column 1 <= 3.5:")
    assert trees.describe(1) == "predict 1"


@pytest.mark.parametrize(
    ("feature", "threshold", "leaf"),
    [
        ([[0, 0]], [[1.0, 1.0]], [[0, 1, 0]]),
        ([[0]], [[1.0]], [[0, 1, 0, 1]]),
        ([[0, 0, 0]], [[1.0]], [[0, 1, 0, 1]]),
        ([[]], [[]], [[0]]),
        ([0], [1.0], [0, 1]),
        ([[-1]], [[1.0]], [[0, 1]]),
        ([[0]], [[np.nan]], [[0, 1]]),
        ([[0]], [[1.0]], [[0, -1]]),
    ],
)
def test_arrays_that_are_no_trees_are_refused(feature: Any, threshold: Any, leaf: Any) -> None:
    with pytest.raises(InputError, match="tree"):
        TreeClassifiers(np.array(feature), np.array(threshold), np.array(leaf))


def test_rows_without_the_columns_are_refused() -> None:
    trees = TreeClassifiers(np.array([[4]]), np.array([[1.0]]), np.array([[0, 1]], np.uint8))
    for rows in (np.zeros((3, 4)), np.zeros(5)):
        with pytest.raises(InputError, match="at least 5 columns"):
            trees.labels(rows)


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
        labels = splits.classifiers([tree], depth).labels(features)
        assert labels.tolist() == [[label(tree, point) for point in range(60)]]
