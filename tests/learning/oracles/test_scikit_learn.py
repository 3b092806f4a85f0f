"""Any scikit-learn classifier as an oracle: label [c1 < c0], weight |c1 - c0|."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairwise.learning.oracles.base import Ranking
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, ScikitLearnOracle, pack, unpack

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


def oracle_for(rows: Any, estimator: Any, seed: int = 0) -> ScikitLearnOracle:
    """Whose errors cost something else than anything it is asked about here."""
    return ScikitLearnOracle(rows, np.full(len(rows), 1e-3), estimator, seed)


def test_a_weight_aware_classifier_sees_label_and_weight_of_every_cost(rows: Any, cost: Any) -> None:
    cost[:5] = 0.0  # nobody minds how these are labelled
    oracle_for(rows, Weighing()).best_response(cost)
    ((table, label, weight),) = SEEN
    assert np.array_equal(table, rows[5:])
    assert np.array_equal(label, cost[5:] < 0)
    assert weight / weight.sum() == pytest.approx(np.abs(cost[5:]) / np.abs(cost).sum())
    assert weight.mean() == pytest.approx(1.0)


def test_for_the_costs_of_errors_it_is_the_classifier_fitted_by_hand(rows: Any, cost: Any) -> None:
    """So that a fit without judgments is the plain model."""
    weight = np.abs(cost) / np.abs(cost).mean()
    for given in (DecisionTreeClassifier(max_depth=3, random_state=0), LogisticRegression()):
        found = ScikitLearnOracle(rows, cost, given).best_response(cost)
        by_hand = clone(given).fit(rows, cost < 0, sample_weight=weight)
        assert np.array_equal(found.labels(rows)[0], by_hand.predict(rows))


def test_for_other_costs_its_threshold_is_the_cheapest_there_is(rows: Any, cost: Any) -> None:
    cost += 0.7 * rows[:, 0]
    found = oracle_for(rows, LogisticRegression()).best_response(cost)
    by_hand = LogisticRegression().fit(rows, cost < 0, sample_weight=np.abs(cost) / np.abs(cost).mean())
    score = by_hand.decision_function(rows)
    at_every_score = [float(cost[score > threshold].sum()) for threshold in [-np.inf, *score]]
    mine = float((found.labels(rows) @ cost)[0])
    assert mine == pytest.approx(min(at_every_score))
    assert mine < float(by_hand.predict(rows) @ cost) - 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_the_best_threshold_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=15).round(int(rng.integers(0, 3)))
    cost = rng.normal(size=15)
    threshold, least = Ranking(score).cheapest(cost)
    assert cost[score > threshold].sum() == pytest.approx(least)
    assert least == pytest.approx(min(cost[score > t].sum() for t in [-np.inf, *score]))
    assert least <= min(0.0, cost.sum()) + 1e-12


def test_a_threshold_lies_between_two_scores_even_where_there_is_hardly_room() -> None:
    score = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)])
    for cost in ([1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [-1.0, 1.0, -3.0]):
        threshold, least = Ranking(score).cheapest(np.array(cost))
        assert np.array(cost)[score > threshold].sum() == pytest.approx(least)


def test_earlier_fits_are_varied_by_the_threshold_that_is_cheapest_now(rows: Any) -> None:
    rng = np.random.default_rng(3)
    oracle = oracle_for(rows, LogisticRegression())
    assert oracle.variations(rng.normal(size=60), np.inf, 9) is None
    fits = [oracle.best_response(rng.normal(size=60)).members[0] for _ in range(4)]
    cost = rng.normal(size=60)
    varied = oracle.variations(cost, np.inf, 9)
    assert varied is not None
    classifiers, labels = varied
    assert {id(member) for member in classifiers.members} == set(map(id, fits))
    np.testing.assert_array_equal(labels, classifiers.labels(rows))
    for fit, own in zip(classifiers.members, labels, strict=True):
        score = fit.decision_function(rows)
        assert own @ cost == pytest.approx(min(cost[score > t].sum() for t in [-np.inf, *score]))
    costs = labels @ cost
    assert (np.diff(costs) >= -1e-12).all()
    for below, most in ((np.inf, 2), (float(costs[1]) - 1e-6, 9), (float(costs[0]) - 1e-6, 9)):
        fewer = oracle.variations(cost, below, most)
        assert fewer is not None
        np.testing.assert_array_equal(fewer[1], labels[: min(most, np.count_nonzero(costs < below))])


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), DecisionTreeClassifier(max_depth=2), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["linear", "tree", "pipeline"],
)
def test_labels_it_says_it_knows_are_those_the_answer_gives(rows: Any, estimator: Any) -> None:
    rng, oracle = np.random.default_rng(4), oracle_for(rows, estimator)
    for _ in range(5):
        answer = oracle.best_response(rng.normal(size=60) + rows[:, 0])
        known = oracle.known_labels(answer)
        assert known is not None
        np.testing.assert_array_equal(known, answer.labels(rows))
        assert oracle.known_labels(oracle.constants()) is None


def test_an_estimator_without_scores_cannot_be_varied(rows: Any, cost: Any) -> None:
    oracle = oracle_for(rows, Weighing())
    oracle.best_response(cost)
    assert oracle.variations(cost, np.inf, 9) is None


def test_the_size_of_the_costs_does_not_matter(rows: Any, cost: Any) -> None:
    """A pair's costs are of order 1/n, on which a regularised model would otherwise act differently."""
    oracle = oracle_for(rows, LogisticRegression())
    labels = oracle.best_response(cost).labels(rows)
    assert np.array_equal(oracle.best_response(1e-6 * cost).labels(rows), labels)


