"""Tables that operators upload, and what was understood of them before a study is made."""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise.errors import InputError
from fairwise.study.decisions import MOST_DECISIONS
from fairwise.study.languages import marked
from fairwise.study.new_study import arrow_column
from fairwise.study.signing import Keys
from fairwise.study.telling import telling_columns
from fairwise.tables.columns import nearly
from fairwise.tables.files import read_parquet, read_table
from fairwise.tables.ids import text_of
from fairwise.tables.people_file import PeopleFile, typed
from fairwise.tables.text_formats import UTF_8, found_decimal, found_encoding, found_separator, write_as_utf8

# Tables that were uploaded and of which no study was made yet: kept in the study's folder for some hours.

MOST_BYTES = 200 * 1024 * 1024
HOURS_KEPT = 12
MOST_UPLOADS = 2
"""Of one operator, with the one under way; older ones make room."""

MOST_KEPT_BYTES = 1024**3
"""Of one study before another upload begins, with what was made of them."""

_FOLDER = ".uploads"
_LOOK, _SAMPLE = "look.json", "sample.parquet"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")  # longer ones are names of no folder, and an error of the system's
_KINDS = ("csv", "tsv", "xlsx", "parquet")
_TEXT = ("csv", "tsv")
# Enough to find two people who differ, and little enough to be read for every preview.
_SAMPLE_ROWS = 60
_EXAMPLES = 3
_FIRST_ROWS = 5
_TRUTHS = ("true", "false")
_NO_ID = marked(
    "No column is different for everyone and filled in everywhere. Add one that tells people apart, such as a number "
    "for each row, and upload the file again."
)
_LONGEST_EXAMPLE = 40
MOST_COLUMNS = 500
# So many are read and laid out in half a minute; nobody should have to wait longer for a page.
MOST_PEOPLE = 200_000
_MOST_CELLS = 2 * MOST_PEOPLE * MOST_COLUMNS  # before a file is read; what is too much of which is said afterwards


@dataclass(frozen=True)
class ColumnLook:
    """What an operator is told about a column, to recognise it by."""

    name: str
    examples: tuple[str, ...]
    different: int
    missing: int
    kind: str = "text"
    """One of number, yes_no and text."""

    tells_apart: bool = False
    """Whether it is different for everyone, and there for everyone."""

    labels: tuple[str, ...] = ()
    """All its values, if there are so few that each may be a decision, and it is there for everyone."""

    ends: tuple[str, ...] = ()
    """The least and the largest, if it is a number for everyone."""

    nearly: str = ""
    """Of text: number or date, if nearly all values are."""

    odd: str = ""
    """The first of the other values, if there are any."""

    @property
    def may_be_outcome(self) -> bool:
        """Whether it may say what was decided: one of a few things, or an amount."""
        return bool(self.labels or self.ends)


@dataclass(frozen=True)
class FileFormat:
    """How a file is read, as it was found out or as its sender said."""

    encoding: str = ""
    """Empty, as the separator, for files that are no text."""

    separator: str = ""
    decimal: str = "."


@dataclass(frozen=True)
class UploadedPeople:
    """A table of people as it was uploaded."""

    id: str
    folder: Path
    name: str
    """What its sender calls it."""

    rows: int
    columns: tuple[ColumnLook, ...]
    format: FileFormat = FileFormat()

    @property
    def file(self) -> Path:
        return next(self.folder.glob("people.*"))

    @property
    def first_rows(self) -> list[list[str]]:
        """The first people of the file, cell by cell as they were understood."""
        rows: list[list[str]] = json.loads((self.folder / _LOOK).read_text(encoding="utf-8"))["first_rows"]
        return rows

    @property
    def problems(self) -> list[str]:
        """Why no study can be made of this file, whatever is chosen next."""
        return [
            *([marked("There is only one person in the file; a pair needs two.")] if self.rows < 2 else []),
            *([] if any(column.tells_apart for column in self.columns) else [_NO_ID]),
            *(
                [marked("There is only one column; people need something by which they differ.")]
                * (len(self.columns) < 2)
            ),
        ]

    def sample(self) -> pa.Table:
        """A few people, every value as a study would keep it."""
        return read_parquet(self.folder / _SAMPLE)

    def read(self, id_column: str) -> PeopleFile:
        """Everyone; errors name the file as its sender does."""
        return PeopleFile.read(
            self.file, id_column, separator=self.format.separator or None, decimal=self.format.decimal
        )

    def telling(self, outcome: str, *, amounts: bool = False) -> dict[str, str]:
        """Every other column from which this outcome can be read, and how."""
        frame, _ = read_table(self.file, separator=self.format.separator or None)
        columns = {name: arrow_column(typed(frame[name], self.format.decimal)) for name in frame.columns}
        results = pa.chunked_array([columns.pop(outcome)])
        return telling_columns(pa.table(columns), outcome, results, amounts=amounts)

    def problem(self, error: InputError) -> str:
        """What is wrong, in the sender's words for the file."""
        return str(error).replace(str(self.file), self.name).removeprefix("study: ")


