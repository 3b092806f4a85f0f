"""What a fitted model says about itself is true of its predictions."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.estimators import ESTIMATORS, each_estimator, fit, of_label_1

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.constraints.pairs import PairRows
from fairwise.learning.compiler import COMPILING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.learning.conftest import Town


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
@pytest.mark.filterwarnings("ignore:judgments holds no answer")
def test_without_judgments_it_is_the_plain_model_and_without_budget_as_accurate(town: Town, name: str) -> None:
    plain = PairwiseFairClassifier(**ESTIMATORS[name]).fit(town.people, town.outcome)
    assert len(plain.weights_) == 1
    assert set(of_label_1(plain, town.people)) <= {0.0, 1.0}
    free = fit(town, **ESTIMATORS[name], eta=None)
    assert free.certificate_.error <= plain.certificate_.plain_error + free.tol + 1e-9
    assert not free.certificate_.has_rules
    assert free.certificate_.max_violation > 0.9  # measured all the same
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


@each_estimator
def test_the_plain_model_and_a_constant_are_named_beside_the_error(town: Town, name: str) -> None:
    asked = fit(town, **ESTIMATORS[name], gamma=0.1).certificate_
    plain = PairwiseFairClassifier(**ESTIMATORS[name]).fit(town.people, town.outcome).certificate_
    assert asked.plain_error <= min(plain.plain_error, asked.error) + 1e-9
    assert asked.plain_error == pytest.approx(plain.plain_error) or asked.kind == "heuristic"
    assert plain.plain_error <= plain.error + 1e-9
    assert asked.constant_error == pytest.approx(min(town.outcome.mean(), 1 - town.outcome.mean()))
    assert "gamma" not in str(plain)


def test_a_search_that_may_not_finish_warns_and_keeps_the_rules(town: Town) -> None:
    with pytest.warns(ConvergenceWarning, match=r"ended at its limit of iterations: up to 0\.\d+ of the error"):
        model = fit(town, estimator="linear", gamma=0.2, tol=1e-9, max_iter=1)
    assert model.certificate_.stopped == "iterations"
    assert model.certificate_.max_violation <= 0.2 + 1e-6
    with pytest.warns(ConvergenceWarning, match="ended at its time limit"):
        model = fit(town, estimator="linear", gamma=0.0, tol=1e-9, time_limit=1e-9)
    assert any("time limit" in warning for warning in model.certificate_.warnings)


def test_one_label_for_everyone_is_warned_of(town: Town) -> None:
    """Everybody must be treated the same as someone of the other outcome."""
    pairs = [{"judge": "j", "a": a, "b": b, "answer": "same"} for a, b in pairwise(town.people.index)]
    judgments = Judgments(pairs, people=town.people)
    with pytest.warns(ConvergenceWarning, match="One label for everyone is what decides"):
        PairwiseFairClassifier("linear", gamma=0.0).fit(town.people, town.outcome, judgments=judgments)
    proved = PairwiseFairClassifier("tree", gamma=0.0).fit(town.people, town.outcome, judgments=judgments)
    assert any("One label" in warning for warning in proved.certificate_.warnings)


def test_a_fit_says_that_it_compiles_and_a_second_one_says_nothing(tmp_path: Path) -> None:
    """In processes of their own, with a cache that is empty at first; with warnings as errors."""
    script = (
        "from fairwise import PairwiseFairClassifier;"
        "PairwiseFairClassifier('tree', max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])"
    )
    for expected in ([COMPILING], []):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines() == expected
