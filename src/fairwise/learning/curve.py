"""One set of rules for many values of gamma and eta: classifiers found for one serve all the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairwise.learning.solving import least_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairwise.learning.column_generation import ColumnGeneration
    from fairwise.learning.oracles.base import Classifiers
    from fairwise.learning.preparation import Prepared
    from fairwise.learning.problem import Problem
    from fairwise.learning.result import Solution

NO_BUDGET = 1.0  # the mean excess of a panel is never above it, so it limits nothing


def solve_curve(
    prepared: Prepared,
    settings: Mapping[str, Any],
    points: Sequence[tuple[float, float | None]],
    shared: Classifiers | None = None,
    step: Callable[[], None] = lambda: None,
) -> list[Solution]:
    """A solution for each (gamma, eta) asked for, in that order; ``prepared`` must have a panel budget.

    With column generation the loosest are solved first, and at the end each once more over the classifiers found for
    any of them. The errors are then the values of one linear programme as a function of its right-hand side: they
    never rise in gamma nor eta, and are jointly convex in the two, whatever the oracle.
    """
    problems = [at_point(prepared.problem, *point) for point in points]
    if len(prepared.problem) == 0:
        return [_stepped(least_error(problem, prepared.oracle), step) for problem in problems]
    if settings["solver"] == "no-regret":
        from fairwise.learning.no_regret import solve_games

        names = ("n_rounds", "nu", "lambda_bound", "tau_bound")
        played = solve_games(problems, prepared.oracle, **{name: settings[name] for name in names})
        return [_stepped(solution, step) for solution in played]
    return _solve_together(prepared, problems, settings, shared, step)


def join_points(
    prepared: Prepared,
    points: Sequence[tuple[float, float | None]],
    found: Sequence[Classifiers],
    bounds: Sequence[float],
    settings: Mapping[str, Any],
) -> list[Solution]:
    """One curve from points that were solved apart, on whichever machine: each anew over what was found for any.

    What is said of :func:`solve_curve` holds. An exact oracle is asked again, for multipliers that prove the bound: few
    calls, as what was found nearly closes the gap. Of a heuristic, ``bounds`` are what its searches told.
    """
    from fairwise.learning.column_generation import ColumnGeneration

    problems = [at_point(prepared.problem, *point) for point in points]
    if len(prepared.problem) == 0:
        return [least_error(problem, prepared.oracle) for problem in problems]
    together = _joined(*found)
    if prepared.oracle.exact:
        return _solve_together(prepared, problems, settings, together, lambda: None)
    solvers: dict[bytes, ColumnGeneration] = {}
    for problem in problems:
        if (key := problem.hard.tobytes()) not in solvers:
            solvers[key] = ColumnGeneration(problem, prepared.oracle, together)
    return [solvers[p.hard.tobytes()].over_pool(p, bound) for p, bound in zip(problems, bounds, strict=True)]


def _solve_together(
    prepared: Prepared,
    problems: list[Problem],
    settings: Mapping[str, Any],
    shared: Classifiers | None,
    step: Callable[[], None],
) -> list[Solution]:
    from fairwise.learning.column_generation import ColumnGeneration
    from fairwise.learning.seeding import seeds

    # A budget of 0 makes its rows hard, which is another programme: one solver for each such structure.
    solvers: dict[bytes, ColumnGeneration] = {}
    found = shared
    limits = {name: settings[name] for name in ("tol", "max_iter", "time_limit")}
    solved: dict[int, Solution] = {}
    loosest_first = sorted(range(len(problems)), key=lambda i: (-_limits(problems[i]), -problems[i].gamma))
    for i in loosest_first:
        problem = problems[i]
        if (key := problem.hard.tobytes()) not in solvers:
            solvers[key] = ColumnGeneration(problem, prepared.oracle, _joined(seeds(problem, prepared.oracle), found))
        solved[i] = solvers[key].solve(problem, **limits)
        found = _joined(*(solver.pool.classifiers for solver in solvers.values()))
        step()
    for solver in solvers.values() if len(solvers) > 1 else ():
        solver.add(found)
    return [
        solvers[p.hard.tobytes()].over_pool(p, solved[i].bound, solved[i].multipliers, solved[i].stopped)
        for i, p in enumerate(problems)
    ]


def at_point(problem: Problem, gamma: float, eta: float | None) -> Problem:
    """The panel's budget is the first."""
    panel, *others = problem.budgets
    limit = NO_BUDGET if eta is None else eta
    return replace(problem, gamma=gamma, budgets=(replace(panel, limit=limit), *others))


def _limits(problem: Problem) -> float:
    return sum(budget.limit for budget in problem.budgets)


def _joined(*parts: Classifiers | None) -> Any:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    first, *others = known
    for other in others:
        first = first.joined(other)
    return first


def _stepped(solution: Solution, step: Callable[[], None]) -> Solution:
    step()
    return solution
