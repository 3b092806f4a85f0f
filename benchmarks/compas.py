"""COMPAS and a simulated panel like the study's, as the problems that the other files solve."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fairwise.constraints.pairs import PairRows, panel_budget
from fairwise.datasets import load_compas
from fairwise.learning.deduplication import merge_equal
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.no_regret import seeds
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairwise.judgments import Judgments
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.solvers.solution import Solution

GAMMAS = tuple(number / 10 for number in range(11))
N_FOLDS = 3


@cache
def people() -> tuple[pd.DataFrame, pd.Series]:
    return load_compas()


@cache
def panel() -> Judgments:
    """43 simulated people, 50 pairs each, answers "same" or "no constraint"."""
    return simulate_panel(people()[0], seed=0)


def judges() -> list[str]:
    return panel().judges


@cache
def encoder(columns: tuple[str, ...] | None = None, *, scaled: bool = True) -> TableEncoder:
    return TableEncoder.learn(_table(columns), np.ones(len(people()[0])), scaled=scaled)


@cache
def encoded(columns: tuple[str, ...] | None = None, *, scaled: bool = True) -> FloatArray:
    return encoder(columns, scaled=scaled).encode(_table(columns))


def pairs_of(judge: str) -> PairRows:
    return PairRows.from_judgments(panel().select([judge]))


def problem_of(
    judge: str, *, gamma: float = 0.3, scaled: bool = True, columns: tuple[str, ...] | None = None
) -> Problem:
    """One simulated subject's problem at eta = 0, as the estimator would build it."""
    return _problem(pairs_of(judge), encoded(columns, scaled=scaled), gamma=gamma, eta=0.0)


def panel_problem(eta: float) -> Problem:
    """The whole panel's problem at gamma = 0."""
    return _problem(PairRows.from_judgments(panel()), encoded(), gamma=0.0, eta=eta)


def regression(problem: Problem) -> RegressionOracle:
    return RegressionOracle(problem.points.rows, problem.points.multiplicity)


def linear(problem: Problem) -> ColumnGeneration:
    """Column generation with the descent oracle, seeded as the estimator seeds it."""
    points = problem.points
    oracle = DescentOracle(points.rows, points.multiplicity, points.error_cost, judged=problem.judged)
    return ColumnGeneration(problem, oracle, seeds(problem, oracle))


def tree(problem: Problem, depth: int) -> ColumnGeneration:
    oracle = TreeOracle(problem.points.rows, problem.points.error_cost, depth)
    return ColumnGeneration(problem, oracle)


def by_number(problem: Problem) -> Problem:
    """The same problem for classifiers known only by their labels: a point's row is its number."""
    points: Any = replace(problem.points, rows=np.arange(len(problem.points.rows)))
    return replace(problem, points=points)


def fold_numbers() -> NDArray[np.int64]:
    """``(n,)``: for every person, the fold in which they are left out; alike for all who are compared."""
    outcome = people()[1].to_numpy()
    number = np.empty(len(outcome), dtype=np.int64)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(outcome, outcome)
    for fold, (_, left_out) in enumerate(folds):
        number[left_out] = fold
    return number


def violation(problem: Problem, solution: Solution) -> float:
    """The largest violation of a pair by the mixture, measured anew."""
    _, differences = problem.evaluate(solution.classifiers)
    return float((solution.weights @ differences).max(initial=0.0))


def _problem(pairs: PairRows, rows: FloatArray, *, gamma: float, eta: float) -> Problem:
    table, outcome = people()
    judged = rows[table.index.get_indexer(pairs.people)]
    placed = merge_equal(rows, outcome.to_numpy(), np.ones(len(rows)), judged)
    budget = panel_budget(pairs, eta, "answers")
    return Problem.build(placed.points, placed.judged, pairs, [budget], sign=1.0, gamma=gamma)


def _table(columns: tuple[str, ...] | None) -> pd.DataFrame:
    table = people()[0]
    return table if columns is None else table[list(columns)]
