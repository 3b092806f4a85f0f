"""One rule without chance, and what it breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity, ErrorRateParity
from sklearn.tree import DecisionTreeClassifier
from tests.support.listed_decisions import Decisions

from fairwise import PairwiseFairClassifier
from fairwise.errors import InputError
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.model.simpler import best_deterministic_rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.learning.conftest import Listed, Town


@pytest.fixture(scope="module", params=["tree", "linear-regression"])
def model(request: pytest.FixtureRequest, make_town: Callable[..., Town]) -> PairwiseFairClassifier:
    town = make_town(n_answers=15)
    given: dict[str, Any] = {"gamma": 0.05}
    if request.param == "linear-regression":
        given |= {"solver": "no-regret", "n_rounds": 300, "lambda_bound": 2.0}
    return PairwiseFairClassifier(request.param, **given).fit(town.people, town.outcome, judgments=town.judgments)


@pytest.fixture(scope="module")
def town(make_town: Callable[..., Town]) -> Town:
    return make_town(n_answers=15)


def violations(model: PairwiseFairClassifier, town: Town) -> dict[tuple[Any, Any], float]:
    probability = dict(zip(town.people.index, model.predict_proba(town.people)[:, 1], strict=True))
    counted = town.judgments.counted()
    pairs = [*zip(counted["a"], counted["b"], strict=True), *zip(counted["b"], counted["a"], strict=True)]
    return {(a, b): max(0.0, probability[a] - probability[b]) for a, b in pairs}


def test_the_model_itself_stays_as_it_was(model: PairwiseFairClassifier, town: Town) -> None:
    weights, before = model.weights_.copy(), model.predict_proba(town.people)
    certificate, params = model.certificate_, model.get_params()
    model.simplify()
    model.derandomize()
    assert np.array_equal(model.weights_, weights)
    assert np.array_equal(model.predict_proba(town.people), before)
    assert model.certificate_ is certificate
    assert model.get_params() == params
    assert not hasattr(model, "derandomization_")
    assert not hasattr(model, "simplification_")


@pytest.mark.parametrize("mean_violation", [None, 0.0, 0.1, 0.3, 1.0])
def test_a_derandomised_model_decides_for_certain_and_says_what_that_adds(
    model: PairwiseFairClassifier, town: Town, mean_violation: float | None
) -> None:
    single = model.derandomize(mean_violation=mean_violation)
    labels = single.predict(town.people)
    assert np.array_equal(single.predict_proba(town.people)[:, 1], labels)
    report, found = single.derandomization_, single.certificate_
    assert report.error == pytest.approx(np.mean(labels != town.outcome))
    assert report.error_added == pytest.approx(report.error - model.certificate_.error)
    after = violations(single, town)
    assert report.max_violation == pytest.approx(max(after.values()))
    assert report.max_violation_added == pytest.approx(max(after.values()) - model.certificate_.max_violation)
    counted = town.judgments.counted()
    apart = [after[a, b] + after[b, a] for a, b in zip(counted["a"], counted["b"], strict=True)]
    assert report.mean_violation == pytest.approx(np.average(apart, weights=counted["weight"]))
    assert report.mean_violation_added == pytest.approx(report.mean_violation - model.certificate_.mean_violation)
    assert report.judgments_counted == len(counted)
    assert report.judgments_broken == np.sum(np.array(apart) > 0.05)
    assert report.judgments_broken == (single.prices_["status"] == "not followed").sum()
    assert report.mean_excess_added == pytest.approx(found.mean_excess - model.certificate_.mean_excess)
    assert (found.error, found.max_violation) == (report.error, report.max_violation)


@pytest.mark.parametrize("mean_violation", [None, 0.0, 0.05, 0.1, 0.2, 0.3])
def test_its_mean_violation_is_at_most_what_was_allowed(
    model: PairwiseFairClassifier, mean_violation: float | None
) -> None:
    """In the one sense in which the certificate and the report use the word."""
    allowed = model.certificate_.mean_violation if mean_violation is None else mean_violation
    assert model.derandomize(mean_violation=mean_violation).certificate_.mean_violation <= allowed + 1e-9


def test_allowing_more_never_costs_accuracy(model: PairwiseFairClassifier) -> None:
    errors = [
        model.derandomize(mean_violation=allowed).certificate_.error for allowed in (0.0, 0.05, 0.1, 0.2, 0.4, 1.0)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


@pytest.mark.parametrize("allowed", [0.0, 0.1, 0.3, 1.0])
def test_no_classifier_or_threshold_would_have_been_better(
    model: PairwiseFairClassifier, town: Town, allowed: float
) -> None:
    """All of them, one by one: also classifiers that were found and have no weight."""
    probability = model.predict_proba(town.people)[:, 1]
    pool = model._after_fit()[1].pool
    candidates = [*(model.classifiers_ if pool is None else pool).labels(model._rows(town.people))]
    candidates += [probability >= threshold for threshold in [*np.unique(probability), 2.0]]
    counted = town.judgments.counted()
    a, b = (town.people.index.get_indexer(pd.Index(counted[side])) for side in "ab")
    possible = [
        float(np.mean(labels != town.outcome))
        for labels in candidates
        if np.average(labels[a] != labels[b], weights=counted["weight"]) <= allowed
    ]
    assert model.derandomize(mean_violation=allowed).certificate_.error == pytest.approx(min(possible))


@pytest.mark.parametrize("mean_violation", [-0.1, 1.5, float("nan")])
def test_an_impossible_allowance_is_refused(model: PairwiseFairClassifier, mean_violation: float) -> None:
    with pytest.raises(InputError, match=r"mean_violation=.* must be a number from 0 to 1"):
        model.derandomize(mean_violation=mean_violation)


def test_its_promise_and_its_fields_are_about_all_judgments(make_town: Callable[..., Town]) -> None:
    """Ordered ones too, of which a certificate's mean violation says nothing."""
    town = make_town(n_answers=15, ordered=True)
    model = PairwiseFairClassifier("tree", gamma=0.05, eta=0.05, favorable_label=1)
    model.fit(town.people, town.outcome, judgments=town.judgments)
    answered = model.prices_
    asks = (answered["status"] != "asks nothing").to_numpy()
    weight = town.judgments.counted()["weight"].to_numpy()[asks]
    before = np.average(answered["violation"][asks], weights=weight)
    for allowed in (None, 0.0, 0.1, 0.4):
        single = model.derandomize(mean_violation=allowed)
        told = single.derandomization_
        after = np.average(single.prices_["violation"][asks], weights=weight)
        assert told.mean_violation == pytest.approx(after)
        assert told.mean_violation_added == pytest.approx(after - before)
        assert told.mean_violation_allowed == pytest.approx(before if allowed is None else allowed)
        assert after <= told.mean_violation_allowed + 1e-9
        assert told.judgments_counted == asks.sum()


