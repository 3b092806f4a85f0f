"""Pieces of a large table that can be read one by one, here or on another machine.

Rows are numbered through the whole table and cut into blocks of :data:`ROWS`. Every number that a pass adds up is a sum
over a block, and blocks are added in their order: so nothing depends on how the work is split into spans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Block:
    """Rows ``start``, ``start + 1``, … of the table, indexed by id."""

    start: int
    table: pd.DataFrame


class Span(Protocol):
    """Some whole blocks; read where the work is done."""

    def blocks(self) -> Iterator[Block]: ...


@dataclass(frozen=True, eq=False)
class RowGroup:
    """A part of a Parquet file, and where in the table it begins."""

    path: str
    number: int
    start: int
    rows: int


@dataclass(frozen=True, eq=False)
class ParquetSpan:
    """Blocks from row ``start`` to row ``stop``, and the parts of files they lie in."""

    groups: tuple[RowGroup, ...]
    start: int
    stop: int
    columns: tuple[str, ...]
    index: str | range
    """The column with the ids, or the ids themselves where they are numbers in a row."""

    def blocks(self) -> Iterator[Block]:
        import pyarrow as pa

        waiting: list[Any] = []
        at, count = self.start, 0
        for batch in self._batches():
            waiting.append(batch)
            count += len(batch)
            while count >= ROWS or (count and at + count == self.stop):
                table = self._joined([pa.Table.from_batches([batch]) for batch in waiting])
                block, rest = table.slice(0, ROWS), table.slice(ROWS)
                yield Block(at, self._frame(block, at))
                at += len(block)
                waiting, count = rest.to_batches(), len(rest)

    def _joined(self, tables: list[Any]) -> Any:
        """One table, also where a column is of whole numbers in one file and of others in the next."""
        import pyarrow as pa

        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            files = " and ".join(dict.fromkeys(group.path for group in self.groups))
            raise InputError(f"{files}: a column is of different types in different files: {error}") from None

    def _batches(self) -> Iterator[Any]:
        """What lies between start and stop, in batches of any length."""
        import pyarrow.parquet as pq

        for group in self.groups:
            at = group.start
            try:
                with pq.ParquetFile(group.path) as file:
                    missing = [name for name in self.columns if name not in file.schema_arrow.names]
                    if missing:
                        raise InputError(f"{group.path}: there is no column {missing[0]!r}")
                    batches = file.iter_batches(ROWS, [group.number], list(self.columns), use_threads=False)
                    for batch in batches:
                        low, high = max(self.start - at, 0), min(self.stop - at, len(batch))
                        at += len(batch)
                        if low < high:
                            yield batch.slice(low, high - low)
                        if at >= self.stop:
                            return
            except FileNotFoundError:
                raise InputError(f"{group.path}: not there (workers need it at the same path)") from None
            except (OSError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"{group.path}: cannot be read as Parquet: {error}") from None

    def _frame(self, table: Any, start: int) -> pd.DataFrame:
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
        if isinstance(self.index, range):
            return frame.set_axis(pd.RangeIndex(self.index[start : start + len(frame)]))
        return frame.set_index(self.index)


@dataclass(frozen=True, eq=False)
class FrameSpan:
    """Blocks from row ``start`` to row ``stop`` of tables that follow one another, the first beginning at ``first``."""

    tables: list[pd.DataFrame] = field(repr=False)
    first: int
    start: int
    stop: int

    def blocks(self) -> Iterator[Block]:
        part = pd.concat(self.tables) if len(self.tables) > 1 else self.tables[0]
        part = part.iloc[self.start - self.first : self.stop - self.first]
        for at in range(0, len(part), ROWS):
            yield Block(self.start + at, part.iloc[at : at + ROWS])


def aligned(start: int, stop: int, n_rows: int) -> tuple[int, int]:
    """From the first block that begins in these rows to the end of the last that does."""
    return -(-start // ROWS) * ROWS, min(-(-stop // ROWS) * ROWS, n_rows)


def single_blocks(tables: Iterable[pd.DataFrame]) -> Iterator[FrameSpan]:
    """One span for each block of tables that come one after another; no more than two of them are held at a time."""
    held: list[pd.DataFrame] = []
    at, count = 0, 0
    for table in tables:
        held.append(checked(table))
        count += len(table)
        if count < ROWS:
            continue
        joined = pd.concat(held) if len(held) > 1 else table
        whole = count - count % ROWS
        for cut in range(0, whole, ROWS):
            yield FrameSpan([joined.iloc[cut : cut + ROWS]], at, at, at + ROWS)
            at += ROWS
        held, count = [joined.iloc[whole:]], count - whole
    if count:
        joined = pd.concat(held)
        yield FrameSpan([joined], at, at, at + count)


def checked(chunk: Any) -> pd.DataFrame:
    if not isinstance(chunk, pd.DataFrame):
        raise InputError(f"Chunks of people must be DataFrames, not {type(chunk).__name__}.")
    return chunk
