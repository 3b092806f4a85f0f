"""With an exact certificate prices are optimal multipliers: the Lagrangian at them is the value (strong duality).

Everything is computed again here from what a user gives and what a fit reports, over every tree of the class.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from tests.support.moments import MOMENTS

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import removal_saving

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_PROBLEMS = int(os.environ.get("FAIRWISE_PROBLEMS", "150"))
TOL = 1e-9
ROUNDING = 1e-7


@dataclass(frozen=True)
class Case:
    """A small problem as a user states it, and its fit."""

    people: pd.DataFrame
    outcome: NDArray[Any]
    weight: NDArray[Any]
    group: NDArray[Any]
    judgments: Judgments
    model: PairwiseFairClassifier


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 13))
    people = pd.DataFrame({"u": rng.normal(size=n).round(1), "v": rng.normal(size=n).round(1)})
    outcome = rng.integers(2, size=n)
    outcome[:2] = 0, 1
    weight = rng.integers(1, 5, size=n).astype(float)
    group = np.where(rng.random(n) < 0.5, "f", "g")
    group[:4], outcome[:4] = ["f", "f", "g", "g"], [0, 1, 0, 1]
    kinds = ["same", "same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    shown = {(judge, *sorted(rng.choice(n, 2, replace=False))) for judge in "jk" for _ in range(rng.integers(1, 7))}
    rows = [
        {"judge": judge, "a": int(a), "b": int(b), "answer": rng.choice(kinds), "weight": float(rng.integers(1, 4))}
        for judge, a, b in sorted(shown)
    ]
    moment = MOMENTS[int(rng.integers(len(MOMENTS)))](difference_bound=float(rng.choice([0.02, 0.1, 0.3])))
    model = PairwiseFairClassifier(
        "tree",
        max_depth=int(rng.choice([1, 2, 2])),
        gamma=float(rng.choice([0.0, 0.0, 0.05, 0.3])),
        eta=float(rng.choice([0.0, 0.02])),
        judge_budgets=None if rng.random() < 0.6 else {"j": float(rng.choice([0.0, 0.02]))},
        group_constraints=None if rng.random() < 0.5 else [moment],
        favorable_label=int(rng.integers(2)),
        tol=TOL,
    )
    judgments = Judgments(rows, people=people)
    sensitive = group if model.group_constraints else None
    model.fit(people, outcome, judgments=judgments, sample_weight=weight, sensitive_features=sensitive)
    return Case(people, outcome, weight, group, judgments, model)


def labelings(people: pd.DataFrame, depth: int) -> NDArray[np.uint8]:
    """Every labeling ``(k, n)`` that a tree of this depth gives."""
    n = len(people)
    bit = 1 << np.arange(n)  # a labeling is a number: each person has a bit of it
    everyone = int(bit.sum())
    splits = [0]
    for column in people.columns:
        values = np.sort(people[column].unique())
        splits += [int(bit[people[column] <= (low + high) / 2].sum()) for low, high in pairwise(values)]
    found: NDArray[Any] = np.array([0, everyone])
    for _ in range(depth):
        found = np.unique([(found[:, None] & split) | (found & (everyone - split)) for split in splits])
    return np.asarray((found[:, None] & bit) > 0, dtype=np.uint8)


@dataclass(frozen=True)
class Programme:
    """``minimise errors @ p`` with ``values @ p - slack <= limits`` on every row and budgets on the slack."""

    errors: NDArray[Any]
    values: NDArray[Any]
    limits: NDArray[Any]
    budgets: NDArray[Any]
    """``(B, rows)`` shares."""
    budget_limits: NDArray[Any]
    ordered: list[tuple[int, int]]

    def optimum(self) -> float:
        k, rows = self.values.shape
        cost = np.concatenate([self.errors, np.zeros(rows)])
        left = np.concatenate([self.values.T, -np.eye(rows)], axis=1)
        slack = np.concatenate([np.zeros((len(self.budgets), k)), self.budgets], axis=1)
        free = np.ones(rows)
        free[len(self.ordered) :] = 0.0  # no slack on statistical rules
        found: Any = linprog(
            cost,
            A_ub=np.concatenate([left, slack]),
            b_ub=np.concatenate([self.limits, self.budget_limits]),
            A_eq=np.concatenate([np.ones(k), np.zeros(rows)])[None],
            b_eq=[1.0],
            bounds=[(0.0, None)] * k + [(0.0, one) for one in free],
        )
        assert found.success, found.message
        return float(found.fun)

    def lagrangian(self, multipliers: NDArray[Any]) -> float:
        """The dual value at these multipliers of the rows, with the best multipliers of the budgets.

        ``min_h [err + lambda @ values] - lambda @ limits``, and on top the largest over ``tau >= 0`` of
        ``sum_k min(0, tau @ shares_k - lambda_k) - tau @ B``.
        """
        fixed = float((self.errors + self.values @ multipliers).min() - multipliers @ self.limits)
        pairs, budgets = len(self.ordered), len(self.budgets)
        if not pairs:
            return fixed
        # max_tau as a programme: d_k <= 0 and d_k <= tau @ shares_k - lambda_k.
        found: Any = linprog(
            np.concatenate([-np.ones(pairs), self.budget_limits]),
            A_ub=np.concatenate([np.eye(pairs), -self.budgets[:, :pairs].T], axis=1),
            b_ub=-multipliers[:pairs],
            bounds=[(None, 0.0)] * pairs + [(0.0, None)] * budgets,
        )
        assert found.success, found.message
        return fixed - float(found.fun)


def programme(case: Case) -> Programme:
    model: Any = case.model
    labels = labelings(case.people, model.max_depth).astype(float)
    w = case.weight / case.weight.sum()
    good = labels if model.favorable_label == 1 else 1.0 - labels
    answers: Any = case.judgments.counted()
    total = 2.0 * answers["weight"].sum()
    mass: dict[tuple[int, int], float] = {}
    own: dict[tuple[int, int], bool] = {}
    for one in answers.itertuples():
        demands = {"same": [(one.a, one.b), (one.b, one.a)], "a_at_least_b": [(one.b, one.a)]}
        demands["b_at_least_a"] = [(one.a, one.b)]
        for pair in demands.get(str(one.answer), []):
            mass[pair] = mass.get(pair, 0.0) + one.weight
            own[pair] = own.get(pair, False) or one.judge == "j"
    ordered = sorted(mass)
    values = [good[:, i] - good[:, j] for i, j in ordered]
    limits = [model.gamma] * len(ordered)
    for moment in model.group_constraints or []:
        for row, limit in _group_rows(moment, case, w):
            values.append(labels @ row)
            limits.append(limit)
    budgets, budget_limits = [[mass[pair] / total for pair in ordered]], [model.eta]
    if model.judge_budgets is not None:
        seen = answers[answers["judge"] == "j"]
        n_pairs = len({frozenset((one.a, one.b)) for one in seen.itertuples()})
        budgets.append([float(own[pair]) / (2 * n_pairs) if n_pairs else 0.0 for pair in ordered])
        budget_limits.append(model.judge_budgets["j"])
    padding = np.zeros((len(budgets), len(values) - len(ordered)))
    return Programme(
        errors=np.abs(labels - case.outcome) @ w,
        values=np.array(values).T.reshape(len(labels), len(values)),
        limits=np.array(limits, dtype=float),
        budgets=np.concatenate([np.array(budgets).reshape(len(budgets), len(ordered)), padding], axis=1),
        budget_limits=np.array(budget_limits, dtype=float),
        ordered=ordered,
    )


def _group_rows(moment: Any, case: Case, w: NDArray[Any]) -> list[tuple[NDArray[Any], float]]:
    """Each group against everyone, both ways, written out from the definitions of the rates."""
    y, name = case.outcome, type(moment).__name__
    events = {
        "DemographicParity": [np.ones(len(y), dtype=bool)],
        "ErrorRateParity": [np.ones(len(y), dtype=bool)],
        "TruePositiveRateParity": [y == 1],
        "FalsePositiveRateParity": [y == 0],
        "EqualizedOdds": [y == 0, y == 1],
    }[name]
    slope = (1.0 - 2.0 * y) if name == "ErrorRateParity" else np.ones(len(y))
    start = y.astype(float) if name == "ErrorRateParity" else np.zeros(len(y))
    rows = []
    for event in events:
        everyone = np.where(event, w, 0.0)
        for group in np.unique(case.group):
            inside = np.where(case.group == group, everyone, 0.0)
            if inside.sum() == 0:
                continue
            apart = inside / inside.sum() - everyone / everyone.sum()
            rows += [(sign * apart * slope, moment.eps - sign * float(apart @ start)) for sign in (1.0, -1.0)]
    return rows


def reported_multipliers(case: Case, of: Programme) -> NDArray[Any]:
    """The multipliers of the rows as ``prices_`` and ``group_rules_`` report them.

    A table of prices does not tell which way a price on "same" points, so it is looked up where the solver keeps it.
    """
    prepared, solution = case.model._after_fit()
    problem, pairs, rows = prepared.problem, prepared.pairs, solution.multipliers.rows
    kept = {
        (int(pairs.people[pairs.reference[source]]), int(pairs.people[pairs.owed[source]])): float(rows[k])
        for k, source in enumerate(problem.source)
    }
    priced: dict[frozenset[Any], float] = {}
    for _, line in case.model.prices_.iterrows():
        pair = frozenset((line["a"], line["b"]))
        priced[pair] = priced.get(pair, 0.0) + float(line["price"])
    found = []
    for i, j in of.ordered:
        points_here = kept.get((i, j), 0.0) > kept.get((j, i), 0.0)
        found.append(priced.get(frozenset((i, j)), 0.0) if points_here else 0.0)
    rules = case.model.group_rules_["price"].tolist()
    return np.array([*found, *_in_order(case, rules)])


def _in_order(case: Case, prices: list[float]) -> list[float]:
    """Prices of statistical rules by event, group and sign as they are written out above."""
    names = case.model.group_rules_["rule"].tolist()
    by_name = dict(zip(names, prices, strict=True))
    keys = sorted(by_name, key=lambda name: (name.split(" ")[2:], name.split(" ")[1] == "-"))
    return [by_name[key] for key in keys]


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in (2, 3, 4))])
def test_the_lagrangian_at_the_reported_prices_is_the_value(part: int) -> None:
    priced = 0
    for seed in range(part, N_PROBLEMS, 5):
        found = case(seed)
        direct = programme(found)
        certificate = found.model.certificate_
        assert certificate.kind == "exact"
        assert certificate.error == pytest.approx(direct.optimum(), abs=ROUNDING), seed
        at = reported_multipliers(found, direct)
        assert at.min(initial=0.0) >= 0.0
        assert direct.lagrangian(at) == pytest.approx(certificate.error, abs=TOL + ROUNDING), seed
        priced += bool(at.max(initial=0.0) > 1e-6)
    assert priced > N_PROBLEMS // 5 // 3  # in many problems something has a price


@pytest.mark.parametrize(("share", "least"), [(1 / 4, 1), pytest.param(1, 5, marks=pytest.mark.slow)])
def test_no_removal_saves_more_than_its_bound(share: float, least: int) -> None:
    saved = 0
    for seed in range(1000, 1000 + int(share * N_PROBLEMS) // 3):
        found = case(seed)
        if found.model.prices_["price"].max() < 1e-6:
            continue
        given = {"sample_weight": found.weight}
        if found.model.group_constraints:
            given["sensitive_features"] = found.group
        table = removal_saving(found.model, found.people, found.outcome, found.judgments, n=3, **given)
        assert (table["saving"] <= table["bound"] + ROUNDING).all(), (seed, table)
        saved += int((table["saving"] > 1e-6).sum())
    assert saved > least


def test_the_bounds_of_a_known_problem() -> None:
    """At gamma 0, where the last programme's duals once put the price on the wrong pair."""
    people = pd.DataFrame(
        {
            "u": [-1.4, 0.9, -1.2, -0.7, 1.3, -1.4, -1.0, -0.9, -0.2, -0.2],
            "v": [-0.6, 3.1, -0.4, 0.7, 0.1, -0.3, 1.2, -0.6, 0.9, 0.9],
        }
    )
    outcome = np.array([0, 1, 0, 0, 1, 0, 0, 0, 1, 1])
    weight = np.array([2.0, 3, 3, 1, 4, 4, 1, 4, 3, 4])
    answers = [(4, 5, "same"), (4, 6, "a_at_least_b"), (3, 9, "same")]
    rows = [{"judge": "j", "a": a, "b": b, "answer": answer} for a, b, answer in answers]
    judgments = Judgments(rows, people=people)
    model = PairwiseFairClassifier("tree", gamma=0.0, favorable_label=1, tol=TOL)
    model.fit(people, outcome, judgments=judgments, sample_weight=weight)
    table = removal_saving(model, people, outcome, judgments, n=3, sample_weight=weight)
    assert (table["saving"] <= table["bound"] + ROUNDING).all()
    assert table["saving"].max() > 0.1
