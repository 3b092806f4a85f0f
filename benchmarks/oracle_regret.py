"""How far each heuristic oracle's answers are from the exact minimum, under costs that occur in real runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks import compas
from benchmarks.exact_lines import least_costs
from benchmarks.row import Row, median_seconds, table
from fairwise.learning.column_generation import ColumnGeneration
from fairwise.learning.no_regret import solve_no_regret
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.learning.oracles.weighted import WeightedOracle
from fairwise.learning.seeding import seeds

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle
    from fairwise.learning.problem import Problem

_FEATURES = ("age", "priors_count")
_N_COSTS = 50
_GAMMAS = (0.05, 0.3)


class Recorder:
    """An oracle that remembers what it was asked and answered."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.exact, self.hypothesis_class = oracle.exact, oracle.hypothesis_class
        self.calls: list[tuple[FloatArray, Classifiers]] = []

    def constants(self) -> Classifiers:
        return self._oracle.constants()

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        answer = self._oracle.best_response(cost, warm)
        self.calls.append((cost, answer))
        return answer


def run() -> Row:
    lines = [*_over_lines(), *_over_trees()]
    header = ["oracle", "exact class", "costs from", "mean regret", "largest", "exact answers", "time a call"]
    worst = {line[0]: line[4] for line in lines}
    return Row(
        what="each heuristic oracle's own regret against an exact class (in units of error)",
        bar="written down",
        measured="largest: " + ", ".join(f"{name} {value}" for name, value in worst.items()),
        reached=None,
        notes=f"COMPAS with simulated subjects, {_N_COSTS} cost vectors in each line of the table, gamma = {_GAMMAS[0]} and "
        f"{_GAMMAS[1]}. Lines: thresholds on age and priors_count only, where every line can be enumerated. Trees: depth "
        "2, all columns, all thresholds.\n\n" + table(header, lines),
    )


def _over_lines() -> list[list[str]]:
    scale = np.array([column.scale for column in compas.encoder(_FEATURES).columns])
    runs: dict[str, list[tuple[FloatArray, Classifiers]]] = {"the dynamics": [], "column generation": []}
    for judge in compas.judges()[:10]:
        for gamma in _GAMMAS:
            problem = compas.problem_of(judge, gamma=gamma, columns=_FEATURES)
            regression = Recorder(compas.regression(problem))
            solve_no_regret(problem, regression, n_rounds=200)
            runs["the dynamics"] += regression.calls
            descent = DescentOracle(problem.points.rows, problem.points.multiplicity)
            recorder = Recorder(descent)
            ColumnGeneration(problem, recorder, seeds(problem, descent)).solve()
            runs["column generation"] += recorder.calls
    rows, multiplicity = problem.points.rows, problem.points.multiplicity
    whole = np.rint(rows * scale).astype(np.intp)
    oracles: dict[str, Oracle] = {
        "`linear-regression`": compas.regression(problem),
        "`linear`, from the regression alone": DescentOracle(rows, multiplicity),
        "`LogisticRegression`, weighted": WeightedOracle(rows, LogisticRegression()),
        "`LinearDiscriminantAnalysis`, resampled": WeightedOracle(rows, LinearDiscriminantAnalysis()),
    }
    lines = []
    for source, calls in runs.items():
        chosen = _spread(calls)
        costs = np.array([cost for cost, _ in chosen])
        least = least_costs(whole, costs)
        if source == "column generation":
            answered = np.array([_cost_of(answer, rows, cost) for cost, answer in chosen])
            lines.append(_line("`linear`, as it ran (warm starts)", "lines", source, answered - least))
        lines += [_measure(name, oracle, "lines", source, rows, costs, least) for name, oracle in oracles.items()]
    return lines


def _over_trees() -> list[list[str]]:
    calls: list[tuple[FloatArray, Classifiers]] = []
    for judge in compas.judges()[:10]:
        for gamma in _GAMMAS:
            problem = compas.problem_of(judge, gamma=gamma, scaled=False)
            recorder = Recorder(_tree_oracle(problem))
            ColumnGeneration(problem, recorder).solve()
            calls += recorder.calls
    chosen = _spread(calls)
    rows = problem.points.rows
    costs = np.array([cost for cost, _ in chosen])
    least = np.array([_cost_of(answer, rows, cost) for cost, answer in chosen])
    greedy = WeightedOracle(rows, DecisionTreeClassifier(max_depth=2))
    exact = _tree_oracle(problem)
    return [
        _measure("`DecisionTreeClassifier(max_depth=2)`", greedy, "trees", "column generation", rows, costs, least),
        _measure("`tree`", exact, "trees", "column generation", rows, costs, least),
    ]


def _measure(
    name: str, oracle: Oracle, against: str, source: str, rows: Any, costs: FloatArray, least: FloatArray
) -> list[str]:
    answered = np.array([_cost_of(oracle.best_response(cost), rows, cost) for cost in costs])
    took = median_seconds(lambda: oracle.best_response(costs[0]), 9)
    return _line(name, against, source, answered - least, f"{1e3 * took:.2g} ms")


def _line(name: str, against: str, source: str, regret: FloatArray, took: str = "") -> list[str]:
    exact = f"{np.mean(regret < 1e-9):.0%}"
    return [name, against, source, f"{regret.mean():.4f}", f"{regret.max():.4f}", exact, took]


def _cost_of(answer: Classifiers, rows: Any, cost: FloatArray) -> float:
    return float(answer.labels(rows)[0] @ cost)


def _spread(calls: list[tuple[FloatArray, Classifiers]]) -> list[tuple[FloatArray, Classifiers]]:
    """As many calls as wanted, evenly spread over the runs."""
    return [calls[position] for position in np.linspace(0, len(calls) - 1, _N_COSTS).astype(int)]


def _tree_oracle(problem: Problem) -> TreeOracle:
    return TreeOracle(problem.points.rows, problem.points.error_cost, 2)
