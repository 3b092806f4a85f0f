"""How far each heuristic oracle's answers are from the exact minimum, under costs that occur in real runs."""

from __future__ import annotations

from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from replication.dynamics import Recorder
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.support.finite_oracle import FiniteClassOracle
from threadpoolctl import threadpool_limits

from benchmarks import compas
from benchmarks.exact_lines import least_costs
from benchmarks.exact_trees import all_stumps
from benchmarks.row import Row, table
from fairwise.learning.deduplication import append, merge_equal
from fairwise.learning.encoding import NumberColumn
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.scikit_learn import ScikitLearnOracle
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.no_regret import seeds, solve_no_regret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle
    from fairwise.learning.problem import Points, Problem

    Responder = Callable[[FloatArray], Classifiers]
    Call = tuple[FloatArray, Classifiers]

_FEATURES = ("age", "priors_count")
_N_COSTS = 50
_N_JUDGES = 10
_GAMMAS = (0.05, 0.3)
_DYNAMICS, _COLUMNS = "the dynamics", "column generation"


class CostRecorder(Recorder):
    """An oracle that remembers what it was asked, too."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.costs: list[FloatArray] = []

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        self.costs.append(cost)
        return super().best_response(cost, warm)

    @property
    def calls(self) -> list[Call]:
        return list(zip(self.costs, self.answers, strict=True))


def run() -> Row:
    regrets = {**_over_lines(), **_over_trees()}
    lines = [
        [*key, f"{regret.mean():.4f}", f"{regret.max():.4f}", f"{np.mean(regret < 1e-9):.0%}"]
        for key, regret in regrets.items()
    ]
    means = {name: regret.mean() for (name, _, source), regret in regrets.items() if source == _COLUMNS}
    return Row(
        what="each heuristic oracle's own regret against an exact class, in units of error (simulated subjects)",
        bar="written down",
        measured="mean: " + ", ".join(f"{name} {mean:.4f}" for name, mean in means.items()),
        reached=None,
        notes=f"{_N_JUDGES} simulated subjects, gamma = {_GAMMAS[0]} and {_GAMMAS[1]}; from all oracle calls of these "
        f"runs, {_N_COSTS} spread evenly. Lines: linear thresholds on age and priors_count, where all of them can be "
        "enumerated. Trees: depth 2, all columns and thresholds.\n\n"
        + table(["oracle", "exact class", "costs from", "mean regret", "largest", "exact answers"], lines)
        + "\n\nProcessor time of one answer, all columns of COMPAS (2,905 different rows, 14 encoded columns):\n\n"
        + table(["oracle", "a call"], _times()),
        ratios={"regret of regression / of descent": means["`linear-regression`"] / means["`linear`, as it ran"]},
    )


def _over_lines() -> dict[tuple[str, str, str], FloatArray]:
    scale = np.array([column.scale for column in compas.encoder(_FEATURES).columns if isinstance(column, NumberColumn)])
    runs: dict[str, list[Call]] = {_DYNAMICS: [], _COLUMNS: []}
    for problem in _problems(columns=_FEATURES):
        regression = CostRecorder(compas.regression(problem))
        solve_no_regret(problem, regression, n_rounds=200)
        runs[_DYNAMICS] += regression.calls
        descent = DescentOracle(problem.points.rows, problem.points.multiplicity)
        recorder = CostRecorder(descent)
        ColumnGeneration(problem, recorder, seeds(problem, descent)).solve()
        runs[_COLUMNS] += recorder.calls
    points = problem.points
    everyone = compas.encoded(_FEATURES)
    oracles: dict[str, Responder] = {
        "`linear-regression`": compas.regression(problem).best_response,
        "`linear`, no warm start": DescentOracle(points.rows, points.multiplicity).best_response,
        "`LogisticRegression`": _person_by_person(everyone, points, LogisticRegression()),
        "`LinearDiscriminantAnalysis`, resampled": _person_by_person(everyone, points, LinearDiscriminantAnalysis()),
    }
    regrets = {}
    for source, calls in runs.items():
        chosen = _spread(calls)
        least = least_costs(np.rint(points.rows * scale).astype(np.intp), np.array([cost for cost, _ in chosen]))
        if source == _COLUMNS:
            regrets["`linear`, as it ran", "lines", source] = _costs(chosen, points.rows) - least
        for name, respond in oracles.items():
            answers = [(cost, respond(cost)) for cost, _ in chosen]
            regrets[name, "lines", source] = _costs(answers, points.rows) - least
    return regrets


def _over_trees() -> dict[tuple[str, str, str], FloatArray]:
    calls: list[Call] = []
    for problem in _problems(scaled=False):
        recorder = CostRecorder(_tree(problem.points, 2))
        ColumnGeneration(problem, recorder).solve()
        calls += recorder.calls
    chosen, points = _spread(calls), problem.points
    greedy = _person_by_person(compas.encoded(scaled=False), points, DecisionTreeClassifier(max_depth=2))
    answers = [(cost, greedy(cost)) for cost, _ in chosen]
    regret = _costs(answers, points.rows) - _costs(chosen, points.rows)
    return {("`DecisionTreeClassifier(max_depth=2)`", "trees", _COLUMNS): regret}


def _times() -> list[list[str]]:
    problem, in_units = next(_problems()), next(_problems(scaled=False))
    points, unscaled = problem.points, in_units.points
    cost, tree_cost = (each.cost(np.full(len(each), 0.3 / len(each))) for each in (problem, in_units))
    regression, descent = compas.regression(problem), DescentOracle(points.rows, points.multiplicity)
    known = compas.linear(problem).solve().classifiers
    listed = FiniteClassOracle(all_stumps(unscaled.rows))
    trees = [_tree(unscaled, depth) for depth in (1, 2, 3, 4)]
    others = [LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=2), LinearDiscriminantAnalysis()]
    asked: dict[str, Callable[[], object]] = {
        "`linear-regression`": lambda: regression.best_response(cost),
        "`linear`, no warm start": lambda: descent.best_response(cost),
        "`linear`, warm starts": lambda: descent.best_response(cost, known),
        **{f"`tree`, depth {tree.max_depth}": partial(tree.best_response, tree_cost) for tree in trees},
        "finite class, all 264 stumps": lambda: listed.best_response(tree_cost),
        **{f"`{each}`": partial(_person_by_person(compas.encoded(), points, each), cost) for each in others},
    }
    with threadpool_limits(1):
        took = {name: 1e3 * _processor_seconds(ask) for name, ask in asked.items()}
    return [[name, f"{each:.0f} ms" if each >= 10 else f"{each:.2g} ms"] for name, each in took.items()]


def _processor_seconds(ask: Callable[[], object]) -> float:
    """Median over several calls, after one that is not counted."""
    clock = []
    for _ in range(9):
        ask()
        clock.append(process_time())
    return float(np.median(np.diff(clock)))


def _problems(**how: Any) -> Iterator[Problem]:
    for judge in compas.judges()[:_N_JUDGES]:
        for gamma in _GAMMAS:
            yield compas.problem_of(judge, gamma=gamma, **how)


def _person_by_person(everyone: FloatArray, points: Points, estimator: Any) -> Responder:
    """A scikit-learn classifier as the estimator uses it: fitted to every person, equal rows not merged."""
    labels, ones, nobody = compas.people()[1].to_numpy(), np.ones(len(everyone)), everyone[:0]
    own = append(everyone, labels, ones, nobody).points
    first = np.unique(merge_equal(everyone, labels, ones, nobody).people, return_index=True)[1]
    oracle = ScikitLearnOracle(own.rows, own.error_cost, estimator)

    def respond(cost: FloatArray) -> Classifiers:
        unfolded = own.error_cost.copy()
        unfolded[first] += cost - points.error_cost
        return oracle.best_response(unfolded)

    return respond


def _costs(answered: list[Call], rows: FloatArray) -> FloatArray:
    return np.array([answer.labels(rows)[0] @ cost for cost, answer in answered])


def _spread(calls: list[Call]) -> list[Call]:
    return [calls[position] for position in np.linspace(0, len(calls) - 1, _N_COSTS).astype(int)]


def _tree(points: Points, depth: int) -> TreeOracle:
    return TreeOracle(points.rows, points.error_cost, depth)