class Uploads:
    """All such tables of a study's folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / _FOLDER

    def new(self, operator_id: int) -> str:
        """Make a place for one of this operator's, which only the owner of the folder can open."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        name = f"{operator_id}-{Keys.new()}"
        (self._folder / name).mkdir(mode=0o700)
        return name

    def place(self, name: str) -> Path:
        return self._folder / name

    def discard(self, name: str) -> None:
        if _NAME.fullmatch(name):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def discard_all(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def make_room(self, operator_id: int | None = None) -> None:
        """Delete uploads that nobody has come back to, those of this operator but the newest, and what is too large."""
        own, kept_bytes, newest_first = 0, 0, sorted(map(_measured, self._folder.glob("*")), reverse=True)
        for modified, size, folder in newest_first:
            is_own = folder.name.startswith(f"{operator_id}-")
            own += is_own
            too_many = (is_own and own > MOST_UPLOADS) or kept_bytes + size > MOST_KEPT_BYTES
            if too_many or time.time() - modified > HOURS_KEPT * 3600:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                kept_bytes += size

    def find(self, name: str) -> UploadedPeople | None:
        folder = self._folder / name
        if not _NAME.fullmatch(name) or not (folder / _LOOK).is_file():
            return None
        kept = json.loads((folder / _LOOK).read_text(encoding="utf-8"))
        lists = ("examples", "labels", "ends")
        columns = tuple(ColumnLook(**one | {name: tuple(one[name]) for name in lists}) for one in kept["columns"])
        return UploadedPeople(name, folder, kept["name"], kept["rows"], columns, FileFormat(**kept["format"]))

    def look_at(self, name: str, sent_name: str, wanted: FileFormat | None = None) -> None:
        """Read what was received, as `wanted` or as it seems to be; errors name the file as its sender does."""
        folder, shown = self._folder / name, shown_name(sent_name)
        kind = shown.rpartition(".")[2].lower()
        if kind not in _KINDS:
            raise InputError(f"{shown}: tables are taken from files that end in .xlsx, .csv, .tsv or .parquet")
        received, file = folder / "received", folder / f"people.{kind}"
        try:
            frame, how = _read(received, file, wanted or FileFormat(decimal=""))
        except InputError as error:
            message = str(error).replace(str(file), shown).replace(str(received), shown)
            raise InputError(message) from None
        if len(frame.columns) > MOST_COLUMNS:
            raise InputError(f"{shown}: {len(frame.columns)} columns; at most {MOST_COLUMNS} are taken")
        if len(frame) > MOST_PEOPLE:
            raise InputError(
                f"{shown}: {len(frame):,} people; at most {MOST_PEOPLE:,} are taken here. A random sample of "
                "some thousands serves as well, as everyone sees only some pairs; or make the study "
                "with: fairwise study new"
            )
        columns = {column: typed(frame[column], how.decimal) for column in map(str, frame.columns)}
        looks = [asdict(_look(column, values)) for column, values in columns.items()]
        some = np.unique(np.linspace(0, len(frame) - 1, _SAMPLE_ROWS).astype(int))
        sample = {column: _kept(values, some) for column, values in columns.items()}
        pq.write_table(pa.table(sample), folder / _SAMPLE)
        first = np.arange(min(_FIRST_ROWS, len(frame)))
        rows = zip(*(arrow_column(values.iloc[first]).to_pylist() for values in columns.values()), strict=True)
        kept = {
            "name": shown,
            "rows": len(frame),
            "columns": looks,
            "format": asdict(how),
            "first_rows": [["" if cell is None else str(cell)[:_LONGEST_EXAMPLE] for cell in row] for row in rows],
        }
        (folder / _LOOK).write_text(json.dumps(kept), encoding="utf-8")


def _measured(folder: Path) -> tuple[float, int, Path]:
    """When a folder was last added to, and its bytes; another process may delete it meanwhile."""
    try:
        return folder.stat().st_mtime, sum(file.stat().st_size for file in folder.iterdir()), folder
    except FileNotFoundError:
        return time.time(), 0, folder


def _read(received: Path, file: Path, wanted: FileFormat) -> tuple[pd.DataFrame, FileFormat]:
    """Put what was received into its place, as UTF-8 if it is text, and read it; also how it was read."""
    encoding = separator = ""
    if file.suffix[1:] in _TEXT:
        encoding = wanted.encoding or found_encoding(received)
        separator = wanted.separator or found_separator(received, encoding)
    if encoding in ("", UTF_8):
        shutil.copyfile(received, file)
    else:
        write_as_utf8(received, encoding, file)
    frame, _ = read_table(file, most_cells=_MOST_CELLS, separator=separator or None)
    return frame, FileFormat(encoding, separator, wanted.decimal or found_decimal(frame))


def shown_name(sent: str) -> str:
    r"""Return the name of a file without its folders, and without what could be taken for anything but a name.

    >>> shown_name("../../C:\\data\\people 1.csv")
    'people 1.csv'
    """
    return re.sub(r"[^\w .()\[\]-]", "_", re.split(r"[/\\]", sent)[-1])[-80:].strip() or "the file"


def _look(name: str, values: pd.Series[Any]) -> ColumnLook:
    known = values.dropna()
    try:
        codes, different = pd.factorize(known)
    except TypeError:  # lists and the like, in a Parquet file
        codes, different = pd.factorize(known.astype(str))
    examples = tuple(str(value)[:_LONGEST_EXAMPLE] for value in different[:_EXAMPLES])
    everyone, kind = len(known) == len(values), _kind(known)
    few = everyone and 2 <= len(different) <= MOST_DECISIONS
    is_amount = everyone and kind == "number" and len(different) > 2
    is_text = kind == "text" and pd.api.types.is_string_dtype(known.dtype)
    meant, others = (nearly(different.tolist(), np.bincount(codes)) if is_text else None) or ("", np.array([False]))
    return ColumnLook(
        name,
        examples,
        len(different),
        missing=len(values) - len(known),
        kind=kind,
        tells_apart=len(different) == len(values),
        labels=tuple(map(text_of, sorted(different.tolist(), key=_in_order))) if few else (),
        ends=(text_of(known.min()), text_of(known.max())) if is_amount else (),
        nearly=meant,
        odd=str(different[int(others.argmax())])[:_LONGEST_EXAMPLE] if others.any() else "",
    )


def _in_order(value: object) -> tuple[bool, float, str]:
    """Numbers by their size, before words."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if isinstance(value, int | float) else 0.0, str(value)


def _kind(known: pd.Series[Any]) -> str:
    if pd.api.types.is_bool_dtype(known.dtype) or (
        pd.api.types.is_string_dtype(known.dtype) and len(known) and known.str.strip().str.lower().isin(_TRUTHS).all()
    ):
        return "yes_no"
    return "number" if pd.api.types.is_numeric_dtype(known.dtype) else "text"


def _kept(values: pd.Series[Any], some: np.ndarray[Any, Any]) -> pa.Array:
    """What a study would keep of some rows; what kind of column it is, all rows decide."""
    kept = arrow_column(values.iloc[some])
    texts = values.dropna()
    if pa.types.is_boolean(kept.type) and pd.api.types.is_string_dtype(texts.dtype):
        truths = texts.str.strip().str.lower().isin(_TRUTHS).all()
        return kept if truths else pa.array([None if pd.isna(text) else str(text) for text in values.iloc[some]])
    return kept
