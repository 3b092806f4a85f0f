"""From a problem to a solution: the solver that the settings name, for one gamma and eta or for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from time import monotonic

from fairwise.errors import InputError
from fairwise.learning.oracles.base import Classifiers, Oracle
from fairwise.learning.preparation import PreparedFit
from fairwise.learning.problem import Problem
from fairwise.learning.settings import FitSettings
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.few_classifiers import choose_few
from fairwise.learning.solvers.no_regret import guarantee_of, seeds, solve_games
from fairwise.learning.solvers.progress import SearchEnded, Watch
from fairwise.learning.solvers.solution import Solution

GammaEta = tuple[float, float | None]


def solve(problem: Problem, oracle: Oracle, settings: FitSettings, watch: Watch | None = None) -> Solution:
    """Run the solver the settings name; without any row to keep, the least error."""
    if len(problem) == 0:
        return least_error(problem, oracle)
    if settings.solver == "no-regret":
        return _play([problem], oracle, settings, watch)[0]

    deadline = inf if settings.time_limit is None else monotonic() + settings.time_limit
    search = ColumnGeneration(problem, oracle, seeds(problem, oracle))  # these answers count too
    left = deadline - monotonic()
    solution = search.solve(tol=settings.tol, max_iter=settings.max_iter, time_limit=left, watch=watch)
    if solution.stopped == "interrupted" and settings.max_classifiers is None:
        return solution  # whoever interrupts does not want another search
    try:
        return _with_few(problem, oracle, search, solution, settings, deadline - monotonic(), watch)
    except (KeyboardInterrupt, SearchEnded) as stop:
        if watch is None or settings.max_classifiers is not None or not watch.keeps(stop):
            raise
        return solution


def _with_few(
    problem: Problem,
    oracle: Oracle,
    search: ColumnGeneration,
    solution: Solution,
    settings: FitSettings,
    time_limit: float,
    watch: Watch | None,
) -> Solution:
    """Choose the least mean excess within ``tol`` of the bound, then as few classifiers as can be found.

    The bound and its proof stay.
    """
    ceiling, most = max(solution.error, solution.bound + settings.tol), settings.max_classifiers
    deadline = monotonic() + time_limit
    left = inf if settings.max_iter is None else settings.max_iter - len(solution.trajectory["gap"])
    least = search.with_least_excess(problem, ceiling, time_limit, max_iter=left, watch=watch if most is None else None)
    left = deadline - monotonic()
    choice, calls = choose_few(problem, oracle, search.pool, ceiling, least=least, most=most, time_limit=left)
    return replace(
        solution,
        classifiers=search.pool.classifiers.take(choice.which),
        weights=choice.weights,
        error=choice.error,
        oracle_calls=search.oracle_calls + calls,
        constant_weight=float(choice.weights[choice.which < search.n_constants].sum()),
        pool=search.pool.classifiers,
        max_classifiers=most,
    )


def solve_with_context(prepared: PreparedFit, watch: Watch | None = None) -> Solution:
    """Solve in units of the largest cost, or where nobody was asked and no rule given take the plain model.

    An error inside a user's own estimator is told as such.
    """
    problem, oracle, settings = prepared.scaled.problem, prepared.oracle, prepared.scaled.settings
    if watch is not None:
        watch.unit = prepared.unit
    try:
        solution = solve(problem, oracle, settings, watch) if prepared.asked else solve_plain(problem, oracle)
        return solution.times(prepared.unit)
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        if isinstance(settings.estimator, str):
            raise
        name = type(settings.estimator).__name__
        raise InputError(f"{name} could not be fitted to these people: {error}") from error


def solve_plain(problem: Problem, oracle: Oracle) -> Solution:
    """The one classifier to use where nobody was asked and no rule was given.

    Most often that of least error. An oracle that would fit its training people too closely has another one, whose
    error is above the bound: the least error found.
    """
    least = least_error(problem, oracle)
    chosen = oracle.plain_model(problem.points.error_cost)
    if chosen is None:
        return least
    error, _, _ = problem.observe(chosen)
    lowest = min(error, least.error)
    solution = Solution.of_one(problem, chosen, error, oracle.hypothesis_class, exact=oracle.exact)
    return replace(solution, bound=lowest, plain_error=lowest, hypothesis_class=oracle.plain_class)


def least_error(problem: Problem, oracle: Oracle) -> Solution:
    """The oracle's own answer to the costs of errors: deterministic, and the estimator as it would be without us."""
    best = oracle.best_response(problem.points.error_cost)
    error, _, _ = problem.observe(best)
    return Solution.of_one(problem, best, error, oracle.hypothesis_class, exact=oracle.exact)


