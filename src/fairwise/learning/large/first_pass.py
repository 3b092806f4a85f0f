"""The first pass over a table, and what is known after it: encoding, regression, the judged people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, JudgmentsError, some, warn
from fairwise.learning.encoding import CategoryColumn, NumberColumn, TableEncoder, fill_of, scale_of
from fairwise.learning.large.blocks import Block
from fairwise.learning.large.passes import Span, compute, over_spans
from fairwise.learning.large.sums import CATEGORY, MISSING, NUMBER, Key, NumberSums, Sums, block_sums, centres_of
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.oracles.linear import RegressionTerms, pseudo_inverse
from fairwise.learning.row_kernels import places_marked
from fairwise.tables.columns import nearly, nearly_in_words
from fairwise.tables.rows import encode, text_of

if TYPE_CHECKING:
    from distributed import Client

    from fairwise.judgments import Judgments
    from fairwise.learning.large.table import LargeTable

JudgedRows = tuple[IntArray, IntArray, pd.DataFrame]
"""Which of the judged people are in some blocks, in which rows of the table, and those rows."""

_LEAST_SPREAD = 1e-150


@dataclass(frozen=True, eq=False)
class TableSummary:
    """Everything about a table that does not grow with it."""

    n_rows: int
    encoder: TableEncoder
    gram: FloatArray
    """``Z.T Z`` of the encoded rows with a 1 in front, ``(1 + d, 1 + d)``."""

    outcomes: ClassArray
    """``(F,)`` those that occur, sorted."""

    outcome_sums: FloatArray
    """The sum of the encoded rows of each outcome with a 1 in front, ``(F, 1 + d)``."""

    judged: pd.DataFrame
    """The rows of everyone in a judgment that counts, indexed by the judgments' own ids."""

    groups: list[str]
    """Their names, or one empty one."""

    cell_people: FloatArray
    """How many people there are of each group and outcome, ``(G F,)``: cell ``F g + y``."""

    cell_means: FloatArray
    """The mean encoded row of each cell with a 1 in front, ``(G F, 1 + d)``; 0 where nobody is."""

    sample: FloatArray
    """The encoded rows of the first block."""

    def regression_terms(self, judged_rows: FloatArray, more: FloatArray) -> RegressionTerms:
        """What a game against the regression needs of everyone, where outcomes make labels cost ``more`` ``(F, …)``.

        That is by how much each label but the first costs more than the first, one number where there are two.
        """
        inverse = pseudo_inverse(self.gram)
        parts = [np.multiply.outer(cost, sums) for cost, sums in zip(more, self.outcome_sums, strict=True)]
        moments = sum(parts[1:], parts[0]) / self.n_rows
        return RegressionTerms(np.ascontiguousarray(judged_rows), inverse, (inverse @ moments.T).T)


def read_summary(table: LargeTable, judgments: Judgments | None, client: Client | None = None) -> TableSummary:
    """Read every row once."""
    names = list(table.features)
    if not names:
        raise InputError(f"{table.name}: no column is left to learn from.")
    first = next((block for span in table.spans(client) for block in compute(span, client).blocks()), None)
    if first is None:
        raise InputError(f"{table.name}: not a single row")
    judged_ids = JudgedIds.of(judgments)
    centres = centres_of(first, names)
    work = partial(_read_span, names, table.outcome, table.groups, centres, judged_ids)
    total: Sums | None = None
    judged_rows: list[JudgedRows] = []
    for of_blocks, judged in over_spans(table.spans(client), work, client):
        for sums in of_blocks:
            total = sums if total is None else total.plus(sums, names)
        judged_rows += judged
    if total is None:
        raise InputError(f"{table.name}: its rows can be read only once; a function must return new chunks every time.")
    return _summary(table, total, judged_ids.collect(judged_rows, table.name), first.table[names])


def _read_span(
    features: list[str], outcome: str, groups: str | None, centres: list[float], judged_ids: JudgedIds, span: Span
) -> tuple[list[Sums], list[JudgedRows]]:
    """Sums of each block, and the judged people in all of them, if there is any block."""
    of_blocks, judged = [], []
    for block in span.blocks():
        of_blocks.append(block_sums(block, features, outcome, groups, centres))
        which, rows = judged_ids.among(block)
        judged.append((which, block.start + rows, block.take(features, rows)))
    return of_blocks, [_join(judged)] if judged else []


