"""The regression is that of scikit-learn; the descent never ends above it, nor where one step would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from fairwise.learning.deduplication import merge_equal
from fairwise.learning.oracles import descent
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.descent_kernels import Columns, descend, step_between, total_costs
from fairwise.learning.oracles.linear import LinearClassifiers, RegressionOracle

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray


def people(rng: np.random.Generator, kind: str, n: int = 60) -> FloatArray:
    if kind == "smooth":
        return rng.normal(size=(n, 3))
    if kind == "levels":  # columns of zeros and one other number, of either sign
        return np.column_stack([rng.normal(size=n), *(level * rng.integers(2, size=n) for level in (-2.0, 1.0, 0.5))])
    counts = np.column_stack([rng.integers(12, size=n), rng.integers(4, size=n), np.eye(3)[rng.integers(3, size=n)]])
    return np.unique(counts.astype(float) / [4.0, 1.0, 1.0, 1.0, 1.0], axis=0)


def paid(classifiers: LinearClassifiers, rows: FloatArray, cost: FloatArray) -> FloatArray:
    total: FloatArray = classifiers.labels(rows) @ cost
    return total


def moves(rows: FloatArray, classifier: LinearClassifiers) -> Any:
    """Every classifier that differs in one number: one step into each interval between two breakpoints."""
    score = rows @ classifier.coef[0] + classifier.intercept[0]
    for column in range(-1, rows.shape[1]):
        x = np.ones(len(rows)) if column < 0 else rows[:, column]
        at = np.unique(-score[x != 0] / x[x != 0])
        gaps = np.diff(at)
        middles = (at[:-1] + gaps / 2)[gaps > 1e-9]
        for step in [at[0] - 1, *middles, at[-1] + 1]:
            coef, intercept = classifier.coef.copy(), classifier.intercept.copy()
            if column < 0:
                intercept += step
            else:
                coef[0, column] += step
            yield LinearClassifiers(coef, intercept)


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
@pytest.mark.parametrize("seed", range(8))
def test_no_single_coordinate_can_improve_it(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = people(rng, kind)
    cost = rng.normal(size=len(rows)) / len(rows)
    found = DescentOracle(rows, np.ones(len(rows))).best_response(cost)
    mine = float(paid(found, rows, cost)[0])
    least = min(float(paid(other, rows, cost)[0]) for other in moves(rows, found))
    assert least >= mine - 1e-9


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
def test_it_is_never_worse_than_regression_and_often_better(kind: str) -> None:
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(20):
        rows = people(rng, kind)
        cost = rng.normal(size=len(rows))
        by_regression = float(paid(RegressionOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        by_descent = float(paid(DescentOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        assert by_descent <= by_regression + 1e-12
        better += by_descent < by_regression - 1e-6
    assert better > 10


def test_it_is_never_worse_than_what_it_may_start_from() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        rows, cost = people(rng, "smooth"), rng.normal(size=60)
        warm = LinearClassifiers(rng.normal(size=(12, 3)), rng.normal(size=12))
        found = DescentOracle(rows, np.ones(60)).best_response(cost, warm)
        assert paid(found, rows, cost)[0] <= paid(warm, rows, cost).min() + 1e-12


def test_a_good_start_is_used() -> None:
    """Least squares is led astray by one far person; the start is not."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(200, 6))
    truth = LinearClassifiers(rng.normal(size=(1, 6)), np.zeros(1))
    cost = np.where(truth.labels(rows)[0] == 1, -1.0, 1.0) * 10.0 ** rng.uniform(-3, 0, size=200)
    perfect = float(paid(truth, rows, cost)[0])
    oracle = DescentOracle(rows, np.ones(200))
    assert paid(oracle.best_response(cost), rows, cost)[0] > perfect + 1e-9
    assert paid(oracle.best_response(cost, truth), rows, cost)[0] == pytest.approx(perfect)


