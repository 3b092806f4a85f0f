"""A person of weight 3 is three people: in the rows of every rule about groups, in fits, values and prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity, ErrorRateParity
from tests.support.moments import MOMENTS

from fairwise import Judgments, PairwiseFairClassifier, frontier

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas

BOUNDS: list[dict[str, float]] = [
    {"difference_bound": 0.0},
    {"difference_bound": 0.05},
    {"ratio_bound": 0.8, "ratio_bound_slack": 0.01},
]
SEEDS = range(2)
N = 24


def people_of(seed: int) -> tuple[pd.DataFrame, Any, Any, Any, list[dict[str, Any]]]:
    """Table, outcome, groups, how often each person is there (some not at all, nobody judged), and answers."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"x": rng.normal(size=N).round(1), "z": rng.integers(0, 3, N)}, index=[f"p{number}" for number in range(N)]
    )
    group = rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
    outcome = (table["x"].to_numpy() + (group == "a") + rng.normal(size=N) > 0.4).astype(int)
    times = rng.integers(0, 4, N)
    times[:6] = np.maximum(times[:6], 1)  # these are judged; everyone of the groups and outcomes below is there
    outcome[:6], group[:6], times[:6] = [0, 1] * 3, list("aabbcc"), np.maximum(times[:6], 1)
    said = [
        {"judge": "uv"[k % 2], "a": f"p{k}", "b": f"p{k + 3}", "answer": ["same", "a_at_least_b"][k % 2]}
        for k in range(3)
    ]
    return table, outcome, group, times, said


def both(seed: int, moments: list[Any], **settings: Any) -> list[PairwiseFairClassifier]:
    """The fit with weights, and the one with people repeated."""
    table, outcome, group, times, said = people_of(seed)
    judgments = Judgments(said, people=table)
    again = np.repeat(np.arange(N), times)
    models = []
    for rows, given in ((np.arange(N), {"sample_weight": times.astype(float)}), (again, {})):
        model = PairwiseFairClassifier(
            "tree", max_depth=1, tol=1e-9, favorable_label=1, group_constraints=moments, **settings
        )
        people = table.iloc[rows].set_axis(range(len(rows)), axis=0)
        models.append(model.fit(people, outcome[rows], judgments=judgments, sensitive_features=group[rows], **given))
    return models


def largest_difference(seed: int, moments: list[Any], **settings: Any) -> float:
    """Over errors, bounds, values, limits and prices."""
    weighted, repeated = both(seed, moments, **settings)
    assert weighted.group_rules_["rule"].tolist() == repeated.group_rules_["rule"].tolist()
    numbers = [
        np.concatenate(
            [
                [model.certificate_.error, model.certificate_.lower_bound, model.certificate_.mean_excess],
                model.group_rules_[["value", "limit", "price"]].to_numpy().ravel(),
                model.prices_[["price", "violation"]].to_numpy().ravel(),
            ]
        )
        for model in (weighted, repeated)
    ]
    return float(np.abs(numbers[0] - numbers[1]).max())


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@pytest.mark.parametrize("kind", MOMENTS)
def test_weights_are_repeated_people(kind: Any, bound: dict[str, float]) -> None:
    for seed in SEEDS:
        for gamma, eta in ((0.0, 0.0), (0.05, 0.02)):
            assert largest_difference(seed, [kind(**bound)], gamma=gamma, eta=eta) <= 1e-9


def test_several_rules_with_budgets_of_judges() -> None:
    rules = [DemographicParity(difference_bound=0.1), ErrorRateParity(ratio_bound=0.9, ratio_bound_slack=0.05)]
    assert largest_difference(0, rules, gamma=0.05, judge_budgets={"u": 0.1}) <= 1e-9


def test_values_are_those_that_fairlearn_measures_on_repeated_people() -> None:
    """So neither of the two is merely equal to the other."""
    table, outcome, group, times, _ = people_of(0)
    again = np.repeat(np.arange(N), times)
    for kind in MOMENTS:
        weighted, _ = both(0, [kind(difference_bound=0.05)], gamma=0.05)
        moment = kind(difference_bound=0.05)
        moment.load_data(table.iloc[again], pd.Series(outcome[again]), sensitive_features=group[again])
        probability = weighted.predict_proba(table.iloc[again])[:, 1]
        rules = weighted.group_rules_
        over = (moment.gamma(lambda _, p=probability: p) - moment.bound()).to_numpy()
        assert (rules["value"] - rules["limit"]).to_numpy() == pytest.approx(over, abs=1e-9)
        assert over.max() <= 1e-6


def test_a_frontier_shows_weighted_rates_of_groups() -> None:
    table, outcome, group, times, said = people_of(0)
    judgments = Judgments(said, people=table)
    again = np.repeat(np.arange(N), times)
    given: dict[str, Any] = {"gammas": [0.1], "estimator": "tree", "max_depth": 1, "favorable_label": 1, "tol": 1e-9}
    weighted = frontier(table, outcome, judgments, sample_weight=times.astype(float), groups=group, **given)
    people = table.iloc[again].set_axis(range(len(again)), axis=0)
    repeated = frontier(people, outcome[again], judgments, groups=group[again], **given)
    rates = [f"false_positive_rate {name}" for name in "abc"]
    assert weighted[rates].to_numpy() == pytest.approx(repeated[rates].to_numpy(), abs=1e-9, nan_ok=True)