def solve_curve(
    prepared: PreparedFit,
    points: Sequence[GammaEta],
    shared: Classifiers | None = None,
    step: Callable[[Classifiers | None], None] = lambda _found: None,
) -> list[Solution]:
    """A solution for each point asked for, in that order; ``prepared`` must have a panel budget.

    With column generation the loosest are solved first, and at the end each once more over the classifiers found for
    any of them. The errors are then the values of one linear programme as a function of its right-hand side: they
    never rise in gamma nor eta, and are jointly convex in the two, whatever the oracle. ``step`` is called after each
    point, with the classifiers found so far where points share them.
    """
    unit, prepared = prepared.unit, prepared.scaled
    problems = [prepared.problem.at_point(*point) for point in points]
    if len(prepared.problem) == 0:
        solutions = [least_error(problem, prepared.oracle) for problem in problems]
    elif prepared.settings.solver == "no-regret":
        solutions = _play(problems, prepared.oracle, prepared.settings)
    else:
        return [solution.times(unit) for solution in _solve_together(prepared, problems, shared, step)]
    for _ in solutions:
        step(None)
    return [solution.times(unit) for solution in solutions]


def _play(
    problems: Sequence[Problem], oracle: Oracle, settings: FitSettings, watch: Watch | None = None
) -> list[Solution]:
    rounds = settings.n_rounds, settings.nu, settings.lambda_bound, settings.tau_bound
    guarantees = [guarantee_of(problem, *rounds) for problem in problems]
    return solve_games(problems, oracle, guarantees, settings.nu, time_limit=settings.time_limit, watch=watch)


def _solve_together(
    prepared: PreparedFit,
    problems: list[Problem],
    shared: Classifiers | None,
    step: Callable[[Classifiers | None], None],
) -> list[Solution]:
    # A budget of 0 makes its rows hard, which is another programme: one solver for each such structure.
    solvers: dict[bytes, ColumnGeneration] = {}
    pool, oracle, settings = shared, prepared.oracle, prepared.settings
    solved: dict[int, Solution] = {}
    loosest_first = sorted(enumerate(problems), key=lambda at: (-sum(b.limit for b in at[1].budgets), -at[1].gamma))
    for i, problem in loosest_first:
        if (key := problem.hard.tobytes()) not in solvers:
            solvers[key] = ColumnGeneration(problem, oracle, _join(seeds(problem, oracle), pool))
        solved[i] = solvers[key].solve(
            problem, tol=settings.tol, max_iter=settings.max_iter, time_limit=settings.time_limit
        )
        pool = _join(*(solver.pool.classifiers for solver in solvers.values()))
        step(pool)
    for solver in solvers.values() if len(solvers) > 1 else ():
        solver.add(pool)
    return [
        solvers[p.hard.tobytes()].over_pool(p, solved[i].bound, solved[i].multipliers, solved[i].stopped)
        for i, p in enumerate(problems)
    ]


def _join(*parts: Classifiers | None) -> Classifiers | None:
    known = [part for part in parts if part is not None]
    return reduce(lambda one, other: one.joined(other), known) if known else None