def test_starts_are_left_as_they_were() -> None:
    rng = np.random.default_rng(3)
    rows, cost = rng.normal(size=(40, 3)), rng.normal(size=40)
    warm = LinearClassifiers(rng.normal(size=(4, 3)), rng.normal(size=4))
    before = warm.coef.copy(), warm.intercept.copy()
    DescentOracle(rows, np.ones(40)).best_response(cost, warm)
    assert np.array_equal(before[0], warm.coef)
    assert np.array_equal(before[1], warm.intercept)


def test_the_same_costs_give_the_same_classifier() -> None:
    rng = np.random.default_rng(4)
    rows = people(rng, "counts")
    cost = rng.normal(size=len(rows))
    oracle = DescentOracle(rows, np.ones(len(rows)))
    first, second = oracle.best_response(cost), oracle.best_response(cost)
    assert np.array_equal(first.coef, second.coef)
    assert np.array_equal(first.intercept, second.intercept)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_costs_of_one_sign_give_a_constant(sign: float) -> None:
    rng = np.random.default_rng(5)
    rows = people(rng, "counts")
    cost = sign * rng.random(len(rows))
    labels = DescentOracle(rows, np.ones(len(rows))).best_response(cost).labels(rows)
    assert np.unique(labels).tolist() == [int(sign < 0)]


def test_without_costs_there_is_still_a_classifier() -> None:
    rows = people(np.random.default_rng(6), "smooth")
    assert len(DescentOracle(rows, np.ones(60)).best_response(np.zeros(60))) == 1


def test_it_claims_no_proof() -> None:
    assert not DescentOracle.exact


def test_the_least_error_is_searched_longer() -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        rows = people(rng, "counts")
        cost = rng.normal(size=len(rows))
        once = float(paid(DescentOracle(rows, np.ones(len(rows))).best_response(cost), rows, cost)[0])
        patient = DescentOracle(rows, np.ones(len(rows)), error_cost=cost)
        longer = float(paid(patient.best_response(cost), rows, cost)[0])
        assert longer <= once
        other = rng.normal(size=len(rows))
        assert np.array_equal(
            patient.best_response(other).coef, DescentOracle(rows, np.ones(len(rows))).best_response(other).coef
        )
    assert longer < once  # and here it pays


