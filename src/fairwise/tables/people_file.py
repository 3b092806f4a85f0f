"""A user's table of people: which column is the id, which the outcome, and what the other cells hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairwise.errors import InputError
from fairwise.tables.files import read_table, require_column
from fairwise.tables.ids import encode, integers_or_texts, some, text_of
from fairwise.tables.row_errors import Source
from fairwise.tables.text_formats import with_plain_numbers

# A number written with a leading zero is a code, such as 01234.
_NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,17})$"
_DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
_NOTHING = pa.array(["", "na", "n/a", "nan", "null", "none", "."], pa.large_string())


@dataclass(frozen=True, eq=False)
class PeopleFile:
    """Everyone in the file by id, with every column but the id; numbers where all cells of a column are numbers."""

    table: pd.DataFrame
    source: Source

    @classmethod
    def read(
        cls, path: Path, id_column: str, *needed: str, separator: str | None = None, decimal: str | None = None
    ) -> "PeopleFile":
        """Read a file of a table; ids must be there, each only once, and the columns that are needed.

        Numbers are written as 1234.5, unless a `decimal` sign is given: then also as 1,234.5 or as 1.234,5.
        """

        def check_header(header: list[str]) -> None:
            for name in (id_column, *needed):
                require_column(name, header, str(path))

        frame, source = read_table(path, check_header, separator=separator)
        ids = column_of(frame, id_column, source)
        codes, texts = encode(ids)
        source.refuse(codes < 0, id_column, ids, "where an id must be; every person needs one")
        again = pd.Series(codes).duplicated().to_numpy()
        if again.any():
            first = int(np.flatnonzero(codes == codes[again.argmax()])[0])
            rule = f"is also the id at {source.place(first)}; every id must be there once"
            source.refuse(again, id_column, ids, rule)
        others = {name: typed(frame[name], decimal) for name in frame.columns if name != id_column}
        for name, column in others.items():
            _refuse_decimal_commas(name, column, source)
        columns = {name: column.array for name, column in others.items()}
        return cls(pd.DataFrame(columns, index=integers_or_texts(texts).take(codes).rename(id_column)), source)

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
        return self.table[chosen]


def column_of(frame: pd.DataFrame, name: str, source: Source) -> pd.Series:
    """Return the column of this name, or say which there are."""
    require_column(name, [str(known) for known in frame.columns], source.where())
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
    if len(cells) and pc.all(pc.match_substring_regex(cells, _NUMBER)).as_py():
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
    if commas.any() and (commas | words.str.strip().str.fullmatch(_NUMBER)).all():
        bad = column.index.isin(words.index[commas])
        source.refuse(bad, name, column, "is a number with a comma; write 2.5, not 2,5")


def _values(count: int) -> str:
    return "value" if count == 1 else "values"
