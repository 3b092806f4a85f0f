"""The tree oracle against brute force, matrix products and itself."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.errors import InputError
from fairwise.learning.oracles import tree
from fairwise.learning.oracles.base import by_label, total_costs
from fairwise.learning.oracles.tree import TreeOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, Oracle


def all_sides(features: FloatArray) -> Any:
    """Every cut of every column at every value, straight from the definition: ``(P, S)``."""
    return np.hstack([column[:, None] <= np.unique(column)[:-1] for column in features.T])


def least_cost(sides: Any, cost: FloatArray, depth: int) -> float:
    """The least cost of a tree, by trying every split at every node."""
    best = min(0.0, float(cost.sum()))
    if depth:
        for side in sides.T:
            both = [least_cost(sides, np.where(keep, cost, 0.0), depth - 1) for keep in (side, ~side)]
            best = min(best, sum(both))
    return best


def least_of_labels(sides: Any, costs: FloatArray, depth: int) -> float:
    """The same for costs ``(P, k)`` of every label, the first of which costs nothing."""
    best = float(costs.sum(axis=0).min())
    if depth:
        for side in sides.T:
            both = [least_of_labels(sides, costs * keep[:, None], depth - 1) for keep in (side, ~side)]
            best = min(best, sum(both))
    return best


def least_by_products(sides: Any, cost: FloatArray, depth: int) -> float:
    """The least cost of a tree of depth 2 or 3, from ``B' diag(cost) B``."""
    if depth == 3:
        parts = [(np.where(side, cost, 0.0), np.where(side, 0.0, cost)) for side in sides.T]
        return min(least_by_products(sides, one, 2) + least_by_products(sides, two, 2) for one, two in parts)
    total, b = cost.sum(), sides.astype(float)
    shared = b.T @ (cost[:, None] * b)
    own = np.diag(shared)

    def negative(leaf: Any) -> Any:
        return np.minimum(leaf, 0.0)

    inside = negative(shared) + negative(own[:, None] - shared)
    outside = negative(own - shared) + negative(total - own[:, None] - own + shared)
    return float((inside.min(axis=1) + outside.min(axis=1)).min())


def paid(oracle: TreeOracle, cost: FloatArray) -> float:
    return float((oracle.best_response(cost).labels(oracle.features) @ cost)[0])


@pytest.mark.parametrize(
    ("depth", "points", "levels", "times"),
    [(1, 12, (4, 3, 2), 40), (2, 14, (4, 3), 40), (3, 14, (3, 2, 2), 20), (4, 14, (3, 2), 10)],
)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_tree_of_several_labels_is_cheaper(
    k: int, depth: int, points: int, levels: tuple[int, ...], times: int
) -> None:
    rng = np.random.default_rng(10 * depth + k)
    for _ in range(times):
        features = random_features(rng, points, levels)
        cost = np.column_stack([random_cost(rng, points) for _ in range(k - 1)])
        oracle = TreeOracle(features, np.column_stack([random_cost(rng, points) for _ in range(k - 1)]), depth)
        labels = oracle.best_response(cost).labels(features)
        least = least_of_labels(all_sides(features), by_label(cost), depth)
        assert total_costs(labels, cost)[0] == pytest.approx(least, abs=1e-12 * np.abs(cost).sum())
        assert [part.labels(features).tolist() for part in oracle.constants()] == [[[j] * points] for j in range(k)]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_two_labels_in_a_table_are_the_very_same_trees(depth: int) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(20):
        features, base, cost = random_features(rng, 30, (6, 4, 3)), random_cost(rng, 30), random_cost(rng, 30)
        by_vector = TreeOracle(features, base, depth).best_response(cost).state()
        by_table = TreeOracle(features, base[:, None], depth).best_response(cost[:, None]).state()
        assert all(np.array_equal(by_vector[name], by_table[name]) for name in by_vector)


def random_features(rng: np.random.Generator, points: int, levels: tuple[int, ...]) -> FloatArray:
    return np.column_stack([rng.integers(level, size=points) for level in levels]).astype(float)