def _join(batches: Sequence[JudgedRows]) -> JudgedRows:
    which, rows, tables = zip(*batches, strict=True)
    return np.concatenate(which), np.concatenate(rows), pd.concat([part for part in tables if len(part)] or tables[:1])


@dataclass(frozen=True, eq=False)
class JudgedIds:
    """The ids of judged people, to be found among everyone's."""

    ids: pd.Index
    by_position: bool

    @classmethod
    def of(cls, judgments: Judgments | None) -> JudgedIds:
        if judgments is None:
            return cls(pd.Index([], dtype=np.int64), by_position=False)
        return cls(judgments.person_ids(), judgments.by == "position")

    @cached_property
    def _may_be(self) -> NDArray[np.bool_]:
        """By the last bits of a number, whether any of the ids ends so: only then it is looked up, as few others do."""
        marks = np.zeros(1 << (16 * len(self.ids)).bit_length(), dtype=bool)
        marks[self.ids.to_numpy() & (len(marks) - 1)] = True
        return marks

    @cached_property
    def _texts(self) -> pd.Index:
        return pd.Index([text_of(value) for value in self.ids], dtype=object)

    def among(self, block: Block) -> tuple[IntArray, IntArray]:
        """Which of the ids are in this block, and in which of its rows."""
        if not len(self.ids):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        if not (self.by_position or block.has_ids):
            raise InputError("People come in frames without an index: LargeTable(…, id='column') says who they are.")
        numbers = np.arange(block.start, block.start + block.n_rows) if self.by_position else block.ids
        if numbers is not None and isinstance(self.ids.dtype, np.dtype) and self.ids.dtype.kind in "iu":
            rows = places_marked(numbers.astype(np.int64, copy=False), self._may_be)
            return self._known(rows, self.ids.get_indexer(pd.Index(numbers[rows])))
        index = pd.RangeIndex(block.start, block.start + block.n_rows) if self.by_position else block.table.index
        rows = np.arange(block.n_rows)
        if self.by_position or all(map(pd.api.types.is_integer_dtype, (self.ids, index))):
            return self._known(rows, self.ids.get_indexer(index))
        codes, texts = encode(pd.Series(index))  # 12 and "12" are one person
        return self._known(rows, np.append(self._texts.get_indexer(pd.Index(texts, dtype=object)), -1)[codes])

    @staticmethod
    def _known(rows: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
        """Places in the ids, and rows, of those who have one."""
        return place[place >= 0].astype(np.intp), rows[place >= 0]

    def collect(self, batches: Sequence[JudgedRows], name: str) -> pd.DataFrame:
        """The rows of all of them, in the order of the ids; everyone must have been found, once."""
        which, rows, people = _join(batches)
        order = np.argsort(which, kind="stable")
        which, rows = which[order], rows[order]
        twice = np.flatnonzero(which[1:] == which[:-1])
        if len(twice):
            again = twice[0]
            who = self.ids[which[again]]
            raise InputError(
                f"{name}: the id {text_of(who)!r} is there twice, in rows {rows[again]} and {rows[again + 1]} "
                "(counting from 0); every person must be there once."
            )
        if len(which) < len(self.ids):
            missing = np.setdiff1d(np.arange(len(self.ids)), which)
            raise JudgmentsError(f"{name}: judged people who are not in the table: {some(self.ids[missing])}")
        return people.iloc[order].set_axis(self.ids)


def _summary(table: LargeTable, sums: Sums, judged: pd.DataFrame, first: pd.DataFrame) -> TableSummary:
    labels = sums.labels
    if len(labels) < 2:
        raise InputError(f"{table.name}: everyone has the same outcome, {labels[0]!r}: there is nothing to learn from.")
    try:
        outcomes = np.array(sorted(labels), dtype=object if isinstance(labels[0], str) else None)
    except TypeError:
        raise InputError("The outcomes are of different kinds, such as numbers and text. Give one kind.") from None
    columns = tuple(
        _column(position, series, own, sums)
        for position, ((_, series), own) in enumerate(zip(first.items(), sums.columns, strict=True))
    )
    encoder = TableEncoder(columns)
    change = _change(columns, sums)
    nobody = np.zeros(1 + len(sums.keys))
    of_cell = np.array(
        [change @ sums.by_cell.get((label, group), nobody) for group in sums.groups for label in outcomes.tolist()]
    )
    people = of_cell[:, 0]
    return TableSummary(
        n_rows=sums.n_rows,
        encoder=encoder,
        gram=change @ sums.gram @ change.T,
        outcomes=outcomes,
        outcome_sums=np.array([of_cell[y :: len(outcomes)].sum(axis=0) for y in range(len(outcomes))]),
        judged=judged,
        groups=sums.groups,
        cell_people=people,
        cell_means=of_cell / np.maximum(people, 1.0)[:, None],
        sample=encoder.encode(first),
    )


def _column(position: int, first: pd.Series[Any], own: NumberSums, sums: Sums) -> NumberColumn | CategoryColumn:
    """Learn the encoding of a whole table, as :class:`TableEncoder` does, from its first rows."""
    name, marks_missing = str(first.name), own.n_missing > 0
    if own.kind is None or own.kind == "category":
        categories = sorted(category for where, kind, category in sums.keys if where == position and kind == CATEGORY)
        places = [1 + sums.keys.index((position, CATEGORY, category)) for category in categories]
        counts = sums.gram[places, places].round().astype(np.int64)
        odd = nearly(categories, counts)
        if odd is not None and not isinstance(first.dtype, pd.CategoricalDtype):
            kind, others = odd
            words = nearly_in_words(name, kind, len(categories), int(counts[others].sum()), int(counts.sum()))
            if others.any():
                common = categories[int(np.argmax(np.where(others, counts, -1)))]
                words += f" The commonest is {common!r}; LargeTable(…, na_values=[{common!r}]) makes it missing."
            if kind == "number":
                words += f" LargeTable(…, numeric=[{name!r}]) reads numbers, and what is none as missing."
            else:
                words += " Keep it as dates in the file to have it read so."
            warn(words)
        return CategoryColumn(name, tuple(categories), marks_missing)
    known = sums.n_rows - own.n_missing
    if known == 0:
        return NumberColumn(name, 0.0, 1.0, 0.0, marks_missing, own.kind)
    at = 1 + sums.keys.index((position, NUMBER, ""))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sums.gram[0, at] / known
        variance = max(sums.gram[at, at] / known - mean * mean, 0.0)
    spread = 0.0 if own.least == own.greatest else float(np.sqrt(variance))
    if spread == 0.0 and own.least < own.greatest and own.greatest - own.least < _LEAST_SPREAD:
        raise InputError(
            f"Column {name!r} holds numbers that differ by less than {_LEAST_SPREAD:g}, whose squares are 0: give it "
            "in smaller units."
        )
    scale = scale_of(name, spread, max(abs(own.least), abs(own.greatest)))
    return NumberColumn(name, own.least, scale, fill_of(own.high / known, own.kind), marks_missing, own.kind)


def _change(columns: Sequence[NumberColumn | CategoryColumn], sums: Sums) -> FloatArray:
    """The matrix that makes encoded features of raw ones, both with a 1 in front.

    With ``v = x - centre`` (0 where missing) and ``u`` the mark of a missing value, an encoded number is
    ``(v + (centre - shift) + (fill - centre) u) / scale``.
    """
    place: dict[Key, int] = {key: 1 + i for i, key in enumerate(sums.keys)}
    lines = [{0: 1.0}]
    for position, column in enumerate(columns):
        missing = place.get((position, MISSING, ""))
        if isinstance(column, NumberColumn):
            centre = sums.centres[position]
            line = {0: (centre - column.shift) / column.scale}
            if (position, NUMBER, "") in place:
                line[place[position, NUMBER, ""]] = 1.0 / column.scale
            if missing is not None:
                line[missing] = (column.fill - centre) / column.scale
            lines.append(line)
        else:
            lines += [{place[position, CATEGORY, category]: 1.0} for category in column.categories]
        if column.marks_missing and missing is not None:
            lines.append({missing: 1.0})
    change = np.zeros((len(lines), 1 + len(sums.keys)))
    for row, line in enumerate(lines):
        for at, value in line.items():
            change[row, at] = value
    return change