def with_equal_errors(town: Town, bound: float) -> PairwiseFairClassifier:
    """A rule with negative limits; what the cities' people get wrong is to be nearly the same."""
    rule = ErrorRateParity(difference_bound=bound)
    model = PairwiseFairClassifier("tree", gamma=0.1, eta=0.02, group_constraints=[rule], tol=1e-9)
    return model.fit(
        town.people, town.outcome, judgments=town.judgments, sensitive_features=town.people["city"].to_numpy()
    )


def test_what_is_broken_is_named(make_town: Callable[..., Town]) -> None:
    """No rule gets exactly as much wrong in every city."""
    single = with_equal_errors(make_town(n=200, n_answers=4), 0.0).derandomize()
    told, rules = single.derandomization_, single.group_rules_.set_index("rule")
    over = rules["value"] - rules["limit"]
    assert told.group_rules_broken == over[over > 1e-6].to_dict()
    assert 0 < len(told.group_rules_broken) < len(rules)
    in_words = str(told)
    assert f"{told.judgments_broken} of {told.judgments_counted}" in in_words
    for name, by in told.group_rules_broken.items():
        assert f"{name} by {by:.4f}" in in_words
    assert ("panel" in told.budgets_broken) == (single.certificate_.mean_excess > 0.02)


@pytest.mark.parametrize("seed", range(4))
def test_classifiers_without_weight_in_the_mixture_are_looked_at_too(listed: Callable[..., Listed], seed: int) -> None:
    game = listed(seed, n_classifiers=None)
    everyone = game.oracle._everyone
    nothing = Mixture(everyone.take(np.array([0])), np.ones(1))
    best = best_deterministic_rule(game.problem, game.pairs, nothing, everyone, 1.0)
    assert best.error == pytest.approx(game.errors.min())
    assert best.error < best_deterministic_rule(game.problem, game.pairs, nothing, None, 1.0).error
    assert "without weight" in best.description