def test_a_pipeline_gets_its_weights_in_the_last_step(rows: Any, cost: Any) -> None:
    oracle_for(rows, make_pipeline(StandardScaler(), Weighing())).best_response(cost)
    ((_, _, weight),) = SEEN
    assert weight == pytest.approx(np.abs(cost) / np.abs(cost).mean())


def test_a_pipeline_may_be_given_a_table(cost: Any) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["x", "z"]).set_axis(range(100, 160))
    oracle = oracle_for(table, make_pipeline(StandardScaler(), LogisticRegression()))
    labels = oracle.best_response(cost).labels(table)
    assert labels.shape == (1, 60)
    assert 0 < labels.mean() < 1


@pytest.mark.parametrize("inside", [False, True])
def test_without_sample_weights_rows_are_drawn_in_proportion(rows: Any, inside: bool) -> None:
    cost = np.full(60, 1e-9)
    cost[:30] = -np.arange(30) - 1.0
    cost[30] = 400.0
    estimator = make_pipeline(StandardScaler(with_mean=False, with_std=False), Counting()) if inside else Counting()
    oracle_for(rows, estimator).best_response(cost)
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
    first, second = oracle_for(rows, estimator, seed=3), oracle_for(rows, estimator, seed=3)
    labels = first.best_response(cost).labels(rows)
    assert np.array_equal(first.best_response(cost).labels(rows), labels)
    assert np.array_equal(second.best_response(cost).labels(rows), labels)


def test_another_seed_draws_another_sample(rows: Any, cost: Any) -> None:
    for seed in (1, 2):
        oracle_for(rows, Counting(), seed=seed).best_response(cost)
    assert not np.array_equal(SEEN[0][0], SEEN[1][0])


def test_a_random_state_that_was_given_is_kept(rows: Any, cost: Any) -> None:
    given = DecisionTreeClassifier(splitter="random", random_state=7)
    (member,) = oracle_for(rows, given, seed=3).best_response(cost).members
    (open_one,) = oracle_for(rows, DecisionTreeClassifier(), seed=3).best_response(cost).members
    assert (member.random_state, open_one.random_state) == (7, 3)


def test_the_given_estimator_stays_unfitted(rows: Any, cost: Any) -> None:
    given = LogisticRegression()
    before = given.get_params()
    oracle_for(rows, given).best_response(cost)
    assert given.get_params() == before
    assert not hasattr(given, "coef_")


@pytest.mark.parametrize(
    ("cost", "label"), [(np.full(60, -1.0), 1), (np.full(60, 2.0), 0), (np.zeros(60), 0), (-np.eye(60)[0], 1)]
)
def test_costs_of_one_sign_are_answered_by_a_constant(rows: Any, cost: Any, label: int) -> None:
    for estimator in (Weighing(), Counting()):
        found = oracle_for(rows, estimator).best_response(cost)
        assert np.unique(found.labels(rows)).tolist() == [label]
    assert not SEEN


def test_a_sample_of_one_class_is_answered_by_a_constant(rows: Any) -> None:
    cost = np.full(60, -1.0)
    cost[0] = 1e-12
    found = oracle_for(rows, Counting()).best_response(cost)
    assert np.unique(found.labels(rows)).tolist() == [1]


def test_a_classifier_without_scores_predicts_as_it_does(rows: Any, cost: Any) -> None:
    found = oracle_for(rows, Weighing()).best_response(cost)
    assert np.array_equal(found.labels(rows)[0], rows[:, 0] > 0)


def test_constants_and_fitted_ones_live_in_one_collection(rows: Any, cost: Any) -> None:
    oracle = oracle_for(rows, LogisticRegression())
    both = oracle.constants().joined(oracle.best_response(cost))
    labels = both.labels(rows)
    assert labels[:2].tolist() == [[0] * 60, [1] * 60]
    assert np.array_equal(both.take(np.array([2, 0])).labels(rows), labels[[2, 0]])
    assert np.array_equal(FittedClassifiers(**both.state()).labels(rows), labels)


def test_its_class_is_named_and_no_proof_claimed(rows: Any) -> None:
    oracle = oracle_for(rows, LogisticRegression())
    assert oracle.hypothesis_class == "LogisticRegression, by cost-weighted fits"
    without = oracle_for(rows, KNeighborsClassifier())
    assert without.hypothesis_class == "KNeighborsClassifier, by fits to samples drawn by cost"
    assert not oracle.exact


