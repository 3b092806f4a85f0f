"""One pass over a large table: pieces that are read one by one, in threads here or by the workers of a dask cluster.

Rows are numbered through the whole table and cut into blocks of :data:`ROWS`. Every number that a pass adds up is a sum
over a block, and blocks are added in their order: so nothing depends on how the work is split into spans.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

import joblib
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise.errors import InputError
from fairwise.learning.large.blocks import ArrowBlock, Block, FrameBlock
from fairwise.tables.columns import Reading, to_pandas

if TYPE_CHECKING:
    from distributed import Client


Item = TypeVar("Item")
Result = TypeVar("Result")
_AHEAD = 2  # spans under way for each worker: enough to keep it busy, few enough to keep memory small
ROWS = 1 << 16


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

    reading: Reading = field(default_factory=Reading)

    def blocks(self) -> Iterator[Block]:
        waiting: list[pa.RecordBatch] = []
        at, count = self.start, 0
        for batch in self._batches():
            waiting.append(batch)
            count += len(batch)
            while count >= ROWS or (count and at + count == self.stop):
                table = self._join([pa.Table.from_batches([batch]) for batch in waiting])
                block, rest = table.slice(0, ROWS), table.slice(ROWS)
                yield ArrowBlock(at, self._as_asked(block), self.index)
                at += len(block)
                waiting, count = rest.to_batches(), len(rest)

    def _join(self, tables: list[pa.Table]) -> pa.Table:
        """One table, also where a column is of whole numbers in one file and of others in the next."""
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            files = " and ".join(dict.fromkeys(group.path for group in self.groups))
            raise InputError(f"{files}: a column is of different types in different files: {error}") from None

    def _as_asked(self, block: pa.Table) -> pa.Table:
        """The block with columns of text read as the table is to be read."""
        for place, name in enumerate(block.column_names if self.reading else ()):
            kind = block.field(place).type
            if name != self.index and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                column = self.reading.read(block.column(place).to_pandas().rename(name))
                block = block.set_column(place, name, pa.array(column, from_pandas=True))
        return block

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """What lies between start and stop, in batches of any length."""
        for group in self.groups:
            at = group.start
            try:
                with pq.ParquetFile(group.path, pre_buffer=False) as file:  # no more than is asked for
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
            yield FrameBlock(self.start + at, part.iloc[at : at + ROWS])


def align(start: int, stop: int, n_rows: int) -> tuple[int, int]:
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


def checked(chunk: object) -> pd.DataFrame:
    table = to_pandas(chunk)
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"Chunks of people must be DataFrames, not {type(chunk).__name__}.")
    return table


def over_spans(spans: Iterable[Span], work: Callable[[Span], Result], client: Client | None = None) -> Iterator[Result]:
    """``work`` on every span; results come in the order of the spans, whoever finishes first.

    On a cluster a span that was lost with its worker is done again by another one, from the same rows.
    """
    if client is not None:
        if not hasattr(client, "submit"):
            raise InputError(f"client={client!r} is not a client of dask: give distributed.Client(address).")
        yield from _on_workers(spans, work, client)
        return
    n_threads = joblib.cpu_count()
    with ThreadPoolExecutor(n_threads) as pool:
        yield from _in_order(spans, lambda span: pool.submit(work, compute(span)), _AHEAD * n_threads)


def _in_order(items: Iterable[Item], start: Callable[[Item], Future[Result]], ahead: int) -> Iterator[Result]:
    running: deque[Future[Result]] = deque()
    try:
        for item in items:
            running.append(start(item))
            if len(running) >= ahead:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()


def _on_workers(spans: Iterable[Span], work: Callable[[Span], Result], client: Client) -> Iterator[Result]:
    dask = load_dask()
    if isinstance(spans, list) and any(is_pending(span) for span in spans):
        # The tables are dask's own: computed by the workers that get the work, and planned all at once.
        planned = [
            dask.delayed(_on_tables, pure=False)(work, span.tables, span.first, span.start, span.stop) for span in spans
        ]
        yield from _in_order(client.compute(planned), lambda future: future, len(planned))
        return
    ahead = _AHEAD * max(1, len(client.nthreads()))
    # Rows that are only here go out with the work itself, or they would be lost with a worker; dask need not warn.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
        yield from _in_order(spans, lambda span: client.submit(work, span, pure=False), ahead)


def _on_tables(work: Callable[[Span], Result], tables: list[pd.DataFrame], first: int, start: int, stop: int) -> Result:
    return work(FrameSpan(tables, first, start, stop))


def default_client() -> Client | None:
    """The client that dask itself would use, if there is one: tables that it keeps can be had from nobody else."""
    distributed: Any = sys.modules.get("distributed")  # an extra, and loaded by whoever uses it
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def load_dask() -> Any:
    """The package itself, once somebody gave what only it can compute."""
    import dask  # an extra

    return dask


def is_pending(span: Span) -> TypeGuard[FrameSpan]:
    """Whether its tables are still dask's plans."""
    return isinstance(span, FrameSpan) and any(hasattr(table, "dask") for table in span.tables)


def compute(span: Span, client: Client | None = None) -> Span:
    """A span whose tables are here, computed by dask where they are not yet."""
    if not is_pending(span):
        return span
    client = client or default_client()
    if client is not None:
        tables = client.gather(client.compute(span.tables))
    else:
        (tables,) = load_dask().compute(span.tables, scheduler="synchronous")
    return FrameSpan(list(tables), span.first, span.start, span.stop)


@contextmanager
def joblib_on(client: Client | None) -> Iterator[None]:
    """Within this, whatever is done through joblib is done by the client's workers; without a client, nothing changes.

    That is how a scikit-learn estimator with ``n_jobs`` is fitted by a cluster.
    """
    if client is None:
        yield
        return
    with joblib.parallel_config(backend="dask", client=client):
        yield
