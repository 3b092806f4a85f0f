"""Statistical rules beside pairwise ones, in both solvers, against brute force and against fairlearn."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    ExponentiatedGradient,
    FalsePositiveRateParity,
)
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from tests.support.finite_oracle import FiniteClassOracle

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.constraints.groups import GroupRows
from fairwise.constraints.pairs import Budget
from fairwise.errors import InputError
from fairwise.learning.problem import Points, Problem
from fairwise.learning.solvers.column_generation import ColumnGeneration

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas


class Village:
    """People with a sensitive group, an outcome that depends on it, and some judgments."""

    def __init__(self, n: int = 200, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.group = pd.Series(rng.choice(["a", "b"], n), index=np.arange(n) + 10)
        x = rng.normal(size=n) + (self.group == "a")
        self.people = pd.DataFrame({"x": x, "z": rng.normal(size=n), "in_a": self.group == "a"}, index=self.group.index)
        self.outcome = pd.Series((x + 0.7 * rng.normal(size=n) > 0.5).astype(int), index=self.group.index)
        ids = self.people.index.to_numpy()
        said = [{"judge": "ann", "a": ids[2 * k], "b": ids[2 * k + 1], "answer": "same"} for k in range(8)]
        self.judgments = Judgments(said, people=self.people)


@pytest.fixture(scope="module")
def village() -> Village:
    return Village()


def gap(model: Any, village: Village, moment: Any) -> float:
    """Fairlearn's own measure of how far the model is over the rule."""
    moment = type(moment)(difference_bound=moment.eps)
    moment.load_data(village.people, village.outcome.reset_index(drop=True), sensitive_features=village.group)
    probability = model.predict_proba(village.people)[:, 1]
    return float((moment.gamma(lambda _: probability) - moment.bound()).max())


@pytest.mark.parametrize(
    "moment",
    [
        DemographicParity(difference_bound=0.02),
        FalsePositiveRateParity(difference_bound=0.05),
        EqualizedOdds(difference_bound=0.03),
        ErrorRateParity(difference_bound=0.01),
    ],
    ids=lambda moment: type(moment).__name__,
)
def test_both_kinds_of_rule_hold_at_once_with_a_proof(village: Village, moment: Any) -> None:
    model = PairwiseFairClassifier("tree", gamma=0.1, group_constraints=[moment], tol=1e-6)
    model.fit(village.people, village.outcome, judgments=village.judgments, sensitive_features=village.group)
    assert gap(model, village, moment) <= 1e-6
    assert model.certificate_.max_violation <= 0.1 + 1e-6
    assert model.certificate_.kind == "exact"
    assert model.certificate_.gap <= 1e-6
    rules = model.group_rules_
    assert (rules["value"] <= rules["limit"] + 1e-6).all()
    # Complementary slackness: only rules that bind have a price.
    assert (rules["price"] * (rules["limit"] - rules["value"])).abs().max() <= 1e-6


def test_more_rules_never_lower_the_error(village: Village) -> None:
    moment = DemographicParity(difference_bound=0.01)

    def error(**given: Any) -> float:
        judgments = village.judgments if given.pop("judged", False) else None
        model = PairwiseFairClassifier("tree", gamma=0.05, tol=1e-7, **given)
        groups = village.group if given else None
        found = model.fit(village.people, village.outcome, judgments=judgments, sensitive_features=groups)
        return float(found.certificate_.error)

    plain, pairs, groups = error(), error(judged=True), error(group_constraints=[moment])
    both = error(judged=True, group_constraints=[moment])
    assert plain <= min(pairs, groups) + 1e-7
    assert max(pairs, groups) <= both + 1e-7
    assert plain < both


