"""The whole panel's curve: gamma = 0, the budget eta varied."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import compas
from benchmarks.row import Row, table

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.problem import Problem
    from fairwise.learning.solvers.column_generation import ColumnGeneration

_TOL = 1e-4  # the solver's own


def run() -> Row:
    compas.linear(compas.problem_of(compas.judges()[0])).solve(max_iter=2)  # load data and compiled code
    start, busy = perf_counter(), process_time()
    etas, errors = curve()
    took, busy = perf_counter() - start, process_time() - busy
    rise = float(np.diff(errors).max())
    bend = float((errors[1:-1] - (errors[:-2] + errors[2:]) / 2).max())  # above the chord is not convex
    return Row(
        what="panel of 43 simulated subjects, 50 pairs each, gamma = 0, 11 values of eta, `linear`",
        bar="≤ 60 s; monotone and convex in eta",
        measured=f"{took:.1f} s; worst rise {max(rise, 0.0):.0e}, worst bend {max(bend, 0.0):.0e}",
        reached=took <= 60 and rise <= _TOL and bend <= _TOL,
        notes=f"From the answers to the solutions, {busy:.1f} s of processor time. Eta goes from 0 to the mean excess "
        "of the unconstrained model. At the end each is solved once more over the classifiers found for any of them, "
        "so the curve is that of one linear programme.\n\n"
        + table(["eta", *(f"{eta:.3f}" for eta in etas)], [["error", *(f"{error:.4f}" for error in errors)]]),
        ratios={"bar / seconds": 60 / took},
    )


def curve() -> tuple[FloatArray, FloatArray]:
    """Etas and errors. Eta = 0 leaves no slack at all, so it is a programme of its own; classifiers are shared."""
    strict = compas.panel_problem(0.0)
    solver_strict = compas.linear(strict)
    top = unconstrained_excess(strict, solver_strict)
    soft = strict.at(0.0, [top])
    solver = compas.linear(soft)
    etas = np.linspace(0.0, top, len(compas.GAMMAS))
    for eta in etas[:0:-1]:
        solver.solve(soft.at(0.0, [eta]), tol=_TOL)
    found = solver.pool.classifiers
    solver_strict.pool.keep(found, *strict.evaluate(found))
    solver_strict.solve(tol=_TOL)
    found = solver_strict.pool.classifiers
    solver.pool.keep(found, *soft.evaluate(found))
    at_zero = solver_strict.pool.solve(strict).value
    others = [solver.pool.solve(soft.at(0.0, [eta])).value for eta in etas[1:]]
    return etas, np.array([at_zero, *others])


def unconstrained_excess(problem: Problem, solver: ColumnGeneration) -> float:
    """Mean excess of the most accurate classifier known, which the solver starts from."""
    best = solver.pool.classifiers.take(np.array([solver.pool.errors.argmin()]))
    _, differences = problem.evaluate(best)
    return float(problem.budgets[0].shares @ np.maximum(differences[0], 0.0))
