"""Any scikit-learn classifier as an oracle: label [c1 < c0], weight |c1 - c0|."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairwise.errors import InputError
from fairwise.learning.oracles.weighted import FittedClassifiers, WeightedOracle

SEEN: list[tuple[Any, Any, Any]] = []


class Counting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Remembers what it was given; says 1 to everyone whose first number is above 0."""

    def fit(self, X: Any, y: Any) -> Self:
        SEEN.append((X, y, None))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > 0).astype(int)


class Weighing(Counting):
    """The same with sample weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        SEEN.append((X, y, sample_weight))
        self.classes_ = np.unique(y)
        return self


@pytest.fixture(autouse=True)
def _forget() -> None:
    SEEN.clear()


@pytest.fixture
def rows() -> Any:
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def cost() -> Any:
    return np.random.default_rng(1).normal(size=60)


def test_a_weight_aware_classifier_sees_label_and_weight_of_every_cost(rows: Any, cost: Any) -> None:
    cost[:5] = 0.0  # nobody minds how these are labelled
    WeightedOracle(rows, Weighing()).best_response(cost)
    ((table, label, weight),) = SEEN
    assert np.array_equal(table, rows[5:])
    assert np.array_equal(label, cost[5:] < 0)
    assert weight / weight.sum() == pytest.approx(np.abs(cost[5:]) / np.abs(cost).sum())
    assert weight.mean() == pytest.approx(1.0)


def test_it_is_the_classifier_fitted_by_hand(rows: Any, cost: Any) -> None:
    found = WeightedOracle(rows, DecisionTreeClassifier(max_depth=3, random_state=0)).best_response(cost)
    weight = np.abs(cost) / np.abs(cost).mean()
    by_hand = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, cost < 0, sample_weight=weight)
    assert np.array_equal(found.labels(rows)[0], by_hand.predict(rows))


def test_the_size_of_the_costs_does_not_matter(rows: Any, cost: Any) -> None:
    """A pair's costs are of order 1/n, on which a regularised model would otherwise act differently."""
    oracle = WeightedOracle(rows, LogisticRegression())
    labels = oracle.best_response(cost).labels(rows)
    assert np.array_equal(oracle.best_response(1e-6 * cost).labels(rows), labels)


def test_a_pipeline_gets_its_weights_in_the_last_step(rows: Any, cost: Any) -> None:
    WeightedOracle(rows, make_pipeline(StandardScaler(), Weighing())).best_response(cost)
    ((_, _, weight),) = SEEN
    assert weight == pytest.approx(np.abs(cost) / np.abs(cost).mean())


def test_a_pipeline_may_be_given_a_table(cost: Any) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["x", "z"]).set_axis(range(100, 160))
    oracle = WeightedOracle(table, make_pipeline(StandardScaler(), LogisticRegression()))
    labels = oracle.best_response(cost).labels(table)
    assert labels.shape == (1, 60)
    assert 0 < labels.mean() < 1


@pytest.mark.parametrize("inside", [False, True])
def test_without_sample_weights_rows_are_drawn_in_proportion(rows: Any, inside: bool) -> None:
    cost = np.full(60, 1e-9)
    cost[:30] = -np.arange(30) - 1.0
    cost[30] = 400.0
    estimator = make_pipeline(StandardScaler(with_mean=False, with_std=False), Counting()) if inside else Counting()
    WeightedOracle(rows, estimator).best_response(cost)
    ((table, label, weight),) = SEEN
    assert weight is None
    assert len(table) == len(label) == 60
    heavy = float(np.mean((table == rows[30]).all(axis=1)))
    assert heavy == pytest.approx(400 / (400 + 465), abs=0.2)
    known = {tuple(row): value < 0 for row, value in zip(rows, cost, strict=True)}
    assert [known[tuple(row)] for row in table] == label.astype(bool).tolist()
    light = {tuple(row) for row in rows[31:]}
    assert not any(tuple(row) in light for row in table)


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(3),
        RandomForestClassifier(5),
        DecisionTreeClassifier(splitter="random"),
        make_pipeline(StandardScaler(), RandomForestClassifier(3)),
        make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    ],
    ids=lambda estimator: str(estimator).replace("\n", ""),
)
def test_the_same_costs_give_the_same_classifier(rows: Any, cost: Any, estimator: Any) -> None:
    first, second = WeightedOracle(rows, estimator, seed=3), WeightedOracle(rows, estimator, seed=3)
    labels = first.best_response(cost).labels(rows)
    assert np.array_equal(first.best_response(cost).labels(rows), labels)
    assert np.array_equal(second.best_response(cost).labels(rows), labels)


def test_another_seed_draws_another_sample(rows: Any, cost: Any) -> None:
    for seed in (1, 2):
        WeightedOracle(rows, Counting(), seed=seed).best_response(cost)
    assert not np.array_equal(SEEN[0][0], SEEN[1][0])


def test_a_random_state_that_was_given_is_kept(rows: Any, cost: Any) -> None:
    given = DecisionTreeClassifier(splitter="random", random_state=7)
    (member,) = WeightedOracle(rows, given, seed=3).best_response(cost).members
    (open_one,) = WeightedOracle(rows, DecisionTreeClassifier(), seed=3).best_response(cost).members
    assert (member.random_state, open_one.random_state) == (7, 3)


def test_the_given_estimator_stays_unfitted(rows: Any, cost: Any) -> None:
    given = LogisticRegression()
    before = given.get_params()
    WeightedOracle(rows, given).best_response(cost)
    assert given.get_params() == before
    assert not hasattr(given, "coef_")


@pytest.mark.parametrize(
    ("cost", "label"), [(np.full(60, -1.0), 1), (np.full(60, 2.0), 0), (np.zeros(60), 0), (-np.eye(60)[0], 1)]
)
def test_costs_of_one_sign_are_answered_by_a_constant(rows: Any, cost: Any, label: int) -> None:
    for estimator in (Weighing(), Counting()):
        found = WeightedOracle(rows, estimator).best_response(cost)
        assert np.unique(found.labels(rows)).tolist() == [label]
    assert not SEEN


def test_a_sample_of_one_class_is_answered_by_a_constant(rows: Any) -> None:
    cost = np.full(60, -1.0)
    cost[0] = 1e-12
    found = WeightedOracle(rows, Counting()).best_response(cost)
    assert np.unique(found.labels(rows)).tolist() == [1]


def test_constants_and_fitted_ones_live_in_one_collection(rows: Any, cost: Any) -> None:
    oracle = WeightedOracle(rows, LogisticRegression())
    both = oracle.constants().joined(oracle.best_response(cost))
    labels = both.labels(rows)
    assert labels[:2].tolist() == [[0] * 60, [1] * 60]
    assert np.array_equal(both.take(np.array([2, 0])).labels(rows), labels[[2, 0]])
    assert np.array_equal(FittedClassifiers(**both.state()).labels(rows), labels)


@pytest.mark.parametrize("estimator", [object(), StandardScaler(), "logistic"])
def test_what_cannot_classify_is_refused(rows: Any, estimator: Any) -> None:
    with pytest.raises(InputError, match="is not a scikit-learn classifier"):
        WeightedOracle(rows, estimator)


def test_its_class_is_named_and_no_proof_claimed(rows: Any) -> None:
    oracle = WeightedOracle(rows, LogisticRegression())
    assert oracle.hypothesis_class == "LogisticRegression, by cost-weighted fits"
    assert not oracle.exact
