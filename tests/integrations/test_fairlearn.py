"""Judgments as a fairlearn moment: fairlearn's own learners keep them, and agree with ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import ExponentiatedGradient, GridSearch
from sklearn.tree import DecisionTreeClassifier

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import InputError, JudgmentsError
from fairwise.integrations.fairlearn import PairwiseJudgments

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas


def problem(n: int = 80) -> tuple[pd.DataFrame, pd.Series[Any], Judgments]:
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"x": rng.integers(0, 5, n).astype(float)}, index=[f"p{i}" for i in range(n)])
    outcome = pd.Series((people["x"] + rng.normal(size=n) > 2).astype(int), index=people.index)
    answers = ["same", "a_at_least_b", "b_at_least_a", "same"]
    said = [{"judge": "j", "a": f"p{2 * k}", "b": f"p{2 * k + 1}", "answer": answers[k % 4]} for k in range(6)]
    return people, outcome, Judgments(said, people=people)


@pytest.mark.parametrize("favorable", [0, 1])
def test_values_and_weights_are_each_others_transpose(favorable: int) -> None:
    people, outcome, judgments = problem()
    moment = PairwiseJudgments(judgments, gamma=0.1, favorable_label=favorable)
    moment.load_data(people, outcome)
    rng = np.random.default_rng(2)
    h, multipliers = rng.random(len(people)), pd.Series(rng.random(len(moment.index)), index=moment.index)
    value = float(moment.gamma(lambda _: h).to_numpy() @ multipliers.to_numpy())
    assert value == pytest.approx(-float(moment.signed_weights(multipliers).to_numpy() @ h) / len(people))
    projected = moment.project_lambda(multipliers)
    assert np.allclose(moment.signed_weights(projected), moment.signed_weights(multipliers))
    assert (projected <= multipliers + 1e-12).all()


def test_their_learner_and_ours_agree() -> None:
    people, outcome, judgments = problem()
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    moment = PairwiseJudgments(judgments, gamma=0.1, favorable_label=1)
    theirs = ExponentiatedGradient(stump, moment, eps=0.05, max_iter=200, nu=1e-4).fit(people, outcome)
    probability = theirs._pmf_predict(people)[:, 1]
    their_error = float(np.mean(np.where(outcome == 1, 1 - probability, probability)))
    ours = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1, favorable_label=1, tol=1e-7).fit(
        people, outcome, judgments=judgments
    )
    loaded = PairwiseJudgments(judgments, gamma=0.1, favorable_label=1)
    loaded.load_data(people, outcome)
    their_excess = float(loaded.gamma(lambda _: probability).max()) - 0.1
    # Theirs may break the rule by what its own gap allows; where it does, that is worth at most the price of the pairs.
    worth = max(their_excess, 0.0) * ours.prices_["price"].sum()
    assert ours.certificate_.error <= their_error + worth + 1e-6
    assert their_error == pytest.approx(ours.certificate_.error, abs=0.02)


def test_grid_search_takes_it() -> None:
    people, outcome, judgments = problem()
    two = judgments.select(judges=["j"])
    moment = PairwiseJudgments(Judgments(two.frame.head(2), people=people), gamma=0.1, favorable_label=1)
    search = GridSearch(DecisionTreeClassifier(max_depth=2, random_state=0), moment, grid_size=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(people, outcome)
    assert len(search.predictors_) == 9


def test_what_cannot_be_used_is_refused() -> None:
    people, outcome, judgments = problem()
    with pytest.raises(InputError, match="give favorable_label=0 or 1"):
        PairwiseJudgments(judgments)
    with pytest.raises(InputError, match="favorable_label='good'"):
        PairwiseJudgments(judgments, favorable_label="good")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="gamma=2"):
        PairwiseJudgments(judgments, gamma=2, favorable_label=1)
    moment = PairwiseJudgments(judgments, favorable_label=1)
    with pytest.raises(JudgmentsError, match="as a DataFrame"):
        moment.load_data(people.to_numpy(), outcome)
    with pytest.raises(JudgmentsError, match="'p0' is not in X"):
        PairwiseJudgments(judgments, favorable_label=1).load_data(people.drop("p0"), outcome.drop("p0"))
