"""What the first pass adds up: everything that encoding, scaling and the regression need to know of all rows.

How a column will be encoded is known only when all rows have been seen, so sums are taken of raw features: 1, every
number minus a provisional centre, a mark where it is missing, a mark for each category. Encoded features are linear in
these, so the encoded Gram matrix follows from the raw one (``first_pass``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from fairwise.errors import InputError, quote
from fairwise.learning import row_kernels
from fairwise.learning.encoding import LARGEST_EXACT, MAX_CATEGORIES, numbers_of
from fairwise.learning.inputs import refuse_times
from fairwise.learning.labels import MOST_LABELS
from fairwise.learning.large.blocks import Block
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.tables.columns import PLURALS, Kind, kind_of
from fairwise.tables.rows import text_of

_TILE = 4000  # rows whose raw features fit into a processor's own cache; no power of two, or they would share places
_FEW = 64  # so few raw features are multiplied column by column
NUMBER, CATEGORY, MISSING = "number", "category", "missing"
Key = tuple[int, str, str]
"""Position of the column, one of the three above, and the category."""

Label: TypeAlias = Any
Cell = tuple[Label, str]
"""An outcome as the table has it, and a group ("" where there are none)."""


@dataclass(frozen=True, eq=False)
class NumberSums:
    """Of one column: whether it holds numbers, their least and greatest, and their sum as two floats."""

    kind: Kind | None  # None where nothing is there that could tell
    n_missing: int
    least: float = np.inf
    greatest: float = -np.inf
    high: float = 0.0
    low: float = 0.0

    @property
    def is_number(self) -> bool:
        """Whether values are encoded as numbers."""
        return self.kind not in (None, "category")

    @property
    def tells(self) -> bool:
        """Whether a value was seen; a column in which everything is missing may be of numbers or of anything."""
        return self.kind == "category" or (self.is_number and self.least <= self.greatest)

    def plus(self, other: NumberSums, name: str, where: str) -> NumberSums:
        kinds = {sums.kind for sums in (self, other) if sums.tells}
        if len(kinds) > 1:
            words = ["text" if kind == "category" else PLURALS[kind] for kind in PLURALS if kind in kinds]
            raise InputError(f"Column {name!r} holds {words[0]} in some rows and {words[1]} in others ({where}).")
        high, low = row_kernels.add_pairs(self.high, self.low, other.high, other.low)
        known = kinds.pop() if kinds else other.kind or self.kind
        least, greatest = min(self.least, other.least), max(self.greatest, other.greatest)
        return NumberSums(known, self.n_missing + other.n_missing, least, greatest, float(high), float(low))


ColumnRead = tuple[NumberSums, Any]
"""A column's sums, and its values: numbers, or codes and categories."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows ``start`` to ``start + n_rows``.

    ``gram`` is ``Z.T Z`` over the raw features, 1 first and then ``keys``; ``by_cell`` the sum of ``Z`` over the rows
    of each outcome and group ("" where there are no groups).
    """

    start: int
    n_rows: int
    centres: Sequence[float]
    columns: list[NumberSums]
    keys: list[Key]
    gram: FloatArray
    by_cell: dict[Cell, FloatArray]

    @property
    def labels(self) -> list[Label]:
        """The outcomes that occur, in the order of their first rows."""
        return list(dict.fromkeys(label for label, _ in self.by_cell))

    @property
    def groups(self) -> list[str]:
        """The groups that occur, sorted."""
        return sorted({group for _, group in self.by_cell})

    def plus(self, other: Sums, names: Sequence[str]) -> Sums:
        """The sums over both."""
        where = f"rows {other.start} to {other.start + other.n_rows - 1}, counting from 0"
        columns = [
            mine.plus(theirs, name, where)
            for mine, theirs, name in zip(self.columns, other.columns, names, strict=True)
        ]
        keys = list(dict.fromkeys([*self.keys, *other.keys]))
        cells = list(dict.fromkeys([*self.by_cell, *other.by_cell]))
        _refuse_many_labels({label for label, _ in cells})
        _refuse_many_categories(keys, names)
        mine, theirs = self._widen(keys), other._widen(keys)
        nothing = np.zeros(1 + len(keys))
        by_cell = {cell: mine.by_cell.get(cell, nothing) + theirs.by_cell.get(cell, nothing) for cell in cells}
        return Sums(
            self.start, self.n_rows + other.n_rows, self.centres, columns, keys, mine.gram + theirs.gram, by_cell
        )

    def _widen(self, keys: list[Key]) -> Sums:
        """The same sums for more raw features, which are 0 in all of these rows."""
        if keys == self.keys:
            return self
        place = {key: 1 + i for i, key in enumerate(keys)}
        at = np.array([0, *(place[key] for key in self.keys)], dtype=np.intp)
        gram = np.zeros((1 + len(keys), 1 + len(keys)))
        gram[np.ix_(at, at)] = self.gram
        by_cell = {cell: np.zeros(1 + len(keys)) for cell in self.by_cell}
        for cell, values in self.by_cell.items():
            by_cell[cell][at] = values
        return Sums(self.start, self.n_rows, self.centres, self.columns, keys, gram, by_cell)


def block_sums(
    block: Block, features: Sequence[str], outcome: str, groups: str | None, centres: Sequence[float]
) -> Sums:
    """Sums over one block of rows; ``centres`` is roughly the least number of each column, for precision only."""
    n = block.n_rows
    read = [_read(block, name) for name in features]
    columns = [sums for sums, _ in read]
    keys: list[Key] = []
    for position, (sums, values) in enumerate(read):
        if sums.is_number:
            keys.append((position, NUMBER, ""))
        else:
            keys += [(position, CATEGORY, category) for category in values[1]]
        if sums.n_missing:
            keys.append((position, MISSING, ""))
    _refuse_many_categories(keys, features)
    cell, cells = _cells(block, outcome, groups)
    k = 1 + len(keys)
    width = k if k <= _FEW else -(-k // row_kernels.WIDTH) * row_kernels.WIDTH
    gram, by_cell = np.zeros((k, width)), np.zeros((len(cells), width))
    space = np.zeros((width, min(_TILE, n)))
    for start_of_tile in range(0, n, _TILE):
        tile = slice(start_of_tile, min(start_of_tile + _TILE, n))
        raw = space if tile.stop - tile.start == space.shape[1] else np.zeros((width, tile.stop - tile.start))
        _fill_raw(read, centres, tile, raw)
        if k <= _FEW:
            row_kernels.add_column_products(raw, cell[tile], gram, by_cell)
        else:
            row_kernels.add_products(np.ascontiguousarray(raw.T), k, cell[tile], gram, by_cell)
    return Sums(block.start, n, centres, columns, keys, gram[:, :k], dict(zip(cells, by_cell[:, :k], strict=True)))


def _fill_raw(read: list[ColumnRead], centres: Sequence[float], tile: slice, raw: FloatArray) -> None:
    """Write the raw features of some rows ``(width, rows)``, 1 first; behind the last feature nothing is written."""
    raw[0] = 1.0
    at = 1
    for position, (sums, values) in enumerate(read):
        if sums.is_number:
            row_kernels.fill_number(values[tile], float(centres[position]), raw[at])
            missing = np.isnan(values[tile]) if sums.n_missing else None
            at += 1
        else:
            codes, categories = values[0][tile], values[1]
            known = np.flatnonzero(codes >= 0)
            raw[at : at + len(categories)] = 0.0
            raw[at + codes[known], known] = 1.0
            missing = codes < 0
            at += len(categories)
        if sums.n_missing:
            raw[at] = missing
            at += 1


def centres_of(block: Block, features: Sequence[str]) -> list[float]:
    """The least number of each column, 0 where there is none."""
    columns = [_read(block, name)[0] for name in features]
    return [sums.least if sums.is_number and np.isfinite(sums.least) else 0.0 for sums in columns]


def group_codes(groups: pd.Series, known: Sequence[str]) -> IntArray:
    """Each row's group as a number."""
    texts = pd.Index(_group_texts(groups).to_numpy(dtype=object))
    return np.asarray(pd.Index(np.array(known, dtype=object)).get_indexer(texts))


