"""The order of a table's columns, and columns that are the same for everyone, change no probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier

MODELS: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree"},
    "linear-regression": {"estimator": "linear-regression"},
    "no-regret": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 100},
    "logistic pipeline": {"estimator": make_pipeline(StandardScaler(), LogisticRegression())},
}
RULES: list[dict[str, Any]] = [
    {"gamma": 0.1},
    {"gamma": 0.0, "eta": 0.03},
    {"gamma": 0.0, "eta": None, "judge_budgets": 0.05},
]
some_seeds = pytest.mark.parametrize("first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 72, 6))])


def a_study(seed: int) -> tuple[pd.DataFrame, Any, list[dict[str, Any]]]:
    """Columns of zeros and ones, of a few numbers, or of any."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    few = {"b": rng.integers(0, 2, size=n), "a": rng.integers(0, 2, size=n), "c": rng.integers(0, 2, size=n)}
    more = {
        "age": rng.integers(20, 30, size=n),
        "priors": rng.integers(0, 4, size=n),
        "poor": rng.integers(0, 2, size=n),
    }
    people = pd.DataFrame([few, more, dict(zip("xyz", rng.normal(size=(3, n)), strict=True))][seed % 3])
    people.index = pd.Index([f"p{number}" for number in range(n)])
    total = people.sum(axis=1)
    outcome = (total + total.std() * rng.normal(size=n) > total.mean()).astype(int).to_numpy()
    answers = rng.choice(["same", "a_at_least_b", "b_at_least_a"], size=9)
    return (
        people,
        outcome,
        [
            {"judge": "uvw"[number % 3], "a": f"p{2 * number}", "b": f"p{2 * number + 1}", "answer": answer}
            for number, answer in enumerate(answers)
        ],
    )


@some_seeds
@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_probabilities_stay_with_the_columns_reversed_or_a_constant_one_added(
    settings: dict[str, Any], first: int
) -> None:
    for seed in range(first, first + 6):
        people, outcome, said = a_study(seed)
        rules = RULES[seed // 3 % 3]

        def probability(table: pd.DataFrame) -> Any:
            model = PairwiseFairClassifier(**settings, **rules, favorable_label=1)  # noqa: B023
            model.fit(table, outcome, judgments=Judgments(said, people=table))  # noqa: B023
            return model.predict_proba(table)

        usual = probability(people)
        for other in (people[people.columns[::-1]], people.assign(constant=7.0)):
            assert probability(other) == pytest.approx(usual, abs=1e-6)


@pytest.mark.parametrize("estimator", ["tree", "linear-regression", "linear"])
def test_columns_without_names_may_be_reversed(estimator: str) -> None:
    rng = np.random.default_rng(4)
    people, outcome = rng.normal(size=(60, 4)), rng.integers(0, 2, size=60)
    said = [{"judge": "u", "a": 2 * number, "b": 2 * number + 1, "answer": "same"} for number in range(8)]
    usual, reversed_ = (
        PairwiseFairClassifier(estimator, gamma=0.05)
        .fit(table, outcome, judgments=Judgments(said, by="position"))
        .predict_proba(table)
        for table in (people, people[:, ::-1])
    )
    assert reversed_ == pytest.approx(usual, abs=1e-6)