def random_cost(rng: np.random.Generator, points: int) -> FloatArray:
    """Costs of several kinds: smooth, full of ties, or of very different sizes."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(-2, 3, size=points).astype(float)
    cost = rng.normal(size=points)
    if kind == 1:
        cost[rng.random(points) < 0.5] *= 1e-6
    return cost + (0.5 if kind == 2 else 0.0)


@pytest.mark.parametrize(
    ("depth", "points", "levels", "times"),
    [(1, 12, (4, 3, 2), 60), (2, 14, (4, 3, 2), 60), (3, 16, (3, 2, 3), 40), (4, 18, (3, 2), 25)],
)
def test_no_tree_at_all_is_cheaper(depth: int, points: int, levels: tuple[int, ...], times: int) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(times):
        features, cost = random_features(rng, points, levels), random_cost(rng, points)
        oracle = TreeOracle(features, random_cost(rng, points), depth)
        least = least_cost(all_sides(features), cost, depth)
        assert paid(oracle, cost) == pytest.approx(least, abs=1e-12 * np.abs(cost).sum())


@pytest.mark.parametrize(("depth", "levels"), [(2, (30, 12, 2, 2, 9)), (3, (12, 5, 2, 2))])
def test_no_tree_is_cheaper_by_matrix_products(depth: int, levels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(depth)
    for size in (1.0, 1e-12, 1e12):
        features, cost = random_features(rng, 400, levels), size * rng.normal(size=400)
        least = least_by_products(all_sides(features), cost, depth)
        assert paid(TreeOracle(features, cost, depth), cost) == pytest.approx(least, abs=1e-12 * size * 400)


@pytest.mark.parametrize(("depth", "k"), [(1, 2), (2, 2), (2, 4), (3, 2), (4, 2)])
def test_the_best_tree_comes_with_the_cheapest_of_other_roots(depth: int, k: int) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(10):
        features = random_features(rng, 16, (3, 2, 3))
        cost = np.column_stack([random_cost(rng, 16) for _ in range(k - 1)])
        oracle = TreeOracle(features, cost, depth)
        found = oracle.best_responses(cost)
        best = oracle.best_response(cost)
        assert all(np.array_equal(found[0].state()[name], values) for name, values in best.state().items())
        roots = {(int(each.feature[0, 0]), float(each.threshold[0, 0])) for each in found[1:]}
        assert len(roots) == len(found) - 1 > 0
        costs = total_costs(found.labels(features), cost)
        for each, value in zip(found[1:], costs[1:], strict=True):
            side = features[:, each.feature[0, 0]] <= each.threshold[0, 0]
            parts = [by_label(cost * keep[:, None]) for keep in (side, ~side)]
            least = sum(least_of_labels(all_sides(features), part, depth - 1) for part in parts)
            assert value == pytest.approx(least, abs=1e-12 * np.abs(cost).sum())


@pytest.mark.parametrize("k", [2, 3, 4])
def test_many_thresholds_are_searched_like_few(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(k)
    for points in [2, 3, 10, *range(20, 200, 10)]:
        features = random_features(rng, points, (40, 12, 2, 2, 9))
        cost = np.column_stack([random_cost(rng, points) for _ in range(k - 1)])
        by_tables, scale = TreeOracle(features, cost), np.abs(cost).sum()
        with monkeypatch.context() as patch:
            patch.setattr(tree, "_TABLES", 0)
            by_rows = TreeOracle(features, cost)
        values = [oracle._values(oracle._checked(cost), 2, scale) for oracle in (by_tables, by_rows)]
        assert values[0] == pytest.approx(values[1], abs=1e-12 * scale)
        assert by_rows.best_response(cost).describe(0) == by_tables.best_response(cost).describe(0)


def test_depth_4_is_the_best_root_over_trees_of_depth_3() -> None:
    rng = np.random.default_rng(0)
    features = random_features(rng, 150, (8, 4, 2, 2))
    cost = rng.normal(size=150)
    oracle, below = TreeOracle(features, cost, 4), TreeOracle(features, cost, 3)
    sides = all_sides(features).T
    least = min(paid(below, np.where(side, cost, 0.0)) + paid(below, np.where(side, 0.0, cost)) for side in sides)
    assert paid(oracle, cost) == pytest.approx(least, abs=1e-12 * np.abs(cost).sum())
    assert paid(oracle, cost) < paid(below, cost)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_change_of_the_base_gives_what_new_costs_give(depth: int) -> None:
    rng = np.random.default_rng(depth)
    features, base = random_features(rng, 300, (20, 6, 2)), rng.normal(size=300)
    near, far = TreeOracle(features, base, depth), TreeOracle(features, rng.normal(size=300), depth)
    for changed in (0, 1, 20, 75, 76, 300):
        cost = base.copy()
        cost[rng.choice(300, changed, replace=False)] += rng.normal(size=changed)
        assert near.best_response(cost).describe(0) == far.best_response(cost).describe(0)


def test_the_base_is_kept_when_its_array_is_used_again() -> None:
    rng = np.random.default_rng(0)
    features, base = random_features(rng, 200, (20, 6, 2)), rng.normal(size=200)
    oracle = TreeOracle(features, base)
    base[:20] += 3.0
    assert paid(oracle, base) == paid(TreeOracle(features, base), base)


def test_a_large_base_cost_that_vanishes_leaves_no_rounding_behind() -> None:
    rng = np.random.default_rng(0)
    features, cost = random_features(rng, 200, (20, 6, 2)), rng.normal(size=200)
    base = cost.copy()
    base[7] = 1e18
    assert paid(TreeOracle(features, base), cost) == pytest.approx(paid(TreeOracle(features, cost), cost), abs=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_identical_points_leave_only_the_constants(depth: int) -> None:
    oracle = TreeOracle(np.ones((5, 2)), np.ones(5), depth)
    assert len(oracle.splits) == 0
    assert oracle.best_response(np.ones(5)).labels(np.zeros((2, 2))).tolist() == [[0, 0]]
    assert oracle.best_response(-np.ones(5)).labels(np.zeros((2, 2))).tolist() == [[1, 1]]
    assert oracle.constants().labels(np.zeros((3, 2))).tolist() == [[0] * 3, [1] * 3]


def test_a_single_point() -> None:
    assert paid(TreeOracle(np.array([[3.0]]), np.array([1.0]), 3), np.array([-2.0])) == -2.0


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_ties_go_to_the_tree_without_needless_splits(depth: int) -> None:
    rng = np.random.default_rng(0)
    features = random_features(rng, 60, (6, 5, 2))
    oracle = TreeOracle(features, rng.normal(size=60), depth)
    assert oracle.best_response(np.zeros(60)).describe(0) == "predict 0"
    assert oracle.best_response(-rng.random(60)).describe(0) == "predict 1"
    stump = oracle.best_response(np.where(features[:, 1] <= 2, -0.1, 0.3)).describe(0)
    assert stump == "if column 1 <= 2.5:\n    predict 1\nelse:\n    predict 0"


@pytest.mark.parametrize("depth", [2, 3])
def test_ties_do_not_depend_on_rounding(depth: int) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(20):
        features, cost = random_features(rng, 40, (4, 4, 3)), 0.1 * rng.integers(-1, 2, size=40).astype(float)
        said = {
            TreeOracle(features, base, depth).best_response(cost).describe(0) for base in (cost, rng.normal(size=40))
        }
        order = rng.permutation(40)
        said.add(TreeOracle(features[order], cost, depth).best_response(cost[order]).describe(0))
        assert len(said) == 1


def test_neighbouring_and_huge_values_are_told_apart() -> None:
    column = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), -1.7e308, 1.7e308, 0.0, 5e-324])
    for wanted in range(2**7):
        cost = np.where(wanted >> np.arange(7) & 1, -1.0, 1.0)
        rank = np.argsort(column)
        changes = np.count_nonzero(np.diff(cost[rank]))
        value = paid(TreeOracle(column[:, None], cost, 3), cost)
        if changes <= 3:
            assert value == cost[cost < 0].sum()


def test_equal_splits_are_folded_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(0)
    features, cost = random_features(rng, 80, (6, 5)), rng.normal(size=80)
    doubled = np.column_stack([features, -features, 3 * features])
    once, twice = TreeOracle(features, cost), TreeOracle(doubled, cost)
    assert len(twice.splits) == len(once.splits) == 9
    assert paid(twice, cost) == paid(once, cost)


def test_fewer_thresholds_when_asked() -> None:
    rng = np.random.default_rng(0)
    features, cost = rng.normal(size=(200, 2)), rng.normal(size=200)
    capped = TreeOracle(features, cost, 2, max_thresholds=7)
    assert np.bincount(capped.splits.column).tolist() == [7, 7]
    assert capped.hypothesis_class == "decision trees of depth 2 over 14 of 398 thresholds of 2 columns"
    assert paid(capped, cost) >= paid(TreeOracle(features, cost, 2), cost)
    assert paid(capped, cost) == pytest.approx(least_by_products(capped.splits.inside(features), cost, 2))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_all_thresholds_are_affordable_where_they_are_few(depth: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        features, cost = random_features(rng, 60, (6, 40, 2)), rng.normal(size=60)
        usual, every = TreeOracle(features, cost, depth, "auto"), TreeOracle(features, cost, depth, None)
        assert usual.hypothesis_class == every.hypothesis_class
        assert np.array_equal(usual.splits.threshold, every.splits.threshold)
        assert paid(usual, cost) == paid(every, cost)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_many_thresholds_are_capped_by_quantiles(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "AFFORDABLE", (60, 60, 60, 60, 60))
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.lognormal(size=400), rng.normal(size=400), rng.integers(9, size=400)])
    oracle = TreeOracle(features, rng.normal(size=400), depth, "auto")
    assert oracle.hypothesis_class == f"decision trees of depth {depth} over 60 of 806 thresholds of 3 columns"
    thresholds = np.sort(oracle.splits.threshold[oracle.splits.column == 0])
    assert len(thresholds) == 26  # as many as the other long column has, and all 8 of the short one
    below = np.searchsorted(np.sort(features[:, 0]), thresholds)
    assert np.diff([0, *below, 400]).max() <= np.ceil(400 / 27) + 1
    again = TreeOracle(rng.permutation(features), np.ones(400), depth, "auto")
    assert np.array_equal(np.sort(again.splits.threshold), np.sort(oracle.splits.threshold))


def test_every_column_keeps_a_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "AFFORDABLE", (3, 3, 3, 3, 3))
    features = np.random.default_rng(0).normal(size=(30, 5))
    assert np.bincount(TreeOracle(features, np.ones(30), 2, "auto").splits.column).tolist() == [1] * 5


def test_the_class_in_words() -> None:
    oracle: Oracle = TreeOracle(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]]), np.ones(3), 3, max_thresholds=9)
    assert oracle.hypothesis_class == "decision trees of depth 3 over all 3 thresholds of 2 columns"
    assert oracle.exact


def test_an_oracle_travels_to_another_process() -> None:
    rng = np.random.default_rng(0)
    features, cost = random_features(rng, 50, (6, 5)), rng.normal(size=50)
    oracle = TreeOracle(features, cost, 3)
    assert paid(pickle.loads(pickle.dumps(oracle)), cost) == paid(oracle, cost)


@pytest.mark.parametrize("depth", [2, 3])
def test_too_many_thresholds_are_refused_with_a_number_that_fits(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    features, cost = np.column_stack([rng.normal(size=(90, 2)), rng.random(90) < 0.5]), rng.normal(size=90)
    monkeypatch.setattr(tree, "MEMORY", 8 * 4 * 60**2)
    monkeypatch.setattr(tree, "PAIRS", 29**2 + 2 * 29)
    with pytest.raises(InputError, match=f"179 thresholds .* depth {depth}: set max_thresholds to 29 or less"):
        TreeOracle(features, cost, depth)
    assert len(TreeOracle(features, cost, depth, max_thresholds=29).splits) == 59
    with pytest.raises(InputError):
        TreeOracle(features, cost, depth, max_thresholds=30)
    with pytest.raises(InputError, match="give fewer columns"):
        TreeOracle(rng.normal(size=(90, 61)), cost, depth)
    assert TreeOracle(features, cost, 1).exact


@pytest.mark.parametrize("depth", [0, 5, -1, 2.0, True, "2", None])
def test_other_depths_are_refused(depth: Any) -> None:
    with pytest.raises(InputError, match="max_depth is a whole number from 1 to 4"):
        TreeOracle(np.eye(3), np.ones(3), depth)


@pytest.mark.parametrize("most", [0, -3, 2.5, True])
def test_other_caps_are_refused(most: Any) -> None:
    with pytest.raises(InputError, match="max_thresholds is a whole number from 1, not"):
        TreeOracle(np.eye(3), np.ones(3), 2, most)


def test_numbers_that_are_none_are_refused() -> None:
    features = np.array([[1.0, 2.0], [1.0, np.nan]])
    with pytest.raises(InputError, match="column age holds"):
        TreeOracle(features, np.ones(2), feature_names=["sex", "age"])
    with pytest.raises(InputError, match="column 1 holds"):
        TreeOracle(features, np.ones(2))
    with pytest.raises(InputError, match="3 feature_names for 2 columns"):
        TreeOracle(np.eye(2), np.ones(2), feature_names=["a", "b", "c"])
    for shape in ((0, 2), (2, 0), (4,)):
        with pytest.raises(InputError, match="at least one point"):
            TreeOracle(np.ones(shape), np.ones(shape[0]))
    for cost in (np.ones(3), np.array([1.0, np.nan]), np.array([np.inf, 1.0]), np.ones((3, 1))):
        with pytest.raises(InputError, match="each of the 2 points"):
            TreeOracle(np.eye(2), cost)
        with pytest.raises(InputError, match="each of the 2 points"):
            TreeOracle(np.eye(2), np.ones(2)).best_response(cost)
