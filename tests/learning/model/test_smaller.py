"""Fewer classifiers, what they cost, and models whose people are given again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fairlearn.reductions import DemographicParity, ErrorRateParity

from fairwise import PairwiseFairClassifier
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.learning.conftest import Town

GIVEN: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree"},
    "linear": {"estimator": "linear", "eta": 0.02},
    "no-regret": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 200, "lambda_bound": 2.0},
}
each_kind = pytest.mark.parametrize("kind", GIVEN)


@pytest.fixture(scope="module")
def town(make_town: Callable[..., Town]) -> Town:
    return make_town(n_answers=15)


def fitted(town: Town, kind: str, **given: Any) -> PairwiseFairClassifier:
    model = PairwiseFairClassifier(**GIVEN[kind], gamma=0.05, **given)
    return model.fit(town.people, town.outcome, judgments=town.judgments)


@each_kind
def test_a_smaller_model_is_measured_anew_and_says_what_it_costs(town: Town, kind: str) -> None:
    model = fitted(town, kind)
    for most in (None, 2):
        smaller = model.simplify(max_classifiers=most)
        told, certificate = smaller.simplification_, smaller.certificate_
        assert smaller is not model
        assert len(smaller.weights_) <= (most or len(model.weights_))
        probability = smaller.predict_proba(town.people)[:, 1]
        error = np.mean(np.where(town.outcome == 1, 1 - probability, probability))
        assert certificate.error == told.error == pytest.approx(error)
        assert told.error_added == pytest.approx(error - model.certificate_.error)
        assert certificate.max_violation <= max(model.certificate_.max_violation, 0.05) + 1e-6 or kind == "linear"
        assert certificate.mean_excess <= max(model.certificate_.mean_excess, model.eta or 0.0) + 1e-6
        assert f"{told.classifiers}   ({told.classifiers_removed} fewer)" in str(told)
        assert certificate.max_classifiers == most
        assert ("any number of them" in str(certificate)) == (most is not None)


def test_an_average_of_a_game_becomes_small_for_nothing(town: Town) -> None:
    model = fitted(town, "no-regret")
    smaller = model.simplify()
    assert len(smaller.weights_) < len(model.weights_) / 2
    assert smaller.certificate_.error <= model.certificate_.error + 1e-9


def test_so_many_at_most_can_be_asked_for_in_the_fit(town: Town) -> None:
    """The bound is that for any number, and each classifier more is no worse."""
    free = fitted(town, "tree")
    errors = []
    for most in (1, 2, len(free.weights_)):
        model = fitted(town, "tree", max_classifiers=most)
        assert len(model.weights_) <= most
        assert model.certificate_.lower_bound == pytest.approx(free.certificate_.lower_bound, abs=1e-9)
        assert model.certificate_.gap >= -1e-9
        assert model.certificate_.max_violation <= 0.05 + 1e-6
        errors.append(model.certificate_.error)
    assert all(after <= before + model.tol for before, after in pairwise(errors))
    assert errors[0] > errors[-1] + 0.01
    assert errors[-1] <= free.certificate_.lower_bound + model.tol


def test_the_game_is_not_limited_but_simplified_afterwards(town: Town) -> None:
    with pytest.raises(InputError, match=r"max_classifiers=3 goes with .* model.simplify"):
        fitted(town, "no-regret", max_classifiers=3)


def test_one_classifier_cannot_keep_every_rule_about_groups(make_town: Callable[..., Town]) -> None:
    """None gets exactly as much wrong in every city; two constants, half of each, do."""
    town = make_town(n=200, n_answers=4)
    asked = {"judgments": town.judgments, "sensitive_features": town.people["city"].to_numpy()}
    model = PairwiseFairClassifier("tree", gamma=0.1, group_constraints=[ErrorRateParity(difference_bound=0.0)])
    with pytest.raises(InputError, match="max_classifiers=1: no mixture of so few"):
        model.set_params(max_classifiers=1).fit(town.people, town.outcome, **asked)
    rules = model.set_params(max_classifiers=2).fit(town.people, town.outcome, **asked).group_rules_
    assert (rules["value"] <= rules["limit"] + 1e-6).all()


@each_kind
def test_after_loading_it_is_the_same_as_after_the_fit(town: Town, tmp_path: Path, kind: str) -> None:
    model = fitted(town, kind)
    model.save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops")
    again = town.people, town.outcome
    certain, few = (
        loaded.derandomize(*again, judgments=town.judgments),
        loaded.simplify(*again, judgments=town.judgments, max_classifiers=2),
    )
    for one, other in ((certain, model.derandomize()), (few, model.simplify(max_classifiers=2))):
        assert np.allclose(one.predict_proba(town.people), other.predict_proba(town.people))
        assert one.certificate_.error == pytest.approx(other.certificate_.error)
        assert one.prices_["price"].tolist() == pytest.approx(other.prices_["price"].tolist())
    assert certain.derandomization_ == model.derandomize().derandomization_


def test_weights_and_groups_are_given_again_too(town: Town, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    fit_to: dict[str, Any] = {
        "judgments": town.judgments,
        "sample_weight": rng.integers(0, 4, len(town.people)),
        "sensitive_features": town.people["city"].to_numpy(),
    }
    model = PairwiseFairClassifier("tree", gamma=0.1, group_constraints=[DemographicParity(difference_bound=0.1)])
    model.fit(town.people, town.outcome, **fit_to).save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops")
    certain = loaded.derandomize(town.people, town.outcome, mean_violation=0.3, **fit_to)
    assert certain.derandomization_ == model.derandomize(mean_violation=0.3).derandomization_
    few = loaded.simplify(town.people, town.outcome, max_classifiers=2, **fit_to)
    assert (few.group_rules_["value"] <= few.group_rules_["limit"] + 1e-6).all()
    del fit_to["sample_weight"]
    with pytest.raises(InputError, match="not the people, outcomes, judgments and weights"):
        loaded.simplify(town.people, town.outcome, **fit_to)


def test_other_people_outcomes_or_judgments_are_refused(town: Town, make_town: Callable[..., Town]) -> None:
    model = fitted(town, "tree")
    other = make_town(1, n_answers=15)
    for people, outcome, judgments in (
        (town.people[:50], town.outcome[:50], town.judgments),
        (town.people, 1 - town.outcome, town.judgments),
        (town.people, town.outcome, None),
        (other.people, other.outcome, other.judgments),
    ):
        with pytest.raises(InputError, match=r"These are not the people.*: its \w+ is 0\.\d+ in its certificate"):
            model.derandomize(people, outcome, judgments=judgments)
    with pytest.raises(InputError, match="Give the training people, too"):
        model.simplify(judgments=town.judgments)
    with pytest.raises(InputError, match="as a table in memory"):
        model.simplify(iter([town.people]), "paid")
    with pytest.raises(InputError, match="this model's"):
        model.simplify(town.people, town.outcome.map({0: "no", 1: "yes"}))


@pytest.mark.parametrize("most", [0, 1.5, True, "3"])
def test_an_impossible_number_is_refused(town: Town, most: Any) -> None:
    with pytest.raises(InputError, match=r"max_classifiers=.* must be a whole number of at least 1"):
        fitted(town, "tree").simplify(max_classifiers=most)


def test_one_rule_is_as_small_as_can_be(town: Town) -> None:
    for allowed in (0.0, 0.3):
        single = fitted(town, "tree").derandomize(mean_violation=allowed)
        smaller = single.simplify()
        assert np.array_equal(smaller.predict_proba(town.people), single.predict_proba(town.people))
        assert smaller.simplification_.classifiers_removed == 0
        assert smaller.certificate_.error == single.certificate_.error
