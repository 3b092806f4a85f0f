"""Preparation of a problem and an oracle from what a user gives: checks, encoding, deduplication, rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairwise.constraints.pairs import Budget, PairRows, attribute_budgets, judge_budgets, panel_budget
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.deduplication import Placement, append, merge_equal
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.oracles import make_oracle
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray, Oracle, Rows
from fairwise.learning.problem import NO_BUDGET, Problem
from fairwise.learning.settings import FitSettings, Params
from fairwise.learning.target import Target, read_target
from fairwise.tables.columns import used_columns

_DIGITS = 15  # of costs in units of the largest: by as much they differ where they are given in another unit
_NOBODY = pd.DataFrame({"judge": [], "a": [], "b": [], "answer": []}, dtype=object)


@cache
def of_nobody() -> tuple[Judgments, PairRows]:
    """The judgments of nobody, and their rows."""
    judgments = Judgments(_NOBODY)
    return judgments, PairRows.from_judgments(judgments)


@dataclass(frozen=True, eq=False)
class PreparedProblem:
    """Problem that a certificate is measured on, and how to encode people later."""

    settings: FitSettings
    problem: Problem
    pairs: PairRows
    judged_rows: Rows
    encoder: TableEncoder | None
    target: Target
    seed: int

    @property
    def classes(self) -> ClassArray:
        """``(k,)`` the decisions, in sorted order."""
        return self.target.classes


@dataclass(frozen=True, eq=False)
class PreparedFit(PreparedProblem):
    """Everything a solver needs besides, with the people in memory."""

    oracle: Oracle
    people: IntArray
    """``(n,)`` at which point of the problem each training person of positive weight is."""

    outcomes: NDArray[Any]
    """``(n,)`` their outcomes as the target's numbers."""

    weights: FloatArray
    asked: bool
    """Whether there is any judgment or rule; without, a fit is the plain model."""

    @property
    def unit(self) -> float:
        """The unit of costs in :attr:`scaled`."""
        return self.problem.points.unit

    @property
    def scaled(self) -> PreparedFit:
        """The same with costs in units of the largest, as the oracle knows them and as solvers take them."""
        if self.unit == 1.0:
            return self
        given = self.settings
        settings = replace(
            given,
            tol=given.tol / self.unit,
            nu=None if given.nu is None else given.nu / self.unit,
            lambda_bound=given.lambda_bound / self.unit,
            tau_bound=given.tau_bound / self.unit,
        )
        return replace(self, problem=self.problem.scaled, settings=settings)


