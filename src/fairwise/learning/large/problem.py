"""A table that is read in blocks as a problem and an oracle that solvers know.

They read the table again for every classifier they look at: whom it gives label 1, and what a step along any coordinate
would do to that. People are counted by cell, their group and outcome; costs are those of a :class:`LargeProblem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import parity_moments
from fairwise.learning.deduplication import Placement, relative_losses
from fairwise.learning.large.cells import count, histogram
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, Oracle, RowValues, n_labels
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import (
    LinearClassifiers,
    RegressionOracle,
    RegressionTerms,
    regression_class,
)
from fairwise.learning.preparation import PreparedProblem
from fairwise.learning.problem import Points, Problem

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable

_MAX_STEPS = 40
_LEAST_GAIN = 1e-4  # in units of error: a step that gains less is not worth another pass
_EDGES = 128  # steps tried along each coordinate, from the breakpoints of the first block
_JUDGED_EDGES = 64  # and from those of judged people


@dataclass(frozen=True, eq=False)
class PreparedTable(PreparedProblem):
    """A problem about people who were found in the first pass, and the outcomes that occur."""

    codes: IntArray
    """``(F,)`` the label that each outcome is."""

    @property
    def losses(self) -> FloatArray:
        """``(F, labels)`` what each label costs where each of the outcomes is right."""
        return self.target.costs(self.codes)

    @property
    def more(self) -> FloatArray:
        """By how much each label but the first costs more than the first ``(F, labels - 1)``; ``(F,)`` of two."""
        more = relative_losses(self.losses)[1]
        return more[:, 0] if more.shape[1] == 1 else more


@dataclass(frozen=True, eq=False)
class LargeProblem(Problem):
    """Points are cells of people of one group and outcome and, behind these, judged people.

    A classifier's "label" of a cell is the share of its people to whom it gives each label, which takes a pass over the
    rows to know; costs of errors and of statistical rules are the same for everyone in a cell. Costs of pairs come on
    top, on judged people, whose labels are known without a pass: ``points.rows`` are theirs.
    """

    count_shares: Callable[[LinearClassifiers], FloatArray] = field(kw_only=True)
    """One pass: share ``(k, cells)`` of each cell to whom each classifier gives label 1.

    Of more than two labels, ``(k, cells, labels - 1)`` of all but the first.
    """

    _seen: dict[bytes, FloatArray] = field(default_factory=dict, kw_only=True)

    def evaluate(self, classifiers: Any) -> tuple[FloatArray, RowValues]:
        shares = self._shares(classifiers)
        n_cells, axes = shares.shape[1], list(range(1, shares.ndim))
        errors = self.points.error_offset + np.tensordot(shares, self.points.error_cost[:n_cells], axes=len(axes))
        pairs = self.differences(classifiers.labels(self.points.rows))
        if self.groups is None:
            return errors, pairs
        of_groups = np.tensordot(shares, self.groups.matrix[:, :n_cells], axes=(axes, axes))
        return errors, np.concatenate([pairs, of_groups], axis=1)

    def observe(self, classifier: Any) -> tuple[float, RowValues, bytes]:
        errors, values = self.evaluate(classifier)
        return float(errors[0]), values[0], _key(classifier, 0)

    def costs_of(self, classifiers: LinearClassifiers, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h(p)`` over cells and judged people, ``(k,)``."""
        labels = classifiers.labels(self.points.rows).astype(float)
        return np.concatenate([self._shares(classifiers), labels], axis=1) @ cost

    def _shares(self, classifiers: LinearClassifiers) -> FloatArray:
        """As :attr:`count_shares`; a pass is made only for classifiers that were never asked about."""
        keys = [_key(classifiers, t) for t in range(len(classifiers))]
        new = [t for t, key in enumerate(keys) if key not in self._seen]
        if new:
            for t, share in zip(new, self.count_shares(classifiers.take(np.array(new))), strict=True):
                self._seen[keys[t]] = share
        cost = self.points.error_cost
        shape = len(keys), len(cost) - len(self.points.rows), *cost.shape[1:]
        return np.array([self._seen[key] for key in keys]).reshape(shape)


