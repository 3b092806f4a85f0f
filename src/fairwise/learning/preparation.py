"""From what a user gives to a problem and an oracle: checks, encoding, deduplication, rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fairwise.constraints.groups import VALUE, GroupRows, Moments, parity_moments
from fairwise.constraints.pairs import Budget, PairRows, attribute_budgets, judge_budgets, panel_budget
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.amounts import Amounts, numbers_of
from fairwise.learning.deduplication import Placement, append, merge_equal
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.labels import Labels, read_labels
from fairwise.learning.oracles import make_oracle
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray, Oracle, Rows
from fairwise.learning.problem import NO_BUDGET, Problem
from fairwise.learning.settings import FitSettings, Params
from fairwise.messages import Message
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
    """What a certificate is measured on, and how to encode people later."""

    settings: FitSettings
    problem: Problem
    pairs: PairRows
    judged_rows: Rows
    encoder: TableEncoder | None
    classes: ClassArray
    seed: int


@dataclass(frozen=True, eq=False)
class PreparedFit(PreparedProblem):
    """Everything a solver needs besides, with the people in memory."""

    oracle: Oracle
    people: IntArray
    """``(n,)`` at which point of the problem each training person of positive weight is."""

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
    amounts: Amounts | None = None,
) -> PreparedFit:
    """Check everything and build the problem; the first thing that cannot be used is told as an error.

    ``encoder`` is that of an earlier fit, where its classifiers are to be used again. With ``amounts`` the outcomes are
    numbers, and the labels the amounts of a grid.
    """
    settings = FitSettings.of(params)
    judgments = inputs.require_judgments(judgments)
    moments = (parity_moments if amounts is None else amounts.moments)(settings.group_constraints)
    raw = _is_pipeline(settings.estimator)  # it wants the people's own columns
    table = inputs.as_table(X, finite=not raw)
    labels = (read_labels if amounts is None else amounts.read)(y, table, settings, judgments)
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
    counted, whole = weights > 0, table
    if not counted.all():
        table, weights = table[counted], weights[counted]
        labels = replace(labels, codes=labels.codes[counted], losses=labels.losses[counted])
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
    unit = 1.0 if amounts is not None else float(labels.losses.max(initial=0.0)) or 1.0
    losses = labels.losses if unit == 1.0 else np.round(labels.losses / unit, _DIGITS)
    placed = (merge_equal if isinstance(estimator, str) else append)(rows, losses, weights, judged_rows)
    order = np.argsort(placed.judged, kind="stable")  # by what people are, and not by their names
    pairs, judged_rows = pairs.sorted_by(placed.judged), judged_rows.iloc[order] if raw else judged_rows[order]
    placed = Placement(placed.points.times(unit), placed.people, placed.judged[order])
    groups = None
    if sensitive is not None and amounts is not None:
        groups = amounts.group_rows(moments, numbers_of(y, whole)[counted], sensitive, weights, placed)
    elif sensitive is not None:
        groups = group_rows(moments, labels, table, sensitive, weights, placed)
    problem = Problem.build(
        placed.points,
        placed.judged,
        pairs,
        budgets_of(settings, pairs, answered) or free_budget(settings, pairs),
        sign=labels.sign,
        gamma=float(settings.gamma),
        groups=groups,
        label_values=labels.values,
    )
    oracle = make_oracle(
        settings,
        problem.scaled.points,
        encoder.outputs if encoder else list(table.columns),
        seed,
        problem.judged if groups is None else None,
    )
    if amounts is not None:
        oracle.hypothesis_class = Message(  # what is proved is about these
            "{kind}, deciding between {size} amounts", kind=oracle.hypothesis_class, size=amounts.size
        )
    asked = bool(moments) or (judgments is not None and len(judgments.frame) > 0)
    return PreparedFit(
        settings, problem, pairs, judged_rows, encoder, labels.classes, seed, oracle, placed.people, asked
    )


def _is_pipeline(estimator: object) -> bool:
    if isinstance(estimator, str):
        return False
    from sklearn.pipeline import Pipeline  # loaded by whoever has one, and slow to load

    return isinstance(estimator, Pipeline)


def group_rows(
    moments: Moments,
    labels: Labels,
    table: pd.DataFrame,
    sensitive: pd.Series,
    weights: FloatArray,
    placed: Placement,
) -> GroupRows:
    """Statistical rules as rows: of two labels about label 1, of more about "the label is this one" for each asked."""
    size, names = len(placed.points.error_cost), labels.classes.tolist()
    _refuse_impossible(moments, len(names))
    parts = []
    for label, of_label in moments.items():
        if label == VALUE and VALUE not in names:
            nobody = np.zeros(len(labels.codes), dtype=np.intp)  # outcomes play no part in it
            rows = GroupRows.from_moments(
                of_label, table, nobody, sensitive, weights, point=placed.people, n_points=size
            )
            parts.append(rows.renamed("value: ").about_values(_values_for(of_label, labels.values, labels.sign)))
            continue
        if label is None and len(names) == 2:
            places = [1]
        else:
            places = list(range(len(names))) if label is None else [place_of(label, names)]
        for place in places:
            is_this = (labels.codes == place).astype(np.intp)
            rows = GroupRows.from_moments(
                of_label, table, is_this, sensitive, weights, point=placed.people, n_points=size
            )
            if not len(rows):  # a rate among those whose outcome it is, and there are none
                if label is None:
                    continue
                raise InputError(
                    f"group_constraints: {quote(label)} is nobody's outcome here, so there is no rate among those who "
                    "have it. DemographicParity is about such a label, too."
                )
            named = rows if label is None and len(names) == 2 else rows.renamed(f"{names[place]!r}: ")
            parts.append(named if len(names) == 2 and place == 1 else named.about_label(place, len(names)))
    return GroupRows.joined(parts)


def _values_for(moments: Sequence[object], values: FloatArray | None, sign: float) -> FloatArray:
    """How good each label is, for rules about that; others than of the mean value are refused."""
    for moment in moments:
        if type(moment).__name__ != "DemographicParity":
            raise InputError(
                f"group_constraints: {type(moment).__name__} is not about how well people are treated: of {VALUE!r} "
                "there is DemographicParity, equal mean values."
            )
    if values is None:
        return np.array([0.0, 1.0] if sign > 0 else [1.0, 0.0])
    if not values.any():
        raise InputError(f"group_constraints about {VALUE!r} need label_values, how good each label is.")
    return values


def _refuse_impossible(moments: Moments, n_labels: int) -> None:
    """Any constant keeps the other rates; equal errors about one or two labels are kept by a coin, not about more."""
    asked = [label for label, some in moments.items() if any(type(one).__name__ == "ErrorRateParity" for one in some)]
    if n_labels > 2 and (None in asked or len(asked) > 2):
        raise InputError(
            "group_constraints: ErrorRateParity of more than two labels at once may be impossible to keep. Name one "
            "label or two: {label: [ErrorRateParity(…)]}."
        )


def place_of(label: object, names: list[object]) -> int:
    """Where a label that a rule is about is among the outcomes."""
    if label not in names:
        known = ", ".join(map(repr, names))
        raise InputError(f"group_constraints: {quote(label)} is none of the labels {known}.")
    return names.index(label)


def seed_of(random_state: object) -> int:
    """None means 0: the same people get the same draws, unless someone asks for others."""
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
