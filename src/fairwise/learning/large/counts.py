"""Later passes over a table: whom classifiers give label 1, and what a step along any coordinate would do to that.

People are counted by cell: their group and outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.large.passes import Block, Span, over_spans
from fairwise.learning.large.sums import group_codes
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers, cell_totals
from fairwise.learning.row_kernels import add_breakpoints

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable


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
