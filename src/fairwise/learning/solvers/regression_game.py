"""The paper's dynamics against the regression oracle: what they need of the people, and what comes out.

Of the whole table the rounds need three things only (:class:`RegressionTerms`), and afterwards the error of every
classifier played. So the table may be in memory or be read in blocks; the games are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairwise.constraints.pairs import adjoint_differences
from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle
from fairwise.learning.oracles.linear_classifiers import LinearClassifiers
from fairwise.learning.solvers.regression_kernels import play
from fairwise.learning.solvers.regret_bound import Promise, promise
from fairwise.learning.solvers.solution import Multipliers, RoundAverages, Solution, budget_limits, lagrangian_bound

if TYPE_CHECKING:
    from fairwise.learning.oracles.linear import RegressionTerms
    from fairwise.learning.problem import Problem

_LAMBDA_BOUNDS = (0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Game:
    """One game played: its classifiers, the running violation, the averages, and the reply to the averages."""

    problem: Problem
    plan: Promise
    classifiers: LinearClassifiers
    violations: FloatArray
    average: RoundAverages
    reply: LinearClassifiers
    cost_on_judged: float
    """What the reply costs on judged people, apart from its error."""

    def solution(self, errors: FloatArray, reply_error: float, plain_error: float, hypothesis_class: str) -> Solution:
        """The average of the rounds, once the error of each ``(T,)``, the reply and the plain model is known."""
        n_rounds = len(errors)
        running = np.cumsum(errors) / np.arange(1, n_rounds + 1)
        self.average.error = float(running[-1])
        bound = lagrangian_bound(self.problem, self.average.multipliers, reply_error + self.cost_on_judged)
        gaps = np.full(n_rounds, np.nan)
        gaps[-1] = self.average.best_dual_value(self.plan.lambda_bound, self.plan.tau_bound) - bound
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


def play_game(problem: Problem, terms: RegressionTerms, plan: Promise) -> Game:
    """All rounds of one game; of the people it needs the terms alone."""
    soft = problem.soft_budgets
    coef, intercept, violations, pairs, budgets, slack, labels = play(
        terms.judged_rows,
        terms.inverse_gram,
        terms.base,
        problem.reference,
        problem.owed,
        problem.sign,
        problem.hard,
        np.cumsum([0, *(len(b.rows) for b in soft)]),
        np.concatenate([b.rows for b in soft]) if soft else np.empty(0, dtype=np.intp),
        np.concatenate([b.shares for b in soft]) if soft else np.empty(0),
        float(problem.gamma),
        budget_limits(problem),
        plan.pair_step,
        plan.budget_step,
        plan.n_rounds,
        plan.lambda_bound,
        plan.tau_bound,
    )
    average = RoundAverages(problem)
    average.add(Multipliers(pairs, budgets), np.nan, problem.differences(labels[None, :])[0], slack)
    on_people = adjoint_differences(problem.sign * pairs, problem.reference, problem.owed, len(problem.judged))
    reply = terms.response(on_people)
    cost_on_judged = float(on_people @ reply.labels(terms.judged_rows)[0])
    return Game(problem, plan, LinearClassifiers(coef, intercept), violations, average, reply, cost_on_judged)


def seeds(problem: Problem, oracle: Oracle) -> Classifiers | None:
    """Classifiers to start column generation from: a few rounds at several bounds on lambda.

    Where the class is linear a round is nearly free; otherwise there are none.
    """
    terms = oracle.regression_terms(problem) if problem.n_pairs else None
    if terms is None:
        return None
    problem = replace(problem, groups=None)  # these rounds know pairs only
    found = []
    for bound in _LAMBDA_BOUNDS:
        plan = promise(
            len(problem),
            lambda_bound=bound,
            tau_bound=bound,
            n_budgets=len(problem.soft_budgets),
            n_rounds=oracle.seed_rounds,
        )
        found.append(play_game(problem, terms, plan).classifiers)
    return join(found)


def join(members: Sequence[Classifiers]) -> Classifiers:
    """All of them in one collection, joined in halves so that no array is copied more than a few times."""
    if len(members) == 1:
        return members[0]
    middle = len(members) // 2
    return join(members[:middle]).joined(join(members[middle:]))
