"""The paper's Algorithms 1 and 2, with the corrections of ``docs/errata.md``.

The dual player runs exponentiated gradient on the pairs and gradient ascent on the budgets; the primal player answers
with the oracle's classifier and, pair by pair, all or no slack. What is returned is the average of the rounds.

At ``eta = 0`` the slack must be 0; played literally it stays in the game and the violation stays near 1 unless tau
may be in the hundreds. So there slack and tau are dropped.

Against the regression oracle the rounds need three things only of the whole table (:class:`RegressionTerms`), and
afterwards the error of every classifier played. So the table may be in memory or be read in blocks; the games are the
same, and compiled (``regression_kernels``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple, TypeVar

import numpy as np

from fairwise.constraints.pairs import adjoint_differences
from fairwise.errors import InputError
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, total_costs
from fairwise.learning.oracles.linear import LinearClassifiers, RegressionOracle, RegressionTerms
from fairwise.learning.problem import Points, Problem
from fairwise.learning.solvers.large_games import GameRecord, is_large, play_large
from fairwise.learning.solvers.progress import SearchEnded, Watch
from fairwise.learning.solvers.regression_kernels import play
from fairwise.learning.solvers.regret_bound import Guarantee, promise
from fairwise.learning.solvers.solution import (
    Multipliers,
    RoundAverages,
    Solution,
    budget_limits,
    budgets_used,
    lagrangian_bound,
)
from fairwise.results.certificate import Stopped

Members = TypeVar("Members", bound=Classifiers)
_LAMBDA_BOUNDS = (0.3, 1.0, 3.0, 10.0)  # of the games that column generation starts from
_MAX_ROUNDS = 10**7


@dataclass(frozen=True, eq=False)
class Game:
    """One game played: its classifiers, the running violation, the averages, and the reply to the averages."""

    problem: Problem
    guarantee: Guarantee
    classifiers: LinearClassifiers
    violations: FloatArray
    average: RoundAverages
    reply: LinearClassifiers
    cost_on_judged: float
    """What the reply costs on judged people, apart from its error."""

    favored: IntArray | None = None
    """Number of rounds that gave each judged person label 1 ``(m,)``, for two labels and if it is known."""

    def solution(self, errors: FloatArray, reply_error: float, plain_error: float, hypothesis_class: str) -> Solution:
        """The average of the rounds, once the error of each ``(T,)``, the reply and the plain model is known."""
        n_rounds = len(errors)
        running = np.cumsum(errors) / np.arange(1, n_rounds + 1)
        self.average.error = float(running[-1])
        bound = lagrangian_bound(self.problem, self.average.multipliers, reply_error + self.cost_on_judged)
        weights = np.full(n_rounds, 1.0 / n_rounds)
        gaps = np.full(n_rounds, np.nan)
        gaps[-1] = self.average.best_dual_value(self.guarantee.lambda_bound, self.guarantee.tau_bound) - bound
        return Solution(
            classifiers=self.classifiers,
            weights=weights,
            error=self.average.error,
            multipliers=self.average.multipliers,
            bound=bound,
            exact=False,
            hypothesis_class=hypothesis_class,
            oracle_calls=n_rounds + 1,
            trajectory={"error": running, "max_violation": self.violations, "gap": gaps},
            stopped="rounds",
            plain_error=min(plain_error, float(errors.min())),
            judged_probability=None if self.favored is None else _sums_of_first(weights)[self.favored],
        )


def play_game(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> Game:
    """All rounds of one game; of the people it needs the terms alone. Of two labels it is compiled."""
    if not problem.is_plain:
        return _play_in_turn(problem, terms, guarantee)
    play_all = play_large if is_large(problem, terms, guarantee.n_rounds) else _play_compiled
    coef, intercept, violations, pairs, budgets, slack, labels = play_all(problem, terms, guarantee)
    average = RoundAverages(problem)
    average.add(Multipliers(pairs, budgets), np.nan, problem.differences(labels[None, :])[0], slack)
    on_people = adjoint_differences(problem.sign * pairs, problem.reference, problem.owed, len(problem.judged))
    reply = terms.response(on_people)
    cost_on_judged = float(on_people @ reply.labels(terms.judged_rows)[0])
    members = terms.placed(LinearClassifiers(coef, intercept)), violations, average, terms.placed(reply)
    # With columns in another order sums round otherwise, and so may labels be others than those of the mixture.
    favored = None if terms.columns is not None else np.rint(labels * guarantee.n_rounds).astype(np.intp)
    return Game(problem, guarantee, *members, cost_on_judged, favored)


def _play_compiled(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> GameRecord:
    soft = problem.soft_budgets
    return GameRecord(
        *play(
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
            guarantee.pair_step,
            guarantee.budget_step,
            guarantee.n_rounds,
            guarantee.lambda_bound,
            guarantee.tau_bound,
        )
    )


class _RegressionOnJudged(RegressionOracle):
    """The regression for costs on judged people alone, which are added to those of errors; it keeps what it said."""

    def __init__(self, terms: RegressionTerms) -> None:
        self._terms = terms
        self.said: list[LinearClassifiers] = []

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:  # noqa: ARG002
        self.said.append(self._terms.response(cost))
        return self.said[-1]


def _play_in_turn(problem: Problem, terms: RegressionTerms, guarantee: Guarantee) -> Game:
    """The same for any labels and values, not compiled: a game in which judged people are all there is."""
    judged_rows = terms.judged_rows
    nothing = np.zeros((len(judged_rows), *problem.points.error_cost.shape[1:]))
    everyone = np.arange(len(judged_rows), dtype=np.intp)
    points = Points(judged_rows, nothing, 0.0, np.ones(len(judged_rows)))
    on_judged = replace(problem, points=points, judged=everyone)
    oracle = _RegressionOnJudged(terms)
    game = _OpenGame(on_judged, oracle, guarantee)
    for _ in range(guarantee.n_rounds):
        game.play(look=False)
    violations = np.array([played.max_violation for played in game.rounds])
    cost = on_judged.cost(game.average.multipliers.rows)
    reply = terms.response(cost)
    cost_on_judged = float(total_costs(reply.labels(judged_rows), cost)[0])
    members = terms.placed(join(oracle.said)), violations, game.average, terms.placed(reply)
    return Game(problem, guarantee, *members, cost_on_judged)


def seeds(problem: Problem, oracle: Oracle) -> Classifiers | None:
    """Classifiers to start column generation from: a few rounds at several bounds on lambda.

    Where the class is linear and rounds are compiled, one is nearly free; otherwise there are none.
    """
    terms = oracle.regression_terms(problem) if problem.n_pairs and problem.is_plain else None
    if terms is None:
        return None
    problem = replace(problem, groups=None)  # these rounds know pairs only
    n_budgets = len(problem.soft_budgets)
    guarantees = [
        promise(len(problem), lambda_bound=bound, tau_bound=bound, n_budgets=n_budgets, n_rounds=oracle.seed_rounds)
        for bound in _LAMBDA_BOUNDS
    ]
    return join([play_game(problem, terms, guarantee).classifiers for guarantee in guarantees])


def join(members: Sequence[Members]) -> Members:
    """All of them in one collection, joined in halves so that no array is copied more than a few times."""
    if len(members) == 1:
        return members[0]
    middle = len(members) // 2
    return join(members[:middle]).joined(join(members[middle:]))


def solve_no_regret(
    problem: Problem,
    oracle: Oracle,
    *,
    n_rounds: int = 1000,
    nu: float | None = None,
    lambda_bound: float = 1.0,
    tau_bound: float = 1.0,
) -> Solution:
    """Play the game for ``n_rounds`` rounds, or until its gap is at most ``nu``.

    With ``nu`` the number of rounds is the one the theorem asks for, and the gap between both best responses to the
    averages is looked at on the way (the stopping rule sketched in the paper's source).
    """
    guarantee = guarantee_of(problem, n_rounds, nu, lambda_bound, tau_bound)
    return solve_games([problem], oracle, [guarantee], nu)[0]


def solve_games(
    problems: Sequence[Problem],
    oracle: Oracle,
    guarantees: Sequence[Guarantee],
    nu: float | None,
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> list[Solution]:
    """Games on the same people and pairs that differ in gamma and in their budgets, each as if it were played alone.

    Compiled rounds take microseconds, and nobody is told of them; a limit in seconds for each game needs them one at a
    time.
    """
    compiled = nu is None and time_limit is None and problems[0].groups is None and oracle.is_regression
    terms = oracle.regression_terms(problems[0]) if compiled else None
    if terms is not None:
        return _play_regression(problems, oracle, terms, guarantees)
    return [
        _play(problem, oracle, guarantee, nu, np.inf if time_limit is None else monotonic() + time_limit, watch)
        for problem, guarantee in zip(problems, guarantees, strict=True)
    ]


def guarantee_of(problem: Problem, n_rounds: int, nu: float | None, lambda_bound: float, tau_bound: float) -> Guarantee:
    """How many rounds there will be, and their steps."""
    guarantee = promise(
        len(problem),
        lambda_bound=lambda_bound,
        tau_bound=tau_bound,
        n_budgets=len(problem.soft_budgets),
        gain_range=problem.gain_range,
        n_rounds=n_rounds if nu is None else None,
        nu=nu,
    )
    if guarantee.n_rounds > _MAX_ROUNDS:
        if nu is None:
            raise InputError(f"n_rounds={n_rounds} is not allowed: at most {_MAX_ROUNDS:,} rounds.")
        raise InputError(
            f"nu={nu:g} needs {guarantee.n_rounds:.2g} rounds with these bounds on the multipliers, more than "
            f"{_MAX_ROUNDS:.0e}. Give a larger nu, smaller lambda_bound and tau_bound, or n_rounds."
        )
    return guarantee


class _Round(NamedTuple):
    """Which of the classifiers was played, and what the trajectory tells of the rounds until then."""

    member: int
    error: float
    max_violation: float
    gap: float


class _OpenGame:
    """A game against any oracle, played one round at a time."""

    def __init__(self, problem: Problem, oracle: Oracle, guarantee: Guarantee) -> None:
        self._problem, self._oracle, self._guarantee = problem, oracle, guarantee
        self._theta = np.zeros(len(problem))
        self._budgets = np.zeros(len(problem.soft_budgets))
        self.average = RoundAverages(problem)
        self._position_of: dict[bytes, int] = {}
        self._members: list[Classifiers] = []
        self._calls, self._bound, self._least = 0, -np.inf, np.inf
        self.rounds: list[_Round] = []

    def play(self, *, look: bool) -> float:
        """One round; returns the gap if it is to be looked at, and NaN otherwise."""
        problem, guarantee = self._problem, self._guarantee
        at = Multipliers(guarantee.lambda_bound * _softmax_with_zero(self._theta), self._budgets)
        response = self._oracle.best_response(problem.cost(at.rows))
        self._calls += 1
        error, values, key = problem.observe(response)
        self._least = min(self._least, error)
        slack = (at.slack_cost(problem) <= 0).astype(float)
        self.average.add(at, error, values.astype(float), slack)
        self._theta += guarantee.pair_step * (values - slack - problem.row_limits)
        overspent = budgets_used(problem, slack) - budget_limits(problem)
        self._budgets = np.clip(self._budgets + guarantee.budget_step * overspent, 0.0, guarantee.tau_bound)

        which = self._position_of.setdefault(key, len(self._members))
        if which == len(self._members):
            self._members.append(response)
        gap = self._look() if look else np.nan
        self.rounds.append(_Round(which, self.average.error, self.average.max_violation(), gap))
        return gap

    def report(self, watch: Watch) -> None:
        last = self.rounds[-1]
        proven = self._bound if self._oracle.exact else np.nan
        size = len(self._members)
        watch.report(gamma=self._problem.gamma, error=last.error, bound=proven, gap=last.gap, n_classifiers=size)

    def solution(self, stopped: Stopped) -> Solution:
        """What the rounds played so far come to."""
        problem, oracle = self._problem, self._oracle
        if np.isnan(self.rounds[-1].gap):
            self.rounds[-1] = self.rounds[-1]._replace(gap=self._look())
        plain, _, _ = problem.observe(oracle.best_response(problem.points.error_cost))  # to compare with; no round
        member, errors, violations, gaps = np.array(self.rounds).T
        counts = np.bincount(member.astype(np.intp))
        return Solution(
            classifiers=join(self._members[: len(counts)]),
            weights=counts / len(self.rounds),
            error=float(errors[-1]),
            multipliers=self.average.multipliers,
            bound=self._bound,
            exact=oracle.exact,
            hypothesis_class=oracle.hypothesis_class,
            oracle_calls=self._calls,
            trajectory={"error": errors, "max_violation": violations, "gap": gaps},
            stopped=stopped,
            plain_error=min(plain, self._least),
        )

    def _look(self) -> float:
        """The gap at the averages, which costs one more question."""
        self._calls += 1
        self._bound = _bound_at(self._problem, self._oracle, self.average.multipliers)
        return self.average.best_dual_value(self._guarantee.lambda_bound, self._guarantee.tau_bound) - self._bound


def _play(
    problem: Problem,
    oracle: Oracle,
    guarantee: Guarantee,
    nu: float | None,
    deadline: float = np.inf,
    watch: Watch | None = None,
) -> Solution:
    """Rounds until all are played, the gap is ``nu`` or the time is over; interrupted, those until then."""
    game, n_rounds = _OpenGame(problem, oracle, guarantee), guarantee.n_rounds
    enough, next_look = (-np.inf, n_rounds) if nu is None else (nu, 1)
    try:
        for t in range(1, n_rounds + 1):
            if game.play(look=t in (next_look, n_rounds)) <= enough:
                return game.solution("gap")
            if t == next_look:  # looking at every tenth more rounds stops at most that much late
                next_look += max(1, t // 10)
            if watch is not None:
                game.report(watch)
            if monotonic() > deadline and t < n_rounds:
                return game.solution("time")
    except (KeyboardInterrupt, SearchEnded) as stop:
        if not (watch and game.rounds and watch.keeps(stop)):
            raise
        return game.solution("interrupted")
    return game.solution("rounds" if nu is None else "oracle")


def _play_regression(
    problems: Sequence[Problem], oracle: Oracle, terms: RegressionTerms, guarantees: Sequence[Guarantee]
) -> list[Solution]:
    """The same games against the regression oracle, compiled; the full table is read only before and after."""
    points = problems[0].points
    games = [play_game(p, terms, guarantee) for p, guarantee in zip(problems, guarantees, strict=True)]
    plain = oracle.best_response(points.error_cost)
    classifiers = join([plain, *(part for game in games for part in (game.classifiers, game.reply))])
    errors = points.error_offset + classifiers.total_costs(points.rows, points.error_cost)  # type: ignore[attr-defined]
    return [
        game.solution(own[:-1], float(own[-1]), float(errors[0]), oracle.hypothesis_class)
        for game, own in zip(games, errors[1:].reshape(len(games), -1), strict=True)
    ]


def _sums_of_first(weights: FloatArray) -> FloatArray:
    """Of none of them, of the first, …, of all; rounded as a mixture's, which adds one by one."""
    return np.asarray(np.minimum(np.append(0.0, np.cumsum(weights)), 1.0))


def _softmax_with_zero(theta: FloatArray) -> FloatArray:
    """``exp(theta_k) / (1 + sum exp(theta))``, safe for large theta."""
    top = max(0.0, float(theta.max(initial=0.0)))
    powers = np.exp(theta - top)
    return np.asarray(powers / (np.exp(-top) + powers.sum()))


def _bound_at(problem: Problem, oracle: Oracle, at: Multipliers) -> float:
    """Lagrangian value at ``at``, with one more oracle call."""
    error, values, _ = problem.observe(oracle.best_response(problem.cost(at.rows)))
    return lagrangian_bound(problem, at, error + float(values @ at.rows))
