"""What a fitted model says about itself is true of its predictions."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.constraints.pairs import PairRows
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.learning.conftest import Town

ESTIMATORS: dict[str, dict[str, Any]] = {
    "linear": {"estimator": "linear"},
    "linear-regression": {"estimator": "linear-regression"},
    "tree": {"estimator": "tree"},
    "stump": {"estimator": "tree", "max_depth": 1},
    "logistic": {"estimator": LogisticRegression()},
    "neighbours": {"estimator": KNeighborsClassifier(5)},
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def fit(town: Town, **given: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(**given).fit(town.people, town.outcome, judgments=town.judgments)


def of_label_1(model: PairwiseFairClassifier, people: Any) -> Any:
    return model.predict_proba(people)[:, 1]


def expected_error(model: PairwiseFairClassifier, town: Town) -> float:
    probability = of_label_1(model, town.people)
    return float(np.mean(np.where(town.outcome == 1, 1 - probability, probability)))


@each_estimator
@pytest.mark.parametrize("favorable_label", [0, 1])
def test_the_certificate_is_about_the_predictions(
    make_town: Callable[..., Town], name: str, favorable_label: int
) -> None:
    town = make_town(ordered=True)
    model = fit(town, **ESTIMATORS[name], gamma=0.1, favorable_label=favorable_label)
    rows = PairRows.from_judgments(town.judgments)
    probability = pd.Series(of_label_1(model, town.people), index=town.people.index)[rows.people].to_numpy()
    favorable = probability if favorable_label == 1 else 1 - probability
    found = model.certificate_
    assert found.error == pytest.approx(expected_error(model, town))
    assert found.max_violation == pytest.approx(rows.violations(favorable).max())
    assert found.mean_violation == pytest.approx(rows.mean_violation(favorable))
    excess = np.maximum(rows.violations(favorable) - 0.1, 0.0)
    assert found.mean_excess == pytest.approx(rows.shares("answers") @ excess, abs=1e-9)
    assert found.max_violation <= 0.1 + 1e-6
    assert model.weights_.sum() == pytest.approx(1.0)
    assert len(model.classifiers_) == len(model.weights_)


@each_estimator
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5])
def test_it_keeps_what_was_asked_and_is_no_worse_than_a_constant(town: Town, name: str, gamma: float) -> None:
    found = fit(town, **ESTIMATORS[name], gamma=gamma).certificate_
    assert found.max_violation <= gamma + 1e-6
    assert found.error <= min(town.outcome.mean(), 1 - town.outcome.mean()) + 1e-9
    assert found.kind == ("exact" if name in {"tree", "stump"} else "heuristic")
    if found.kind == "exact":
        assert found.lower_bound <= found.error + 1e-9
        assert found.gap <= 1e-4
        assert found.gap == pytest.approx(found.error - found.lower_bound)
    else:
        assert np.isnan([found.lower_bound, found.gap]).all()


def test_of_two_exact_classes_the_larger_one_is_no_worse(town: Town) -> None:
    errors = [fit(town, estimator="tree", max_depth=depth, tol=1e-7).certificate_.error for depth in (1, 2, 3)]
    assert errors[0] >= errors[1] - 1e-6
    assert errors[1] >= errors[2] - 1e-6
    coarse = fit(town, estimator="tree", max_thresholds=3).certificate_
    assert coarse.error >= errors[1] - 1e-4
    assert "decision trees of depth 2" in coarse.hypothesis_class
    assert coarse.hypothesis_class != fit(town, estimator="tree").certificate_.hypothesis_class


def test_more_freedom_is_never_worse(town: Town) -> None:
    by_gamma = [fit(town, estimator="tree", gamma=gamma, tol=1e-7).certificate_.error for gamma in (0, 0.1, 0.3, 1)]
    by_eta = [
        fit(town, estimator="tree", gamma=0, eta=eta, tol=1e-7).certificate_.error for eta in (0, 0.02, 0.1, None)
    ]
    for errors in (by_gamma, by_eta):
        assert np.diff(errors).max() <= 1e-6
        assert errors[0] > errors[-1] + 0.01
    assert by_gamma[-1] == pytest.approx(by_eta[-1], abs=1e-6)


@each_estimator
def test_without_judgments_or_budget_it_is_the_plain_model(town: Town, name: str) -> None:
    plain = PairwiseFairClassifier(**ESTIMATORS[name]).fit(town.people, town.outcome)
    assert len(plain.weights_) == 1
    assert set(of_label_1(plain, town.people)) <= {0.0, 1.0}
    free = fit(town, **ESTIMATORS[name], eta=None)
    assert np.array_equal(free.predict_proba(town.people), plain.predict_proba(town.people))
    assert free.certificate_.max_violation == 1.0  # measured all the same
    assert len(free.prices_) == 12
    assert (free.prices_["price"] == 0).all()
    nothing = Judgments([], people=town.people)
    silent = PairwiseFairClassifier(**ESTIMATORS[name]).fit(town.people, town.outcome, judgments=nothing)
    assert np.array_equal(silent.predict_proba(town.people), plain.predict_proba(town.people))


def test_the_plain_model_is_the_given_classifier(town: Town) -> None:
    numbers = town.people[["age", "member"]]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    ours = PairwiseFairClassifier(pipeline).fit(numbers, town.outcome)
    assert np.array_equal(ours.predict(numbers), pipeline.fit(numbers, town.outcome).predict(numbers))


def test_a_panel_budget_is_kept_in_both_weightings(town: Town) -> None:
    for weighting in ("answers", "panel"):
        for eta in (0.0, 0.02, 0.1):
            model = fit(town, estimator="tree", gamma=0.05, eta=eta, weighting=weighting, tol=1e-7)
            assert model.certificate_.mean_excess <= eta + 1e-6
            if eta:
                assert model.certificate_.mean_excess >= eta - 1e-6  # and used to the full, here


def test_no_judge_suffers_more_than_their_budget(town: Town) -> None:
    def suffered(model: PairwiseFairClassifier) -> dict[str, float]:
        return {str(judge): part["excess"].sum() / (2 * len(part)) for judge, part in model.prices_.groupby("judge")}

    free = fit(town, estimator="tree", gamma=0.05, eta=None)
    assert min(suffered(free).values()) > 0.06
    for_all = fit(town, estimator="tree", gamma=0.05, eta=None, judge_budgets=0.05)
    assert max(suffered(for_all).values()) <= 0.05 + 1e-6
    for_one = fit(town, estimator="tree", gamma=0.05, eta=None, judge_budgets={"bea": 0.0})
    assert suffered(for_one)["bea"] <= 1e-6
    assert suffered(for_one)["ann"] > 0.05
    assert free.certificate_.error < for_one.certificate_.error < for_all.certificate_.error + 0.2


def test_both_solvers_say_the_same_things(town: Town) -> None:
    models = [
        fit(town, estimator="tree", gamma=0.1, solver="column-generation"),
        fit(town, estimator="tree", gamma=0.1, solver="no-regret", n_rounds=60, lambda_bound=3.0),
        fit(town, estimator="linear-regression", gamma=0.1, solver="no-regret", n_rounds=60),
    ]
    for model in models:
        assert model.trajectory_.columns.tolist() == ["error", "max_violation", "gap"]
        assert model.trajectory_.index.name == "round"
        assert model.trajectory_.index[0] == 1
        columns = ["judge", "a", "b", "answer", "price", "violation", "excess", "status"]
        assert model.prices_.columns.tolist() == columns
        assert type(model.certificate_) is type(models[0].certificate_)
        assert model.certificate_.error == pytest.approx(expected_error(model, town))
    assert [len(model.trajectory_) for model in models[1:]] == [60, 60]
    proved, played = models[0].certificate_, models[1].certificate_
    assert proved.kind == played.kind == "exact"
    assert played.lower_bound <= proved.error + 1e-9
    assert proved.lower_bound <= proved.error + 1e-9


def test_nu_stops_the_dynamics(town: Town) -> None:
    model = fit(town, estimator="tree", solver="no-regret", nu=0.5)
    gap = model.trajectory_["gap"].to_numpy()
    assert gap[-1] <= 0.5
    assert (gap[:-1][~np.isnan(gap[:-1])] > 0.5).all()


def test_prices_are_the_multipliers_of_what_binds(town: Town) -> None:
    prices = fit(town, estimator="tree", gamma=0.1, tol=1e-7).prices_
    dear = prices[prices["price"] > 1e-6]
    assert len(dear) > 0
    assert dear["violation"].to_numpy() == pytest.approx(np.full(len(dear), 0.1), abs=1e-6)
    assert prices["excess"].max() <= 1e-6


def test_dropping_a_pair_saves_no_more_than_its_price_says(town: Town) -> None:
    """The saving is at most lambda times the new violation beyond gamma."""
    model = fit(town, estimator="tree", gamma=0.1, tol=1e-8)
    frame = town.judgments.frame
    for row in model.prices_["price"].nlargest(2).index:
        without = Judgments(frame.drop(index=row), people=town.people)
        freed = PairwiseFairClassifier("tree", gamma=0.1, tol=1e-8).fit(town.people, town.outcome, judgments=without)
        saving = model.certificate_.error - freed.certificate_.error
        probability = pd.Series(of_label_1(freed, town.people), index=town.people.index)
        apart = abs(probability[frame.loc[row, "a"]] - probability[frame.loc[row, "b"]])
        assert -1e-6 <= saving <= model.prices_.loc[row, "price"] * max(0.0, apart - 0.1) + 1e-6


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("name", ["linear", "linear-regression", "tree", "stump"])
def test_a_weight_is_so_many_people(make_town: Callable[..., Town], name: str, outside: bool) -> None:
    """For our own classes; other estimators see rows as they are, and may draw among them."""
    town = make_town(missing=False)
    training = town.outsiders.index if outside else town.people.index
    weight = np.random.default_rng(0).integers(0 if not outside else 1, 4, size=len(training))
    given = {**ESTIMATORS[name], "gamma": 0.1}
    weighted = PairwiseFairClassifier(**given).fit(
        town.people.loc[training], town.outcome.loc[training], judgments=town.judgments, sample_weight=weight
    )
    repeated = PairwiseFairClassifier(**given).fit(
        town.people.loc[training.repeat(weight)],
        town.outcome.loc[training.repeat(weight)],
        judgments=town.judgments,
    )
    assert weighted.certificate_.error == pytest.approx(repeated.certificate_.error, abs=1e-9)
    assert np.allclose(of_label_1(weighted, town.people), of_label_1(repeated, town.people), atol=1e-9)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("estimator", ["linear", "linear-regression", "tree"])
def test_only_proportions_of_weights_matter(town: Town, estimator: str, outside: bool) -> None:
    """Also where judged people, who have no weight of their own, are none of the training people."""
    training = town.outsiders.index if outside else town.people.index
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(training))
    one, other = (
        PairwiseFairClassifier(estimator, gamma=0.1).fit(
            town.people.loc[training],
            town.outcome.loc[training],
            judgments=town.judgments,
            sample_weight=factor * weight,
        )
        for factor in (1.0, 1024.0)
    )
    assert np.allclose(of_label_1(one, town.people), of_label_1(other, town.people), atol=1e-9)


def test_the_favourable_label_turns_an_ordered_answer_round(make_town: Callable[..., Town]) -> None:
    """'A at least as well as B' with 0 as the good label is 'B at least as well as A' with 1."""
    town = make_town(ordered=True)
    frame = town.judgments.frame
    swap = {"a_at_least_b": "b_at_least_a", "b_at_least_a": "a_at_least_b"}
    mirrored = Judgments(frame.assign(answer=frame["answer"].replace(swap)), people=town.people)
    for estimator in ("tree", "linear", "linear-regression"):
        one = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=1)
        other = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=0)
        wrong = PairwiseFairClassifier(estimator, gamma=0.05, favorable_label=0)
        one.fit(town.people, town.outcome, judgments=town.judgments)
        other.fit(town.people, town.outcome, judgments=mirrored)
        wrong.fit(town.people, town.outcome, judgments=town.judgments)
        assert np.allclose(of_label_1(one, town.people), of_label_1(other, town.people), atol=1e-9)
        assert not np.allclose(of_label_1(one, town.people), of_label_1(wrong, town.people), atol=1e-3)


def test_swapping_the_labels_and_the_good_one_mirrors_the_optimum(make_town: Callable[..., Town]) -> None:
    town = make_town(ordered=True)
    one = fit(town, estimator="tree", gamma=0.1, favorable_label=1, tol=1e-8)
    other = PairwiseFairClassifier("tree", gamma=0.1, favorable_label=0, tol=1e-8)
    other.fit(town.people, 1 - town.outcome, judgments=town.judgments)
    assert other.certificate_.error == pytest.approx(one.certificate_.error, abs=1e-6)


def test_symmetric_answers_do_not_notice_the_favourable_label(town: Town) -> None:
    found = [of_label_1(fit(town, estimator="tree", favorable_label=label), town.people) for label in (None, 0, 1)]
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)


@pytest.mark.parametrize("labels", [("bad", "good"), (False, True), (-1, 1), (2.0, 3.0)])
def test_labels_may_be_anything_binary(town: Town, labels: tuple[Any, Any]) -> None:
    outcome = [labels[value] for value in town.outcome]
    model = PairwiseFairClassifier("tree", favorable_label=labels[1])
    model.fit(town.people, outcome, judgments=town.judgments)
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(town.people).tolist()) <= set(labels)
    expected = of_label_1(fit(town, estimator="tree", favorable_label=1), town.people)
    assert np.allclose(of_label_1(model, town.people), expected, atol=1e-9)


def test_probabilities_are_those_of_the_classes(town: Town) -> None:
    probability = fit(town, estimator="linear").predict_proba(town.people)
    assert probability.shape == (len(town.people), 2)
    assert probability.sum(axis=1) == pytest.approx(np.ones(len(town.people)))
    assert probability.min() >= 0.0


@each_estimator
def test_fitting_twice_gives_the_same_model(town: Town, name: str) -> None:
    one, two = (fit(town, **ESTIMATORS[name], gamma=0.3) for _ in range(2))
    assert np.array_equal(one.predict_proba(town.people), two.predict_proba(town.people))


def test_a_copy_in_another_process_has_no_training_people(town: Town) -> None:
    model = fit(town, estimator="tree")
    again = pickle.loads(pickle.dumps(model))
    assert again._training is None
    with pytest.raises(InputError, match="no training people in memory"):
        again.prune()
    assert np.array_equal(again.predict(town.people), model.predict(town.people))
    assert len(model.prune().weights_) >= 1  # the model itself still has them


def test_the_table_given_to_fit_stays_as_it_was(town: Town) -> None:
    before, outcome = town.people.copy(), town.outcome.copy()
    said = town.judgments.frame
    fit(town, estimator="linear").predict(town.people)
    pd.testing.assert_frame_equal(town.people, before)
    pd.testing.assert_series_equal(town.outcome, outcome)
    pd.testing.assert_frame_equal(town.judgments.frame, said)


def test_a_pipeline_gets_the_peoples_own_columns(town: Town) -> None:
    seen: list[list[str]] = []

    class Watching(StandardScaler):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
            seen.append(list(X.columns))
            return super().fit(X, y, sample_weight)

    numbers = town.people[["age", "member"]]
    PairwiseFairClassifier(make_pipeline(Watching(), LogisticRegression())).fit(
        numbers, town.outcome, judgments=town.judgments
    )
    assert seen
    assert all(columns == ["age", "member"] for columns in seen)
