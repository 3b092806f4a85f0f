"""Judgments in files: read and written, and those of other tools brought to our own columns and words."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import JudgmentsError, quote
from fairwise.judgments.answer import Answer
from fairwise.judgments.validation import COLUMNS, as_judgments_error
from fairwise.tables.files import column_of, read_table
from fairwise.tables.output import write_whole
from fairwise.tables.rows import Source, encode, text_of

SKIP = "skip"
"""Meaning of a word whose rows are left out."""

_MEANINGS = (*(str(answer) for answer in Answer), SKIP)


def read_judgments(path: Path, sep: str | None = None) -> tuple[pd.DataFrame, Source]:
    """Return the table in the file, every cell of a CSV as text, and where its rows are."""
    with as_judgments_error():
        return read_table(path, may_be_empty=True, separator=sep)  # a panel that has not answered yet


def write_judgments(frame: pd.DataFrame, path: Path) -> None:
    """Write the table, or leave what was there as it was."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in {"csv", "parquet"}:
        raise JudgmentsError(f"{path}: judgments are kept in files that end in .csv or .parquet")
    table = frame.copy()
    for name in ("a", "b"):
        # An id of any type is written as its text, by which it is also found again.
        if not pd.api.types.is_integer_dtype(table[name].dtype):
            codes, texts = encode(table[name])
            table[name] = pd.Series(texts, dtype=str).take(codes).to_numpy()
    buffer = io.BytesIO()
    try:
        if kind == "csv":
            buffer.write(_as_csv(table).encode())
        else:
            table.to_parquet(buffer, index=False)
    except (ValueError, TypeError) as error:  # what pyarrow and the encoder raise derives from these
        raise JudgmentsError(f"{path}: cannot be written as {kind}: {error}") from error
    try:
        write_whole(path, lambda draft: draft.write_bytes(buffer.getbuffer()))
    except OSError as error:
        raise JudgmentsError(f"{path}: cannot be written: {error.strerror or error}") from None


def _as_csv(table: pd.DataFrame) -> str:
    plain: str = table.to_csv(index=False, lineterminator="\n")
    if "\0" in plain:
        raise ValueError("a cell contains the NUL character")
    # The writer leaves these unquoted; readers take the first for the end of a row, the others for separators.
    if "\r" in plain or any(mark in str(name) for name in table.columns for mark in ";\t"):
        return table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    return plain


@dataclass(frozen=True)
class Account:
    """Summary of a translation: columns used and replaced, and how often each word became which answer."""

    columns: Mapping[str, str]
    fixed: Mapping[str, str]
    unused: tuple[str, ...]
    answers: tuple[tuple[str, str, int], ...]
    rows: int

    @property
    def skipped(self) -> int:
        """Number of rows that were left out because their answer means skip."""
        return sum(count for _, became, count in self.answers if became == SKIP)

    def lines(self) -> list[str]:
        """Return the account for reading."""
        parts = [f"{ours} from column {theirs!r}" for ours, theirs in self.columns.items()]
        parts += [f"{ours} is {value!r} in every row" for ours, value in self.fixed.items()]
        lines = [
            f"Imported {self.rows - self.skipped} of {self.rows} rows: {', '.join(parts) or 'columns as they are'}."
        ]
        lines += [f"The file's own column {name!r} is not used." for name in self.unused]
        width = max((len(repr(word)) for word, _, _ in self.answers), default=0)
        for word, became, count in self.answers:
            what = "left out (skip)" if became == SKIP else became
            lines.append(f"  {repr(word) if word else '(empty)':<{width}} -> {what:<16} {count:>7} rows")
        return lines

    def as_json(self) -> dict[str, object]:
        """Return the account for programs."""
        return {
            "rows": self.rows,
            "skipped": self.skipped,
            "columns": dict(self.columns),
            "fixed": dict(self.fixed),
            "unused_columns": list(self.unused),
            "answers": [{"value": word, "became": became, "rows": count} for word, became, count in self.answers],
        }


def check_column_map(columns: Mapping[str, str]) -> None:
    """Refuse names of ours that there are not."""
    if not isinstance(columns, Mapping):
        raise JudgmentsError(f"columns: {columns!r}; allowed: a mapping such as {{'judge': 'rater'}}")
    for ours, theirs in columns.items():
        if ours not in COLUMNS:
            turned = f" Did you mean {{{theirs!r}: {ours!r}}}?" if theirs in COLUMNS else ""
            raise JudgmentsError(f"columns: {ours!r} is not one of {', '.join(COLUMNS)}.{turned}")


def check_answer_map(answers: Mapping[Any, str]) -> dict[str, str]:
    """Return what each word means, the words as they are written in a file; refuse other meanings than ours."""
    if not isinstance(answers, Mapping):
        raise JudgmentsError(f"answers: {answers!r}; allowed: a mapping such as {{'L': 'a_at_least_b'}}")
    for theirs, ours in answers.items():
        if ours not in _MEANINGS:
            turned = f" Did you mean {{{ours!r}: {theirs!r}}}?" if theirs in _MEANINGS else ""
            raise JudgmentsError(
                f"answers: {quote(theirs)} means {quote(ours)}; allowed: {', '.join(_MEANINGS)}.{turned}"
            )
    return {("" if theirs is None else text_of(theirs).strip()): str(ours) for theirs, ours in answers.items()}


def translate_answers(
    frame: pd.DataFrame,
    source: Source,
    columns: Mapping[str, str],
    words: Mapping[str, str],
    fixed: Mapping[str, str],
    how_to_map: str = "answers={VALUE: 'same'}",
) -> tuple[pd.DataFrame, Source, Account]:
    """Return the table in our own words and the rows that are left, or refuse unknown words by row.

    ``columns`` are ours and what the file calls them, ``words`` the file's and what they mean, ``fixed`` columns that
    are the same in every row. An error about a word says ``how_to_map`` it.
    """
    columns_by_name = {ours: column_of(frame, theirs, source) for ours, theirs in columns.items()}
    unused = tuple(name for name in columns_by_name if name in frame.columns and columns[name] != name)
    other_columns = {
        name: frame[name] for name in frame.columns if name not in {*columns.values(), *columns_by_name, *fixed}
    }
    table = frame[[]].assign(**columns_by_name, **other_columns, **fixed)
    if "answer" not in table.columns:
        return table, source, Account(columns, fixed, unused, (), len(frame))
    cells = _as_text(table["answer"])
    became = cells.map(lambda word: words.get(word, word))
    hint = f"is not an answer; allowed: {', '.join(Answer)}; or say what it means: {how_to_map}"
    source.refuse(~became.isin(_MEANINGS).to_numpy(dtype=bool), columns.get("answer", "answer"), cells, hint)
    counts = Counter(zip(cells, became, strict=True))
    answers = tuple((word, meaning, counts[word, meaning]) for word, meaning in sorted(counts))
    kept = (became != SKIP).to_numpy(dtype=bool)
    rows = table.assign(answer=became)[kept].reset_index(drop=True)
    return rows, _only(source, kept), Account(columns, fixed, unused, answers, len(frame))


def _as_text(column: pd.Series) -> pd.Series:
    """Return the cells as they are written; 1.0 from a Parquet file is 1, and nothing is the empty text."""
    return column.astype(object).where(column.notna(), "").map(lambda value: text_of(value).strip())


def _only(source: Source, kept: NDArray[np.bool_]) -> Source:
    """Return where the kept rows were, so that a later error still names the right one."""
    if source.lines is not None:
        return replace(source, lines=source.lines[kept])
    return replace(source, labels=pd.Index([f"row {i} of the file" for i in np.flatnonzero(kept)]))
