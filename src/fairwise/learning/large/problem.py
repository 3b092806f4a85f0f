"""A table that is read in blocks as a problem and an oracle that solvers know.

They read the table again for every classifier they look at: whom it gives label 1, and what a step along any coordinate
would do to that. People are counted by cell, their group and outcome; costs are those of a :class:`LargeProblem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise.constraints.groups import parity_moments
from fairwise.errors import InputError
from fairwise.learning.deduplication import Placement, relative_losses
from fairwise.learning.labels import Labels
from fairwise.learning.large.counting import LabelCounter
from fairwise.learning.large.passes import Block, Span, over_spans
from fairwise.learning.large.sums import group_codes
from fairwise.learning.oracles.base import ClassArray, Classifiers, FloatArray, IntArray, Oracle, RowValues, n_labels
from fairwise.learning.oracles.descent import DescentOracle
from fairwise.learning.oracles.linear import (
    LinearClassifiers,
    RegressionOracle,
    RegressionTerms,
    label_totals,
    regression_class,
)
from fairwise.learning.preparation import PreparedProblem, group_rows
from fairwise.learning.problem import Points, Problem
from fairwise.learning.row_kernels import add_breakpoints

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable

_MAX_STEPS = 40
_LEAST_GAIN = 1e-4  # in units of error: a step that gains less is not worth another pass
_EDGES = 128  # steps tried along each coordinate, from the breakpoints of the first block
_JUDGED_EDGES = 64  # and from those of judged people


@dataclass(frozen=True, eq=False)
class CellReader:
    """Everyone in a block as an encoded row and a cell; small enough to be sent to every worker.

    Cell ``F g + y`` is group ``g`` with outcome ``y`` of the ``F`` that occur.
    """

    features: list[str]
    outcome: str
    group_column: str | None
    groups: list[str]
    encoder: TableEncoder
    outcomes: ClassArray

    @classmethod
    def of(cls, table: LargeTable, summary: TableSummary) -> CellReader:
        return cls(list(table.features), table.outcome, table.groups, summary.groups, summary.encoder, summary.outcomes)

    def __call__(self, block: Block, order: Literal["C", "F"] = "C") -> tuple[FloatArray, IntArray]:
        """Encoded rows ``(n, d)``, which lie in memory as ``order`` says, and cells ``(n,)``."""
        cell = np.zeros(len(block.table), dtype=np.intp)
        for code, label in enumerate(self.outcomes[1:], 1):
            cell += code * (block.table[self.outcome] == label).to_numpy(dtype=np.intp)
        if self.group_column is not None:
            cell += len(self.outcomes) * group_codes(block.table[self.group_column], self.groups)
        return self.encoder.encode(block.table[self.features], order=order), cell


@dataclass(frozen=True, eq=False)
class PreparedTable(PreparedProblem):
    """What these judgments ask for, about people who were found in the first pass, and what each outcome costs."""

    labels: Labels
    """Of the ``F`` outcomes that occur, as if each were one person's."""

    @property
    def more(self) -> FloatArray:
        """By how much each label but the first costs more than the first ``(F, labels - 1)``; ``(F,)`` of two."""
        more = relative_losses(self.labels.losses)[1]
        return more[:, 0] if more.shape[1] == 1 else more


@dataclass(frozen=True, eq=False)
class Counts:
    """People by group and outcome ``(G, F)``, and how many get each label but the first ``(G, F, labels - 1, k)``.

    Whole numbers: their sums are exact, in any order. Without groups everyone is in one.
    """

    people: IntArray
    given: IntArray

    def errors(self, losses: FloatArray) -> FloatArray:
        """Mean loss ``(k,)`` of each classifier, where outcomes make labels cost ``losses`` ``(F, labels)``."""
        first, more = relative_losses(losses)
        total = self.people.sum(axis=0) @ first + np.tensordot(more, self.given.sum(axis=0), axes=2)
        return np.asarray(total / self.people.sum())

    def of(self, start: int, end: int) -> Counts:
        """Of some of the classifiers."""
        return Counts(self.people, self.given[..., start:end])


def count(
    table: LargeTable, summary: TableSummary, classifiers: LinearClassifiers, client: Client | None = None
) -> Counts:
    """Read every row once more."""
    n_cells, n_outcomes = len(summary.cell_people), len(summary.outcomes)
    people, given = _no_counts(n_cells, classifiers)
    counter = None if classifiers.coef.ndim == 3 else LabelCounter.of(classifiers, summary.gram)
    work = partial(_count_span, CellReader.of(table, summary), n_cells, classifiers, counter)
    for people_here, given_here in over_spans(table.spans(client), work, client):
        people += people_here
        given += given_here
    if not np.array_equal(people, summary.cell_people):
        raise InputError(
            f"{table.name}: its rows changed while they were read: {summary.n_rows} the first time, {people.sum()} now "
            "(or other outcomes or groups)."
        )
    return Counts(people.reshape(-1, n_outcomes), given.reshape(-1, n_outcomes, *given.shape[1:]))


def _count_span(
    read: CellReader, n_cells: int, classifiers: LinearClassifiers, counter: LabelCounter | None, span: Span
) -> tuple[IntArray, IntArray]:
    """People of each cell, and how many of them get each label; ``counter`` is that of classifiers of two labels."""
    people, given = _no_counts(n_cells, classifiers)
    for block in span.blocks():
        rows, cell = read(block, order="C" if counter is None else "F")
        people += np.bincount(cell, minlength=n_cells)
        if counter is None:
            one = np.ones((len(rows), given.shape[1]), dtype=np.int32)
            given += label_totals(rows, classifiers, cell, one, n_cells)
        else:
            given[:, 0] += counter.count(rows.T, cell, n_cells)
    return people, given


def _no_counts(n_cells: int, classifiers: LinearClassifiers) -> tuple[IntArray, IntArray]:
    n_others = classifiers.coef.shape[1] if classifiers.coef.ndim == 3 else 1
    return np.zeros(n_cells, dtype=np.int64), np.zeros((n_cells, n_others, len(classifiers)), dtype=np.int64)


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
        labels = replace(prepared.labels, codes=prepared.labels.codes[outcome])
        # A cell of many people is one person of their weight, and their labels the shares of the cell with each.
        placed = Placement(points, cells["cell"].to_numpy(), small.judged)
        groups = group_rows(moments, labels, cells, named, people, placed)
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
