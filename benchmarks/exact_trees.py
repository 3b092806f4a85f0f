"""Trees: every curve proved optimal, and checked against an enumeration where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
from joblib import Parallel, delayed
from tests.support.finite_oracle import FiniteClassOracle

from benchmarks import compas
from benchmarks.row import Row
from fairwise.learning.solvers.column_generation import ColumnGeneration

_TOL = 1e-6
_CHECKED_BY_ENUMERATION = 6


@dataclass(frozen=True)
class Curve:
    seconds: float
    processor_seconds: float
    worst_gap: float
    worst_overshoot: float
    exact: bool


def run() -> Row:
    curves = Parallel(n_jobs=2)(delayed(prove)(judge) for judge in compas.judges())
    took = np.array([curve.seconds for curve in curves])
    slowest = max(curve.processor_seconds for curve in curves)
    gap = max(curve.worst_gap for curve in curves)
    exact = all(curve.exact for curve in curves)
    few = compas.judges()[:_CHECKED_BY_ENUMERATION]
    stumps_off = max(abs(off) for judge in few for off in against_enumeration(judge))
    return Row(
        what="`tree`, depth 2, all thresholds, every simulated subject and gamma; depth 1 against a list of all stumps",
        bar='gap ≤ 1e-6, "exact"; a curve of 11 in ≤ 5 s; stumps agree',
        measured=f"worst gap {gap:.1e}, {'all' if exact else 'not all'} exact; curve: median {np.median(took):.1f} s, "
        f"slowest {took.max():.1f} s ({slowest:.1f} s of processor time); stumps differ by at most {stumps_off:.1e}",
        reached=bool(gap <= _TOL and exact and took.max() <= 5 and stumps_off <= _TOL),
        notes=f"43 subjects, 11 values of gamma each, two subjects at a time, each on one core. Largest violation "
        f"beyond gamma: {max(curve.worst_overshoot for curve in curves):.1e}. Stumps: {len(few)} subjects, same "
        "gammas, the optimum over trees of depth 1 against the optimum over a list of all of them.",
        ratios={"bar / median seconds": 5 / float(np.median(took))},
    )


def prove(judge: str) -> Curve:
    compas.tree(compas.problem_of(judge, scaled=False), depth=2).solve(max_iter=2)  # load data and compiled code
    start, busy = perf_counter(), process_time()
    problem = compas.problem_of(judge, scaled=False)
    solver = compas.tree(problem, depth=2)
    solved = [solver.solve(problem.at(gamma), tol=_TOL) for gamma in compas.GAMMAS]
    took, busy = perf_counter() - start, process_time() - busy
    over = [compas.violation(problem, each) - gamma for each, gamma in zip(solved, compas.GAMMAS, strict=True)]
    gap = max(each.error - each.bound for each in solved)
    return Curve(took, busy, gap, max(over), all(each.exact for each in solved))


def against_enumeration(judge: str) -> list[float]:
    """Difference of the two optima at each gamma."""
    problem = compas.problem_of(judge, scaled=False)
    listed = compas.by_number(problem)
    by_search = compas.tree(problem, depth=1)
    by_list = ColumnGeneration(listed, FiniteClassOracle(all_stumps(problem.points.rows)))
    return [
        by_search.solve(problem.at(gamma), tol=_TOL / 10).error - by_list.solve(listed.at(gamma), tol=_TOL / 10).error
        for gamma in compas.GAMMAS
    ]


def all_stumps(rows: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray:
    """Labels of every threshold of every column, both ways round."""
    above = np.concatenate([column > np.unique(column)[:-1, None] for column in rows.T])
    return np.concatenate([above, ~above]).astype(np.uint8)
