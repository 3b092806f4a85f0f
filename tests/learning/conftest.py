"""Small problems whose optimum is known: a class that can be listed, and the direct linear programme over it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from tests.support.finite_oracle import FiniteClassOracle

from fairwise.constraints.pairs import PairRows, judge_budgets, panel_budget
from fairwise.judgments import Answer, Judgments
from fairwise.learning.problem import Points, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fairwise.learning.oracles.base import FloatArray


@dataclass(frozen=True, eq=False)
class Listed:
    """A problem over a class of which every member is known."""

    problem: Problem
    pairs: PairRows
    oracle: FiniteClassOracle
    labels: NDArray[np.uint8]
    """``(k, P)``: every classifier of the class, both constants first."""

    @property
    def errors(self) -> FloatArray:
        return self.problem.points.errors(self.labels)

    @property
    def differences(self) -> NDArray[np.int8]:
        return self.problem.differences(self.labels[:, self.problem.judged])


@dataclass(frozen=True, eq=False)
class Optimum:
    """The direct programme's answer."""

    value: float
    weights: FloatArray
    slack: FloatArray


@pytest.fixture(scope="session")
def random_pairs() -> Callable[..., PairRows]:
    """A panel of three judges with different weights who give all kinds of answers about some of the pairs."""

    def make(rng: np.random.Generator, n_people: int = 5, n_answers: int = 8, *, ordered: bool = True) -> PairRows:
        kinds = list(Answer) if ordered else [Answer.SAME, Answer.NO_CONSTRAINT]
        people = list(combinations(range(n_people), 2))
        shown = [
            (judge, *people[pair])
            for number, judge in enumerate("uvw")
            for pair in rng.choice(len(people), size=(n_answers + number) // 3, replace=False)
        ]
        rows = [
            {
                "judge": judge,
                "a": a,
                "b": b,
                "answer": "same" if number == 0 else str(rng.choice(kinds)),
                "weight": rng.choice([0.5, 1.0, 2.0]),
            }
            for number, (judge, a, b) in enumerate(shown)
        ]
        return PairRows.from_judgments(Judgments(rows))

    return make


@pytest.fixture(scope="session")
def random_points() -> Callable[..., Points]:
    """Points that stand for several people each, of different weight; the last one for nobody."""

    def make(rng: np.random.Generator, n_points: int, rows: Any = None) -> Points:
        person = rng.integers(n_points - 1, size=4 * n_points)
        outcome = rng.integers(2, size=len(person))
        weight = rng.choice([0.5, 1.0, 3.0], size=len(person))
        mass = np.bincount(person, weight, minlength=n_points)
        return Points(
            rows=np.arange(n_points) if rows is None else rows,
            error_cost=np.bincount(person, weight * (1 - 2 * outcome), minlength=n_points) / weight.sum(),
            error_offset=float(weight @ outcome / weight.sum()),
            multiplicity=np.where(mass > 0, mass, 1.0),
        )

    return make


@pytest.fixture(scope="session")
def listed(random_pairs: Callable[..., PairRows], random_points: Callable[..., Points]) -> Callable[..., Listed]:
    """A random problem over all labelings of its points, or over some of them."""

    def make(
        seed: int,
        *,
        n_points: int = 6,
        n_people: int = 5,
        n_answers: int = 8,
        n_classifiers: int | None = 20,
        gamma: float = 0.1,
        eta: float | None = 0.0,
        judges: Any = None,
        weighting: Any = "answers",
        sign: float = 1.0,
    ) -> Listed:
        rng = np.random.default_rng(seed)
        points = random_points(rng, n_points)
        pairs = random_pairs(rng, n_people, n_answers)
        budgets = [] if eta is None else [panel_budget(pairs, eta, weighting)]
        if judges is not None:
            budgets += judge_budgets(pairs, judges)
        if n_classifiers is None:
            labels = ((np.arange(2**n_points)[:, None] >> np.arange(n_points)) & 1).astype(np.uint8)
        else:
            labels = rng.integers(2, size=(n_classifiers, n_points)).astype(np.uint8)
        constants = np.repeat(np.array([[0], [1]], dtype=np.uint8), n_points, axis=1)
        judged = rng.choice(n_points, size=len(pairs.people), replace=len(pairs.people) > n_points)
        return Listed(
            problem=Problem.build(points, judged.astype(np.intp), pairs, budgets, sign=sign, gamma=gamma),
            pairs=pairs,
            oracle=FiniteClassOracle(labels),
            labels=np.concatenate([constants, labels]),
        )

    return make


@pytest.fixture(scope="session")
def direct_optimum() -> Callable[[Problem, FloatArray, Any], Optimum]:
    """The paper's programme as it stands: one variable per classifier and one slack per ordered pair."""

    def solve(problem: Problem, errors: FloatArray, differences: Any) -> Optimum:
        k, n_rows = differences.shape
        pair_rows = np.hstack([differences.T, -np.eye(n_rows)])
        budget_rows = np.zeros((len(problem.budgets), k + n_rows))
        for number, budget in enumerate(problem.budgets):
            budget_rows[number, k + budget.rows] = budget.shares
        found = linprog(
            np.concatenate([errors, np.zeros(n_rows)]),
            A_ub=np.vstack([pair_rows, budget_rows]),
            b_ub=np.concatenate([np.full(n_rows, problem.gamma), [b.limit for b in problem.budgets]]),
            A_eq=np.concatenate([np.ones(k), np.zeros(n_rows)])[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * k + [(0, 1)] * n_rows,
            method="highs",
        )
        assert found.x is not None, found.message
        return Optimum(float(errors @ found.x[:k]), found.x[:k], found.x[k:])

    return solve


@dataclass(frozen=True, eq=False)
class Town:
    """Some people with a mixed table, their outcomes, and what a panel of three said about pairs of them."""

    people: pd.DataFrame
    outcome: pd.Series[int]
    judgments: Judgments

    @property
    def outsiders(self) -> pd.DataFrame:
        """People whom nobody was asked about."""
        assert isinstance(self.judgments.people, pd.DataFrame)
        return self.people.drop(index=self.judgments.people.index)


@pytest.fixture(scope="session")
def make_town() -> Callable[..., Town]:
    def make(seed: int = 0, n: int = 60, n_answers: int = 12, *, ordered: bool = False, missing: bool = True) -> Town:
        rng = np.random.default_rng(seed)
        people = pd.DataFrame(
            {
                "age": rng.integers(18, 70, size=n),
                "income": np.where(rng.random(n) < 0.1 * missing, np.nan, rng.lognormal(3, 1, size=n).round(1)),
                "city": rng.choice(["Ulm", "Bonn", "Kiel"], size=n),
                "member": rng.random(n) < 0.5,
            },
            index=pd.Index([f"p{number:03}" for number in rng.permutation(n)], name="id"),
        )
        chance = 0.15 + 0.5 * (people["age"] > 40) + 0.2 * (people["city"] == "Ulm")
        outcome = pd.Series((rng.random(n) < chance).astype(int), index=people.index, name="paid")
        # Pairs that the plain model would tell apart, so that the judgments cost something.
        one, two = people.index[people["age"] > 40], people.index[people["age"] <= 40]
        kinds = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"] if ordered else ["same"]
        said = [
            {
                "judge": ["ann", "bea", "cal"][number % 3],
                "a": one[number % len(one)],
                "b": two[(number * 7 + number // len(two)) % len(two)],
                "answer": str(rng.choice(kinds)),
                "weight": float(rng.choice([1.0, 2.0])),
            }
            for number in range(n_answers)
        ]
        return Town(people, outcome, Judgments(said, people=people))

    return make


@pytest.fixture(scope="session")
def town(make_town: Callable[..., Town]) -> Town:
    return make_town()