def _key(classifiers: LinearClassifiers, t: int) -> bytes:
    return bytes(classifiers.coef[t].tobytes() + classifiers.intercept[t].tobytes())


class LargeRegressionOracle(RegressionOracle):
    """The regression needs no pass: costs are the same within a cell, and the mean row of each cell is known."""

    cheap = False
    is_regression = False  # whoever asks this one wants what a game without a pass cannot give

    def __init__(self, summary: TableSummary, judged_rows: FloatArray, more: FloatArray) -> None:
        self.rows = judged_rows
        self._n_labels = n_labels(more)
        self.hypothesis_class = regression_class(self._n_labels)
        self._terms = summary.regression_terms(judged_rows, more)
        self._points = np.concatenate([summary.cell_means, _with_one(judged_rows)])

    def regression_terms(self, problem: Problem) -> RegressionTerms:  # noqa: ARG002 - the rows are those of the summary
        return self._terms

    def _regress(self, cost: FloatArray) -> FloatArray:
        return np.asarray((self._terms.inverse_gram @ (cost.T @ self._points).T).T)


class LargeDescentOracle(DescentOracle):
    """Coordinate searches on the 0/1 cost as in memory, but every step is one pass and one histogram.

    A pass finds, along every coordinate at once, what each of some steps would cost, exactly; the best one is taken.
    Which steps are tried is learned from the breakpoints of the first block and of judged people.
    """

    def __init__(
        self,
        summary: TableSummary,
        judged_rows: FloatArray,
        more: FloatArray,
        pass_over: Callable[[LinearClassifiers, FloatArray], IntArray],
        cost_of: Callable[[LinearClassifiers, FloatArray], FloatArray],
    ) -> None:
        self.cheap = False
        self.regression = LargeRegressionOracle(summary, judged_rows, more)
        self._people = summary.cell_people
        self._sample, self._judged = _with_one(summary.sample), _with_one(judged_rows)
        self._pass_over, self._cost_of = pass_over, cost_of

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> LinearClassifiers:
        best = self.regression.best_response(cost)
        if isinstance(warm, LinearClassifiers) and len(warm):
            starts = best.joined(warm.take(np.arange(1)))  # the cheapest known
            best = starts.take(np.argmin(self._cost_of(starts, cost), keepdims=True))
        n_cells = len(self._people)
        a_person = cost[:n_cells] / np.maximum(self._people, 1.0)
        for _ in range(_MAX_STEPS):
            edges = self._edges(best)
            between = np.einsum("jce,c->je", self._pass_over(best, edges), a_person)
            total = np.cumsum(between, axis=1)[:, :-1] + self._on_judged(best, edges, cost[n_cells:])
            here = total[np.arange(len(edges)), np.argmax(edges == 0.0, axis=1)]
            gain = np.where(np.isfinite(edges), here[:, None] - total, -np.inf)
            coordinate, step = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[coordinate, step] < _LEAST_GAIN:
                break
            beta = np.append(best.intercept, best.coef)
            beta[coordinate] += edges[coordinate, step]
            best = LinearClassifiers(beta[None, 1:], beta[:1])
        return best

    plain_model = Oracle.plain_model  # type: ignore[assignment]  # another search would take many passes

    def _edges(self, classifier: LinearClassifiers) -> FloatArray:
        """Steps to try along each coordinate ``(1 + d, steps)``, sorted, 0 among them, infinite ones behind."""
        lines = []
        for rows, number in ((self._sample, _EDGES), (self._judged, _JUDGED_EDGES)):
            if len(rows):
                lines.append(_quantiles(breakpoints(classifier, rows), number))
        edges = np.concatenate([*lines, np.zeros((self._sample.shape[1], 1))], axis=1)
        return np.sort(np.where(np.isnan(edges), np.inf, edges), axis=1)

    def _on_judged(self, classifier: LinearClassifiers, edges: FloatArray, cost: FloatArray) -> FloatArray:
        """What judged people cost on top at each step ``(1 + d, steps)``."""
        total = np.zeros(edges.shape)
        if not len(cost):
            return total
        at = breakpoints(classifier, self._judged)
        for j, own in enumerate(edges):
            can_change = self._judged[:, j] > 0.0
            place = np.searchsorted(own, at[can_change, j], side="right")
            total[j] = np.cumsum(np.bincount(place, cost[can_change], minlength=len(own) + 1))[:-1]
        return total