def prepare(
    params: Params,
    X: object,
    y: object,
    judgments: Judgments | None = None,
    sample_weight: object = None,
    sensitive_features: object = None,
    *,
    encoder: TableEncoder | None = None,
) -> PreparedFit:
    """Check everything and build the problem; raise an error for the first thing that cannot be used.

    ``params`` are those of a classifier or a regressor. ``encoder`` is that of an earlier fit, where its classifiers
    are to be used again.
    """
    settings = FitSettings.of(params)
    judgments = inputs.require_judgments(judgments)
    raw = _is_pipeline(settings.estimator)  # it wants the people's own columns
    table = inputs.as_table(X, finite=not raw)
    target, outcomes = read_target(y, table, settings, judgments)
    moments = target.moments(settings.group_constraints)
    weights = inputs.person_weights(sample_weight, table)
    sensitive = inputs.group_labels(sensitive_features, table.index, "sensitive_features") if moments else None
    seed = seed_of(settings.random_state)

    answered, pairs = of_nobody() if judgments is None else (judgments, PairRows.from_judgments(judgments))
    used = used_columns(table.columns, settings.features)
    if judgments is None:
        judged = table.iloc[:0][used]
    else:
        judged = inputs.judged_table(judgments, X, table, pairs.people, used, finite=not raw)
    table = table if settings.features is None else table[used]
    counted = weights > 0
    if not counted.all():
        table, weights, outcomes = table[counted], weights[counted], outcomes[counted]
        sensitive = None if sensitive is None else sensitive[counted]

    estimator = settings.estimator
    rows: Rows
    judged_rows: Rows
    if raw:
        rows, judged_rows = inputs.with_nan(table), inputs.with_nan(judged)
    else:
        if encoder is None:
            encoder, rows = TableEncoder.learn_and_encode(table, weights, scaled=estimator != "tree")
        else:
            rows = encoder.encode(table)
        judged_rows = encoder.encode(judged)
    costs = target.costs(outcomes)
    unit = 1.0 if settings.grid is not None else float(costs.max(initial=0.0)) or 1.0
    costs = costs if unit == 1.0 else np.round(costs / unit, _DIGITS)
    placed = (merge_equal if isinstance(estimator, str) else append)(rows, costs, weights, judged_rows)
    order = np.argsort(placed.judged, kind="stable")  # by what people are, and not by their names
    pairs, judged_rows = pairs.sorted_by(placed.judged), judged_rows.iloc[order] if raw else judged_rows[order]
    placed = Placement(placed.points.times(unit), placed.people, placed.judged[order])
    groups = None
    if sensitive is not None:
        groups = target.group_rows(moments, outcomes, table, sensitive, weights, placed)
    problem = Problem.build(
        placed.points,
        placed.judged,
        pairs,
        budgets_of(settings, pairs, answered) or free_budget(settings, pairs),
        sign=target.sign,
        gamma=float(settings.gamma),
        groups=groups,
        label_values=target.values,
    )
    oracle = make_oracle(
        settings,
        problem.scaled.points,
        encoder.outputs if encoder else list(table.columns),
        seed,
        problem.judged if groups is None else None,
    )
    oracle.hypothesis_class = target.named(oracle.hypothesis_class)  # what is proved is about these decisions
    asked = bool(moments) or (judgments is not None and len(judgments.frame) > 0)
    return PreparedFit(
        settings, problem, pairs, judged_rows, encoder, target, seed, oracle, placed.people, outcomes, weights, asked
    )


def _is_pipeline(estimator: object) -> bool:
    if isinstance(estimator, str):
        return False
    from sklearn.pipeline import Pipeline  # loaded by whoever has one, and slow to load

    return isinstance(estimator, Pipeline)


def seed_of(random_state: object) -> int:
    """Return the seed; None means 0: the same people get the same draws, unless someone asks for others."""
    if random_state is None:
        return 0
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(f"random_state={quote(random_state)} is not allowed: {error}") from None


def free_budget(settings: FitSettings, pairs: PairRows) -> list[Budget]:
    """Return a budget that limits nothing, for what has the least excess of the models that are as good."""
    if settings.solver == "no-regret" or not len(pairs):
        return []
    return [panel_budget(pairs, NO_BUDGET, settings.weighting)]


def budgets_of(settings: FitSettings, pairs: PairRows, judgments: Judgments) -> list[Budget]:
    """Return the budgets of the panel, of judges and of groups of judges who are in these judgments.

    The panel's comes first. Where only judges have budgets it limits nothing.
    """
    weighting, limits, eta = settings.weighting, settings.judge_budgets, settings.eta
    if limits is None:
        return [] if eta is None else [panel_budget(pairs, float(eta), weighting)]
    of_panel = panel_budget(pairs, NO_BUDGET if eta is None else float(eta), weighting)
    if not isinstance(limits, Mapping):
        return [of_panel, *judge_budgets(pairs, limits)]
    by_attribute = {name: limit for name, limit in limits.items() if isinstance(limit, Mapping)}
    by_judge = {name: limit for name, limit in limits.items() if not isinstance(limit, Mapping)}
    attributes, panel = judgments.judge_attributes, judgments.panel_attributes
    of_judges = judge_budgets(pairs, by_judge, panel)
    return [of_panel, *of_judges, *attribute_budgets(pairs, attributes, by_attribute, weighting, panel)]
