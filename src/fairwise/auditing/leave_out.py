"""The search for the best model without some judges, from what was found for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.utils.validation import check_is_fitted

from fairwise.auditing import checks
from fairwise.auditing.error_measure import refuse_amounts
from fairwise.constraints.violations import FOLLOWED, status_of
from fairwise.errors import InputError
from fairwise.learning.model.draws import of_all_labels
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.base import n_labels
from fairwise.learning.preparation import PreparedFit, prepare
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.dispatch import least_error
from fairwise.learning.solvers.master import keeps
from fairwise.learning.solvers.no_regret import join, seeds
from fairwise.learning.solvers.pool import Pool
from fairwise.learning.solvers.progress import raise_interrupts
from fairwise.learning.solvers.solution import Multipliers, Solution, lagrangian_bound

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.oracles.base import Classifiers, LabelArray, Oracle
    from fairwise.learning.problem import Problem

_TOL = 1e-7  # errors are compared: the fit's own tolerance would show as a change
_OPTIMAL = 1e-7  # reduced costs below this belong to some best mixture
_MOST_CANDIDATES = 300
_ROOM = 1e-9


@dataclass(frozen=True, eq=False)
class LeaveOut:
    """The model as it is, the best one for all judges, and every classifier that was found on the way."""

    model: PairwiseFairClassifier
    data: tuple[Any, object, Judgments]
    fit_params: dict[str, Any]
    whole: PreparedFit
    best: Solution
    present: FloatArray
    """Probabilities that the model gives each training person of positive weight, as :class:`Mixture` has them."""

    judged: FloatArray
    """The same of everyone whom a judgment puts in force, in the order of ``whole.pairs.people``."""

    @classmethod
    @raise_interrupts()
    def start(
        cls,
        model: PairwiseFairClassifier,
        people: Any,
        outcome: object,
        judgments: Judgments,
        fit_params: dict[str, Any],
    ) -> LeaveOut:
        judgments = checks.some_judgments(judgments)
        check_is_fitted(model)
        refuse_amounts("without_judges", model)
        checks.fit_params(fit_params)
        if model.solver != "column-generation":
            raise InputError(f'solver={model.solver!r}: only models of solver="column-generation" can be compared so')
        complete = judgments if judgments.people is not None else judgments.about(people)
        whole = prepare(params_of(model), people, outcome, complete, **fit_params)
        weight = fit_params.get("sample_weight")
        present = model.label_probabilities(people)
        ids = whole.pairs.people
        judged = model.label_probabilities(complete.people_rows(ids)) if len(ids) else present[:0]
        return cls(
            model=model,
            data=(people, outcome, complete),
            fit_params=fit_params,
            whole=whole,
            best=_solve(whole),
            present=present if weight is None else present[np.asarray(weight) > 0],
            judged=judged,
        )

    @raise_interrupts()
    def without(self, judges: Iterable[object], known: Classifiers | None = None) -> ModelWithout:
        """The best model without these, with nothing of it compared yet; ``known`` are classifiers to begin with."""
        people, outcome, judgments = self.data
        absent = {str(judge) for judge in judges}
        rest = judgments.select([judge for judge in judgments.judges if str(judge) not in absent])
        prepared = prepare(params_of(self.model), people, outcome, rest, encoder=self.whole.encoder, **self.fit_params)
        start = self._multipliers_for(prepared)
        pool = self.best.pool if known is None else known
        if pool is not None and len(prepared.problem) and not prepared.oracle.exact:
            best = best_of(pool, prepared.scaled.problem, prepared.oracle)
            return ModelWithout(self, prepared, best.times(prepared.unit))
        solution = _still_best(prepared, self.best, start) or _solve(prepared, pool, start)
        return ModelWithout(self, prepared, solution)

    def each_without(self, groups: Iterable[Iterable[object]]) -> Iterator[ModelWithout]:
        """The best model without each of these; what was found for one is known to the search for the next."""
        known = self.best.pool
        for judges in groups:
            found = self.without(judges, known)
            known = found.solution.pool
            yield found

    def _multipliers_for(self, prepared: PreparedFit) -> Multipliers:
        """Those that are best for all judges, as far as there are such rows: often they prove the same again."""
        prices = pd.Series(self.best.multipliers.rows[: self.whole.problem.n_pairs], index=_ordered_pairs(self.whole))
        pairs = prices.reindex(_ordered_pairs(prepared)).to_numpy()
        groups = self.best.multipliers.rows[self.whole.problem.n_pairs :]
        budgets = {
            b.name: value
            for b, value in zip(self.whole.problem.soft_budgets, self.best.multipliers.budgets, strict=True)
        }
        return Multipliers(
            np.concatenate([pairs, groups]), np.array([budgets[b.name] for b in prepared.problem.soft_budgets])
        )

    @property
    def room(self) -> float:
        """Error of the model beyond the best."""
        points, people = self.whole.problem.points, self.whole.people
        on_points = np.zeros_like(points.error_cost)
        on_points[people] = self.present
        error = points.error_offset + float((points.error_cost * on_points).sum())
        return max(error - self.best.error, 0.0) + _ROOM


@dataclass(frozen=True, eq=False)
class ModelWithout:
    """The best model without some judges."""

    search: LeaveOut
    prepared: PreparedFit
    solution: Solution

    @property
    def error_change(self) -> float:
        return self.solution.error - self.search.best.error

    def line(self, least_change: float) -> dict[str, float]:
        """Return a line of a table."""
        search, problem = self.search, self.prepared.problem
        classifiers, weights, share = self._nearest()
        mixture = Mixture(classifiers, weights, n_labels(problem.points.error_cost))
        of_points = share * self._present + mixture.probabilities(problem.points.rows)
        of_judged = search.judged
        if len(of_judged):
            of_judged = share * of_judged + mixture.probabilities(search.whole.judged_rows)
        change = largest_differences(of_points[self.prepared.people], search.present)
        largest = max(change.max(initial=0.0), largest_differences(of_judged, search.judged).max(initial=0.0))
        pairs = search.whole.pairs
        violations = pairs.answer_violations(problem.favorable(of_judged))
        status = status_of(pairs.answers["answer"].to_numpy(dtype=object), violations, problem.gamma)
        return {
            "error": self.solution.error,
            "error_change": self.error_change,
            "followed": int(((status == FOLLOWED) & ~pairs.predicted).sum()),
            "largest_change": float(largest),
            "people_changed": int(np.count_nonzero(change >= least_change - _ROOM)),
        }

    @cached_property
    def _present(self) -> FloatArray:
        """Probabilities that the model as it is gives each point: ``(P,)`` of label 1, ``(P, k - 1)`` of more."""
        problem, whole = self.prepared.problem, self.search.whole
        on_points = np.zeros_like(problem.points.error_cost)
        on_points[problem.judged] = self.search.judged[whole.pairs.people.get_indexer(self.prepared.pairs.people)]
        on_points[self.prepared.people] = self.search.present
        return on_points

    def _nearest(self) -> tuple[Classifiers, FloatArray, float]:
        """Classifiers, their weights and that of the present model, in a best mixture that is nearest to it.

        ::

            minimise    t                                   over weights p >= 0 of k classifiers and of the model, t
            subject to  |p @ labels_i - present_i| <= t     for every point i, of more labels for [label is k] of each
                        p @ values <= limits                those of the rules, or what the best mixture reaches of them
                        p @ errors <= least + room,  sum p = 1
        """
        problem, present = self.prepared.problem, self._present
        classifiers, known = self._candidates()
        labels = classifiers.labels(problem.points.rows)
        errors, values = map(
            np.concatenate, zip(problem.evaluate_labels(labels), _reached(problem, present), strict=True)
        )
        least = self.solution.error + self.search.room
        if errors[-1] <= least and keeps(problem, values[-1]):
            return classifiers, np.zeros(len(classifiers)), 1.0
        limits = np.where(problem.hard, problem.row_limits, np.maximum(problem.row_limits, known @ values[:-1]))
        rules = np.unique(np.column_stack([values.T, limits]), axis=0)
        places = np.unique(_places(labels, present), axis=0)
        above, below = places, places[:, -1]
        ones = np.ones((len(places), 1))
        found = linprog(
            np.append(np.zeros(len(errors)), 1.0),
            A_ub=np.vstack(
                [
                    np.column_stack([above, -ones]),
                    np.column_stack([-above, -ones]),
                    np.column_stack([rules[:, :-1], np.zeros(len(rules))]),
                    np.append(errors, 0.0)[None],
                ]
            ),
            b_ub=np.concatenate([below, -below, rules[:, -1] + _ROOM, [least]]),
            A_eq=np.append(np.ones(len(errors)), 0.0)[None],
            b_eq=[1.0],
        )
        weights = known if found.x is None else np.maximum(found.x[:-2], 0.0)
        return classifiers, weights, 0.0 if found.x is None else float(max(found.x[-2], 0.0))

    def _candidates(self) -> tuple[Classifiers, FloatArray]:
        """Those that some best mixture may use, and the weights of the one found."""
        solution, problem = self.solution, self.prepared.problem
        if solution.pool is None:
            return solution.classifiers, solution.weights
        errors, values = problem.evaluate(solution.pool)
        costs = errors + values @ solution.multipliers.rows
        order = np.argsort(costs, kind="stable")[:_MOST_CANDIDATES]
        others = order[costs[order] <= costs[order[0]] + _OPTIMAL]
        return solution.classifiers.joined(solution.pool.take(others)), np.append(
            solution.weights, np.zeros(len(others))
        )


def largest_differences(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the largest difference of the probability of any label ``(n,)``."""
    if one.ndim == 1:
        return np.abs(one - two)
    return np.asarray(np.abs(of_all_labels(one) - of_all_labels(two)).max(axis=1, initial=0.0))