def breakpoints(classifier: LinearClassifiers, rows: FloatArray) -> FloatArray:
    """The step along each coordinate at which each row's label changes ``(n, 1 + d)``; NaN where it never does."""
    score = rows @ np.append(classifier.intercept, classifier.coef)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(rows != 0.0, -score[:, None] / rows, np.nan))


def _quantiles(values: FloatArray, number: int) -> FloatArray:
    """``(columns, number)`` of those that are there; NaN in a column of none."""
    levels = (np.arange(number) + 0.5) / number
    result = np.full((values.shape[1], number), np.nan)
    for j, column in enumerate(values.T):
        known = column[np.isfinite(column)]
        if len(known):
            result[j] = np.quantile(known, levels)
    return result


def _with_one(rows: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(rows)), rows])


def large_problem(
    table: LargeTable, summary: TableSummary, prepared: PreparedTable, client: Client | None
) -> LargeProblem:
    """The problem on cells and judged people, with rules about groups beside those about pairs."""
    people, small = summary.cell_people, prepared.problem
    outcome = np.arange(len(people)) % len(summary.outcomes)
    a_person = prepared.more[outcome]
    on_judged = np.zeros_like(small.points.error_cost)
    points = Points(
        prepared.judged_rows,
        np.concatenate([(a_person.T * people / summary.n_rows).T, on_judged]),
        small.points.error_offset,
        np.append(people, np.zeros(len(on_judged))),
    )
    groups = None
    moments = parity_moments(prepared.settings.group_constraints)
    if moments:
        cells = pd.DataFrame({"cell": np.arange(len(people))})
        named = pd.Series(np.repeat(np.array(summary.groups, dtype=object), len(summary.outcomes)))
        # A cell of many people is one person of their weight, and their labels the shares of the cell with each.
        placed = Placement(points, cells["cell"].to_numpy(), small.judged)
        groups = prepared.target.group_rows(moments, prepared.codes[outcome], cells, named, people, placed)
    values = {field.name: getattr(small, field.name) for field in fields(small)}
    values |= {"points": points, "judged": len(people) + small.judged, "groups": groups}
    return LargeProblem(**values, count_shares=partial(_shares, table, summary, client))


def large_oracle(
    table: LargeTable, summary: TableSummary, prepared: PreparedTable, problem: LargeProblem, client: Client | None
) -> Oracle:
    terms = summary, prepared.judged_rows, prepared.more
    if prepared.settings.estimator == "linear-regression":
        return LargeRegressionOracle(*terms)
    return LargeDescentOracle(*terms, lambda at, edges: histogram(table, summary, at, edges, client), problem.costs_of)


def _shares(
    table: LargeTable, summary: TableSummary, client: Client | None, classifiers: LinearClassifiers
) -> FloatArray:
    counts = count(table, summary, classifiers, client)
    given = counts.given.reshape(len(summary.cell_people), *counts.given.shape[2:])
    shares = np.moveaxis(given / np.maximum(summary.cell_people, 1.0)[:, None, None], 2, 0)
    return np.asarray(shares if shares.shape[2] > 1 else shares[:, :, 0])
