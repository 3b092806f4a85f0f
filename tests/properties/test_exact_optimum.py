"""The whole estimator against a linear programme written straight from the definitions.

Every decision stump is listed, every answer becomes its inequalities one by one, and scipy solves it: none of the
package's own rows, budgets, folding, encoding or solvers takes part.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.listed_programme import least, least_error

from fairwise import Judgments, PairwiseFairClassifier

ANSWERS = ["same", "same", "a_at_least_b", "b_at_least_a", "no_constraint"]


def a_study(seed: int) -> tuple[pd.DataFrame, Any, list[dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    n = 40
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 30, size=n),
            "priors": rng.integers(0, 4, size=n),
            "city": rng.choice(["u", "v"], size=n),
        },
        index=[f"p{number}" for number in range(n)],
    )
    outcome = (rng.random(n) < 0.1 + 0.08 * (people["age"].to_numpy() - 20)).astype(int)
    said: list[dict[str, Any]] = []
    for judge in "xyz":
        for a, b in {tuple(rng.choice(n, size=2, replace=False)) for _ in range(4)}:
            said.append(
                {
                    "judge": judge,
                    "a": f"p{a}",
                    "b": f"p{b}",
                    "answer": str(rng.choice(ANSWERS)),
                    "weight": float(rng.choice([0.5, 1.0, 2.0])),
                }
            )
    return people, outcome, said


def stumps(people: pd.DataFrame) -> Any:
    """Labels ``(k, n)`` of every stump: one cut of one column, either side labelled 1; and both constants."""
    found = [np.zeros(len(people)), np.ones(len(people))]
    for name in people:
        column = people[name].to_numpy()
        for value in np.unique(column):
            side = (column == value if name == "city" else column <= value).astype(float)
            found += [side, 1.0 - side]
    return np.array(found)


def optimum(
    people: pd.DataFrame,
    outcome: Any,
    said: list[dict[str, Any]],
    *,
    gamma: float,
    eta: float | None,
    favorable_label: int,
    judge_budgets: Any,
    weighting: str,
    ceiling: float | None = None,
) -> float:
    """Least error of any mixture of stumps, in variables p (stumps) and alpha (ordered pairs in force).

    With a ``ceiling`` for the error, the least mean excess instead.
    """
    labels = stumps(people)
    place = {person: position for position, person in enumerate(people.index)}
    favorable = labels if favorable_label == 1 else 1 - labels
    mass: dict[tuple[str, str], float] = defaultdict(float)  # (i, j): j is owed what i gets
    own: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in said:
        a, b = row["a"], row["b"]
        orders = {"same": [(a, b), (b, a)], "a_at_least_b": [(b, a)], "b_at_least_a": [(a, b)], "no_constraint": []}
        for pair in orders[row["answer"]]:
            mass[pair] += row["weight"]
            own[row["judge"]].add(pair)
    pairs = list(mass)
    k = len(labels)
    matrix, limits = [], []
    for number, (i, j) in enumerate(pairs):
        alpha = np.zeros(len(pairs))
        alpha[number] = -1.0
        matrix.append(np.concatenate([favorable[:, place[i]] - favorable[:, place[j]], alpha]))
        limits.append(gamma)
    if weighting == "answers":
        whole = 2 * sum(row["weight"] for row in said)
    else:
        shown = {frozenset((row["a"], row["b"])) for row in said}
        whole = 2 * len(shown) * len({row["judge"] for row in said})
    excess = np.concatenate([np.zeros(k), [mass[pair] / whole for pair in pairs]])
    if eta is not None:
        matrix.append(excess)
        limits.append(eta)
    for judge, limit in (judge_budgets or {}).items():
        asked = 2 * len({frozenset((row["a"], row["b"])) for row in said if row["judge"] == judge})
        matrix.append(np.concatenate([np.zeros(k), [float(pair in own[judge]) / asked for pair in pairs]]))
        limits.append(limit)
    errors = (labels != outcome).mean(axis=1)
    if ceiling is None:
        return least_error(errors, matrix, limits, len(pairs))
    matrix.append(np.concatenate([errors, np.zeros(len(pairs))]))
    return float(excess @ least(excess, matrix, [*limits, ceiling], len(pairs)))


@pytest.mark.parametrize(
    "rules",
    [
        {"gamma": 0.0, "eta": 0.0},
        {"gamma": 0.2, "eta": 0.0},
        {"gamma": 0.0, "eta": 0.03},
        {"gamma": 0.1, "eta": 0.03, "weighting": "panel"},
        {"gamma": 0.0, "eta": None, "judge_budgets": {"x": 0.0, "y": 0.1}},
        {"gamma": 0.05, "eta": 0.05, "judge_budgets": {"x": 0.02, "y": 0.02, "z": 0.02}},
    ],
    ids=str,
)
@pytest.mark.parametrize("favorable_label", [0, 1])
def test_stumps_are_mixed_as_well_as_can_be(rules: dict[str, Any], favorable_label: int) -> None:
    gained = []
    for seed in range(4):
        people, outcome, said = a_study(seed)
        given = {"weighting": "answers", "judge_budgets": None} | rules | {"favorable_label": favorable_label}
        model = PairwiseFairClassifier("tree", max_depth=1, tol=1e-8, **given)
        model.fit(people, outcome, judgments=Judgments(said, people=people))
        best = optimum(people, outcome, said, **given)
        assert model.certificate_.error == pytest.approx(best, abs=1e-6)
        assert model.certificate_.lower_bound <= best + 1e-7
        assert model.certificate_.gap <= 1e-6
        gained.append(best - (stumps(people) != outcome).mean(axis=1).min())
    assert max(gained) > 1e-3  # the rules cost something


WITH_SLACK: list[dict[str, Any]] = [
    {"gamma": 0.0, "eta": 0.03},
    {"gamma": 0.1, "eta": 0.03, "weighting": "panel"},
    {"gamma": 0.0, "eta": None, "judge_budgets": {"x": 0.0, "y": 0.1}},
    {"gamma": 0.05, "eta": 0.05, "judge_budgets": {"x": 0.02, "y": 0.02, "z": 0.02}},
    {"gamma": 0.0, "eta": 0.5},
    {"gamma": 0.02, "eta": 0.2, "judge_budgets": {"x": 0.3}},
    {"gamma": 0.0, "eta": 0.1, "weighting": "panel"},
]
a_dozen = pytest.mark.parametrize("first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 204, 12))])


@a_dozen
def test_of_equal_errors_the_least_excess_is_chosen(first: int) -> None:
    for seed in range(first, first + 12):
        people, outcome, said = a_study(seed)
        rules: dict[str, Any] = {"weighting": "answers", "judge_budgets": None, "favorable_label": seed % 2}
        rules |= WITH_SLACK[seed % 7]
        model = PairwiseFairClassifier("tree", max_depth=1, **rules)
        certificate = model.fit(people, outcome, judgments=Judgments(said, people=people)).certificate_
        assert certificate.error <= optimum(people, outcome, said, **rules) + model.tol + 1e-9
        least_excess = optimum(people, outcome, said, **rules, ceiling=certificate.error + 1e-12)
        assert certificate.mean_excess == pytest.approx(least_excess, abs=1e-7)
        assert certificate.gap <= model.tol + 1e-9


def test_outsiders_of_a_stump_are_labelled_by_it_too() -> None:
    """Judged people whom training never saw: the same programme, with their columns beside the others."""
    people, outcome, said = a_study(11)
    judged = {row["a"] for row in said} | {row["b"] for row in said}
    training = [person for person in people.index if person not in judged]
    keep = people.index.isin(training)
    model = PairwiseFairClassifier("tree", max_depth=1, tol=1e-8, gamma=0.1, favorable_label=1)
    model.fit(people.loc[training], outcome[keep], judgments=Judgments(said, people=people))
    probability = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    for row in said:
        apart = probability[row["a"]] - probability[row["b"]]
        if row["answer"] in {"same", "b_at_least_a"}:
            assert apart <= 0.1 + 1e-6
        if row["answer"] in {"same", "a_at_least_b"}:
            assert -apart <= 0.1 + 1e-6
