"""A pass over a table: what a step along any coordinate would do to the labels of everyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.learning.blocks.cells import CellReader
from fairwise.learning.blocks.passes import over_spans

if TYPE_CHECKING:
    from fairwise.learning.blocks.learned import Learned
    from fairwise.learning.blocks.spans import Span
    from fairwise.learning.blocks.table import LargeTable
    from fairwise.learning.oracles.base import FloatArray, IntArray
    from fairwise.learning.oracles.linear_classifiers import LinearClassifiers


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many people of each cell have their breakpoint between two edges, ``(1 + d, cells, edges + 1)``.

    Encoded features are never negative, so along any coordinate a person gets label 1 at steps beyond the breakpoint.
    Whole numbers: exact in any order.
    """

    people: IntArray

    def costs(self, cost: FloatArray) -> FloatArray:
        """What the people who can change cost at each edge ``(1 + d, edges)``; ``cost`` ``(cells,)`` is a person's."""
        between = np.einsum("jce,c->je", self.people, cost)
        return np.asarray(np.cumsum(between, axis=1)[:, :-1])


def histogram(
    table: LargeTable, learned: Learned, classifier: LinearClassifiers, edges: FloatArray, client: Any = None
) -> Histogram:
    """Read every row once; ``edges`` ``(1 + d, E)`` are sorted along each coordinate, the intercept's first."""
    work = _Sorting(CellReader.of(table, learned), classifier, edges)
    shape = (len(edges), 2 * len(learned.groups), edges.shape[1] + 1)
    people = np.zeros(shape, dtype=np.int64)
    for here in over_spans(table.spans(client), work, client):
        people += here
    return Histogram(people)


@dataclass(frozen=True, eq=False)
class _Sorting:
    """The work of this pass on one span."""

    read: CellReader
    classifier: LinearClassifiers
    edges: FloatArray

    def __call__(self, span: Span) -> IntArray:
        from fairwise.learning.blocks.sum_kernels import add_breakpoints

        shape = (len(self.edges), self.read.n_cells, self.edges.shape[1] + 1)
        people = np.zeros(shape, dtype=np.int64)
        for block in span.blocks():
            rows, cell = self.read(block)
            coef, intercept = self.classifier.coef[0], float(self.classifier.intercept[0])
            add_breakpoints(np.ascontiguousarray(rows), cell, coef, intercept, self.edges, people)
        return people
