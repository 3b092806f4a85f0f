"""People by cell, their group and outcome: how many are in each, and whom classifiers give which label; in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from fairwise.errors import InputError
from fairwise.learning import row_kernels
from fairwise.learning.deduplication import relative_losses
from fairwise.learning.encoding import CategoryColumn, NumberColumn
from fairwise.learning.large.blocks import Block
from fairwise.learning.large.counting import LabelCounter
from fairwise.learning.large.passes import Span, over_spans
from fairwise.learning.large.sums import group_codes
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers, label_totals

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable

_PIECE = 4096  # rows


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
        return self.encoder.encode(block.table[self.features], order=order), self._cells(block)

    def pieces(self, block: Block) -> Iterator[tuple[FloatArray, IntArray]]:
        """A few rows at a time: encoded columns ``(d, n)``, in memory that the next ones may take, and cells ``(n,)``.

        That is the same as all rows at once, but stays in a processor's cache.
        """
        numbers = [block.numbers(name) for name in self.features]
        columns = [column for column in self.encoder.columns if _is_shifted_only(column)]
        if len(columns) < len(self.encoder.columns) or any(values is None for values in numbers):
            rows, cell = self(block, order="F")
            yield rows.T, cell
            return
        cell = self._cells(block)
        space = np.empty((len(columns), min(_PIECE, block.n_rows)))
        for start in range(0, block.n_rows, _PIECE):
            part = slice(start, min(start + _PIECE, block.n_rows))
            out = space if part.stop - start == space.shape[1] else np.empty((len(columns), part.stop - start))
            for column, values, own in zip(columns, numbers, out, strict=True):
                some = np.asarray(values)[part].astype(float, copy=False)
                if not row_kernels.scale_numbers(some, column.fill, column.shift, 1.0 / column.scale, own):
                    self(block)  # says what is wrong
            yield out, cell[part]

    def _cells(self, block: Block) -> IntArray:
        plain = block.numbers(self.outcome)
        cell = np.zeros(block.n_rows, dtype=np.intp)
        for code, label in enumerate(self.outcomes[1:], 1):
            own = block.table[self.outcome] == label if plain is None else plain == label
            cell += code * np.asarray(own, dtype=np.intp)
        if self.group_column is not None:
            cell += len(self.outcomes) * group_codes(block.table[self.group_column], self.groups)
        return cell


def _is_shifted_only(column: NumberColumn | CategoryColumn) -> TypeGuard[NumberColumn]:
    """Whether nothing is missing, and dividing by the scale, a power of two, is multiplying by its inverse."""
    return isinstance(column, NumberColumn) and not column.marks_missing and bool(np.isfinite(1.0 / column.scale))


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
    if counter is not None:
        people, ones = counter.counts(chain.from_iterable(map(read.pieces, span.blocks())), n_cells)
        return people, ones[:, None]
    for rows, cell in map(read, span.blocks()):
        people += np.bincount(cell, minlength=n_cells)
        one = np.ones((len(rows), given.shape[1]), dtype=np.int32)
        given += label_totals(rows, classifiers, cell, one, n_cells)
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
        row_kernels.add_breakpoints(rows, cell, at.coef[0], float(at.intercept[0]), edges, people)
    return people
