"""A large table of people: where its rows come from, and which columns are what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from fairwise.errors import InputError, quote
from fairwise.learning.large import passes
from fairwise.learning.large.passes import FrameSpan, ParquetSpan, RowGroup, Span, default_client
from fairwise.tables.columns import Reading, to_pandas, used_columns
from fairwise.tables.rows import require_column

if TYPE_CHECKING:
    from distributed import Client


_BLOCKS = 4  # small parts of a file are read together until they have so many blocks


class LargeTable:
    """People who are read in blocks, never all at once.

    Parameters
    ----------
    source : path, dask DataFrame, or DataFrames one after another
        A Parquet file or a folder of them (in the order of their names); a dask DataFrame; a list of DataFrames (of
        pandas, polars, pyarrow …) or a function that returns an iterator over them. An iterator that can be used only
        once is kept in a temporary folder, because the rows are read twice.
    outcome : str
        The column to predict.
    id : str, optional
        The column with each person's id; by default the index (of a file that was written without one: row numbers).
    columns, drop : lists of str, optional
        Learn from these columns only; leave these out.
    groups : str, optional
        A column with each person's group, also if it is not learned from.
    numeric : list of str, optional
        Columns of text to read as numbers; whatever else stands there is missing.
    na_values : list of str, optional
        Texts that mean a missing value, in any column but the id.
    """

    def __init__(
        self,
        source: Any,
        *,
        outcome: str,
        id: str | None = None,  # noqa: A002
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        groups: str | None = None,
        numeric: Sequence[str] = (),
        na_values: Sequence[str] = (),
    ) -> None:
        for what, name in (("outcome", outcome), ("id", id), ("groups", groups)):
            if not isinstance(name, str) and (name is not None or what == "outcome"):
                raise InputError(
                    f"With a table that is read in blocks {what} is the name of a column, not {type(name).__name__}."
                )
        for what, names in (("columns", columns), ("drop", drop), ("numeric", numeric), ("na_values", na_values)):
            if isinstance(names, str) or (names is not None and len(set(names)) < len(names)):
                raise InputError(f"{what}={quote(names)}: give a list of columns, each once.")
        self.source, self.outcome, self.id, self.groups = source, outcome, id, groups
        self._only, self._drop = None if columns is None else tuple(columns), tuple(drop)
        self._reading = Reading(tuple(numeric), tuple(na_values))
        self._lengths: list[int] | None = None
        self._whole: LargeTable | None = None  # of which this is a part: a temporary folder lives as long as that
        self._kept: Path | None = None
        if isinstance(source, Iterator):
            self._kept = Path(mkdtemp(prefix="fairwise-"))
            finalize(self, rmtree, self._kept, ignore_errors=True)
            for number, chunk in enumerate(source):
                passes.checked(chunk).to_pickle(self._kept / f"{number:09}")

    def __repr__(self) -> str:
        return f"LargeTable({self.name}, outcome={self.outcome!r})"

    @property
    def name(self) -> str:
        """What errors call it."""
        return fspath(self.source) if isinstance(self.source, str | PathLike) else "people"

    def read_only(self, columns: Sequence[str], *, id: str | None) -> None:  # noqa: A002
        """Read these columns and the outcome; to be said before anything is read."""
        self._only, self.id = tuple(columns), id

    def only_features(self, features: Sequence[str] | None) -> LargeTable:
        """The same table, of which only these columns are learned from; None: all that are."""
        if features is None:
            return self
        used = tuple(used_columns(self.features, features))
        part = copy(self)
        vars(part).update(_only=used, _whole=self, features=used)
        return part

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns to learn from, in the order of the table."""
        header = self.header
        named = (self.outcome, *(self._only or ()), *self._drop, *self._reading.numeric)
        for name in (*named, *(name for name in (self.id, self.groups) if name is not None)):
            require_column(name, header, self.name)
        twice = next((name for name in header if header.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{self.name}: two columns are called {twice!r}.")
        others = {self.outcome, self.id, self._stored_index, *self._drop}
        return tuple(name for name in (header if self._only is None else self._only) if name not in others)

    def kind_of(self, column: str) -> str:
        """What a column of a Parquet file holds: "integer", "number", "boolean" or "text"."""
        if column not in self.header:
            return "text"
        arrow_type = self._schema.field(column).type
        tests = {"boolean": kinds.is_boolean, "integer": kinds.is_integer, "number": kinds.is_floating}
        return next((name for name, test in tests.items() if test(arrow_type)), "text")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, the index apart."""
        if self.groups is not None and self.groups == (self.id or self._stored_index):
            raise InputError(f"{self.name}: {self.groups!r} is everyone's id, and so cannot be their group.")
        more = (self.outcome,) if self.groups in {None, self.outcome, *self.features} else (self.outcome, self.groups)
        return (*self.features, *(str(name) for name in more))

    def spans(self, client: Client | None = None) -> Iterable[Span]:
        """The table in pieces, from the first row to the last; asked again, again from the first."""
        if isinstance(self.source, str | PathLike):
            return self._parquet_spans()
        if is_dask(self.source):
            return self._dask_spans(client)
        return passes.single_blocks(
            _tidy(chunk, self.columns, self.id, self.name, self._reading) for chunk in self._chunks()
        )

    def _parquet_spans(self) -> list[Span]:
        n_rows = sum(group.rows for group in self._row_groups)
        index: str | range = self._numbering(n_rows)
        if self.id is not None or self._stored_index is not None:
            index = str(self.id or self._stored_index)
        read = self.columns if isinstance(index, range) else (*self.columns, index)
        spans: list[Span] = []
        start, stop = 0, 0
        for group in self._row_groups:
            stop = group.start + group.rows
            if stop - start >= _BLOCKS * passes.ROWS or stop == n_rows:
                low, high = passes.align(start, stop, n_rows)
                within = tuple(g for g in self._row_groups if g.start < high and g.start + g.rows > low)
                if low < high:
                    spans.append(ParquetSpan(within, low, high, read, index, self._reading))
                start = stop
        return spans

    def _dask_spans(self, client: Client | None) -> list[Span]:
        """Spans whose tables are still to be computed: dask does that where it runs the work on them."""
        delayed = passes.load_dask().delayed
        partitions = [
            delayed(_tidy)(part, self.columns, self.id, self.name, self._reading) for part in self.source.to_delayed()
        ]
        if self._lengths is None:  # where a block begins is known only from the lengths of all before it
            lengths = self.source.map_partitions(len)
            client = client or default_client()
            self._lengths = list(lengths.compute() if client is None else client.compute(lengths).result())
        ends = np.cumsum(self._lengths).tolist()
        starts = [0, *ends[:-1]]
        spans: list[Span] = []
        for start, stop in zip(starts, ends, strict=True):
            low, high = passes.align(start, stop, ends[-1])
            within = [i for i, (first, end) in enumerate(zip(starts, ends, strict=True)) if first < high and end > low]
            if low < high:
                spans.append(FrameSpan([partitions[i] for i in within], starts[within[0]], low, high))
        return spans

    def _chunks(self) -> Iterator[object]:
        if self._kept is not None:
            paths = sorted(self._kept.iterdir())
            return (pd.read_pickle(path) for path in paths)  # noqa: S301  (written by us a moment ago)
        source = self.source() if callable(self.source) else self.source
        if not isinstance(source, Iterable):
            raise InputError(f"People cannot be read from {quote(self.source)}.")
        return iter(source)

    @cached_property
    def header(self) -> list[str]:
        if isinstance(self.source, str | PathLike):
            return [str(name) for name in self._schema.names]
        if is_dask(self.source):
            names = list(self.source.columns)
        else:
            first = next(self._chunks(), None)
            if first is None:
                raise InputError(f"{self.name}: not a single row")
            names = list(passes.checked(first).columns)
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"{self.name}: columns must be named by text, not {quote(name)}.")
        return names

    @cached_property
    def _files(self) -> list[Path]:
        path = Path(self.source).absolute()  # workers may run in another folder
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: a folder without any .parquet file")
        return files

    @cached_property
    def _schema(self) -> pa.Schema:
        return _open(self._files[0]).schema_arrow

    @cached_property
    def _row_groups(self) -> list[RowGroup]:
        groups, start = [], 0
        for path in self._files:
            metadata = _open(path).metadata
            for number in range(metadata.num_row_groups):
                rows = metadata.row_group(number).num_rows
                groups.append(RowGroup(str(path), number, start, rows))
                start += rows
        if start == 0:
            raise InputError(f"{self.name}: not a single row")
        return groups

    @cached_property
    def _stored_index(self) -> str | None:
        """The column that pandas wrote its index to, if it did."""
        names = _index_columns(self._schema) if isinstance(self.source, str | PathLike) else []
        return names[0] if len(names) == 1 and isinstance(names[0], str) else None

    def _numbering(self, n_rows: int) -> range:
        """Ids that are numbers in a row, as pandas wrote them down; otherwise rows are counted from 0."""
        first, *others = (_range_written(_open(path)) for path in self._files)
        if first is None:
            return range(n_rows)
        whole = range(first.start, first.start + first.step * n_rows, first.step)
        at = len(first)
        for path, own in zip(self._files[1:], others, strict=True):
            if own is None or (len(own) and own not in (whole[at : at + len(own)], range(len(own)))):
                raise InputError(
                    f"{path}: its people are numbered {own or 'otherwise'}, which does not go on from the files before "
                    "it (in the order of their names). Write the ids as a column: LargeTable(..., id='column')."
                )
            at += len(own)
        return whole


def large_table(people: object, outcome: Any) -> LargeTable | None:
    """People given in a form that is read in blocks, as such a table; None for tables in memory."""
    if isinstance(people, LargeTable):
        if outcome is not None and not (isinstance(outcome, str) and outcome == people.outcome):
            raise InputError(f"{people!r} has its outcome already: give None for y.")
        return people
    return LargeTable(people, outcome=outcome) if is_in_parts(people) else None


def is_in_parts(people: object) -> bool:
    """Whether this is a form in which people are read in blocks."""
    in_chunks = isinstance(people, list | tuple) and bool(people) and isinstance(to_pandas(people[0]), pd.DataFrame)
    return in_chunks or is_dask(people) or isinstance(people, str | PathLike | Iterator | Callable)


def is_dask(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "dask" and hasattr(source, "map_partitions")


def _index_columns(schema: pa.Schema) -> list[object]:
    return list((schema.pandas_metadata or {}).get("index_columns", ()))


def _range_written(file: pq.ParquetFile) -> range | None:
    """Ids that are numbers in a row, as pandas wrote them down beside the rows of this file."""
    match _index_columns(file.schema_arrow):
        case [{"kind": "range", "start": start, "step": step}]:
            return range(int(start), int(start) + int(step) * file.metadata.num_rows, int(step))
    return None


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from None


def _tidy(chunk: object, columns: Sequence[str], id_column: str | None, name: str, reading: Reading) -> pd.DataFrame:
    """Its columns as asked for, indexed by id."""
    table = passes.checked(chunk)
    for column in columns if id_column is None else (*columns, id_column):
        require_column(column, [str(known) for known in table.columns], name)
    tidy: pd.DataFrame = (table if id_column is None else table.set_index(id_column))[list(columns)]
    return tidy.apply(reading.read) if reading else tidy
