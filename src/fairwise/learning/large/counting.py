"""Counts of people by cell who get label 1 from each of many classifiers, without asking every one about everyone.

A label is the sign of a sum in double precision and fixed order (``oracles.linear``). With ``m`` and ``s`` any centre
and spread of each column, the same sum is ``N |(1, u)| (a . v)``, where ``u = (x - m) / s``, ``v = (1, u) / |(1, u)|``,
and ``a`` is ``(b + w . m, s w) / N`` of length 1. So everyone is a point on a sphere, and so is every classifier. The
rounds of a game are near each other, or near each other's opposite: of classifiers within ``r`` of their centre ``c``
all agree about ``v`` where ``|c . v| > r``, which is one product for all of them.

Products are in single precision: rounding ``a`` and ``v``, and adding ``D`` products in any order, is wrong by at most
``(D + 6) 2**-24``, as neither is longer than 1. The sum in double precision is within ``(2 D + 8) 2**-53 (1 + A / N)``
of the real one, in the same units, where ``A = |b| + sum_j |w_j m_j|``. Nearer to 0 the exact sum decides: counts are
equal to those of labels one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.learning import row_kernels
from fairwise.learning.deduplication import relative_losses
from fairwise.learning.encoding import CategoryColumn, NumberColumn
from fairwise.learning.large.count_kernels import add_counts
from fairwise.learning.large.passes import Block, Span, over_spans
from fairwise.learning.large.sums import group_codes
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers, label_totals

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.learning.encoding import TableEncoder
    from fairwise.learning.large.first_pass import TableSummary
    from fairwise.learning.large.table import LargeTable


_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53
_SAFETY = 1.1
_CENTRE, _NEAR, _MEMBER = 0.8, 30.0, 3.0  # ns of a row: asking a centre; if near, copying it, then asking one member
_DEEPEST = 50

Singles = NDArray[np.float32]


class Groups(NamedTuple):
    """Classifiers in groups; group ``g`` has the slots ``starts[g]`` to ``starts[g + 1]``."""

    centres: Singles
    """``(G, D)``."""

    within: Singles
    """``(G,)`` beyond this from 0 the sign of a centre's product is that of every member's sum."""

    starts: IntArray
    members: Singles
    """``(T, D)`` classifiers as points on the sphere, or their opposites, by slot."""

    margins: Singles
    """``(T,)`` beyond this from 0 the sign of a member's product is certain."""

    flipped: NDArray[np.bool_]
    """``(T,)`` where the one in a slot is the opposite of its classifier."""


