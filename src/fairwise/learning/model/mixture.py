"""A randomised classifier, several deterministic ones and how often each decides, and what it does to judged people."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count

from fairwise.constraints.groups import GroupRows
from fairwise.constraints.pairs import PANEL, PairRows, Weighting, price_columns
from fairwise.constraints.violations import PRECISION, excess
from fairwise.learning.amounts import Amounts
from fairwise.learning.oracles.base import Classifiers, FloatArray, Rows
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.preparation import PreparedProblem
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.solution import Solution
from fairwise.messages import Message, marked
from fairwise.results.certificate import EXCEEDED, Certificate

# What is proved about a fitted model, and of which kind the proof is.

_MOST = 0.5  # of the time
_ROUNDING = 1e-9
_ENDED = {
    "iterations": (Message("at its limit of iterations"), Message("A larger max_iter lets it go on.")),
    "time": (Message("at its time limit"), Message("A larger time_limit lets it go on.")),
    "interrupted": (Message("because it was interrupted"), Message("Another fit may go on longer.")),
    "stalled": (Message("because it had long found nothing better"), Message("A larger max_iter lets it go on.")),
    "oracle": (Message("because its oracle found nothing more"), Message("Another estimator may.")),
}

_CONSTANT = {
    ("label", True): marked(
        "One label for everyone is what decides {share:.0%} of the time: the rules leave little else (larger gamma or "
        "eta allow more)."
    ),
    ("label", False): marked(
        "One label for everyone is what decides {share:.0%} of the time: the rules leave little else (or the search "
        "missed something better)."
    ),
    ("amount", True): marked(
        "One amount for everyone is what decides {share:.0%} of the time: the rules leave little else (larger gamma or "
        "eta allow more)."
    ),
    ("amount", False): marked(
        "One amount for everyone is what decides {share:.0%} of the time: the rules leave little else (or the search "
        "missed something better)."
    ),
}
"""Warnings of a model that decides the same for nearly everyone, by what it decides and whether it is exact."""


def certify(
    solution: Solution,
    rows: PairRows,
    *,
    error: float,
    constant_error: float,
    favorable: FloatArray,
    gamma: float,
    eta: float | None,
    weighting: Weighting,
    has_rules: bool = True,
    amounts: Amounts | None = None,
    groups: GroupRows | None = None,
) -> Certificate:
    """Measure the mixture on the judged people (``favorable`` is ``(m,)``) and say what the solver proved.

    Numbers are in the solver's units; sentences in those of the loss, where labels are ``amounts``.
    """
    violations = rows.violations(favorable)
    judges = rows.answers["judge"].unique()
    n_simulated = sum(judge in rows.simulated for judge in judges)
    exact = solution.exact
    error = max(error, 0.0)  # it is a sum of rounded parts
    bound = max(solution.bound, 0.0)  # no error is below 0
    return Certificate(
        kind="exact" if exact else "heuristic",
        error=error,
        lower_bound=bound if exact else np.nan,
        gap=error - bound if exact else np.nan,
        # What a heuristic found nothing below is no proof: its own bound may be above this very model.
        oracle_bound=bound if exact else min(bound, error),
        max_violation=float(violations.max(initial=0.0)),
        mean_violation=rows.mean_violation(favorable),
        mean_excess=float(rows.shares(weighting) @ excess(violations, gamma)),
        oracle_calls=solution.oracle_calls,
        hypothesis_class=solution.hypothesis_class,
        gamma=gamma,
        eta=eta,
        plain_error=solution.plain_error,
        constant_error=constant_error,
        n_judgments=len(rows.answers),
        n_predicted=int(rows.predicted.sum()),
        predicted_error=rows.predicted_error,
        n_simulated=n_simulated,
        simulated=0 < n_simulated == len(judges),
        stopped=solution.stopped,
        max_classifiers=solution.max_classifiers,
        has_rules=has_rules,
        grid_gap=amounts.grid_gap(solution, groups) if amounts is not None and exact else np.nan,
        warnings=tuple(_warnings(solution, amounts)),
    )


def _warnings(solution: Solution, amounts: Amounts | None = None) -> Iterator[Message]:
    """Yield what to know before using the model."""
    if solution.stopped in _ENDED:
        reason, advice = _ENDED[solution.stopped]
        left = solution.error - max(solution.bound, 0.0)
        ended: dict[str, Any] = {"reason": reason, "advice": advice}
        ended["left"] = (1.0 if amounts is None else amounts.unit) * max(left, 0.0)
        if left <= -_ROUNDING:
            del ended["left"]
            yield Message("The search ended {reason}: the rules are not kept yet. {advice}", **ended)
        elif solution.exact:
            yield Message(
                "The search ended {reason}: up to {left:.4f} of the error may be left to gain. {advice}", **ended
            )
        else:
            yield Message(
                "The search ended {reason}: up to {left:.4f} of the error may be left to gain, as far as its oracle "
                "can tell. {advice}",
                **ended,
            )
    if solution.constant_weight > _MOST:
        decided = "label" if amounts is None else "amount"
        yield Message(_CONSTANT[decided, solution.exact], share=solution.constant_weight)


def broken_rules(
    problem: Problem, values: FloatArray, tol: float | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """Statistical rules and budgets that a model with these row values breaks, each with by how much.

    By more than ``tol``, or else the precision of a fit.
    """
    over = values - problem.row_limits
    names = [] if problem.groups is None else problem.groups.names
    least = PRECISION if tol is None else tol
    groups = {name: float(by) for name, by in zip(names, over[problem.n_pairs :], strict=True) if by > least}
    budgets = {}
    for budget in problem.budgets:
        overspent = float(budget.shares @ np.maximum(over[budget.rows], 0.0)) - budget.limit
        if overspent > (PRECISION * float(budget.shares.sum()) if tol is None else tol):
            budgets[budget.name] = overspent
    return groups, budgets


def exceeded_limits(problem: Problem, values: FloatArray, tol: float) -> Iterator[Message]:
    """Warn of each limit that a model with these row values exceeds by more than ``tol``; no judge is named."""
    hard = np.flatnonzero(problem.hard[: problem.n_pairs])
    beyond = float((values[hard] - problem.row_limits[hard]).max(initial=0.0))
    exceeded = []
    if beyond > tol:
        exceeded.append(
            Message(
                "the largest violation of a pair is {by:.2g} above gamma = {gamma:g}.",
                by=beyond,
                gamma=float(problem.gamma),
            )
        )
    groups, budgets = broken_rules(problem, values, tol)
    limits = {budget.name: budget.limit for budget in problem.budgets}
    if PANEL in budgets:
        exceeded.append(
            Message("the mean excess is {by:.2g} above eta = {eta:g}.", by=budgets.pop(PANEL), eta=limits[PANEL])
        )
    if budgets:
        exceeded.append(
            Message(
                "budgets of judges are overspent, {count} of {total}, by up to {by:.2g}.",
                count=len(budgets),
                total=len(limits.keys() - {PANEL}),
                by=max(budgets.values()),
            )
        )
    if groups:
        exceeded.append(
            Message(
                "rules about groups are broken, {count} of {total}, by up to {by:.2g}.",
                count=len(groups),
                total=len(values) - problem.n_pairs,
                by=max(groups.values()),
            )
        )
    return (Message(EXCEEDED, which=which) for which in exceeded)


Columns = dict[str, list[Any]]
"""A table as plain values, by the names of its columns."""

_LABELS_AT_ONCE = 1 << 21
_MANY = 64  # from so many on compiled code adds them, in the same order, and several threads do
_MANY_ROWS = 20_000  # from so many on compiled code asks small trees


@dataclass(frozen=True, eq=False)
class Mixture:
    """``P(label k of x) = sum_t weights[t] [h_t(x) = k]``."""

    classifiers: Classifiers
    weights: FloatArray
    n_labels: int = 2

    def probabilities(self, rows: Rows) -> FloatArray:
        """Probability ``(n,)`` of label 1 for each row, of more than two labels ``(n, k - 1)`` of each but the first.

        Added in a fixed order, so the same in any batch.
        """
        if self.n_labels > 2:
            return self._of_many_labels(rows)
        if isinstance(self.classifiers, TreeClassifiers) and self.classifiers.depth <= 2 and len(rows) >= _MANY_ROWS:
            return np.minimum(self.classifiers.votes(rows, self.weights), 1.0)
        result = np.zeros(len(rows))
        step = max(1, _LABELS_AT_ONCE // len(self.weights))
        starts = range(0, len(rows), step)

        def add(start: int) -> None:
            part = rows.iloc[start : start + step] if hasattr(rows, "iloc") else rows[start : start + step]
            labels = self.classifiers.labels(part)
            if len(self.weights) > _MANY:
                from fairwise.learning.row_kernels import mix  # numba is slow to load

                result[start : start + step] = mix(np.ascontiguousarray(labels), self.weights)
                return
            for weight, label in zip(self.weights, labels, strict=True):
                result[start : start + step] += weight * label

        if isinstance(self.classifiers, LinearClassifiers) and len(starts) > _MANY:
            with ThreadPoolExecutor(cpu_count()) as pool:  # compiled code, which several may run at a time
                list(pool.map(add, starts))
        else:
            for start in starts:
                add(start)
        # Weights add to 1 only up to rounding.
        return np.minimum(result, 1.0)

    def _of_many_labels(self, rows: Rows) -> FloatArray:
        result = np.zeros((len(rows), self.n_labels - 1))
        step = max(1, _LABELS_AT_ONCE // len(self.weights))
        for start in range(0, len(rows), step):
            part = rows.iloc[start : start + step] if hasattr(rows, "iloc") else rows[start : start + step]
            for weight, label in zip(self.weights, self.classifiers.labels(part), strict=True):
                given = np.flatnonzero(label)
                result[start + given, label[given] - 1] += weight
        return np.minimum(result, 1.0)


def group_rule_table(problem: Problem, values: FloatArray, solution: Solution) -> Columns:
    """The statistical rules of a problem, with the values ``(len(problem),)`` that a model reaches."""
    if problem.groups is None:
        return {"rule": [], "value": [], "limit": [], "price": []}
    first = problem.n_pairs
    value, limit, price = problem.groups.in_rule_units(values[first:], solution.multipliers.rows[first:])
    return {
        "rule": list(problem.groups.names),
        "value": value.tolist(),
        "limit": limit.tolist(),
        "price": price.tolist(),
    }


class Measurement:
    """A solution measured on the judged people: what is certified about it, and what each judgment costs.

    ``probability`` is that of labels for the judged people as :meth:`Mixture.probabilities` has it; if not given, that
    of the solution's own mixture, which its solver may know.
    """

    def __init__(self, prepared: PreparedProblem, solution: Solution, probability: FloatArray | None = None) -> None:
        probability = solution.judged_probability if probability is None else probability
        if probability is None:
            mixture = Mixture(solution.classifiers, solution.weights, len(prepared.classes))
            probability = mixture.probabilities(prepared.judged_rows)
        self._prepared, self._solution = prepared, solution
        self._favorable = prepared.problem.favorable(probability)

    def certificate(
        self,
        gamma: float,
        eta: float | None,
        weighting: Weighting,
        *,
        error: float | None = None,
        amounts: Amounts | None = None,
    ) -> Certificate:
        """Return what is proved; ``error`` is the solution's own unless another model is measured by it."""
        return certify(
            self._solution,
            self._prepared.pairs,
            error=self._solution.error if error is None else error,
            constant_error=self._prepared.problem.points.constant_error,
            favorable=self._favorable,
            gamma=gamma,
            eta=eta,
            weighting=weighting,
            has_rules=self._prepared.problem.has_rules,
            amounts=amounts,
            groups=self._prepared.problem.groups,
        )

    def pair_values(self) -> FloatArray:
        """Return ``r_i - r_j`` of every pair that a budget limits."""
        problem = self._prepared.problem
        return np.asarray(self._favorable[problem.reference] - self._favorable[problem.owed])

    def mean_answer_violation(self) -> float:
        """Return the weighted mean of the violation over all judgments that ask for something."""
        return float(self._prepared.pairs.mean_answer_violation(self._favorable))

    def prices(self, gamma: float) -> pd.DataFrame:
        """Return the table of prices."""
        return pd.DataFrame(self.price_columns(gamma), copy=False)

    def price_columns(self, gamma: float) -> dict[str, Any]:
        """Return the columns of the table of prices; judgments that no budget limits cost nothing."""
        problem = self._prepared.problem
        multipliers = np.zeros(len(self._prepared.pairs))
        multipliers[problem.source] = self._solution.multipliers.rows[: problem.n_pairs]
        return price_columns(self._prepared.pairs, multipliers, self._favorable, gamma)
