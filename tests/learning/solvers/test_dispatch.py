"""Without judgments and rules: a model for people who were not there, and the least error for comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from tests.support.estimators import ESTIMATORS, each_estimator

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import error_without_dearest, frontier
from fairwise.datasets import load_german_credit
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from tests.learning.conftest import Town


@pytest.mark.slow
def test_linear_is_as_good_on_others_as_logistic_regression() -> None:
    """German credit, where the least training error fits best and predicts worst."""
    people, good = load_german_credit()
    plain: list[tuple[float, float]] = []
    least: list[tuple[float, float]] = []
    logistic: list[tuple[float, float]] = []
    for seed in range(2):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(people, good):
            seen, outcome = people.iloc[train], good.iloc[train]
            pair = [{"judge": "j", "a": seen.index[0], "b": seen.index[1], "answer": "no_constraint"}]
            fitted = (
                (PairwiseFairClassifier("linear").fit(seen, outcome), plain),
                (
                    PairwiseFairClassifier("linear").fit(seen, outcome, judgments=Judgments(pair, people=seen)),
                    least,
                ),
                (PairwiseFairClassifier(LogisticRegression(max_iter=1000)).fit(seen, outcome), logistic),
            )
            for model, errors in fitted:
                errors.append((model.certificate_.error, 1 - model.score(people.iloc[test], good.iloc[test])))
    (plain_fit, plain_others), (least_fit, least_others), (_, logistic_others) = (
        np.mean(errors, axis=0) for errors in (plain, least, logistic)
    )
    assert least_fit < plain_fit - 0.02
    assert plain_others < least_others - 0.005
    assert plain_others < logistic_others + 0.006


@each_estimator
def test_its_certificate_knows_the_least_error(town: Town, name: str) -> None:
    model = PairwiseFairClassifier(**ESTIMATORS[name]).fit(town.people, town.outcome)
    certificate = model.certificate_
    assert certificate.plain_error <= certificate.error
    assert (certificate.plain_error < certificate.error) == (name == "linear")
    constant = min(town.outcome.mean(), 1 - town.outcome.mean())
    assert certificate.error <= constant + 1e-12


def test_comparisons_of_training_errors_are_with_the_least(town: Town) -> None:
    """What judgments cost is never less than nothing: with none of them followed, and where none binds."""
    least = PairwiseFairClassifier("linear").fit(town.people, town.outcome).certificate_.plain_error
    model = PairwiseFairClassifier("linear", gamma=0.1).fit(town.people, town.outcome, judgments=town.judgments)
    not_followed = error_without_dearest(model, town.people, town.outcome, town.judgments, shares=(0.0, 1.0))["error"]
    assert not_followed.iloc[-1] == pytest.approx(least, abs=1e-12)
    assert not_followed.iloc[-1] <= not_followed.iloc[0]
    silent = simulate_panel(town.people, n_judges=1, n_pairs=2, seed=0).frame.assign(answer="no_constraint")
    curve = frontier(town.people, town.outcome, Judgments(silent, people=town.people), gammas=(0.0, 1.0))
    assert np.allclose(curve["error"], least, atol=1e-12)