def _group_texts(groups: pd.Series) -> pd.Series[str]:
    missing = groups.isna().to_numpy()
    if missing.any():
        raise InputError(f"groups are missing for person {quote(groups.index[missing][0])}.")
    codes, values = pd.factorize(groups)  # 1 and 1.0 are one group
    return pd.Series(np.array([text_of(value) for value in values], dtype=object)[codes], index=groups.index)


def _read(block: Block, name: str) -> ColumnRead:
    plain = block.numbers(name)
    if plain is not None:
        values = plain.astype(float, copy=False)
        n_missing, *sums = row_kernels.column_sums(values)
        if sums[0] > -LARGEST_EXACT and sums[1] < LARGEST_EXACT:
            return NumberSums("number", int(n_missing), *(float(value) for value in sums)), values
    series = block.table[name]
    kind = kind_of(series)
    if kind != "category":
        values = numbers_of(series, kind)
        n_missing, *sums = row_kernels.column_sums(values)
        return NumberSums(kind, int(n_missing), *(float(value) for value in sums)), values
    codes, different = pd.factorize(series)  # -1 where nothing is
    # 1 and "1" are two values with one text; None at the end keeps -1 where it was.
    texts = np.array([*(str(value) for value in different), None], dtype=object)
    merged, categories = pd.factorize(texts)
    codes = merged[codes]
    return NumberSums("category" if len(categories) else None, int((codes < 0).sum())), (
        codes.astype(np.intp),
        [str(text) for text in categories],
    )


def _cells(block: Block, outcome: str, groups: str | None) -> tuple[IntArray, list[Cell]]:
    """In which cell each row is, and outcome and group of each cell."""
    label, labels = _labels(block, outcome)
    if groups is None:
        return label, [(value, "") for value in labels]
    group, names = pd.factorize(_group_texts(block.table[groups]))
    return label * len(names) + group, [(value, str(name)) for value in labels for name in names]


def _labels(block: Block, outcome: str) -> tuple[IntArray, list[Label]]:
    plain = block.numbers(outcome)
    if plain is not None and plain.dtype == np.int64:
        codes, labels = row_kernels.label_codes(plain, MOST_LABELS)
        _refuse_many_labels(labels)
        return codes, labels.tolist()
    series = block.table[outcome]
    missing = series.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"The outcome is missing for person {quote(series.index[missing][0])}. Every person needs one."
        )
    refuse_times(series)
    codes, labels = pd.factorize(series)
    _refuse_many_labels(labels)
    return codes.astype(np.intp), [label.item() if isinstance(label, np.generic) else label for label in labels]


def _refuse_many_labels(labels: Sized) -> None:
    if len(labels) > MOST_LABELS:
        raise InputError(f"The outcomes have more than {MOST_LABELS} different values, which are too many for labels.")


def _refuse_many_categories(keys: list[Key], names: Sequence[object]) -> None:
    for position, number in Counter(position for position, kind, _ in keys if kind == CATEGORY).items():
        if number > MAX_CATEGORIES:
            raise InputError(
                f"Column {names[position]!r} has more than {MAX_CATEGORIES} different values. Is it a name or a free "
                "text? Leave it out, or group its values."
            )
