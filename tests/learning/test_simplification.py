"""Fewer classifiers, or one rule without chance, and what either costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise import PairwiseFairClassifier
from fairwise.errors import InputError
from fairwise.learning.mixture import Mixture
from fairwise.learning.no_regret import solve_no_regret
from fairwise.learning.pruning import fewest_classifiers

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.mark.parametrize("eta", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_pruning_is_never_worse_and_leaves_at_most_one_more_than_rows(
    listed: Callable[..., Listed], seed: int, eta: float
) -> None:
    game = listed(seed, n_points=9, n_answers=4, n_classifiers=300, eta=eta)
    solution = solve_no_regret(game.problem, game.oracle, n_rounds=300, lambda_bound=2.0, tau_bound=2.0)
    pruned, error = fewest_classifiers(game.problem, Mixture(solution.classifiers, solution.weights))
    errors, differences = game.problem.evaluate(pruned.classifiers)
    assert error == pytest.approx(pruned.weights @ errors)
    assert error <= solution.error + 1e-9
    reached = solution.weights @ game.problem.evaluate(solution.classifiers)[1]
    assert (pruned.weights @ differences <= np.maximum(reached, 0.0) + 1e-7).all()
    assert len(pruned.weights) <= min(len(game.problem) + 1, len(solution.weights))
    assert pruned.weights.sum() == pytest.approx(1.0)


def test_without_rows_the_best_classifier_alone_is_left(listed: Callable[..., Listed]) -> None:
    game = listed(0, eta=None)
    even = np.full(len(game.labels), 1 / len(game.labels))
    pruned, error = fewest_classifiers(game.problem, Mixture(game.oracle._everyone, even))
    assert len(pruned.weights) == 1
    assert error == pytest.approx(game.errors.min())


def test_a_pruned_model_is_measured_anew(model: PairwiseFairClassifier, town: Town) -> None:
    pruned = model.prune()
    assert pruned is not model
    assert len(pruned.weights_) <= len(violations(model, town)) + 1
    assert len(pruned.weights_) <= len(model.weights_)
    before, after = violations(model, town), violations(pruned, town)
    assert all(after[pair] <= before[pair] + 1e-7 for pair in before)
    assert pruned.certificate_.error <= model.certificate_.error + 1e-9
    probability = pruned.predict_proba(town.people)[:, 1]
    error = np.mean(np.where(town.outcome == 1, 1 - probability, probability))
    assert pruned.certificate_.error == pytest.approx(error)
    assert pruned.certificate_.max_violation == pytest.approx(max(after.values()))


def test_the_model_itself_stays_as_it_was(model: PairwiseFairClassifier, town: Town) -> None:
    weights, before = model.weights_.copy(), model.predict_proba(town.people)
    certificate, params = model.certificate_, model.get_params()
    model.prune()
    model.derandomize()
    assert np.array_equal(model.weights_, weights)
    assert np.array_equal(model.predict_proba(town.people), before)
    assert model.certificate_ is certificate
    assert model.get_params() == params
    assert not hasattr(model, "derandomization_")


@pytest.mark.parametrize("mean_violation", [None, 0.0, 0.1, 0.3, 1.0])
def test_a_derandomised_model_decides_for_certain_and_says_what_that_adds(
    model: PairwiseFairClassifier, town: Town, mean_violation: float | None
) -> None:
    single = model.derandomize(mean_violation)
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
    assert report.mean_excess_added == pytest.approx(found.mean_excess - model.certificate_.mean_excess)
    assert (found.error, found.max_violation) == (report.error, report.max_violation)


@pytest.mark.parametrize("mean_violation", [None, 0.0, 0.05, 0.1, 0.2, 0.3])
def test_its_mean_violation_is_at_most_what_was_allowed(
    model: PairwiseFairClassifier, mean_violation: float | None
) -> None:
    """In the one sense in which the certificate and the report use the word."""
    allowed = model.certificate_.mean_violation if mean_violation is None else mean_violation
    assert model.derandomize(mean_violation).certificate_.mean_violation <= allowed + 1e-9


def test_allowing_more_never_costs_accuracy(model: PairwiseFairClassifier) -> None:
    errors = [model.derandomize(allowed).certificate_.error for allowed in (0.0, 0.05, 0.1, 0.2, 0.4, 1.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


@pytest.mark.parametrize("allowed", [0.0, 0.1, 0.3, 1.0])
def test_no_classifier_or_threshold_would_have_been_better(
    model: PairwiseFairClassifier, town: Town, allowed: float
) -> None:
    """All of them, one by one."""
    probability = model.predict_proba(town.people)[:, 1]
    candidates = [*model.classifiers_.labels(model._rows(town.people))]
    candidates += [probability >= threshold for threshold in [*np.unique(probability), 2.0]]
    counted = town.judgments.counted()
    a, b = (town.people.index.get_indexer(pd.Index(counted[side])) for side in "ab")
    possible = [
        float(np.mean(labels != town.outcome))
        for labels in candidates
        if np.average(labels[a] != labels[b], weights=counted["weight"]) <= allowed
    ]
    assert model.derandomize(allowed).certificate_.error == pytest.approx(min(possible))


@pytest.mark.parametrize("mean_violation", [-0.1, 1.5, float("nan")])
def test_an_impossible_allowance_is_refused(model: PairwiseFairClassifier, mean_violation: float) -> None:
    with pytest.raises(InputError, match=r"mean_violation=.* must be a number from 0 to 1"):
        model.derandomize(mean_violation)


def test_a_derandomised_model_can_be_pruned(model: PairwiseFairClassifier, town: Town) -> None:
    """Whatever comes out of both is no worse than the rule, and its certificate is about itself."""
    single = model.derandomize(0.3)
    pruned = single.prune()
    probability = pruned.predict_proba(town.people)[:, 1]
    error = np.mean(np.where(town.outcome == 1, 1 - probability, probability))
    assert pruned.certificate_.error == pytest.approx(error)
    assert pruned.certificate_.error <= single.certificate_.error + 1e-9
    before, after = violations(single, town), violations(pruned, town)
    assert all(after[pair] <= before[pair] + 1e-7 for pair in before)


def test_a_new_fit_forgets_the_rule(model: PairwiseFairClassifier, town: Town) -> None:
    single = model.derandomize(0.3)
    single.fit(town.people, town.outcome, judgments=town.judgments)
    assert np.array_equal(single.predict_proba(town.people), model.predict_proba(town.people))
    assert not hasattr(single, "derandomization_")


def test_the_plain_model_is_deterministic_already(town: Town) -> None:
    model = PairwiseFairClassifier("tree").fit(town.people, town.outcome)
    single = model.derandomize()
    assert single.certificate_.error <= model.certificate_.error + 1e-12
    assert single.derandomization_.error_added <= 1e-12
    assert len(model.prune().weights_) == 1