@dataclass(frozen=True, eq=False)
class LabelCounter:
    """Counts labels of linear classifiers over columns ``(d, n)`` of encoded rows."""

    mean: FloatArray
    inverse_spread: FloatArray
    order: IntArray
    """``(T,)`` the classifier in each slot."""

    exact: tuple[FloatArray, FloatArray]
    """The classifiers' ``coef`` ``(d, T)`` and ``intercept``, by slot."""

    groups: Groups

    @classmethod
    def of(cls, classifiers: LinearClassifiers, gram: FloatArray) -> LabelCounter:
        """``gram`` is ``Z.T Z`` of everyone's rows with a 1 in front: where they are, and how far apart."""
        coef, intercept = classifiers.coef, classifiers.intercept
        with np.errstate(all="ignore"):  # what cannot be measured is always asked exactly
            mean = gram[0, 1:] / gram[0, 0]
            square = np.diag(gram)[1:] / gram[0, 0]
            spread = np.sqrt(np.maximum(square - mean**2, 1e-12 * square))
            spread[~(spread > 0.0)] = 1.0
            points = np.column_stack([intercept + coef @ mean, coef * spread])
            length = np.sqrt((points**2).sum(axis=1))
            size = (np.abs(intercept) + np.abs(coef) @ np.abs(mean)) / length
            points /= length[:, None]
        width = points.shape[1]
        margins = _SAFETY * ((width + 6) * _SINGLE + (2 * width + 8) * _DOUBLE * (1.0 + size))
        measured = np.isfinite(points).all(axis=1) & np.isfinite(margins)
        points[~measured], margins[~measured] = 0.0, np.inf
        flipped = points @ np.linalg.eigh(points.T @ points)[1][:, -1] < 0.0
        points[flipped] *= -1.0
        lists = _split(points, np.arange(len(points)), 0)[1]
        centres = np.array([points[own].mean(axis=0) for own in lists])
        radii = [
            np.sqrt(((points[own] - centre) ** 2).sum(axis=1).max()) for own, centre in zip(lists, centres, strict=True)
        ]
        within = _SAFETY * np.array(radii) + [float(margins[own].max()) for own in lists]
        order = np.concatenate(lists)
        groups = Groups(
            _in_single_precision(centres),
            _rounded_up(within),
            np.cumsum([0, *map(len, lists)]),
            _in_single_precision(points[order]),
            _rounded_up(margins[order]),
            flipped[order],
        )
        return cls(mean, 1.0 / spread, order, (np.ascontiguousarray(coef[order].T), intercept[order]), groups)

    def counts(self, pieces: Iterable[tuple[FloatArray, IntArray]], n_cells: int) -> tuple[IntArray, IntArray]:
        """Count people by cell ``(n_cells,)``, and those with label 1 from each classifier ``(n_cells, T)``.

        A piece has columns of encoded rows ``(d, n)`` and their cells ``(n,)``.
        """
        people = np.zeros(n_cells, dtype=np.int64)
        by_slot = np.zeros((n_cells, len(self.order)), dtype=np.int64)
        for columns, cell in pieces:
            people += np.bincount(cell, minlength=n_cells)
            add_counts(columns, cell, self.mean, self.inverse_spread, self.exact, self.groups, by_slot)
        return people, np.asarray(by_slot[:, np.argsort(self.order)])


def _rounded_up(values: FloatArray) -> Singles:
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _in_single_precision(points: FloatArray) -> Singles:
    """Pad the points with columns of zeros to a multiple of 4, which are multiplied at once."""
    return np.pad(points, ((0, 0), (0, -points.shape[1] % 4))).astype(np.float32)


def _split(points: FloatArray, own: IntArray, depth: int) -> tuple[float, list[IntArray]]:
    """Return the cheapest split found of these classifiers, and what it costs for each row.

    Two halves are those nearer to either of two members far apart. A centre's product with someone drawn evenly from
    the sphere has density about ``sqrt(D / 2 pi)`` at 0, which makes a share of ``2 r`` times that near.
    """
    alone = _CENTRE * len(own), list(own[:, None])
    if len(own) < 2 or depth > _DEEPEST:
        return alone
    members = points[own]
    from_centre = ((members - members.mean(axis=0)) ** 2).sum(axis=1)
    one = int(from_centre.argmax())
    from_one = ((members - members[one]) ** 2).sum(axis=1)
    from_other = ((members - members[int(from_one.argmax())]) ** 2).sum(axis=1)
    share = min(1.0, 2.0 * np.sqrt(points.shape[1] / (2.0 * np.pi) * from_centre[one]))
    together = _CENTRE + share * (_NEAR + _MEMBER * len(own)), [own]
    nearer = from_one < from_other
    if not nearer.any() or nearer.all():
        return min(alone, together, key=lambda way: way[0])
    (cost, left), (more, right) = (_split(points, own[side], depth + 1) for side in (nearer, ~nearer))
    return min(alone, together, (cost + more, left + right), key=lambda way: way[0])


_PIECE = 4096  # rows


@dataclass(frozen=True, eq=False)
class CellReader:
    """Reader of a block as encoded rows and cells; small enough to be sent to every worker.

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
        """Return the counts of some of the classifiers."""
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
    """Count people of each cell by the edges around their breakpoint, ``(1 + d, cells, E + 1)``, in one pass.

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