@pytest.mark.parametrize("eta", [0.0, 0.05])
def test_pairs_and_groups_together_equal_the_full_programme_on_a_tiny_class(eta: float) -> None:
    rng = np.random.default_rng(4)
    n = 8
    outcome = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    groups = pd.Series(list("aabbabab"))
    table = pd.DataFrame({"x": np.arange(n)})
    everyone = np.array(list(product((0, 1), repeat=n)), dtype=np.uint8)
    some = everyone[rng.choice(len(everyone), 40, replace=False)]
    moments = [DemographicParity(difference_bound=0.05), FalsePositiveRateParity(difference_bound=0.1)]
    rows = GroupRows.from_moments(moments, table, outcome, groups)
    reference, owed = np.array([0, 1, 3, 6]), np.array([1, 0, 5, 2])
    budget = Budget("panel", np.arange(4), np.full(4, 0.25), eta)
    points = Points(np.arange(n), (1 - 2 * outcome) / n, float(outcome.mean()), np.ones(n))
    problem = Problem(points, np.arange(n), reference, owed, np.arange(4), 1.0, 0.1, (budget,), rows)
    solution = ColumnGeneration(problem, FiniteClassOracle(some)).solve(tol=1e-9)

    full = np.concatenate([np.zeros((1, n)), np.ones((1, n)), some])
    errors = np.abs(full - outcome).mean(axis=1)
    gaps = full[:, reference] - full[:, owed]
    k = len(full)
    direct = linprog(
        np.concatenate([errors, np.zeros(4)]),
        A_ub=np.block(
            [
                [gaps.T, -np.eye(4)],
                [np.zeros((1, k)), np.full((1, 4), 0.25)],
                [rows.matrix @ full.T, np.zeros((len(rows), 4))],
            ]
        ),
        b_ub=np.concatenate([np.full(4, 0.1), [eta], rows.limits]),
        A_eq=np.concatenate([np.ones((1, k)), np.zeros((1, 4))], axis=1),
        b_eq=[1.0],
        bounds=(0, 1),
    )
    assert solution.error == pytest.approx(direct.fun, abs=1e-7)
    assert solution.exact
    assert solution.bound <= solution.error + 1e-9


def test_without_judgments_it_is_a_reductions_learner_no_worse_than_fairlearns(village: Village) -> None:
    moment = DemographicParity(difference_bound=0.02)
    learner = LogisticRegression()
    theirs = ExponentiatedGradient(learner, moment, eps=0.02).fit(
        village.people, village.outcome, sensitive_features=village.group
    )
    ours = PairwiseFairClassifier(learner, group_constraints=[moment], tol=max(theirs.best_gap_, 1e-6)).fit(
        village.people, village.outcome, sensitive_features=village.group
    )
    probability = theirs._pmf_predict(village.people)[:, 1]
    their_error = float(np.mean(np.where(village.outcome == 1, 1 - probability, probability)))
    assert gap(ours, village, moment) <= 1e-6
    assert ours.certificate_.error <= their_error + theirs.best_gap_ + 1e-6
    assert ours.certificate_.oracle_calls <= theirs.n_oracle_calls_


def test_the_papers_dynamics_take_the_same_rules(village: Village) -> None:
    moment = DemographicParity(difference_bound=0.05)
    given: dict[str, Any] = {"gamma": 0.1, "group_constraints": [moment]}
    fit: dict[str, Any] = {"judgments": village.judgments, "sensitive_features": village.group}
    exact = PairwiseFairClassifier("tree", max_depth=1, **given).fit(village.people, village.outcome, **fit)
    played = PairwiseFairClassifier(
        "tree", max_depth=1, solver="no-regret", n_rounds=2000, lambda_bound=5.0, **given
    ).fit(village.people, village.outcome, **fit)
    assert gap(played, village, moment) <= 0.1
    assert played.certificate_.max_violation <= 0.2
    assert played.certificate_.lower_bound <= exact.certificate_.error + 1e-6


def test_a_pipeline_and_folds_take_groups_too(village: Village) -> None:
    model = PairwiseFairClassifier(
        make_pipeline(LogisticRegression()), group_constraints=[DemographicParity(difference_bound=0.1)]
    )
    scores = cross_val_score(
        model, village.people, village.outcome, params={"sensitive_features": village.group}, cv=3, error_score="raise"
    )
    assert scores.min() > 0.5


@pytest.mark.parametrize(
    ("sensitive", "message"),
    [
        (lambda _: None, "give sensitive_features= to fit"),
        (lambda g: g.iloc[:-1], "200 people but 199 sensitive_features"),
        (lambda g: g.iloc[::-1], "in another order"),
        (lambda g: g.where(g.index != 15), "missing for person 15"),
    ],
    ids=["none", "short", "order", "missing"],
)
def test_groups_that_cannot_be_used(village: Village, sensitive: Any, message: str) -> None:
    model = PairwiseFairClassifier("tree", group_constraints=[DemographicParity(difference_bound=0.1)])
    with pytest.raises(InputError, match=message):
        model.fit(village.people, village.outcome, sensitive_features=sensitive(village.group))


@pytest.mark.parametrize("estimator", ["linear", "linear-regression", "tree"])
@pytest.mark.parametrize("judged", [False, True])
def test_both_kinds_of_rule_hold_for_every_named_estimator(village: Village, estimator: str, judged: bool) -> None:
    rule = DemographicParity(difference_bound=0.03)
    model = PairwiseFairClassifier(estimator, gamma=0.2, eta=0.0, group_constraints=[rule])
    said = village.judgments if judged else None
    model.fit(village.people, village.outcome, judgments=said, sensitive_features=village.group)
    assert gap(model, village, rule) <= 1e-6
    assert model.certificate_.max_violation <= 0.2 + 1e-6
    assert model.certificate_.error < 0.5
