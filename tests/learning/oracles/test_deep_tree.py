"""The optional package's search, cross-checked with the exhaustive one."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fairwise.errors import InputError, MissingExtraError
from fairwise.extras import EXTRAS
from fairwise.learning.oracles.deep_tree import DeepTreeOracle
from fairwise.learning.oracles.tree import TreeOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, Oracle

pytest.importorskip("pystreed")


def problem(seed: int, points: int = 60) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(points, 3)).astype(float), rng.normal(size=points)


def paid(oracle: Any, features: FloatArray, cost: FloatArray) -> float:
    return float((oracle.best_response(cost).labels(features) @ cost)[0])


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_its_search_comes_within_its_tolerance_of_the_least_cost(depth: int, size: float) -> None:
    for seed in range(15):
        features, cost = problem(seed)
        cost *= size
        oracle = DeepTreeOracle(features, depth)
        found = oracle._shallow.splits.classifiers([oracle._search(cost / np.abs(cost).sum())], depth)
        least = paid(TreeOracle(features, cost, depth), features, cost)
        assert (found.labels(features) @ cost)[0] == pytest.approx(least, abs=1e-4 * np.abs(cost).sum())
        assert paid(oracle, features, cost) >= least - 1e-12 * np.abs(cost).sum()
        assert oracle.finished


def test_it_is_not_exact_since_a_finished_search_can_miss_the_least_cost() -> None:
    missed = 0
    for seed in range(20):
        features, cost = problem(seed, 40)
        cost[::2] *= 1e-5
        oracle = DeepTreeOracle(features, 4)
        least = paid(TreeOracle(features, cost, 4), features, cost)
        missed += oracle.finished and paid(oracle, features, cost) > least + 1e-9 * np.abs(cost).sum()
        assert not oracle.exact
    assert missed, "the package now compares costs exactly: a finished search may count as a proof"


def test_a_deeper_tree_is_no_dearer() -> None:
    features, cost = problem(0, 120)
    values = [paid(DeepTreeOracle(features, depth), features, cost) for depth in (3, 4, 5)]
    assert values[0] == paid(TreeOracle(features, cost, 3), features, cost)
    assert values[0] > values[1] > values[2]


def test_a_search_cut_short_is_no_worse_than_depth_3_and_says_so() -> None:
    rng = np.random.default_rng(0)
    features, cost = rng.normal(size=(400, 4)), rng.normal(size=400)
    oracle = DeepTreeOracle(features, 4, max_thresholds=20, time_limit=0.01)
    assert oracle.finished
    value = paid(oracle, features, cost)
    assert not oracle.finished
    assert value <= paid(TreeOracle(features, cost, 3, max_thresholds=20), features, cost)


def test_costs_of_nothing_and_points_alike() -> None:
    features, _ = problem(0)
    oracle: Oracle = DeepTreeOracle(features, 4)
    assert oracle.best_response(np.zeros(60)).labels(features).sum() == 0
    alike = DeepTreeOracle(np.ones((3, 2)))
    assert alike.best_response(-np.ones(3)).labels(np.ones((2, 2))).tolist() == [[1, 1]]
    assert alike.constants().labels(np.ones((1, 2))).tolist() == [[0], [1]]


def test_it_can_be_pickled_after_a_call() -> None:
    features, cost = problem(0)
    oracle = DeepTreeOracle(features, 4)
    value = paid(oracle, features, cost)
    assert paid(pickle.loads(pickle.dumps(oracle)), features, cost) == value


def test_the_class_in_words() -> None:
    features, _ = problem(0)
    words = "decision trees of depth 5 over all 9 thresholds of 3 columns"
    assert DeepTreeOracle(features, 5).hypothesis_class == words


@pytest.mark.parametrize("depth", [0, 9, 4.0, True])
def test_other_depths_are_refused(depth: Any) -> None:
    with pytest.raises(InputError, match="max_depth is a whole number from 1 to 8"):
        DeepTreeOracle(np.eye(3), depth)


@pytest.mark.parametrize("seconds", [0, -1.0, np.nan, np.inf])
def test_other_time_limits_are_refused(seconds: float) -> None:
    with pytest.raises(InputError, match="time_limit"):
        DeepTreeOracle(np.eye(3), time_limit=seconds)


def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "trees", ("no_such_package",))
    with pytest.raises(MissingExtraError, match=r"pip install 'fairwise\[trees\]'"):
        DeepTreeOracle(np.eye(3))
