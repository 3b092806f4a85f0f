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

from fairwise.constraints.groups import GroupRows, parity_moments
from fairwise.errors import InputError
from fairwise.learning.large.passes import Block, Span, over_spans
from fairwise.learning.large.sums import group_codes
from fairwise.learning.oracles.base import ClassArray, Classifiers, FloatArray, IntArray, Oracle, RowValues
from fairwise.learning.oracles.linear import (
    DescentOracle,
    LinearClassifiers,
    RegressionOracle,
    RegressionTerms,
    cell_totals,
)
from fairwise.learning.problem import Points, Problem
from fairwise.learning.row_kernels import add_breakpoints

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable
    from fairwise.learning.preparation import PreparedProblem

_MAX_STEPS = 40
_LEAST_GAIN = 1e-4  # in units of error: a step that gains less is not worth another pass
_EDGES = 128  # steps tried along each coordinate, from the breakpoints of the first block
_JUDGED_EDGES = 64  # and from those of judged people


@dataclass(frozen=True, eq=False)
class CellReader:
    """Everyone in a block as an encoded row and a cell; small enough to be sent to every worker.

    Cell ``2 g + y`` is group ``g`` with outcome ``y``.
    """

    features: list[str]
    outcome: str
    group_column: str | None
    groups: list[str]
    encoder: TableEncoder
    classes: ClassArray

    @classmethod
    def of(cls, table: LargeTable, summary: TableSummary) -> CellReader:
        return cls(list(table.features), table.outcome, table.groups, summary.groups, summary.encoder, summary.classes)

    def __call__(self, block: Block) -> tuple[FloatArray, IntArray]:
        """Encoded rows ``(n, d)`` and cells ``(n,)``."""
        cell = (block.table[self.outcome] == self.classes[1]).to_numpy(dtype=np.intp)
        if self.group_column is not None:
            cell += 2 * group_codes(block.table[self.group_column], self.groups)
        return np.ascontiguousarray(self.encoder.encode(block.table[self.features])), cell


@dataclass(frozen=True, eq=False)
class Counts:
    """People by group and outcome ``(groups, 2)``, and how many of them get label 1 ``(groups, 2, k)``.

    Whole numbers: their sums are exact, in any order. Without groups everyone is in one.
    """

    people: IntArray
    label_1: IntArray

    def errors(self) -> FloatArray:
        """Share ``(k,)`` of everyone whom each classifier gets wrong."""
        wrong = self.label_1[:, 0].sum(axis=0) + self.people[:, 1].sum() - self.label_1[:, 1].sum(axis=0)
        return np.asarray(wrong / self.people.sum())

    def of(self, start: int, end: int) -> Counts:
        """Of some of the classifiers."""
        return Counts(self.people, self.label_1[:, :, start:end])