def some_fits(rows: Any, estimator: Any, n_fits: int = 5) -> FittedClassifiers:
    """Fits to random costs, with thresholds of their own and moved ones, between both constants."""
    rng, oracle = np.random.default_rng(8), oracle_for(rows, estimator)
    zero, one = (oracle.constants().take(np.array([at])) for at in (0, 1))
    found = zero
    for _ in range(n_fits):
        found = found.joined(oracle.best_response(rng.normal(size=len(rows)) + rows[:, 0]))
    again = FittedClassifiers(found.members[1:], np.full(n_fits, np.nan))
    return found.joined(one).joined(again)


def transformers_of(classifiers: FittedClassifiers) -> set[int]:
    return {id(member.steps[0][1]) for member in classifiers.members if not isinstance(member, int)}


ALIKE = {
    "scaler": StandardScaler(),
    "two": make_pipeline(StandardScaler(), FunctionTransformer(np.abs)),
    "passthrough": "passthrough",
}


@pytest.mark.parametrize("name", ALIKE)
def test_pipelines_share_transformers_that_learned_the_same(rows: Any, name: str) -> None:
    classifiers = some_fits(rows, make_pipeline(ALIKE[name], LogisticRegression()))
    assert len(transformers_of(classifiers)) == 1
    assert not np.isnan(classifiers.thresholds).all()
    for member, threshold, labels in zip(
        classifiers.members, classifiers.thresholds, classifiers.labels(rows), strict=True
    ):
        if not isinstance(member, int):
            own = member.predict(rows) if np.isnan(threshold) else member.decision_function(rows) > threshold
            assert np.array_equal(labels, own)


def test_transformers_that_look_at_outcomes_or_at_other_rows_are_not_shared(rows: Any) -> None:
    by_outcome = some_fits(rows, make_pipeline(SelectKBest(k=1), LogisticRegression()))
    assert len(transformers_of(by_outcome)) == 5
    oracle = oracle_for(rows, make_pipeline(StandardScaler(), LogisticRegression()))
    cost = np.random.default_rng(2).normal(size=len(rows))
    all_rows, same_rows, fewer_rows = (
        oracle.best_response(given).members[0].steps[0][1]
        for given in (cost, -2 * cost, np.where(np.arange(len(rows)) < 5, 0.0, cost))
    )
    assert all_rows is same_rows
    assert all_rows is not fewer_rows
    assert not np.array_equal(all_rows.mean_, fewer_rows.mean_)


def test_what_cannot_be_compared_is_not_shared(rows: Any) -> None:
    classifiers = some_fits(rows, make_pipeline(FunctionTransformer(lambda x: x), LogisticRegression()))
    assert len(transformers_of(classifiers)) == 5


class Counted(StandardScaler):  # type: ignore[misc]
    """Says how often it transformed."""

    calls = 0

    def transform(self, X: Any, copy: Any = None) -> Any:
        Counted.calls += 1
        return super().transform(X, copy)


def test_shared_transformers_transform_once(rows: Any) -> None:
    classifiers = some_fits(rows, make_pipeline(Counted(), LogisticRegression()))
    Counted.calls = 0
    classifiers.labels(rows)
    assert Counted.calls == 1


def test_packed_members_are_the_same_again(rows: Any) -> None:
    classifiers = some_fits(rows, Pipeline([("a", StandardScaler()), ("b", LogisticRegression())], verbose=False))
    other = some_fits(rows, make_pipeline(SelectKBest(k=1), LogisticRegression()), 2)
    plain = some_fits(rows, LogisticRegression(), 2)
    everyone = classifiers.joined(other).joined(plain)
    packed = pack(everyone.members)
    assert len(packed["transformers"]) == 1 + 2
    assert all(isinstance(member, int) or len(getattr(member, "steps", "1")) == 1 for member in packed["members"])
    members = unpack(**packed)
    assert [repr(member) for member in members] == [repr(member) for member in everyone.members]
    again = FittedClassifiers(members, everyone.thresholds)
    assert np.array_equal(again.labels(rows), everyone.labels(rows))


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), DecisionTreeClassifier(max_depth=3), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["decision function", "probabilities", "pipeline"],
)
def test_each_classifier_is_one_of_scikit_learn(rows: Any, estimator: Any) -> None:
    classifiers = some_fits(rows, estimator)
    assert len(list(classifiers)) == len(classifiers)
    for position, (one, labels) in enumerate(zip(classifiers, classifiers.labels(rows), strict=True)):
        assert np.array_equal(one.predict(rows), labels), position
    assert classifiers[-1] is classifiers.members[-1]  # the very one that was fitted, where its threshold is its own
    assert np.array_equal(classifiers[1:].labels(rows), classifiers.labels(rows)[1:])
    with pytest.raises(IndexError):
        classifiers[len(classifiers)]
