"""The paper's dynamics against the regression oracle: what they need of the people, and what comes out.

Of the whole table the rounds need three things only (:class:`Ground`), and afterwards the error of every classifier
played. So the table may be in memory or be read in blocks; the games are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairwise.constraints.pairs import adjoint_differences
from fairwise.learning.averages import Averages, budget_limits
from fairwise.learning.multipliers import Multipliers, lagrangian_bound
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.result import Solution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairwise.learning.oracles.base import FloatArray
    from fairwise.learning.oracles.regression import RegressionOracle
    from fairwise.learning.problem import Problem
    from fairwise.learning.promise import Promise


@dataclass(frozen=True, eq=False)
class Ground:
    """Judged people's rows ``(m, d)``, the inverse Gram matrix and the regression on the costs of errors alone."""

    judged_rows: FloatArray
    inverse_gram: FloatArray
    base: FloatArray

    @classmethod
    def of(cls, problem: Problem, oracle: RegressionOracle) -> Ground:
        return cls(
            np.ascontiguousarray(problem.points.rows[problem.judged]),
            oracle.inverse_gram,
            oracle.inverse_gram @ oracle.moments(problem.points.error_cost),
        )

    def response(self, on_people: FloatArray) -> LinearClassifiers:
        """The regression with these costs ``(m,)`` on judged people added to those of errors."""
        moments = np.concatenate([[on_people.sum()], on_people @ self.judged_rows])
        beta = self.base + self.inverse_gram @ moments
        return LinearClassifiers(-beta[None, 1:], -beta[:1])


@dataclass(frozen=True, eq=False)
class Game:
    """One game played: its classifiers, the running violation, the averages, and the reply to the averages."""

    problem: Problem
    classifiers: LinearClassifiers
    violations: FloatArray
    average: Averages
    reply: LinearClassifiers
    cost_on_judged: float
    """What the reply costs on judged people, apart from its error."""

    def solution(
        self,
        errors: FloatArray,
        reply_error: float,
        plain_error: float,
        lambda_bound: float,
        tau_bound: float,
        hypothesis_class: str,
    ) -> Solution:
        """The average of the rounds, once the error of each ``(T,)``, the reply and the plain model is known."""
        n_rounds = len(errors)
        running = np.cumsum(errors) / np.arange(1, n_rounds + 1)
        self.average.error = float(running[-1])
        bound = lagrangian_bound(self.problem, self.average.multipliers, reply_error + self.cost_on_judged)
        gaps = np.full(n_rounds, np.nan)
        gaps[-1] = self.average.best_dual_value(lambda_bound, tau_bound) - bound
        return Solution(
            classifiers=self.classifiers,
            weights=np.full(n_rounds, 1.0 / n_rounds),
            error=self.average.error,
            multipliers=self.average.multipliers,
            bound=bound,
            exact=False,
            hypothesis_class=hypothesis_class,
            oracle_calls=n_rounds + 1,
            trajectory={"error": running, "max_violation": self.violations, "gap": gaps},
            stopped="rounds",
            plain_error=min(plain_error, float(errors.min())),
        )


def play_games(
    problems: Sequence[Problem], ground: Ground, plans: Sequence[Promise], lambda_bound: float, tau_bound: float
) -> list[Game]:
    """Games that differ in gamma and in the limits of their budgets: one compiled call for all with the same hard rows.

    A budget of 0 leaves no slack, so such a game has other rules than one of any other budget.
    """
    games: dict[int, Game] = {}
    for hard in {problem.hard.tobytes() for problem in problems}:
        alike = [i for i, problem in enumerate(problems) if problem.hard.tobytes() == hard]
        found = _played([problems[i] for i in alike], ground, [plans[i] for i in alike], lambda_bound, tau_bound)
        games |= dict(zip(alike, found, strict=True))
    return [games[i] for i in range(len(problems))]


def _played(
    problems: list[Problem], ground: Ground, plans: list[Promise], lambda_bound: float, tau_bound: float
) -> list[Game]:
    from fairwise.learning.regression_game import play

    first, plan = problems[0], plans[0]
    soft = first.soft_budgets
    played = play(
        ground.judged_rows,
        ground.inverse_gram,
        ground.base,
        first.reference,
        first.owed,
        first.sign,
        first.hard,
        np.cumsum([0, *(len(b.rows) for b in soft)]),
        np.concatenate([b.rows for b in soft]) if soft else np.empty(0, dtype=np.intp),
        np.concatenate([b.shares for b in soft]) if soft else np.empty(0),
        np.array([problem.gamma for problem in problems]),
        np.array([budget_limits(problem) for problem in problems]),
        np.array([own.pair_step for own in plans]),
        plan.budget_step,
        plan.n_rounds,
        lambda_bound,
        tau_bound,
    )
    return [_game(problem, ground, *arrays) for problem, *arrays in zip(problems, *played, strict=True)]


def _game(
    problem: Problem,
    ground: Ground,
    coef: FloatArray,
    intercept: FloatArray,
    violations: FloatArray,
    pairs: FloatArray,
    budgets: FloatArray,
    slack: FloatArray,
    labels: FloatArray,
) -> Game:
    average = Averages(problem)
    average.add(Multipliers(pairs, budgets), np.nan, problem.differences(labels[None, :])[0], slack)
    on_people = adjoint_differences(problem.sign * pairs, problem.reference, problem.owed, len(problem.judged))
    reply = ground.response(on_people)
    cost_on_judged = float(on_people @ reply.labels(ground.judged_rows)[0])
    return Game(problem, LinearClassifiers(coef, intercept), violations, average, reply, cost_on_judged)
