"""Judgments in files: read like every table, and written so that reading gives the same again."""

import csv
import io
from pathlib import Path

import pandas as pd

from fairwise.errors import InputError, JudgmentsError
from fairwise.tables.files import read_table
from fairwise.tables.ids import encode
from fairwise.tables.safe_files import write_whole
from fairwise.tables.source import Source


def read(path: Path) -> tuple[pd.DataFrame, Source]:
    """Return the table in the file, every cell of a CSV as text, and where its rows are."""
    try:
        return read_table(path, may_be_empty=True)  # a panel that has not answered yet
    except InputError as error:
        raise JudgmentsError(str(error)) from None


def write(frame: pd.DataFrame, path: Path) -> None:
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
