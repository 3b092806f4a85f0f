"""Classifiers to start column generation from: a few rounds of the paper's dynamics at several bounds on lambda."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairwise.learning.blocks.oracles import LargeDescentOracle, LargeRegressionOracle
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.regression import RegressionOracle
from fairwise.learning.promise import promise
from fairwise.learning.regression_dynamics import Ground, play_games

if TYPE_CHECKING:
    from fairwise.learning.oracles.base import Classifiers, Oracle
    from fairwise.learning.problem import Problem

_LAMBDA_BOUNDS = (0.3, 1.0, 3.0, 10.0)
_ROUNDS = 500
_ROUNDS_FOR_DESCENT = 50  # the stronger oracle soon finds better ones itself


def seeds(problem: Problem, oracle: Oracle) -> Classifiers | None:
    """Iterates of the dynamics, where the class is linear and a round is nearly free; otherwise none."""
    ground = _ground(problem, oracle)
    if ground is None or problem.n_pairs == 0:
        return None
    problem = replace(problem, groups=None)  # these rounds know pairs only
    n_rounds = _ROUNDS if isinstance(oracle, RegressionOracle | LargeRegressionOracle) else _ROUNDS_FOR_DESCENT
    found: Classifiers | None = None
    for lambda_bound in _LAMBDA_BOUNDS:
        n_budgets = len(problem.soft_budgets)
        plan = promise(
            len(problem),
            lambda_bound=lambda_bound,
            tau_bound=lambda_bound,
            n_budgets=n_budgets,
            n_rounds=n_rounds,
        )
        rounds = play_games([problem], ground, [plan], lambda_bound, lambda_bound)[0].classifiers
        found = rounds if found is None else found.joined(rounds)
    return found


def _ground(problem: Problem, oracle: Oracle) -> Ground | None:
    if isinstance(oracle, DescentOracle | LargeDescentOracle):
        oracle = oracle.regression
    if isinstance(oracle, LargeRegressionOracle):
        return oracle.ground
    return Ground.of(problem, oracle) if isinstance(oracle, RegressionOracle) else None
