"""The order of answers and of people changes no prediction, also where several models are equally good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor

MODELS: dict[str, dict[str, Any]] = {
    "tree": {"estimator": "tree"},
    "linear": {"estimator": "linear"},
    "linear-regression": {"estimator": "linear-regression"},
    "no-regret": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 60},
    "few": {"estimator": "tree", "max_classifiers": 2},
    "amounts": {"estimator": "tree", "max_depth": 1, "grid": 5, "larger_is_better": True},
}
RULES: list[dict[str, Any]] = [
    {"gamma": 0.1},
    {"gamma": 0.0, "eta": 0.03},
    {"gamma": 0.0, "eta": None, "judge_budgets": 0.05},
]
some_seeds = pytest.mark.parametrize("first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(5, 40, 5))])


def a_study(seed: int) -> tuple[pd.DataFrame, Any, Any, list[dict[str, Any]]]:
    """Few different people, so that many models are equally good, and weights that round when they are added."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(24, 60))
    few = {name: rng.integers(0, 3, size=n) for name in ("age", "priors", "poor")}
    people = pd.DataFrame(few, index=pd.Index([f"p{number}" for number in range(n)]))
    total = people.sum(axis=1)
    outcome = (total + total.std() * rng.normal(size=n) > total.mean()).astype(int).to_numpy()
    answers = [
        {"judge": "uvw"[number % 3], "a": f"p{a}", "b": f"p{b}", "answer": answer, "weight": weight}
        for number, (a, b, answer, weight) in enumerate(
            zip(
                rng.integers(0, n // 2, size=15),
                rng.integers(n // 2, n, size=15),
                rng.choice(["same", "a_at_least_b", "b_at_least_a"], size=15),
                rng.choice([0.1, 0.2, 0.3, 0.7], size=15),
                strict=True,
            )
        )
    ]
    distinct = {(row["judge"], row["a"], row["b"]): row for row in answers}
    return people, outcome, rng.choice([0.1, 0.2, 0.7, 1.0], size=n), list(distinct.values())


@some_seeds
@pytest.mark.parametrize("name", MODELS)
def test_predictions_do_not_depend_on_the_order_of_answers_or_people(name: str, first: int) -> None:
    settings = MODELS[name]
    for seed in range(first, first + 5):
        people, outcome, weights, answers = a_study(seed)
        rng, rules = np.random.default_rng(seed), RULES[seed % 3]

        def predictions(people_order: Any, answer_order: Any) -> Any:
            table = people.iloc[people_order]  # noqa: B023
            judgments = Judgments([answers[row] for row in answer_order], people=table)  # noqa: B023
            fit = {"judgments": judgments, "sample_weight": weights[people_order]}  # noqa: B023
            if name == "amounts":
                amounts = PairwiseFairRegressor(**settings, **rules)  # noqa: B023
                return amounts.fit(table, 0.1 * outcome[people_order], **fit).predict(people)  # noqa: B023
            model = PairwiseFairClassifier(**settings, **rules, favorable_label=1)  # noqa: B023
            return model.fit(table, outcome[people_order], **fit).predict_proba(people)  # noqa: B023

        usual = np.arange(len(people)), np.arange(len(answers))
        expected = predictions(*usual)
        for _ in range(2):
            others = [rng.permutation(part) for part in usual]
            for orders in ((usual[0], others[1]), (others[0], usual[1]), others):
                np.testing.assert_array_equal(predictions(*orders), expected)
