"""Column generation: a linear programme over the classifiers found so far, whose duals price the next oracle call.

The programme's own duals jump about, which stalls a heuristic oracle and delays the bound of an exact one. So the
oracle is asked at a point between them and the best multipliers so far (Wentges smoothing), and at the duals
themselves where that finds nothing new. Where a question takes long and there are only rules about groups, whose duals
are steady, the search begins at no multipliers, at which the answer is known, and the point is the nearest on the way
to the duals at which what is known still promises half of the gap (a level method on a line). Where very many rows
share one budget and a question takes long, the point comes from a proximal programme (``proximal``), and the linear
one is solved again only when its value may be lower.

The search goes on while the gap between the programme's value and the Lagrangian at the best multipliers is open. With
an exact oracle that Lagrangian is a proof, and the multipliers that gave it are what is returned as prices: the last
programme's own duals are optimal for the classifiers found, not for the whole class. With a heuristic oracle nothing is
proved, and the prices are the programme's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from fairwise.errors import InfeasibleError
from fairwise.learning.oracles.base import Classifiers, FloatArray, Oracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.least_excess import has_choice, least_excess, with_budget
from fairwise.learning.solvers.master import MasterSolution
from fairwise.learning.solvers.no_regret import solve_no_regret
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.progress import SearchEnded, Watch
from fairwise.learning.solvers.proximal import ProximalMultipliers
from fairwise.learning.solvers.search import Answer, Iteration, Limits, Search
from fairwise.learning.solvers.solution import FEASIBLE, Multipliers, Solution, lagrangian_bound
from fairwise.results.certificate import Stopped

_SMOOTHING = (0.7, 0.3, 0.0)  # share of the best multipliers so far, tried in this order until a column improves
_LEVEL = 0.5  # share of the gap that a point must promise where a question takes long
_CLOSE = 0.05  # once the gap is this share of the first one, the duals themselves are near
_GAINED = 0.1  # share of the gap by which a better bound alone is worth a question
_HALVINGS = 10
_IMPROVES = 1e-9  # reduced costs above -1e-9 are rounding
_ROUNDING = 1e-12
_EXCESS = 1e-8  # smaller gains in mean excess are not worth another question, nor another classifier in the mixture
_PRECISION = 0.1  # very large programmes are solved to this share of the gap, and at last of tol
_FIRST_PRECISION = 1e-3
_WARM = 8  # how many good known classifiers an oracle may start from
_APPROACH = (0.25, 0.1, 0.03)  # a small gamma is approached from above: near 0 the duals mislead a heuristic oracle
_WARM_UP = 40  # iterations of a search that only fills the pool
_MAX_ITER = 2000
_BEYOND = 1e3  # an error that no multiplier of a rule makes worth while
_WORTH_VARYING = 1e-6  # smaller gains are not worth another programme
_EXPLORING_ROUNDS = (60, 300)
_EXPLORING_WORK = 3e7  # rounds times points times columns
_STALLED_GAIN = 0.1  # a heuristic's value that fell by less than this share of tol has not fallen
_PATIENCE = 25, 8  # iterations without a lower value or a smaller gap; or this part of max_iter, where that is more
_PATIENCE_MANY_ROWS = 10, 20  # without a lower value, where very many rows share a budget
_STALLED_GAP = 50.0  # and the gap is at most so many tol


class ColumnGeneration:
    """The classifiers found so far for one set of rules, reused for every gamma and limit asked for.

    Both constants and the unconstrained solution are in from the start. A constant keeps every pairwise rule, so no
    answer is ever worse than one; and half of each gives every group the error 1/2, so every rule can be kept.
    """

    def __init__(self, problem: Problem, oracle: Oracle, seeds: Classifiers | None = None) -> None:
        self._problem = problem
        self._oracle = oracle
        self.pool = Pool(problem, oracle)
        self.n_constants = self.add(oracle.constants())
        self.add(oracle.best_response(problem.points.error_cost))
        self.add(seeds)
        self._stand_in = self._add_stand_in() if problem.groups is not None and not problem.groups.always_kept else None
        self.oracle_calls = 1
        self._smallest_gamma = np.inf
        self._explored = not oracle.cheap or oracle.exact
        nearby = not oracle.cheap and self.pool.shared and ProximalMultipliers.suit(problem)
        self._proximal = ProximalMultipliers(problem) if nearby else None  # a cheap oracle is asked again in less time
        self._slow = not oracle.cheap and not problem.n_pairs  # duals of many pairs jump about; this would end too soon

    def _add_stand_in(self) -> int:
        """A column that keeps every rule at an error beyond all others, while no mixture of what is known does."""
        problem = self._problem
        values = np.where(np.arange(len(problem)) < problem.n_pairs, -1.0, problem.row_limits - 1.0)
        self.pool.keep(self._oracle.constants().take(np.zeros(1, dtype=np.intp)), np.array([_BEYOND]), values[None])
        return len(self.pool) - 1

    def add(self, classifiers: Classifiers | None) -> int:
        """Classifiers known from elsewhere; returns how many of them are new."""
        return 0 if classifiers is None else self.pool.keep(classifiers, *self._problem.evaluate(classifiers))

    def over_pool(
        self, problem: Problem, bound: float, proof: Multipliers | None = None, stopped: Stopped = "gap"
    ) -> Solution:
        """The best mixture of what is known, without another question; ``bound`` and its proof are from before.

        Of several the one with the least mean excess.
        """
        master = self.pool.solve(problem)
        if not self.pool.shared:
            _, least = least_excess(self.pool, problem, master.value)
            master = replace(master, weights=least.weights)  # prices stay those of this problem
        return self._solution(Search(master, bound, proof), stopped)

    def with_least_excess(
        self,
        problem: Problem,
        ceiling: float,
        time_limit: float = np.inf,
        max_iter: float = np.inf,
        watch: Watch | None = None,
    ) -> Problem:
        """Return the problem with the least panel budget for an error within the ceiling, which the pool must reach.

        An exact oracle is asked until no classifier would make it less, or a limit is reached. A heuristic one is not.
        """
        deadline, asked = monotonic() + time_limit, problem
        if self.pool.shared or not has_choice(problem):
            return problem
        for iteration in count():
            problem, master = least_excess(self.pool, problem, ceiling)
            is_over = iteration >= max_iter or monotonic() > deadline
            if is_over or not self._oracle.exact or not has_choice(problem):
                break
            if watch is not None:
                watch.report(
                    gamma=problem.gamma,
                    error=master.value,
                    bound=np.nan,
                    gap=np.nan,
                    n_classifiers=int(np.count_nonzero(master.weights)),
                )
            answer, _ = self._ask(problem, master.multipliers)
            worth = max(_EXCESS * float(master.multipliers.budgets[0]), _ROUNDING)
            if not self._keep(answer, answer.costs(master.multipliers) < master.dual - worth):
                break
        return with_budget(problem, min(problem.budgets[0].limit + _EXCESS, asked.budgets[0].limit))

    def solve(
        self,
        problem: Problem | None = None,
        *,
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        watch: Watch | None = None,
        start: Multipliers | None = None,
    ) -> Solution:
        """Solve for this problem's gamma and limits; its people, pairs and hard rows must be the constructor's.

        ``start`` are multipliers that are thought to be nearly the best, such as those of a problem alike.

        ``max_iter`` (None: 2,000 with an exact oracle, else what the oracle says) and ``time_limit`` in seconds end
        the search before its gap is ``tol``; the best so far is returned, with what is known about it. Where someone
        looks on, an interruption does the same.
        """
        problem = problem or self._problem
        most = max_iter or (_MAX_ITER if self._oracle.exact else self._oracle.max_iter)
        limits = Limits(tol, most, np.inf if time_limit is None else monotonic() + time_limit, watch)
        search = None
        try:
            if self._oracle.cheap and not self._oracle.exact:
                self._warm_up(problem, limits)
            search = self._start(problem, limits)
            if start is not None:
                _, search.cost = self._ask(problem, start)
                search.bound, search.best = lagrangian_bound(problem, start, search.cost), start
                if self._proximal is not None:
                    self._proximal.begin(start)
            return self._descend(problem, search, limits)
        except (KeyboardInterrupt, SearchEnded) as stop:
            if watch is None or not watch.keeps(stop):
                raise
            self.pool = self.pool.rebuilt(self._problem, self._oracle)
            master = self.pool.solve(problem)
            search = search or Search(master)
            search.master = master
            return self._solution(search, "interrupted")

    def _warm_up(self, problem: Problem, limits: Limits) -> None:
        """Short searches that fill the pool of a heuristic: from larger gammas down, and once by the dynamics."""
        short = replace(limits, max_iter=min(_WARM_UP, limits.max_iter), preliminary=True)
        for gamma in _APPROACH:
            if problem.gamma < gamma < self._smallest_gamma and not limits.over():
                self._descend(nearby := problem.at(gamma), self._start(nearby, short), short)
        self._smallest_gamma = min(self._smallest_gamma, problem.gamma)
        if not self._explored and not limits.over():
            self._explored = True
            self._explore(problem, self._descend(problem, self._start(problem, short), short).multipliers)

    def _start(self, problem: Problem, limits: Limits) -> Search:
        search = Search(self._best_known(problem, _FIRST_PRECISION, limits), precision=_FIRST_PRECISION)
        if self._slow:
            least = float(self.pool.errors.min())  # rules only take away
            search.learn(least, Multipliers.zero(problem), least)
        return search

    def _descend(self, problem: Problem, search: Search, limits: Limits) -> Solution:
        """Ask, add, solve again, until the bound meets the value or a limit is reached."""
        for _ in range(limits.max_iter):
            improved = self._improve(problem, search, limits)
            largest = float(self.pool.row_values(search.master.weights)[: problem.n_pairs].max(initial=0.0))
            search.trajectory.append(Iteration(search.master.value, largest, search.gap))
            self._report(problem, search, limits)
            if search.gap <= limits.tol:
                self._prefer_duals(problem, search)
                return self._solution(search, "gap")
            finest = _PRECISION * limits.tol
            if limits.over():
                search.master = self._best_known(problem, finest, limits)
                return self._solution(search, "time")
            if not improved and search.precision <= finest:
                return self._solution(search, "oracle")
            stalled = self._stalled(search, limits)
            if search.may_fall or stalled or not improved:
                search.precision = max(finest, _PRECISION * search.gap) if improved else finest
                search.master = self._best_known(problem, search.precision, limits)
                if stalled and self._stalled(search, limits):
                    return self._solution(search, "stalled")
            if not self._oracle.exact and search.best is not None:
                # What was found since may be cheaper there than what the oracle found then.
                search.cost = min(search.cost, float(self.pool.costs(search.best).min()))
                search.bound = lagrangian_bound(problem, search.best, search.cost)
        search.master = self._best_known(problem, _PRECISION * limits.tol, limits)
        return self._solution(search, "iterations")

    def _stalled(self, search: Search, limits: Limits) -> bool:
        """Whether a heuristic has long found nothing that lowers the error by what would matter.

        Its gap may never close. With very many rows, at any multipliers some classifier fits the noise of single
        judgments, another each time, and the heuristic often misses it and meets it later. Where hardly anything may
        differ (gamma and eta near 0) duals are many, and at each of them something new looks better that no mixture
        can use; then the gap rises as often as it falls.
        """
        if self._oracle.exact:
            return False

        def gained_nothing(iterations: int) -> bool:
            if len(search.trajectory) <= iterations:
                return False
            return search.trajectory[-1 - iterations].error - search.master.value < _STALLED_GAIN * limits.tol

        if self._proximal is not None and search.gap <= _STALLED_GAP * limits.tol:
            return gained_nothing(limits.patience(*_PATIENCE_MANY_ROWS))
        patience = limits.patience(*_PATIENCE)
        gaps = [iteration.gap for iteration in search.trajectory]
        return gained_nothing(patience) and min(gaps[-patience:]) >= min(gaps[:-patience])

    def _report(self, problem: Problem, search: Search, limits: Limits) -> None:
        if limits.watch is not None:
            limits.watch.report(
                gamma=problem.gamma,
                error=search.master.value,
                bound=search.bound if self._oracle.exact else np.nan,
                gap=search.gap,
                n_classifiers=int(np.count_nonzero(search.master.weights)),
                preliminary=limits.preliminary,
            )

    def _improve(self, problem: Problem, search: Search, limits: Limits) -> bool:
        """Ask between the best multipliers and the programme's duals; whether a classifier was found that lowers it."""
        if self._slow and search.gap <= limits.tol:  # known without a question, where the plain model keeps every rule
            return False
        if self._proximal is not None and self._ask_nearby(problem, search, self._proximal):
            return True
        duals, before, gap = search.master.multipliers, search.bound, search.gap
        threshold = search.master.dual - _IMPROVES
        for at in self._points(problem, search):
            answer, cost = self._ask(problem, at)
            search.learn(lagrangian_bound(problem, at, cost), at, cost)
            improves = answer.costs(duals) < threshold
            kept = self._keep(answer, improves | self._slow)
            if (improves.any() and kept) or (self._slow and search.bound - before > _GAINED * gap):
                return True
            if search.gap <= limits.tol or limits.over():
                break
        return False

    def _points(self, problem: Problem, search: Search) -> Iterator[Multipliers]:
        """Where to ask, one after the other until a classifier improves; at last the duals."""
        duals, best = search.master.multipliers, search.best
        if best is not None and not self._slow:
            for share in _SMOOTHING[:-1]:  # of the best by then: the answer before may have made others the best
                yield duals.towards(search.best or best, share)
        elif best is not None and not (search.trajectory and search.gap <= _CLOSE * search.trajectory[0].gap):
            near, far, target = 0.0, 1.0, search.bound + _LEVEL * search.gap
            for _ in range(_HALVINGS):  # the promise is concave on the way, and the whole gap at its end
                middle = (near + far) / 2
                at = best.towards(duals, middle)
                promised = lagrangian_bound(problem, at, float(self.pool.costs(at).min()))
                near, far = (near, middle) if promised >= target else (middle, far)
            yield best.towards(duals, far)
        yield duals

    def _ask_nearby(self, problem: Problem, search: Search, proximal: ProximalMultipliers) -> bool:
        """Ask where the proximal programme says; whether that was worth it."""
        tau = float((search.best or search.master.multipliers).budgets[0])
        precision = _PRECISION * search.gap if search.best is not None else _FIRST_PRECISION
        at, promised = proximal.propose(problem, self.pool, tau, precision)
        answer, cost = self._ask(problem, at)
        bound = lagrangian_bound(problem, at, cost)
        proximal.learn(bound, search.bound, promised)
        is_better = bound > search.bound + precision
        search.learn(bound, at, cost)
        search.promised = promised
        return self._keep(answer, np.ones(len(answer.errors), dtype=bool)) or is_better

    def _prefer_duals(self, problem: Problem, search: Search) -> None:
        """Of several multipliers that prove the same bound, the programme's own: a vertex, and so not spread out."""
        duals = search.master.multipliers
        if self._oracle.exact and not (search.best is not None and search.best.same_as(duals)):
            _, cost = self._ask(problem, duals)
            bound = lagrangian_bound(problem, duals, cost)
            if bound >= search.bound - _ROUNDING:
                search.bound, search.best = max(bound, search.bound), duals

    def _best_known(self, problem: Problem, precision: float, limits: Limits) -> MasterSolution:
        """The best mixture of what is known and of what a heuristic can vary without another answer."""
        oracle = self._oracle
        for _ in range(0 if oracle.exact else oracle.variation_rounds):
            master = self.pool.solve(problem, precision, limits.deadline)
            below = master.dual - problem.points.error_offset - _WORTH_VARYING
            varied = oracle.variations(problem.cost(master.multipliers.rows), below, oracle.n_variations)
            if varied is None or not self.pool.keep(varied[0], *problem.evaluate_labels(varied[1])):
                return master
        return self.pool.solve(problem, precision, limits.deadline)

    def _solution(self, search: Search, stopped: Stopped) -> Solution:
        master, exact = search.master, self._oracle.exact
        if self._stand_in is not None and master.weights[self._stand_in] > FEASIBLE:
            raise InfeasibleError(
                f"No mixture of {self._oracle.hypothesis_class} that keeps every rule "
                + ("exists" if exact and stopped == "gap" else "was found")
                + ": loosen the rules about groups, or use another estimator."
            )
        multipliers = search.best if exact and search.best is not None else master.multipliers
        weights = _without_rounding(master.weights)
        support = np.flatnonzero(weights)
        bound = search.bound if exact else min(search.bound, master.value)
        plain_error = float(self.pool.errors.min())
        if bound < plain_error:  # rules only take away; where no multiplier is paid, that is the Lagrangian
            bound = plain_error
            multipliers = Multipliers.zero(self._problem) if exact else multipliers
        return Solution(
            classifiers=self.pool.classifiers.take(support),
            weights=weights[support],
            error=float(weights[support] @ self.pool.errors[support]),
            multipliers=multipliers,
            bound=bound,
            exact=exact,
            hypothesis_class=self._oracle.hypothesis_class,
            oracle_calls=self.oracle_calls,
            trajectory=dict(zip(Iteration._fields, np.array(search.trajectory).reshape(-1, 3).T, strict=True)),
            stopped=stopped,
            plain_error=plain_error,
            constant_weight=float(weights[: self.n_constants].sum()),
            pool=self.pool.classifiers,
        )

    def _ask(self, problem: Problem, at: Multipliers) -> tuple[Answer, float]:
        """The oracle's answer at these multipliers, and the least cost there of it and everything known."""
        known = self.pool.costs(at)
        warm = np.argsort(known, kind="stable")[:_WARM]
        found = self._oracle.best_responses(problem.cost(at.rows), self.pool.classifiers.take(warm))
        self.oracle_calls += 1
        labels = self._oracle.known_labels(found)
        evaluated = problem.evaluate(found) if labels is None else problem.evaluate_labels(labels)
        answer = Answer(found, *evaluated)
        return answer, min(float(answer.costs(at).min()), float(known.min()))

    def _keep(self, answer: Answer, worth: NDArray[np.bool_]) -> bool:
        """Add those of an answer that are worth it; whether any of them is new."""
        which = np.flatnonzero(worth)
        return bool(self.pool.keep(answer.found.take(which), answer.errors[which], answer.values[which]))

    def _explore(self, problem: Problem, at: Multipliers) -> None:
        """Once, where the oracle is cheap: play the dynamics at the scale of the multipliers reached.

        With many pairs a better mixture can need many new classifiers at once, and none alone improves. The dynamics
        spread the multipliers over all pairs and find such families.
        """
        n_rounds = int(np.clip(len(problem) // 8, *_EXPLORING_ROUNDS))
        if n_rounds * problem.points.rows.size > _EXPLORING_WORK:
            return
        bounds = (max(float(at.rows.sum()), 0.1), max(float(at.budgets.sum()), 0.1))
        game = solve_no_regret(problem, self._oracle, n_rounds=n_rounds, lambda_bound=bounds[0], tau_bound=bounds[1])
        self.oracle_calls += game.oracle_calls
        self.pool.keep(game.classifiers, *problem.evaluate(game.classifiers))


def _without_rounding(weights: FloatArray) -> FloatArray:
    """The same mixture without the smallest weights, together no more than the precision of the programme."""
    order = np.argsort(weights, kind="stable")
    kept = weights.copy()
    kept[order[np.cumsum(weights[order]) <= FEASIBLE]] = 0.0
    return np.asarray(kept / kept.sum()) if np.count_nonzero(kept) < np.count_nonzero(weights) else weights