def test_a_threshold_below_the_bound_says_that_it_is_outside_the_class(make_town: Callable[..., Town]) -> None:
    below = []
    for seed in range(8):
        town = make_town(seed, n_answers=6)
        model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.3, eta=0.1, tol=1e-9)
        single = model.fit(town.people, town.outcome, judgments=town.judgments).derandomize(mean_violation=1.0)
        told, certificate = single.derandomization_, single.certificate_
        if certificate.gap < -1e-9:
            threshold = told.rule.startswith("label 1 where")
            below.append(threshold)
            assert ("it breaks the rules" in str(certificate)) == bool(told.budgets_broken)
            assert ("a threshold on a mixture is outside that class" in str(certificate)) == threshold
            assert threshold or told.budgets_broken
    assert below


def test_a_new_fit_forgets_the_rule(model: PairwiseFairClassifier, town: Town) -> None:
    single = model.derandomize(mean_violation=0.3)
    single.fit(town.people, town.outcome, judgments=town.judgments)
    assert np.array_equal(single.predict_proba(town.people), model.predict_proba(town.people))
    assert not hasattr(single, "derandomization_")


def test_the_plain_model_is_deterministic_already(town: Town) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome)
    single = model.derandomize()
    assert single.certificate_.error <= model.certificate_.error + 1e-12
    assert single.derandomization_.error_added <= 1e-12


def mean_violation_of(problem: Decisions, treated: Any) -> float:
    """From the definitions: the weighted mean, over the answers that ask for something, of how far each is violated."""
    total = weight = 0.0
    for row in problem.judgments.frame.to_dict("records"):
        apart = treated[row["a"]] - treated[row["b"]]
        by = {"same": abs(apart), "a_at_least_b": max(-apart, 0.0), "b_at_least_a": max(apart, 0.0)}
        if row["answer"] in by:
            total, weight = total + row["weight"] * by[row["answer"]], weight + row["weight"]
    return float(total / weight)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas
@pytest.mark.parametrize("seed", range(10))
def test_of_several_labels_no_classifier_found_and_no_constant_would_have_been_better(seed: int) -> None:
    """Also two labels whose values are no 0 and 1, which may be cut at a threshold besides."""
    problem = Decisions.draw(seed, 2 + seed % 3)
    values = {"bail": 0.8, "deny": 0.3} if seed % 3 == 0 else dict(problem.values)
    settings = problem.settings | {"group_constraints": None}
    if len(values) == 2:  # the average of many rounds has more thresholds than a vertex of a programme
        settings |= {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 60, "lambda_bound": 5.0}
    model = PairwiseFairClassifier(**({"estimator": "tree"} | settings), label_values=values, loss=problem.loss)
    model.fit(problem.people, problem.outcome, judgments=problem.judgments, sample_weight=problem.weight)
    pool = model._after_fit()[1].pool
    found = (model.classifiers_ if pool is None else pool).labels(model._rows(problem.people))
    candidates = [*found, *(np.full(len(problem.people), label) for label in range(len(values)))]
    if len(values) == 2:
        probability = model.predict_proba(problem.people)[:, 1]
        candidates += [(probability >= cut).astype(int) for cut in np.unique(probability)]
    good = np.array([values[name] for name in model.classes_])
    right = np.searchsorted(model.classes_, problem.outcome)
    loss = 1.0 - np.eye(len(good)) if problem.loss is None else problem.loss.loc[model.classes_, model.classes_]
    reached = [
        (mean_violation_of(problem, good[labels]), float(np.asarray(loss)[right, labels] @ problem.share))
        for labels in candidates
    ]
    for allowed in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0):
        single = model.derandomize(mean_violation=allowed)
        least = min(error for violation, error in reached if violation <= allowed + 1e-9)
        assert single.certificate_.error == pytest.approx(least, abs=1e-9)
        chances = single.predict_proba(problem.people)
        assert set(np.unique(chances)) <= {0.0, 1.0}
        labels = chances.argmax(axis=1)
        assert np.array_equal(single.predict(problem.people), model.classes_[labels])
        assert float(np.asarray(loss)[right, labels] @ problem.share) == pytest.approx(least, abs=1e-9)
        told = single.derandomization_
        assert told.mean_violation == pytest.approx(mean_violation_of(problem, good[labels]), abs=1e-12)
        assert told.mean_violation <= allowed + 1e-9


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas
def test_of_several_labels_rules_about_groups_come_first() -> None:
    """Any label for everyone keeps them, so that what is chosen does, however much it is allowed otherwise."""
    for seed in range(12):
        problem = Decisions.draw(seed, 3)
        asked = {problem.names[0]: [DemographicParity(difference_bound=0.05)]}
        model = PairwiseFairClassifier("tree", label_values=problem.values, group_constraints=asked)
        model.fit(problem.people, problem.outcome, judgments=problem.judgments, sensitive_features=problem.group)
        single = model.derandomize(mean_violation=1.0)
        assert single.derandomization_.group_rules_broken == {}
        is_first = single.predict(problem.people) == problem.names[0]
        rates = pd.Series(is_first).groupby(problem.group.to_numpy()).mean() - is_first.mean()
        assert rates.abs().max() <= 0.05 + 1e-9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ["linear-regression", DecisionTreeClassifier(max_depth=1)], ids=str)
def test_of_several_labels_one_rule_is_saved_and_put_in_words(estimator: Any, tmp_path: Path) -> None:
    problem = Decisions.draw(3, 3)
    model = PairwiseFairClassifier(estimator, label_values=problem.values, gamma=0.0, max_iter=3)
    model.fit(problem.people, problem.outcome, judgments=problem.judgments)
    single = model.derandomize()
    single.save(tmp_path / "model.skops")
    read = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(read.predict(problem.people), single.predict(problem.people))
    assert read.derandomization_ == single.derandomization_
    for one in (single, read):
        assert "without chance" in str(one.rules_)
        told = str(one.explain(problem.people.iloc[[2]])).split("\n", maxsplit=1)[0]
        assert f"{one.predict(problem.people)[2]}, for certain" in told


@pytest.mark.parametrize("values", [(0.3, 0.8), (0.8, 0.3)])
def test_thresholds_break_judgments_by_as_much_as_the_labels_differ_in_value(
    model: PairwiseFairClassifier, values: tuple[float, float]
) -> None:
    prepared, solution = model._after_fit()
    plain = replace(prepared.problem, sign=float(np.sign(values[1] - values[0])))
    valued = replace(plain, label_values=np.array(values))
    given = prepared.pairs, model._mixture, solution.pool
    for allowed in np.linspace(0, 0.5, 40):
        one = best_deterministic_rule(plain, *given, 2 * allowed)
        two = best_deterministic_rule(valued, *given, allowed)
        assert two.threshold == one.threshold
        assert two.mean_violation == pytest.approx(one.mean_violation / 2, abs=1e-12)
        assert two.error == pytest.approx(one.error, abs=1e-12)
