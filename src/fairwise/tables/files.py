"""Users' tables: a file of any known format as a checked frame, and tables of people in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairwise.errors import InputError, quote, some
from fairwise.tables.columns import DATE, NUMBER, Reading, kind_of, nearly, nearly_in_words
from fairwise.tables.guarded import GuardedWork, is_guarding
from fairwise.tables.parsing import (
    DAMAGES,
    Batches,
    Parsed,
    most_bytes,
    parquet_batches,
    read_batches,
    refuse_twice,
    send_file,
    try_parquet,
)
from fairwise.tables.rows import Source, encode, integers_or_texts, require_column, text_of

HeaderCheck = Callable[[list[str]], None]
_KINDS, _TEXT = {".csv", ".tsv", ".parquet", ".xlsx"}, {".csv", ".tsv"}
_SMALL_TEXT = 4 << 20
"""Size up to which text is read in this process: nothing in it unpacks, and starting a process takes longer."""


def read_table(
    path: Path,
    check_header: HeaderCheck = lambda _: None,
    *,
    may_be_empty: bool = False,
    separator: str | None = None,
    most: int | None = None,
) -> tuple[pd.DataFrame, Source]:
    """Return the table in a ``.csv``, ``.tsv``, ``.xlsx`` (all cells as text) or ``.parquet`` file, and where rows are.

    `check_header` may refuse the columns' names, mostly before the rows are read. A header without rows is refused
    unless it `may_be_empty`. The `separator` of cells in a CSV file is seen from its header, unless it is given. `most`
    bytes are taken when a file is unpacked; otherwise that depends on its size.
    """
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"{path}: tables are read from files that end in .csv, .tsv, .parquet or .xlsx")
    _check_separator(path, separator)
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, not a file")
        if is_guarding() and (path.suffix.lower() not in _TEXT or path.stat().st_size > _SMALL_TEXT):
            parsed = _guarded(path, check_header, separator)
        else:
            with path.open("rb") as file:
                batches = read_batches(path, file, separator, most)
                check_header(batches.header)
                parsed = batches.table()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise InputError(f"{path}: needs more memory than there is") from None
    return _frame(path, parsed, may_be_empty=may_be_empty)


def read_sent(sent: Path, path: Path) -> tuple[pd.DataFrame, Source]:
    """Return a table that another process has read and sent; errors call it by its `path`."""
    return _frame(path, Batches.received(sent).table(), may_be_empty=False)


def _guarded(path: Path, check_header: HeaderCheck, separator: str | None) -> Parsed:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "table"
        GuardedWork(str(path), path.stat().st_size, send_file, (str(path), str(target), separator)).run()
        batches = Batches.received(target)
    check_header(batches.header)
    return batches.table()


def _frame(path: Path, parsed: Parsed, *, may_be_empty: bool) -> tuple[pd.DataFrame, Source]:
    try:
        frame: pd.DataFrame = parsed.table.to_pandas()
    except DAMAGES as error:  # what pandas once wrote about a table, and somebody changed
        raise InputError(f"{path}: a damaged Parquet file: {error}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    refuse_twice(path, header)
    if frame.empty and not may_be_empty:
        raise InputError(f"{path}: only a header ({some(header)}) and not a single row")
    source = Source(file=str(path), lines=parsed.lines, unit=parsed.unit)
    return frame.set_axis(header, axis="columns"), source


def read_parquet(file: Path) -> pa.Table:
    """Return the table in a file of a study; errors name the file."""
    try:
        return parquet_batches(str(file), file, most_bytes(file.stat().st_size)).table().table
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def check_parquet(file: Path) -> None:
    """Refuse a file of a study that somebody else made, before it is read here as one's own."""
    if is_guarding():
        GuardedWork(str(file), file.stat().st_size, try_parquet, (str(file),)).run()


