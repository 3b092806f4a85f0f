"""Some rows of a large table: as a DataFrame, and where columns hold nothing but numbers, as these lie in memory.

Making a DataFrame of a block takes about as long as reading it, so it is made only if somebody asks for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from fairwise.learning.oracles.base import IntArray
from fairwise.tables.columns import has_ids


class Block(ABC):
    """Rows ``start``, ``start + 1``, … of the table."""

    def __init__(self, start: int, n_rows: int) -> None:
        self.start, self.n_rows = start, n_rows

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The rows, indexed by id."""

    @property
    @abstractmethod
    def ids(self) -> NDArray[Any] | None:
        """Everyone's id, where ids are whole numbers; otherwise None."""

    @abstractmethod
    def numbers(self, column: str) -> NDArray[Any] | None:
        """The numbers of a column, not a copy, where it holds whole numbers or floats; otherwise None.

        Where a float is missing there is NaN.
        """

    @property
    def has_ids(self) -> bool:
        return True

    def take(self, columns: Sequence[str], rows: IntArray) -> pd.DataFrame:
        """Some columns of some rows, whatever their index."""
        plain = {name: self.numbers(name) for name in columns}
        if any(values is None for values in plain.values()):
            return self.table[list(columns)].iloc[rows]
        return pd.DataFrame({name: values[rows] for name, values in plain.items() if values is not None}, copy=False)


class FrameBlock(Block):
    """Of a DataFrame that is there."""

    def __init__(self, start: int, table: pd.DataFrame) -> None:
        super().__init__(start, len(table))
        self._table = table

    @property
    def table(self) -> pd.DataFrame:
        return self._table

    @property
    def ids(self) -> NDArray[Any] | None:
        index = self._table.index
        return index.to_numpy() if isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu" else None

    @property
    def has_ids(self) -> bool:
        return has_ids(self._table)

    def numbers(self, column: str) -> NDArray[Any] | None:
        series = self._table[column]
        if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in "iuf":
            return None
        values = series.to_numpy()
        return values if values.flags.c_contiguous else None


class ArrowBlock(Block):
    """Of columns that were read from a file."""

    def __init__(self, start: int, columns: pa.Table, index: str | range) -> None:
        super().__init__(start, len(columns))
        self._columns, self._index = columns, index

    @cached_property
    def table(self) -> pd.DataFrame:
        frame: pd.DataFrame = self._columns.to_pandas(ignore_metadata=True, split_blocks=True)  # Arrow's own memory
        numbers = self._numbers
        return frame.set_index(self._index) if numbers is None else frame.set_axis(pd.RangeIndex(numbers))

    @property
    def ids(self) -> NDArray[Any] | None:
        numbers = self._numbers
        if numbers is not None:
            return np.arange(numbers.start, numbers.stop, numbers.step)
        ids = self.numbers(str(self._index))
        return ids if ids is not None and ids.dtype.kind in "iu" else None

    @property
    def _numbers(self) -> range | None:
        """Ids that are numbers in a row; otherwise they are a column."""
        return self._index[self.start : self.start + self.n_rows] if isinstance(self._index, range) else None

    def numbers(self, column: str) -> NDArray[Any] | None:
        chunks = self._columns.column(column)
        if chunks.null_count or not (kinds.is_integer(chunks.type) or kinds.is_floating(chunks.type)):
            return None
        chunk = chunks.chunk(0) if chunks.num_chunks == 1 else pa.concat_arrays(chunks.chunks)
        values: NDArray[Any] = chunk.to_numpy(zero_copy_only=True)
        return values
