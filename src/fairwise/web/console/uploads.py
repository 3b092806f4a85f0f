"""Files that operators upload: written to disk piece by piece, never held in memory as a whole."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairwise.errors import InputError
from fairwise.study.new_study import arrow_column
from fairwise.study.signing import Keys
from fairwise.tables.files import read_parquet, read_table
from fairwise.tables.people_file import PeopleFile, typed
from fairwise.web.shared.forms import Form

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


# Tables that were uploaded and of which no study was made yet: kept in the study's folder for some hours.

MOST_BYTES = 200 * 1024 * 1024
HOURS_KEPT = 12
_FOLDER = ".uploads"
_LOOK, _SAMPLE = "look.json", "sample.parquet"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")  # longer ones are names of no folder, and an error of the system's
_KINDS = ("csv", "tsv", "parquet")
# Enough to find two people who differ, and little enough to be read for every preview.
_SAMPLE_ROWS = 60
_EXAMPLES = 3
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


@dataclass(frozen=True)
class UploadedPeople:
    """A table of people as it was uploaded."""

    id: str
    folder: Path
    name: str
    """What its sender calls it."""

    rows: int
    columns: tuple[ColumnLook, ...]

    @property
    def file(self) -> Path:
        return next(self.folder.glob("people.*"))

    def sample(self) -> pa.Table:
        """A few people, every value as a study would keep it."""
        return read_parquet(self.folder / _SAMPLE)

    def read(self, id_column: str) -> PeopleFile:
        """Everyone; errors name the file as its sender does."""
        return PeopleFile.read(self.file, id_column)

    def problem(self, error: InputError) -> str:
        """What is wrong, in the sender's words for the file."""
        return str(error).replace(str(self.file), self.name).removeprefix("study: ")