def _check_separator(path: Path, separator: str | None) -> None:
    if separator is None:
        return
    if path.suffix.lower() not in _TEXT:
        raise InputError(
            f"{path}: sep={separator!r} is for text; cells of such a file are not separated by a character"
        )
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise InputError(f"{path}: sep={separator!r} is not allowed: give one character, such as ';' or '|'")


# Tables of people.

_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,17})$"
_DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
_NOTHING = pa.array(["", "na", "n/a", "nan", "null", "none", "."], pa.large_string())


@dataclass(frozen=True, eq=False)
class PeopleFile:
    """Table of people by id, with every column but the id; a column whose cells are all numbers holds numbers."""

    table: pd.DataFrame
    source: Source
    notes: tuple[str, ...] = ()
    """Cells that became missing because their column is read as numbers."""

    @classmethod
    def read(
        cls,
        path: Path,
        id_column: str,
        *needed: str,
        separator: str | None = None,
        decimal: str | None = None,
        numeric: Sequence[str] = (),
        na_values: Sequence[str] = (),
    ) -> PeopleFile:
        """Read a file of a table; ids must be there, each only once, and the columns that are needed.

        Numbers are written as 1234.5, unless a `decimal` sign is given: then also as 1,234.5 or as 1.234,5. Cells that
        are one of `na_values` are missing; in columns that are `numeric`, so is whatever is no number.
        """

        def check_header(header: list[str]) -> None:
            for name in (id_column, *needed, *numeric):
                require_column(name, header, str(path))

        frame, source = read_table(path, check_header, separator=separator)
        return cls.of(frame, source, id_column, decimal=decimal, numeric=numeric, na_values=na_values)

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        source: Source,
        id_column: str,
        *,
        decimal: str | None = None,
        numeric: Sequence[str] = (),
        na_values: Sequence[str] = (),
    ) -> PeopleFile:
        """Check a table that was read already."""
        ids = column_of(frame, id_column, source)
        codes, texts = encode(ids)
        source.refuse(codes < 0, id_column, ids, "where an id must be; every person needs one")
        repeated = pd.Series(codes).duplicated().to_numpy()
        if repeated.any():
            first = int(np.flatnonzero(codes == codes[repeated.argmax()])[0])
            rule = f"is also the id at {source.place(first)}; every id must be there once"
            source.refuse(repeated, id_column, ids, rule)
        missing, reading = Reading(na_values=tuple(na_values)), Reading(tuple(numeric))
        cells_by_name = {name: typed(missing.read(frame[name]), decimal) for name in frame.columns if name != id_column}
        for name, column in cells_by_name.items():
            _refuse_decimal_commas(name, column, source)
        columns = {name: reading.read(column) for name, column in cells_by_name.items()}
        notes = []
        for name in numeric:
            lost = np.flatnonzero(columns[name].isna() & cells_by_name[name].notna())
            if len(lost):
                example = f"the first is {quote(cells_by_name[name].iloc[lost[0]])} ({source.place(int(lost[0]))})"
                count = "1 value is no number and counts" if len(lost) == 1 else f"{len(lost):,} are none and count"
                notes.append(f"Column {name!r}: {count} as missing; {example}.")
        index = integers_or_texts(texts).take(codes).rename(id_column)
        arrays = {name: column.array for name, column in columns.items()}
        return cls(pd.DataFrame(arrays, index=index), source, tuple(notes))

    def column(self, name: str) -> pd.Series:
        """Return one column, or say which there are."""
        return column_of(self.table, name, self.source)

    def outcome(self, name: str, *, several: bool = False, of_more: str = "") -> pd.Series:
        """Return an outcome of two values, or of ``several``, labelled as in the file.

        ``of_more`` is what else is said where there are more than two and that is refused.
        """
        column = self.column(name)
        missing = column.isna().to_numpy(dtype=bool)
        self.source.refuse(missing, name, column.where(~missing, None), "where an outcome must be")
        labels = pd.Index(column).unique()
        if len(labels) != 2 and not (several and len(labels) > 2):
            raise InputError(
                f"{self.source.where(column=name)}: {len(labels)} different {_values(len(labels))} "
                f"({some(labels.tolist())}); an outcome has two{of_more if len(labels) > 2 else ''}"
            )
        if pd.api.types.is_numeric_dtype(column.dtype) and all(float(label).is_integer() for label in labels):
            return column.astype(np.int64)
        return column

    def groups(self, names: Sequence[str]) -> pd.DataFrame:
        """Return columns as groups of people; those whose cell is empty are a group of their own."""
        columns = pd.DataFrame({name: self.column(name) for name in names})
        return columns.astype(object).where(columns.notna(), "(empty)").astype(str)

    def features(
        self, *, outcome: str | None = None, drop: Sequence[str] = (), only: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the columns to learn from: all, or only some, without the outcome and those to drop."""
        for name in (*drop, *only):
            self.column(name)
        chosen = [name for name in (only or self.table.columns) if name not in {outcome, *drop}]
        if not all(name.strip() for name in chosen):
            rule = "row numbers, perhaps, which are not to be learnt from; name it or take it out of the file"
            raise InputError(f"{self.source.where()}: a column has no name ({rule})")
        if not chosen:
            raise InputError(f"{self.source.where()}: no column is left to learn from; found: {some(self.table)}")
        return with_dates(self.table[chosen])

    def warnings(self, features: pd.DataFrame) -> list[str]:
        """Return a sentence on each of these columns that is nearly all numbers or dates, but text for the rest."""
        lines = []
        for name, column in features.items():
            if kind_of(column) != "category":
                continue
            codes, texts = pd.factorize(column.astype(object))
            odd = nearly([str(text) for text in texts], np.bincount(codes[codes >= 0], minlength=len(texts)))
            if odd is None:
                continue
            kind, exceptions = odd
            cells = np.flatnonzero(np.append(exceptions, False)[codes])
            words = nearly_in_words(str(name), kind, len(texts), len(cells), int((codes >= 0).sum()))
            if not len(cells):
                lines.append(f"{words} Some are in no calendar, such as a 30th of February: correct them.")
                continue
            place = f"{self.source.place(int(cells[0]))}, id {text_of(self.table.index[cells[0]])}"
            few = ",".join(texts[exceptions][:5].astype(str)) + (",…" if exceptions.sum() > 5 else "")
            numbers = f"; --numeric {name}: whatever is no number" if kind == "number" else ""
            lines.append(
                f"{words} The first is {texts[codes[cells[0]]]!r} ({place}). To make such values missing: --na-values "
                f"{quote(few)}{numbers}."
            )
        return lines


def with_dates(table: pd.DataFrame, columns: Collection[str] | None = None) -> pd.DataFrame:
    """Return a table in which text is dates where every cell is one, such as 2024-02-29 or 2024-02-29 12:30, or empty.

    Only the `columns` change, where they are given.
    """
    chosen = table.columns if columns is None else columns
    read = {name: _dates(column) if name in chosen else column for name, column in table.items()}
    return pd.DataFrame(read, index=table.index)


def _dates(column: pd.Series) -> pd.Series:
    if not pd.api.types.is_string_dtype(column.dtype) or not column.notna().any():
        return column
    cells = pc.utf8_trim_whitespace(pa.array(column.dropna(), pa.large_string(), from_pandas=True))
    if not pc.all(pc.match_substring_regex(cells, DATE)).as_py():
        return column
    try:
        dates = pd.to_datetime(column.str.strip(), format="ISO8601", utc=True)
    except ValueError:  # a 30th of February
        return column
    return dates.dt.tz_localize(None)


def column_of(frame: pd.DataFrame, name: str, source: Source) -> pd.Series:
    """Return the column of this name, or say which there are."""
    require_column(name, [str(column) for column in frame.columns], source.where())
    return frame[name]


def label_written(text: str, labels: pd.Series, source: Source, column: str) -> object:
    """Return the one of the outcome's labels that is written like this."""
    by_text = {text_of(label): label for label in pd.Index(labels).unique().sort_values().tolist()}
    if text not in by_text:
        raise InputError(f"{source.where(column=column)}: {text!r} is not one of the outcomes {' and '.join(by_text)}")
    return by_text[text]


def typed(column: pd.Series, decimal: str | None = None) -> pd.Series:
    """Return text as numbers if every cell is a number or nothing; empty cells are missing."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return column.reset_index(drop=True)
    if decimal is not None:
        column = with_plain_numbers(column, decimal)
    text = pc.utf8_trim_whitespace(pa.array(column, pa.large_string(), from_pandas=True))
    filled = pc.if_else(pc.is_in(pc.utf8_lower(text), _NOTHING), None, text)
    cells = filled.drop_null()
    if len(cells) and pc.all(pc.match_substring_regex(cells, NUMBER)).as_py():
        plain = pc.replace_substring(filled, "+", "", max_replacements=1)
        if pc.all(pc.match_substring_regex(cells, _WHOLE)).as_py():
            whole: pd.Series = plain.cast(pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
            return whole if filled.null_count else whole.astype(np.int64)
        return pd.Series(plain.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return column.where(pc.not_equal(text, "").fill_null(False).to_numpy(zero_copy_only=False)).reset_index(drop=True)


def _refuse_decimal_commas(name: str, column: pd.Series, source: Source) -> None:
    """Numbers written 2,5 would be taken for words, one category each, and nobody would notice."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return
    words = column.dropna()
    commas = words.str.fullmatch(_DECIMAL_COMMA)
    if commas.any() and (commas | words.str.strip().str.fullmatch(NUMBER)).all():
        bad = column.index.isin(words.index[commas])
        source.refuse(bad, name, column, "is a number with a comma; write 2.5, not 2,5")


def _values(count: int) -> str:
    return "value" if count == 1 else "values"


# Numbers as spreadsheet programs of other countries write them, such as 1.234,5.

DECIMALS: Mapping[str, str] = {".": "point", ",": "comma"}
_OTHER = {".": ",", ",": "."}
_NO_THOUSANDS = r"^[+-]?0,|,([0-9]{1,2}|[0-9]{4,})$"


def detect_decimal(frame: pd.DataFrame) -> str:
    """Return the comma if some column has numbers such as 2,5 that cannot be thousands, and else the point."""
    columns = [cells for name in frame.columns if (cells := _cells(frame[name])) is not None]
    with_commas = any(_all_match(cells, _number(",")) and _any_match(cells, _NO_THOUSANDS) for cells in columns)
    return "," if with_commas else "."


def with_plain_numbers(column: pd.Series, decimal: str) -> pd.Series:
    """Return a column of text in which numbers written with this decimal sign are written as 1234.5.

    Only where every cell is such a number, or empty; marks between thousands are taken out.
    """
    cells, other = _cells(column), _OTHER[decimal]
    if cells is None or not _all_match(cells, _number(decimal)) or not _any_match(cells, r"[.,]"):
        return column
    text = pc.utf8_trim_whitespace(pa.array(column, pa.large_string(), from_pandas=True))
    plain = pc.replace_substring(pc.replace_substring(text, other, ""), decimal, ".")
    return pd.Series(plain.to_pandas(), index=column.index, dtype=column.dtype)


def _number(decimal: str) -> str:
    """The expression of a number with this decimal sign, perhaps with the other sign between thousands."""
    point, group = (rf"\{sign}" for sign in (decimal, _OTHER[decimal]))
    return rf"^[+-]?(0|[1-9][0-9]{{0,2}}({group}[0-9]{{3}})+|[1-9][0-9]*)({point}[0-9]+)?$"


def _cells(column: pd.Series) -> pa.Array | None:
    """The cells that are not empty; None if there are none, or if they are no text."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return None
    text = pc.utf8_trim_whitespace(pa.array(column, pa.large_string(), from_pandas=True).drop_null())
    cells = text.filter(pc.not_equal(text, ""))
    return cells if len(cells) else None


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def _any_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())
