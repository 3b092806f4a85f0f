"""A pass over a table: how many people of each outcome and group each classifier gives label 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.errors import InputError
from fairwise.learning.blocks.cells import CellReader
from fairwise.learning.blocks.passes import over_spans

if TYPE_CHECKING:
    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.spans import Span
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.oracles.base import FloatArray, IntArray
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers


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


def count(table: LargeTable, learned: Learned, classifiers: LinearClassifiers, client: Any = None) -> Counts:
    """Read every row once more."""
    n_groups = len(learned.groups)
    people = np.zeros(2 * n_groups, dtype=np.int64)
    label_1 = np.zeros((2 * n_groups, len(classifiers)), dtype=np.int64)
    work = _Counting(CellReader.of(table, learned), classifiers)
    for here, given in over_spans(table.spans(client), work, client):
        people += here
        label_1 += given
    if not np.array_equal(people, learned.cell_people):
        raise InputError(
            f"{table.name}: its rows changed while they were read: {learned.n_rows} the first time, {people.sum()} now "
            "(or other outcomes or groups)."
        )
    return Counts(people.reshape(n_groups, 2), label_1.reshape(n_groups, 2, -1))


@dataclass(frozen=True, eq=False)
class _Counting:
    """The work of this pass on one span."""

    read: CellReader
    classifiers: LinearClassifiers

    def __call__(self, span: Span) -> tuple[IntArray, IntArray]:
        from fairwise.learning.oracles import linear_signs

        n_cells = self.read.n_cells
        people = np.zeros(n_cells, dtype=np.int64)
        label_1 = np.zeros((n_cells, len(self.classifiers)), dtype=np.int64)
        for block in span.blocks():
            rows, cell = self.read(block)
            people += np.bincount(cell, minlength=n_cells)
            one = np.ones(len(rows), dtype=np.int32)
            coef, intercept = self.classifiers.coef, self.classifiers.intercept
            label_1 += linear_signs.totals(rows, coef, intercept, cell, one, n_cells)
        return people, label_1
