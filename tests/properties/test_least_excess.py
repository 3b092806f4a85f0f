"""Of models of equal error the one with the least mean excess: trees, group rules, several labels and amounts.

Every tree of the class is listed, and scipy solves the linear programme over all of them. The rows of judgments and
rules are the package's own; ``test_exact_optimum`` writes them from the definitions, for stumps and two labels.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from tests.support.listed_programme import least

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor

if TYPE_CHECKING:
    from fairwise.learning.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas
some_seeds = pytest.mark.parametrize("first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60, 6))])


def a_study(seed: int) -> tuple[pd.DataFrame, Any, Judgments]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 3, size=40),
            "priors": rng.integers(0, 3, size=40),
            "poor": rng.integers(0, 2, size=40),
        },
        index=[f"p{number}" for number in range(40)],
    )
    chance = (people["age"] + people["priors"]) / 5 + 0.3 * rng.normal(size=40)
    said = [
        {"judge": "xyz"[number % 3], "a": f"p{2 * number}", "b": f"p{39 - number}", "answer": answer}
        for number, answer in enumerate(rng.choice(["same", "a_at_least_b", "b_at_least_a"], size=13))
    ]
    return people, chance, Judgments(said, people=people)


def all_trees(rows: Any, n_labels: int, depth: int) -> Any:
    """Labels ``(k, P)`` of every tree, each once."""
    trees = np.repeat(np.arange(n_labels)[:, None], len(rows), axis=1)
    for _ in range(depth):
        grown = [trees]
        for column in rows.T:
            for value in np.unique(column)[:-1]:
                grown += [np.where(column <= value, left, right)[None] for left, right in product(trees, trees)]
        trees = np.unique(np.concatenate(grown), axis=0)
    return trees.astype(np.uint8)


def least_excess(problem: Problem, labels: Any, ceiling: float) -> float:
    """Of every mixture of these classifiers that keeps the rules at an error of at most ``ceiling``."""
    errors, values = problem.evaluate_labels(labels)
    n_rows, nothing = values.shape[1], np.zeros(len(labels))
    budgets = np.zeros((len(problem.budgets), n_rows))
    for shares, budget in zip(budgets, problem.budgets, strict=True):
        shares[budget.rows] = budget.shares
    matrix = [
        *np.concatenate([values.T, -np.eye(n_rows)], axis=1),
        *(np.concatenate([nothing, shares]) for shares in budgets),
        np.concatenate([errors, np.zeros(n_rows)]),
    ]
    limits = [*problem.row_limits, *(budget.limit for budget in problem.budgets), ceiling]
    excess = np.concatenate([nothing, budgets[0]])
    return float(excess @ least(excess, matrix, limits, n_rows, problem.hard))


KINDS: dict[str, dict[str, Any]] = {
    "depth 2": {"max_depth": 2, "eta": 0.1},
    "group rules": {"max_depth": 1, "eta": 0.2, "group_constraints": DemographicParity(difference_bound=0.1)},
    "three labels": {"max_depth": 1, "eta": 0.3, "label_values": {0: 0.0, 1: 0.6, 2: 1.0}},
    "no budget": {"max_depth": 1, "eta": None},
    "amounts": {"max_depth": 1, "eta": 0.3, "grid": 4, "larger_is_better": True, "judge_budgets": 0.4},
}


@some_seeds
@pytest.mark.parametrize("kind", KINDS)
def test_no_mixture_of_equal_error_breaks_judgments_less(kind: str, first: int) -> None:
    for seed in range(first, first + 6):
        people, chance, judgments = a_study(seed)
        settings = {"gamma": [0.0, 0.1][seed % 2]} | KINDS[kind]
        poor = people["poor"] if "group_constraints" in settings else None
        if "grid" in settings:
            model = PairwiseFairRegressor("tree", **settings).fit(people, chance, judgments=judgments)
        else:
            n_labels = len(settings.setdefault("label_values", {0: 0.0, 1: 1.0}))
            outcome = np.digitize(chance, np.quantile(chance, np.arange(1, n_labels) / n_labels))
            model = PairwiseFairClassifier("tree", **settings)
            model.fit(people, outcome, judgments=judgments, sensitive_features=poor)
        assert model._training is not None
        (prepared, solution), labels = model._training, len(model._training[0].target.classes)
        problem, panel = prepared.problem, prepared.problem.budgets[0]
        _, values = problem.evaluate(solution.classifiers)
        over = np.maximum(solution.weights @ values - problem.row_limits, 0.0)[panel.rows]
        trees = all_trees(problem.points.rows, labels, settings["max_depth"])
        expected = least_excess(problem, trees, solution.error + 1e-12)
        assert float(panel.shares @ over) == pytest.approx(expected, abs=1e-7)
        assert solution.error <= solution.bound + model.tol + 1e-9
