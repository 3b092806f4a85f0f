"""From settings to an oracle, and from a problem to a solution."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.multipliers import Multipliers
from fairwise.learning.oracles.base import PlainOracle
from fairwise.learning.result import Solution
from fairwise.learning.settings import DEEPEST_PROVEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.learning.oracles.base import Classifiers, Oracle
    from fairwise.learning.problem import Points, Problem


def make_oracle(settings: Mapping[str, Any], points: Points, columns: list[str], seed: int) -> Oracle:
    """The oracle that ``estimator`` names, built for these points; compiled code is imported only here."""
    match settings["estimator"]:
        case "linear-regression":
            from fairwise.learning.oracles.regression import RegressionOracle

            return RegressionOracle(points.rows, points.multiplicity)
        case "linear":
            from fairwise.learning.oracles.descent import DescentOracle

            return DescentOracle(points.rows, points.multiplicity, points.error_cost)
        case "tree":
            depth, cap = settings["max_depth"], settings["max_thresholds"]
            if depth > DEEPEST_PROVEN:
                from fairwise.learning.oracles.deep_tree import DeepTreeOracle

                return DeepTreeOracle(points.rows, depth, cap, columns)
            from fairwise.learning.oracles.tree import TreeOracle

            return TreeOracle(points.rows, points.error_cost, depth, cap, columns)
        case estimator:
            from fairwise.learning.oracles.weighted import WeightedOracle

            return WeightedOracle(points.rows, points.error_cost, estimator, seed)


def solve(problem: Problem, oracle: Oracle, settings: Mapping[str, Any]) -> Solution:
    """Run the solver the settings name; without any row to keep, the least error."""
    if len(problem) == 0:
        return least_error(problem, oracle)
    if settings["solver"] == "no-regret":
        from fairwise.learning.no_regret import solve_no_regret

        names = ("n_rounds", "nu", "lambda_bound", "tau_bound")
        return solve_no_regret(problem, oracle, **{name: settings[name] for name in names})
    from fairwise.learning.column_generation import ColumnGeneration
    from fairwise.learning.seeding import seeds

    limits = {name: settings[name] for name in ("tol", "max_iter", "time_limit")}
    started = monotonic()
    search = ColumnGeneration(problem, oracle, seeds(problem, oracle))
    if limits["time_limit"] is not None:  # the first answers count too
        limits["time_limit"] -= monotonic() - started
    return search.solve(**limits)


def plain(problem: Problem, oracle: Oracle) -> Solution:
    """The one classifier to use where nobody was asked and no rule was given.

    Most often that of least error. An oracle that would fit its training people too closely has another one, whose
    error is above the bound: the least error found.
    """
    least = least_error(problem, oracle)
    if not isinstance(oracle, PlainOracle):
        return least
    chosen = oracle.plain_model(problem.points.error_cost)
    error, _, _ = problem.observe(chosen)
    lowest = min(error, least.error)
    found = alone(problem, chosen, error, oracle)
    return replace(found, bound=lowest, plain_error=lowest, hypothesis_class=oracle.plain_class)


def least_error(problem: Problem, oracle: Oracle) -> Solution:
    """The oracle's own answer to the costs of errors: deterministic, and the estimator as it would be without us."""
    best = oracle.best_response(problem.points.error_cost)
    error, _, _ = problem.observe(best)
    return alone(problem, best, error, oracle)


def alone(problem: Problem, classifier: Classifiers, error: float, oracle: Oracle | type[Oracle]) -> Solution:
    """One classifier that an oracle gave for the costs of errors, as a mixture of one."""
    once = np.array([error])
    return Solution(
        classifiers=classifier,
        weights=np.ones(1),
        error=error,
        multipliers=Multipliers.zero(problem),
        bound=error,
        exact=oracle.exact,
        hypothesis_class=oracle.hypothesis_class,
        oracle_calls=1,
        trajectory={"error": once, "max_violation": np.zeros(1), "gap": np.zeros(1)},
        stopped="gap",
        plain_error=error,
    )


def fitted_with_context(oracle: Oracle, problem: Problem, settings: Mapping[str, Any], *, asked: bool) -> Solution:
    """Solve, or where nobody was ``asked`` and no rule given take the plain model.

    An error inside a user's own estimator is told as such.
    """
    try:
        return solve(problem, oracle, settings) if asked else plain(problem, oracle)
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        if isinstance(settings["estimator"], str):
            raise
        name = type(settings["estimator"]).__name__
        raise InputError(f"{name} could not be fitted to these people: {error}") from error