class Uploads:
    """All such tables of a study's folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / _FOLDER

    def new(self) -> str:
        """Make a place for one, which only the owner of the folder can open."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        name = Keys.new()
        (self._folder / name).mkdir(mode=0o700)
        return name

    def place(self, name: str) -> Path:
        return self._folder / name

    def discard(self, name: str) -> None:
        if _NAME.fullmatch(name):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def discard_all(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def discard_old(self) -> None:
        """Delete what nobody has come back to."""
        if not self._folder.is_dir():
            return
        for folder in self._folder.iterdir():
            if time.time() - folder.stat().st_mtime > HOURS_KEPT * 3600:
                shutil.rmtree(folder, ignore_errors=True)

    def find(self, name: str) -> UploadedPeople | None:
        folder = self._folder / name
        if not _NAME.fullmatch(name) or not (folder / _LOOK).is_file():
            return None
        kept = json.loads((folder / _LOOK).read_text(encoding="utf-8"))
        columns = tuple(ColumnLook(**{**one, "examples": tuple(one["examples"])}) for one in kept["columns"])
        return UploadedPeople(name, folder, kept["name"], kept["rows"], columns)

    def look_at(self, name: str, sent_name: str) -> None:
        """Read what was received; errors name the file as its sender does."""
        folder, shown = self._folder / name, shown_name(sent_name)
        kind = shown.rpartition(".")[2].lower()
        if kind not in _KINDS:
            raise InputError(f"{shown}: tables are taken from files that end in .csv, .tsv or .parquet")
        file = (folder / "received").rename(folder / f"people.{kind}")
        try:
            frame, _ = read_table(file, most_cells=_MOST_CELLS)
        except InputError as error:
            raise InputError(str(error).replace(str(file), shown)) from None
        if len(frame.columns) > MOST_COLUMNS:
            raise InputError(f"{shown}: {len(frame.columns)} columns; at most {MOST_COLUMNS} are taken")
        if len(frame) > MOST_PEOPLE:
            raise InputError(
                f"{shown}: {len(frame):,} people; at most {MOST_PEOPLE:,} are taken here. A random sample of "
                "some thousands serves as well, as everyone sees only some pairs; or make the study "
                "with: fairwise study new"
            )
        columns = {column: typed(frame[column]) for column in map(str, frame.columns)}
        looks = [asdict(_look(column, values)) for column, values in columns.items()]
        some = np.unique(np.linspace(0, len(frame) - 1, _SAMPLE_ROWS).astype(int))
        pq.write_table(pa.table({column: _kept(values, some) for column, values in columns.items()}), folder / _SAMPLE)
        kept = {"name": shown, "rows": len(frame), "columns": looks}
        (folder / _LOOK).write_text(json.dumps(kept), encoding="utf-8")


def shown_name(sent: str) -> str:
    r"""Return the name of a file without its folders, and without what could be taken for anything but a name.

    >>> shown_name("../../C:\\data\\people 1.csv")
    'people 1.csv'
    """
    return re.sub(r"[^\w .()\[\]-]", "_", re.split(r"[/\\]", sent)[-1])[-80:].strip() or "the file"


def _look(name: str, values: pd.Series[Any]) -> ColumnLook:
    known = values.dropna()
    try:
        different = known.unique()
    except TypeError:  # lists and the like, in a Parquet file
        different = known.astype(str).unique()
    examples = tuple(str(value)[:_LONGEST_EXAMPLE] for value in different[:_EXAMPLES])
    return ColumnLook(name, examples, len(different), len(values) - len(known))


def _kept(values: pd.Series[Any], some: np.ndarray[Any, Any]) -> pa.Array:
    """What a study would keep of some rows; what kind of column it is, all rows decide."""
    kept = arrow_column(values.iloc[some])
    texts = values.dropna()
    if pa.types.is_boolean(kept.type) and pd.api.types.is_string_dtype(texts.dtype):
        truths = texts.str.strip().str.lower().isin(["true", "false"]).all()
        return kept if truths else pa.array([None if pd.isna(text) else str(text) for text in values.iloc[some]])
    return kept


_MOST_FIELDS = 20
_LONGEST_FIELD = 10_000
_AT_ONCE = 1 << 20


class NoFile(Exception):  # noqa: N818 - something that people do, not an error
    """A form was sent without choosing a file."""


async def receive_file(request: Request, into: Path, check: Callable[[Form], None]) -> str:
    """Write the file of a form to a new file; returns what its sender calls it.

    `check` is shown the fields before anything is written; they must come before the file.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise HTTPException(415)
    parts = _Parts(check)
    loop = asyncio.get_running_loop()
    with into.open("xb") as file:
        try:
            parser = MultipartParser(boundary, parts.callbacks())
            async for chunk in request.stream():
                parser.write(chunk)
                if len(parts.pieces) >= _AT_ONCE:
                    await loop.run_in_executor(None, file.write, parts.taken())
            parser.finalize()
        except FormParserError:
            raise HTTPException(400) from None
        await loop.run_in_executor(None, file.write, parts.taken())
    parts.check_fields()
    if not parts.name:
        raise NoFile
    return parts.name


class _Parts:
    """What a form is made of, as it comes in."""

    def __init__(self, check: Callable[[Form], None]) -> None:
        self._check, self._checked = check, False
        self._fields: dict[str, bytearray] = {}
        self._header, self._value = bytearray(), bytearray()
        self._disposition = b""
        self._field: bytearray | None = None
        self.name = ""
        self.pieces = bytearray()

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._part_begin,
            "on_part_data": self._part_data,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
        }

    def taken(self) -> bytearray:
        """What came of the file since the last time."""
        taken, self.pieces = self.pieces, bytearray()
        return taken

    def check_fields(self) -> None:
        """Once, whether there is a file or not."""
        if not self._checked:
            self._checked = True
            self._check(Form({name: bytes(text).decode(errors="replace") for name, text in self._fields.items()}))

    def _part_begin(self) -> None:
        self._disposition, self._field = b"", None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header, self._value = bytearray(), bytearray()

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options:
            name = options.get(b"name", b"").decode(errors="replace")
            if len(self._fields) >= _MOST_FIELDS or self._checked:
                raise HTTPException(400)
            self._field = self._fields.setdefault(name, bytearray())
            return
        self.check_fields()
        if self.name:
            raise HTTPException(400)
        self.name = options[b"filename"].decode(errors="replace")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._field is None:
            self.pieces += data[start:end]
            return
        self._field += data[start:end]
        if len(self._field) > _LONGEST_FIELD:
            raise HTTPException(413)
