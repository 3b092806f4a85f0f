"""Several labels, their values and what they cost, in a table that is read in blocks: the model it gives in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from tests.support.crowds import SETTINGS, Crowd

from fairwise import Judgments, LargeTable, PairwiseFairClassifier, frontier
from fairwise.errors import InputError
from fairwise.learning.oracles.base import total_costs
from fairwise.learning.oracles.linear import LinearClassifiers, label_totals

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas

VALUES = {"deny": 0.0, "conditions": 0.6, "release": 1.0}
LOSS = pd.DataFrame(
    {"deny": [0.0, 1.0, 2.0], "conditions": [0.5, 0.0, 0.7], "release": [2.0, 1.0, 0.0]},
    index=["deny", "conditions", "release"],
)


@pytest.fixture
def crowd(make_crowd: Callable[..., Crowd]) -> Crowd:
    """Three outcomes, of which the last is in the last blocks only."""
    plain = make_crowd()
    outcome = plain.outcome.map({0: "deny", 1: "release"}).where(plain.people["age"] % 3 > 0, "conditions")
    rare = np.arange(len(outcome)) < 500
    return replace(plain, outcome=outcome.mask(rare & (outcome == "conditions"), "deny").rename("paid"))


@pytest.mark.parametrize(
    "settings",
    [
        {"label_values": VALUES},
        {"label_values": VALUES, "loss": LOSS, "gamma": 0.02, "lambda_bound": 4.0},
        {"label_values": VALUES, "gamma": 0.0, "eta": 0.05, "tau_bound": 3.0},
        {"label_values": VALUES, "eta": None, "judge_budgets": 0.1},
        {"label_values": VALUES | {"refer": 0.3}},
    ],
    ids=["values", "loss", "panel budget", "judges", "nobody's label"],
)
def test_in_blocks_as_in_memory(crowd: Crowd, settings: dict[str, Any]) -> None:
    model = crowd.in_blocks([crowd.table[start : start + 130] for start in range(0, 700, 130)], **settings)
    same_models(model, crowd.in_memory(**settings), crowd)


@pytest.mark.parametrize("values", [{"deny": 0.2, "release": 0.9}, {"deny": 1, "release": 0}])
def test_two_labels_with_other_values_and_losses(crowd: Crowd, values: dict[str, float]) -> None:
    two = replace(crowd, outcome=crowd.outcome.replace({"conditions": "deny"}))
    loss = pd.DataFrame({"deny": [0.0, 3.0], "release": [1.0, 0.0]}, index=["deny", "release"])
    settings = {"label_values": values, "loss": loss, "gamma": 0.05, "lambda_bound": 3.0}
    same_models(two.in_blocks([two.table], **settings), two.in_memory(**settings), two)


def same_models(model: PairwiseFairClassifier, other: PairwiseFairClassifier, crowd: Crowd) -> None:
    rows = model._rows(crowd.people)
    assert np.array_equal(model.classifiers_.labels(rows), other.classifiers_.labels(rows))
    assert np.array_equal(model.weights_, other.weights_)
    assert model.classes_.tolist() == other.classes_.tolist()
    assert len(np.unique(model.predict_proba(crowd.people), axis=0)) > 3  # something happened
    one, two = model.certificate_, other.certificate_
    for name in ("error", "plain_error", "constant_error", "max_violation", "mean_excess"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)
    assert one.oracle_bound == pytest.approx(two.oracle_bound, abs=1e-9)
    assert (one.hypothesis_class, one.oracle_calls) == (two.hypothesis_class, two.oracle_calls)
    assert np.allclose(model.prices_["price"], other.prices_["price"])
    assert np.array_equal(model.prices_["violation"], other.prices_["violation"])


def test_one_label_for_everyone_errs_as_often_as_in_memory(make_crowd: Callable[..., Crowd]) -> None:
    """Also where the second label is the more frequent one."""
    crowd = make_crowd()
    often = replace(crowd, outcome=(np.arange(700) % 4 > 0) + 0 * crowd.outcome)
    errors = [often.in_blocks([often.table], favorable_label=1), often.in_memory(favorable_label=1)]
    assert [model.certificate_.constant_error for model in errors] == pytest.approx([0.25, 0.25])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rules_about_groups_and_the_other_solver(crowd: Crowd) -> None:
    """Passes as long as it takes: errors, violations and rates are those of the same mixture in memory."""
    table = crowd.table.assign(sex=np.where(np.arange(700) % 3 > 0, "f", "m"))
    model = PairwiseFairClassifier(
        "linear-regression",
        label_values=VALUES,
        loss=LOSS,
        max_iter=6,
        group_constraints={"release": [DemographicParity(difference_bound=0.03)]},
    )
    model.fit(LargeTable([table], outcome="paid", drop=["sex"], groups="sex"), None, judgments=Judgments(crowd.answers))
    chances = pd.DataFrame(model.predict_proba(crowd.people), columns=model.classes_, index=table.index)
    cost = (chances * LOSS.loc[crowd.outcome, model.classes_].to_numpy()).sum(axis=1).mean()
    assert model.certificate_.error == pytest.approx(cost, abs=1e-9)
    apart = chances["release"].groupby(table["sex"]).mean() - chances["release"].mean()
    assert model.group_rules_["value"].max() == pytest.approx(apart.abs().max(), abs=1e-9)
    assert apart.abs().max() <= 0.03 + 1e-6
    treated = pd.Series(model.predict_value(crowd.people), index=crowd.people.index)
    same = crowd.answers[crowd.answers["answer"] == "same"]
    gaps = np.abs(treated[same["a"]].to_numpy() - treated[same["b"]].to_numpy())
    assert gaps.max() <= model.certificate_.max_violation + 1e-9


def test_a_frontier_in_two_passes_is_that_of_the_fits(crowd: Crowd) -> None:
    settings: dict[str, Any] = {"label_values": VALUES, "loss": LOSS, "lambda_bound": 2.0}
    curve = frontier([crowd.table], "paid", Judgments(crowd.answers), gammas=[0.0, 0.2], **SETTINGS, **settings)
    for gamma, error in zip(curve["gamma"], curve["error"], strict=True):
        assert error == pytest.approx(crowd.in_memory(gamma=gamma, **settings).certificate_.error, abs=1e-12)
    grouped = LargeTable([crowd.table], outcome="paid", drop=["city"], groups="member")
    with pytest.raises(InputError, match="false positive rates, is for models of two labels"):
        frontier(grouped, None, Judgments(crowd.answers), gammas=[0.1], **SETTINGS, **settings)


def test_descent_over_blocks_is_for_two_labels(crowd: Crowd) -> None:
    with pytest.raises(InputError, match="estimator='linear' is for two labels where a table is read in blocks"):
        PairwiseFairClassifier("linear", label_values=VALUES).fit([crowd.table], "paid")


def test_totals_are_those_of_the_labels() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-2, 3, (300, 4)).astype(float)  # with equal sums and zeros
    classifiers = LinearClassifiers(
        rng.integers(-1, 2, (140, 2, 4)).astype(float), rng.integers(-1, 2, (140, 2)).astype(float)
    )
    labels, cell = classifiers.labels(rows), rng.integers(0, 3, 300)
    counts = label_totals(rows, classifiers, cell, np.ones((300, 2), dtype=np.int32), 3)
    expected = [[[((labels[t] == k) & (cell == c)).sum() for t in range(140)] for k in (1, 2)] for c in range(3)]
    assert np.array_equal(counts, expected)
    cost = rng.normal(size=(300, 2))
    assert np.allclose(classifiers.total_costs(rows, cost), total_costs(labels, cost), atol=1e-12)