def count(
    table: LargeTable, summary: TableSummary, classifiers: LinearClassifiers, client: Client | None = None
) -> Counts:
    """Read every row once more."""
    n_cells = len(summary.cell_people)
    people = np.zeros(n_cells, dtype=np.int64)
    label_1 = np.zeros((n_cells, len(classifiers)), dtype=np.int64)
    work = partial(_count_span, CellReader.of(table, summary), classifiers, n_cells)
    for people_here, label_1_here in over_spans(table.spans(client), work, client):
        people += people_here
        label_1 += label_1_here
    if not np.array_equal(people, summary.cell_people):
        raise InputError(
            f"{table.name}: its rows changed while they were read: {summary.n_rows} the first time, {people.sum()} now "
            "(or other outcomes or groups)."
        )
    return Counts(people.reshape(-1, 2), label_1.reshape(n_cells // 2, 2, -1))


def _count_span(
    read: CellReader, classifiers: LinearClassifiers, n_cells: int, span: Span
) -> tuple[IntArray, IntArray]:
    people = np.zeros(n_cells, dtype=np.int64)
    label_1 = np.zeros((n_cells, len(classifiers)), dtype=np.int64)
    for rows, cell in map(read, span.blocks()):
        people += np.bincount(cell, minlength=n_cells)
        one = np.ones(len(rows), dtype=np.int32)
        label_1 += cell_totals(rows, classifiers.coef, classifiers.intercept, cell, one, n_cells)
    return people, label_1


def histogram(
    table: LargeTable,
    summary: TableSummary,
    classifier: LinearClassifiers,
    edges: FloatArray,
    client: Client | None = None,
) -> IntArray:
    """How many people of each cell have their breakpoint between two edges, ``(1 + d, cells, E + 1)``; one pass.

    ``edges`` ``(1 + d, E)`` are sorted along each coordinate, the intercept's first. Encoded features are never
    negative, so along any coordinate a person gets label 1 at steps beyond the breakpoint. Whole numbers: exact in any
    order.
    """
    shape = len(edges), len(summary.cell_people), edges.shape[1] + 1
    work = partial(_sort_span, CellReader.of(table, summary), classifier, edges, shape)
    people = np.zeros(shape, dtype=np.int64)
    for here in over_spans(table.spans(client), work, client):
        people += here
    return people


def _sort_span(
    read: CellReader, at: LinearClassifiers, edges: FloatArray, shape: tuple[int, int, int], span: Span
) -> IntArray:
    people = np.zeros(shape, dtype=np.int64)
    for rows, cell in map(read, span.blocks()):
        add_breakpoints(rows, cell, at.coef[0], float(at.intercept[0]), edges, people)
    return people


@dataclass(frozen=True, eq=False)
class LargeProblem(Problem):
    """Points are cells of people of one group and outcome and, behind these, judged people.

    A classifier's "label" of a cell is the share of its people to whom it gives label 1, which takes a pass over the
    rows to know; costs of errors and of statistical rules are the same for everyone in a cell. Costs of pairs come on
    top, on judged people, whose labels are known without a pass: ``points.rows`` are theirs.
    """

    count_shares: Callable[[LinearClassifiers], FloatArray] = field(kw_only=True)
    """One pass: share ``(k, cells)`` of each cell to whom each classifier gives label 1."""

    _seen: dict[bytes, FloatArray] = field(default_factory=dict, kw_only=True)

    def evaluate(self, classifiers: Any) -> tuple[FloatArray, RowValues]:
        shares = self._shares(classifiers)
        n_cells = shares.shape[1]
        errors = self.points.error_offset + shares @ self.points.error_cost[:n_cells]
        pairs = self.differences(classifiers.labels(self.points.rows))
        if self.groups is None:
            return errors, pairs
        return errors, np.concatenate([pairs, shares @ self.groups.matrix[:, :n_cells].T], axis=1)

    def observe(self, classifier: Any) -> tuple[float, RowValues, bytes]:
        errors, values = self.evaluate(classifier)
        return float(errors[0]), values[0], _key(classifier, 0)

    def costs_of(self, classifiers: LinearClassifiers, cost: FloatArray) -> FloatArray:
        """``sum_p cost[p] h(p)`` over cells and judged people, ``(k,)``."""
        labels = classifiers.labels(self.points.rows).astype(float)
        return np.concatenate([self._shares(classifiers), labels], axis=1) @ cost

    def _shares(self, classifiers: LinearClassifiers) -> FloatArray:
        """Of each cell ``(k, cells)``; a pass is made only for classifiers that were never asked about."""
        keys = [_key(classifiers, t) for t in range(len(classifiers))]
        new = [t for t, key in enumerate(keys) if key not in self._seen]
        if new:
            for t, share in zip(new, self.count_shares(classifiers.take(np.array(new))), strict=True):
                self._seen[keys[t]] = share
        return np.array([self._seen[key] for key in keys]).reshape(len(keys), -1)


def _key(classifiers: LinearClassifiers, t: int) -> bytes:
    return bytes(classifiers.coef[t].tobytes() + classifiers.intercept[t].tobytes())


class LargeRegressionOracle(RegressionOracle):
    """The regression needs no pass: costs are the same within a cell, and the mean row of each cell is known."""

    cheap = False
    is_regression = False  # whoever asks this one wants what a game without a pass cannot give

    def __init__(self, summary: TableSummary, judged_rows: FloatArray) -> None:
        self.rows = judged_rows
        self._terms = summary.regression_terms(judged_rows)
        self._points = np.concatenate([summary.cell_means, _with_one(judged_rows)])

    def regression_terms(self, problem: Problem) -> RegressionTerms:  # noqa: ARG002 - the rows are those of the summary
        return self._terms

    def _regress(self, cost: FloatArray) -> FloatArray:
        return np.asarray(self._terms.inverse_gram @ (cost @ self._points))


class LargeDescentOracle(DescentOracle):
    """Coordinate searches on the 0/1 cost as in memory, but every step is one pass and one histogram.

    A pass finds, along every coordinate at once, what each of some steps would cost, exactly; the best one is taken.
    Which steps are tried is learned from the breakpoints of the first block and of judged people.
    """

    def __init__(
        self,
        summary: TableSummary,
        judged_rows: FloatArray,
        pass_over: Callable[[LinearClassifiers, FloatArray], IntArray],
        cost_of: Callable[[LinearClassifiers, FloatArray], FloatArray],
    ) -> None:
        self.cheap = False
        self.regression = LargeRegressionOracle(summary, judged_rows)
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
    table: LargeTable, summary: TableSummary, prepared: PreparedProblem, client: Client | None
) -> LargeProblem:
    """The problem on cells and judged people, with rules about groups beside those about pairs."""
    people, n_judged = summary.cell_people, len(prepared.judged_rows)
    outcome = np.arange(len(people)) % 2
    on_judged = np.zeros(n_judged)
    points = Points(
        prepared.judged_rows,
        np.append((1.0 - 2.0 * outcome) * people / summary.n_rows, on_judged),
        summary.share_of_second,
        np.append(people, on_judged),
    )
    groups = None
    moments = parity_moments(prepared.settings.group_constraints)
    if moments:
        named = np.repeat(np.array(summary.groups, dtype=object), 2)
        cells = pd.DataFrame({"cell": np.arange(len(people))})
        # A cell of many people is one person of their weight, and ``h`` the share of the cell with label 1.
        groups = GroupRows.from_moments(moments[None], cells, outcome, named, people, n_points=len(people) + n_judged)
    small = prepared.problem
    values = {field.name: getattr(small, field.name) for field in fields(small)}
    values |= {"points": points, "judged": len(people) + small.judged, "groups": groups}
    return LargeProblem(**values, count_shares=partial(_shares, table, summary, client))


def large_oracle(
    estimator: object, table: LargeTable, summary: TableSummary, problem: LargeProblem, client: Client | None
) -> Oracle:
    judged_rows = problem.points.rows
    if estimator == "linear-regression":
        return LargeRegressionOracle(summary, judged_rows)
    return LargeDescentOracle(
        summary, judged_rows, lambda at, edges: histogram(table, summary, at, edges, client), problem.costs_of
    )


def _shares(
    table: LargeTable, summary: TableSummary, client: Client | None, classifiers: LinearClassifiers
) -> FloatArray:
    counts = count(table, summary, classifiers, client)
    label_1 = counts.label_1.reshape(len(summary.cell_people), -1)
    return np.asarray((label_1 / np.maximum(summary.cell_people, 1.0)[:, None]).T)