def _reached(problem: Problem, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Error ``(1,)`` and row values ``(1, len(problem))`` of a model that gives points these probabilities."""
    points = problem.points
    treated = problem.favorable(probability[problem.judged])
    values = treated[problem.reference] - treated[problem.owed]
    if problem.groups is not None:
        values = np.concatenate([values, np.tensordot(problem.groups.matrix, probability, axes=probability.ndim)])
    return np.array([points.error_offset + float((points.error_cost * probability).sum())]), values[None]


def _places(labels: LabelArray, present: FloatArray) -> FloatArray:
    """What each classifier, and last the model as it is, gives each point of each label that counts: ``(…, t + 1)``."""
    if present.ndim == 1:
        return np.column_stack([labels.T, present])
    chances = of_all_labels(present)
    return np.concatenate([np.column_stack([(labels == k).T, own]) for k, own in enumerate(chances.T)])


def _ordered_pairs(prepared: PreparedFit) -> pd.MultiIndex:
    """The two people of each row of a problem that is about a pair."""
    pairs, rows = prepared.pairs, prepared.problem.source
    return pd.MultiIndex.from_arrays([pairs.people[pairs.reference[rows]], pairs.people[pairs.owed[rows]]])


def params_of(model: PairwiseFairClassifier) -> dict[str, Any]:
    """Return the model's settings, with a tolerance at which errors can be compared."""
    params: dict[str, Any] = model.get_params(deep=False)
    return params | {"tol": min(model.tol, _TOL), "max_classifiers": None}


def best_of(known: Classifiers, problem: Problem, oracle: Oracle) -> Solution:
    """The best mixture of classifiers that are known, constants among them; the oracle is asked nothing."""
    pool = Pool(problem, oracle)
    pool.keep(known, *problem.evaluate(known))
    master = pool.solve(problem, _TOL)
    used = np.flatnonzero(master.weights)
    return Solution(
        classifiers=pool.classifiers.take(used),
        weights=master.weights[used],
        error=float(master.weights @ pool.errors),
        multipliers=master.multipliers,
        bound=-np.inf,
        exact=False,
        hypothesis_class=oracle.hypothesis_class,
        oracle_calls=0,
        trajectory={},
        stopped="oracle",
        plain_error=float(pool.errors.min()),
        pool=known,
    )


def _still_best(prepared: PreparedFit, best: Solution, multipliers: Multipliers) -> Solution | None:
    """The mixture that was the best for others, where the multipliers prove in one question that it still is.

    So it is without whoever holds only rows at which nothing is paid.
    """
    problem, oracle, tol = prepared.scaled.problem, prepared.oracle, prepared.scaled.settings.tol
    if not len(problem) or not oracle.exact:
        return None
    scaled = multipliers.times(1.0 / prepared.unit)
    errors, values = problem.evaluate(best.classifiers)
    if not keeps(problem, best.weights @ values):
        return None
    response = oracle.best_response(problem.cost(scaled.rows))
    error, reached = problem.evaluate(response)
    bound = lagrangian_bound(problem, scaled, float((error + reached @ scaled.rows)[0]))
    if best.weights @ errors - bound > tol:
        return None
    return replace(best, multipliers=multipliers, bound=prepared.unit * bound, oracle_calls=1)


def _solve(prepared: PreparedFit, pool: Classifiers | None = None, start: Multipliers | None = None) -> Solution:
    """The best mixture, from the classifiers that are known."""
    unit, oracle, prepared = prepared.unit, prepared.oracle, prepared.scaled
    problem, settings = prepared.problem, prepared.settings
    if not len(problem):
        return least_error(problem, oracle).times(unit)
    start = None if start is None else start.times(1.0 / unit)
    found = [part for part in (seeds(problem, oracle), pool) if part is not None]
    search = ColumnGeneration(problem, oracle, join(found) if found else None)
    before = len(search.pool.classifiers)
    solution = search.solve(
        tol=settings.tol, max_iter=settings.max_iter, time_limit=settings.time_limit, start=start
    ).times(unit)
    if pool is None or solution.pool is None:
        return solution
    # The search drops what is alike for its own rows; for those of others it may not be.
    return replace(solution, pool=pool.joined(solution.pool.take(np.arange(before, len(solution.pool)))))
