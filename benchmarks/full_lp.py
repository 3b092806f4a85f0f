"""Tiny problems, solved as they stand: one linear programme over all classifiers against our column generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from tests.support.finite_oracle import FiniteClassOracle
from threadpoolctl import threadpool_limits

from benchmarks import compas
from benchmarks.exact_trees import all_stumps
from benchmarks.rivals import Duel, Measured, median_times_faster
from benchmarks.row import Row, median_seconds, table
from fairwise.constraints.pairs import PairRows, panel_budget
from fairwise.learning.deduplication import merge_equal
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray, LabelArray

_PEOPLE, _JUDGES, _PAIRS = 300, 4, 15
_SHAPES = ((0.0, 0.02), (0.05, 0.01), (0.1, 0.05))  # gamma, eta
_STUMPS, _CONJUNCTIONS = "stumps", "stumps and conjunctions of two"
_TOL = 1e-6
_TIMES = 5


@dataclass(frozen=True)
class Answer:
    """A mixture found, with how many classifiers its programme held at the end."""

    measured: Measured
    columns: int


def run() -> Row:
    duels, lines = [], []
    with threadpool_limits(1):
        for name in (_STUMPS, _CONJUNCTIONS):
            for gamma, eta in _SHAPES:
                problem, labels = tiny(name, gamma, eta)
                us, them = ours(problem, labels), theirs(problem, labels)
                off = us.measured.error - them.measured.error
                what = f"{name}, gamma = {gamma:g}, eta = {eta:g}"
                duels.append(Duel(what, us.measured, them.measured, abs(off) <= _TOL))
                lines.append([what, str(len(problem)), f"{us.columns:,} / {them.columns:,}", f"{off:+.1e}"])
    large = duels[len(_SHAPES) :]
    worst = max(abs(duel.us.error - duel.them.error) for duel in duels)
    return Row(
        what=f"tiny problems ({_PEOPLE} people, {_JUDGES * _PAIRS} questions, slack, eta > 0), classes that can be "
        "listed, against the whole linear programme (HiGHS by scipy)",
        bar="same objective to 1e-6",
        measured=f"objectives differ by at most {worst:.0e}; with {lines[-1][2].split(' / ')[1]} classifiers "
        f"{median_times_faster(large):.1f} times faster",
        reached=worst <= _TOL,
        notes="The programme has a variable for every classifier of the class and one for the slack of every ordered "
        "pair; ours starts from a few classifiers and asks an oracle that looks at the list for more, to a proven gap "
        f"of {_TOL / 10:.0e}. Listing the class counts for neither. The violation is the mean excess beyond gamma, to "
        f"be at most eta. One thread, medians of {_TIMES}.\n\n"
        + table(["problem", "ordered pairs", "classifiers in the programme, ours / theirs", "difference"], lines),
        ratios={"times faster than the full programme, many classifiers": median_times_faster(large)},
        duels=tuple(duels),
    )


def tiny(name: str, gamma: float, eta: float) -> tuple[Problem, LabelArray]:
    """A problem whose points are known by number, and the labels of every classifier of the class."""
    everyone, outcomes = compas.people()
    people, outcome = everyone.iloc[:_PEOPLE], outcomes.iloc[:_PEOPLE]
    pairs = PairRows.from_judgments(simulate_panel(people, _JUDGES, _PAIRS, seed=0))
    weights = np.ones(len(people))
    encoder = TableEncoder.learn(people, weights, scaled=False)
    placed = merge_equal(encoder.encode(people), outcome.to_numpy(), weights, encoder.encode(people.loc[pairs.people]))
    budget = panel_budget(pairs, eta, "answers")
    problem = Problem.build(placed.points, placed.judged, pairs, [budget], sign=1.0, gamma=gamma)
    stumps = np.unique(all_stumps(problem.points.rows), axis=0)
    return compas.by_number(problem), stumps if name == _STUMPS else conjunctions(stumps)


def conjunctions(stumps: LabelArray) -> LabelArray:
    first, second = np.triu_indices(len(stumps))
    return np.unique(stumps[first] & stumps[second], axis=0)


def ours(problem: Problem, labels: LabelArray) -> Answer:
    oracle = FiniteClassOracle(labels)
    took = median_seconds(lambda: ColumnGeneration(problem, oracle).solve(tol=_TOL / 10), _TIMES)
    solver = ColumnGeneration(problem, oracle)
    solution = solver.solve(tol=_TOL / 10)
    _, differences = problem.evaluate(solution.classifiers)
    violation = mean_excess(problem, solution.weights, differences)
    return Answer(Measured(took, solution.oracle_calls, solution.error, violation), len(solver.pool.errors))


def theirs(problem: Problem, labels: LabelArray) -> Answer:
    constants = np.repeat(np.array([[0], [1]], dtype=np.uint8), labels.shape[1], axis=1)
    labels = np.concatenate([constants, labels])
    errors, differences = problem.points.errors(labels), problem.differences(labels[:, problem.judged])
    (k, n_rows), budget = differences.shape, problem.budgets[0]
    shares = np.zeros(n_rows)
    shares[budget.rows] = budget.shares
    programme: dict[str, Any] = {
        "c": np.concatenate([errors, np.zeros(n_rows)]),
        "A_ub": np.block([[differences.T, -np.eye(n_rows)], [np.zeros(k), shares]]),
        "b_ub": np.append(np.full(n_rows, problem.gamma), budget.limit),
        "A_eq": np.append(np.ones(k), np.zeros(n_rows))[None],
        "b_eq": [1.0],
        "bounds": [(0, None)] * k + [(0, 1)] * n_rows,
        "method": "highs",
    }
    took = median_seconds(lambda: linprog(**programme), _TIMES)
    weights = linprog(**programme).x[:k]
    measured = Measured(took, None, float(errors @ weights), mean_excess(problem, weights, differences))
    return Answer(measured, k)


def mean_excess(problem: Problem, weights: FloatArray, differences: FloatArray) -> float:
    """What the mixture takes beyond gamma, averaged over the budget's pairs."""
    budget = problem.budgets[0]
    excess = np.maximum(weights @ differences - problem.gamma, 0.0)
    return float(budget.shares @ excess[budget.rows])