def coin_tosses(seed: int, n: int = 300, d: int = 8) -> tuple[FloatArray, FloatArray]:
    """People, and outcomes that have nothing to do with them, as costs of errors."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n) / n


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
@pytest.mark.parametrize("seed", range(6))
def test_no_step_of_the_plain_model_left_out_gains_more_than_chance(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = people(rng, kind)
    cost = rng.normal(size=len(rows)) / len(rows)
    found = DescentOracle(rows, np.ones(len(rows))).plain_model(cost)
    label = found.labels(rows)[0]
    for other in moves(rows, found):
        changed = other.labels(rows)[0] != label
        gain = float(paid(found, rows, cost)[0] - paid(other, rows, cost)[0])
        assert gain <= 2 * np.sqrt(cost[changed] @ cost[changed]) + 1e-5  # a sweep that gains less is the last


def test_every_step_of_the_plain_model_gains_more_than_chance() -> None:
    """Along one line: between the start and where it leads, the gain is above two standard deviations."""
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(200):
        rows = rng.normal(size=(40, 1))
        cost = rng.normal(size=40) - rng.normal() * np.sign(rows[:, 0] - 0.5)
        start = LinearClassifiers(np.ones((1, 1)), np.zeros(1))
        coef = start.coef[0].copy()
        intercept = descend(Columns.of(rows), cost, coef, 0.0, 1, 0.0, 2.0)
        if coef[0] != 1.0 or intercept == 0.0:
            continue  # two steps, or none
        end = LinearClassifiers(coef[None], np.array([intercept]))
        changed = end.labels(rows)[0] != start.labels(rows)[0]
        gain = float(paid(start, rows, cost)[0] - paid(end, rows, cost)[0])
        assert gain > 2 * np.sqrt(cost[changed] @ cost[changed])
        taken += 1
    assert taken > 20


def test_the_plain_model_does_not_learn_coin_tosses_by_heart() -> None:
    """The least error does: it promises what nobody could keep."""
    least: list[float] = []
    plain: list[float] = []
    logistic: list[float] = []
    for seed in range(12):
        rows, cost = coin_tosses(seed)
        oracle = DescentOracle(rows, np.ones(len(rows)), cost)
        by_hand = LogisticRegression().fit(rows, cost < 0)
        logistic.append(float(np.mean(by_hand.predict(rows) != (cost < 0))))
        for found, errors in ((oracle.best_response(cost), least), (oracle.plain_model(cost), plain)):
            errors.append(float(np.mean(found.labels(rows)[0] != (cost < 0))))
    assert np.mean(least) < np.mean(logistic) - 0.06
    assert np.mean(plain) > np.mean(logistic) - 0.02


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
def test_the_plain_model_is_never_worse_than_regression_and_always_the_same(kind: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        rows = people(rng, kind)
        times = rng.integers(1, 4, size=len(rows)).astype(float)
        cost = times * rng.uniform(-1, 1, size=len(rows)) / times.sum()
        oracle = DescentOracle(rows, times, cost)
        by_regression = paid(oracle.regression.best_response(cost), rows, cost)[0]
        plain = oracle.plain_model(cost)
        assert paid(plain, rows, cost)[0] <= by_regression + 1e-12
        again = oracle.plain_model(cost)
        assert np.array_equal(again.coef, plain.coef)
        assert np.array_equal(again.intercept, plain.intercept)


@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
def test_the_plain_model_of_one_label_is_a_constant(sign: float) -> None:
    rows = people(np.random.default_rng(5), "counts")
    cost = np.full(len(rows), sign / len(rows))
    label = DescentOracle(rows, np.ones(len(rows))).plain_model(cost).labels(rows)
    assert np.unique(label).tolist() == [int(sign < 0)]


def test_only_proportions_matter_to_the_plain_model() -> None:
    """All people twice are the same people."""
    rng = np.random.default_rng(9)
    rows = people(rng, "counts")
    times = rng.integers(1, 4, size=len(rows)).astype(float)
    cost = times * rng.choice([-1.0, 1.0], size=len(rows)) / times.sum()
    once, doubled = (DescentOracle(rows, factor * times).plain_model(cost) for factor in (1, 2))
    assert np.array_equal(once.labels(rows), doubled.labels(rows))


def test_logistic_regression_is_that_of_the_people_themselves() -> None:
    """Also where equal people, of either label, were merged into one point."""
    rng = np.random.default_rng(10)
    everyone = rng.integers(3, size=(400, 2)).astype(float)
    label = rng.random(400) < 1 / (1 + np.exp(2 - everyone.sum(axis=1)))
    rows, place = np.unique(everyone, axis=0, return_inverse=True)
    times = np.bincount(place).astype(float)
    cost = np.bincount(place, 1.0 - 2.0 * label) / 400
    found = descent._logistic_regression(rows, times, cost)
    # A mean weight of 1 a point makes the penalty stronger by the number of people per point.
    by_hand = LogisticRegression(C=len(rows) / 400).fit(everyone, label)
    assert np.allclose(found.coef, by_hand.coef_, atol=1e-3)
    assert np.allclose(found.intercept, by_hand.intercept_, atol=1e-3)


def test_among_equal_costs_the_middle_of_the_widest_interval_is_taken() -> None:
    at = np.array([[0.0, 1.0, 2.0, 3.0, 8.0, 9.0]])
    cost = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])  # thresholds in (1, 2) and in (3, 8) cost -2, all others more
    coef = np.ones(1)
    assert descend(Columns.of(at.T), cost, coef, -100.0, 1, 0.0, None) == pytest.approx(-5.5)
    assert coef.tolist() == [1.0]


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (1.0, 90.0), (-90.0, -1.0), (-np.inf, 3.0), (2.0, np.inf)])
def test_a_step_ends_in_its_interval_and_not_far_from_the_nearer_end(low: float, high: float) -> None:
    step = step_between(low, high, 4.0)
    assert low < step < high
    assert min(step - low, high - step) == min((high - low) / 2, 4.0)
    assert abs(step) <= min(abs(low), abs(high)) + 4.0
    assert low * 1e20 < step_between(low * 1e20, high * 1e20, 4.0) < high * 1e20  # whatever the units


@pytest.mark.parametrize("kind", ["smooth", "counts", "levels"])
def test_costs_by_columns_are_those_by_rows(kind: str) -> None:
    rng = np.random.default_rng(9)
    rows = people(rng, kind, 2500)
    some = LinearClassifiers(rng.normal(size=(5, rows.shape[1])).round(1), rng.normal(size=5).round(1))
    cost = rng.normal(size=len(rows))
    np.testing.assert_array_equal(
        total_costs(Columns.of(rows), cost, some.coef, some.intercept), some.total_costs(rows, cost)
    )


@pytest.mark.parametrize("seed", range(5))
def test_it_is_scikit_learns_linear_regression_of_the_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 5.0, 0.0, -3.0]
    cost = rng.normal(size=60)
    found = RegressionOracle(rows, np.ones(60)).best_response(cost)
    expected = LinearRegression().fit(rows, -cost)
    assert found.coef[0] == pytest.approx(expected.coef_, rel=1e-6, abs=1e-10)
    assert found.intercept[0] == pytest.approx(expected.intercept_, rel=1e-6, abs=1e-10)


def test_two_regressions_are_one_of_their_difference() -> None:
    rng = np.random.default_rng(0)
    rows, cost_0, cost_1 = rng.normal(size=(80, 3)), rng.random(80), rng.random(80)
    of_0, of_1 = (LinearRegression().fit(rows, cost).predict(rows) for cost in (cost_0, cost_1))
    found = RegressionOracle(rows, np.ones(80)).best_response(cost_1 - cost_0)
    assert np.array_equal(found.labels(rows)[0], of_1 < of_0)


def test_folded_rows_weigh_as_often_as_they_stand_in_the_table() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(3, size=(200, 2)).astype(float)
    outcome = (rng.random(200) < 0.2 + 0.3 * rows[:, 0]).astype(int)
    points = merge_equal(rows, outcome, np.ones(200), np.empty((0, 2))).points
    assert len(points.rows) == 9
    found = RegressionOracle(points.rows, points.multiplicity).best_response(points.error_cost)
    expected = LinearRegression().fit(rows, -(1 - 2 * outcome) / 200)
    assert found.coef[0] == pytest.approx(expected.coef_)
    assert found.intercept[0] == pytest.approx(expected.intercept_)


def test_columns_that_repeat_each_other_are_no_trouble() -> None:
    """One-hot columns add to the intercept's: many solutions, one set of fitted costs."""
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=90)
    rows = np.column_stack([np.eye(3)[group], rng.normal(size=90), np.full(90, 2.0), np.zeros(90)])
    cost = rng.normal(size=90)
    found = RegressionOracle(rows, np.ones(90)).best_response(cost)
    fitted = -(rows @ found.coef[0] + found.intercept[0])
    assert fitted == pytest.approx(LinearRegression().fit(rows, cost).predict(rows), abs=1e-8)


def test_the_size_of_the_costs_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows, cost = rng.normal(size=(50, 3)), rng.normal(size=50)
    oracle = RegressionOracle(rows, np.ones(50))
    labels = oracle.best_response(cost).labels(rows)
    for size in (1e-12, 1e12):
        assert np.array_equal(oracle.best_response(size * cost).labels(rows), labels)


def test_it_knows_the_constants_and_claims_no_proof() -> None:
    oracle = RegressionOracle(np.zeros((4, 2)), np.ones(4))
    assert oracle.constants().labels(oracle.rows).tolist() == [[0] * 4, [1] * 4]
    assert not oracle.exact
