"""Uploaded tables: forms that bring a file, and what is known of the file before a study is made."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairwise.errors import InputError
from fairwise.study.design import MOST_DECISIONS
from fairwise.study.new_study import telling_columns
from fairwise.study.recruitment import Keys
from fairwise.study.texts import marked
from fairwise.tables.columns import arrow_column
from fairwise.tables.files import PeopleFile, read_parquet, read_sent, typed
from fairwise.tables.guarded import HAS_PROCESSES, GuardedWork
from fairwise.tables.look import LOOK, SAMPLE, TABLE, ColumnLook, FileFormat, look_at_people
from fairwise.tables.rows import Source
from fairwise.web.console.scoring import Turns
from fairwise.web.shared.requests import Form

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


_MOST_FIELDS = 20
_LONGEST_FIELD = 10_000
_AT_ONCE = 1 << 20


class NoFile(Exception):  # noqa: N818 - something that people do, not an error
    """A form was sent without choosing a file."""


async def receive_file(request: Request, into: Path, check: Callable[[Form], None]) -> str:
    """Write the file of a form to a new file; returns what its sender calls it.

    `check` is shown the fields before anything is written; they must come before the file. A file that
    somebody deletes while it is received is a FileNotFoundError.
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
                    await loop.run_in_executor(None, into.stat)  # a file without a name would go on filling the disk
                    await loop.run_in_executor(None, file.write, parts.take())
            parser.finalize()
        except FormParserError:
            raise HTTPException(400) from None
        await loop.run_in_executor(None, file.write, parts.take())
    parts.check_fields()
    if not parts.name:
        raise NoFile
    return parts.name


class _Parts:
    """Parts of a form as they arrive."""

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

    def take(self) -> bytearray:
        """Return the bytes of the file since the last call."""
        take, self.pieces = self.pieces, bytearray()
        return take

    def check_fields(self) -> None:
        """Check the fields once, with or without a file."""
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


# Tables that were uploaded and of which no study was made yet: kept in the study's folder for some hours.

MOST_BYTES = 200 * 1024 * 1024
HOURS_KEPT = 12
MOST_UPLOADS = 2
"""Uploads kept for one operator, with the current one; the oldest are deleted."""

MOST_KEPT_BYTES = 1024**3
"""Bytes kept for one study before another upload begins."""

_FOLDER = ".uploads"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")  # longer ones are names of no folder, and an error of the system's
_KINDS = ("csv", "tsv", "xlsx", "parquet")
_NO_ID = marked(
    "No column is different for everyone and filled in everywhere. Add one that tells people apart, such as a number "
    "for each row, and upload the file again."
)
MOST_COLUMNS = 500
# So many are read and laid out in half a minute; nobody should have to wait longer for a page.
MOST_PEOPLE = 200_000
_NICE = 10
_turns = Turns()


@dataclass(frozen=True)
class UploadedPeople:
    """A table of people as it was uploaded."""

    id: str
    folder: Path
    name: str
    """Name that the sender gave the file."""

    rows: int
    columns: tuple[ColumnLook, ...]
    format: FileFormat

    @property
    def file(self) -> Path:
        """Its name here, by which errors call it."""
        return self.folder / f"people.{self.name.rpartition('.')[2].lower()}"

    @property
    def first_rows(self) -> list[list[str]]:
        """The first people of the file, cell by cell as they were understood."""
        rows: list[list[str]] = json.loads((self.folder / LOOK).read_text(encoding="utf-8"))["first_rows"]
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
        return read_parquet(self.folder / SAMPLE)

    def read(self, id_column: str) -> PeopleFile:
        """Read all people; errors name the file as its sender does."""
        return PeopleFile.of(*self._table(), id_column, decimal=self.format.decimal)

    def telling(self, outcome: str, *, amounts: bool = False) -> dict[str, str]:
        """Return every column from which this outcome can be read, with the reason."""
        frame, _ = self._table()
        columns = {name: arrow_column(typed(frame[name], self.format.decimal)) for name in frame.columns}
        results = pa.chunked_array([columns.pop(outcome)])
        return telling_columns(pa.table(columns), outcome, results, amounts=amounts)

    def _table(self) -> tuple[pd.DataFrame, Source]:
        return read_sent(self.folder / TABLE, self.file)

    def problem(self, error: InputError) -> str:
        """Return an error that names the file as its sender does."""
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
        if not _NAME.fullmatch(name) or not (folder / LOOK).is_file():
            return None
        kept = json.loads((folder / LOOK).read_text(encoding="utf-8"))
        lists = ("examples", "labels", "ends")
        columns = tuple(ColumnLook(**one | {name: tuple(one[name]) for name in lists}) for one in kept["columns"])
        return UploadedPeople(name, folder, kept["name"], kept["rows"], columns, FileFormat(**kept["format"]))

    async def look_at(self, name: str, sent_name: str, file_format: FileFormat | None = None) -> None:
        """Read what was received, as `file_format` or as it seems to be; errors name the file as its sender does.

        Nobody knows what it is, so it is read in a guarded process. Only one runs at a time. A file that somebody
        deletes meanwhile is a FileNotFoundError.
        """
        folder, name_shown = self._folder / name, clean_name(sent_name)
        kind = name_shown.rpartition(".")[2].lower()
        if kind not in _KINDS:
            raise InputError(f"{name_shown}: tables are taken from files that end in .xlsx, .csv, .tsv or .parquet")
        how = asdict(file_format or FileFormat(decimal=""))
        most = {"labels": MOST_DECISIONS, "columns": MOST_COLUMNS, "people": MOST_PEOPLE}
        work = GuardedWork(
            name_shown,
            (folder / "received").stat().st_size,
            look_at_people,
            (str(folder / "received"), str(folder / f"people.{kind}"), name_shown, how, most),
            nice=_NICE,
        )
        if HAS_PROCESSES:
            answer = await _turns.run(work.command, work.question, work.seconds, work.environment)
            (folder / "received").stat()  # if newer uploads replaced it meanwhile, that is why it could not be read
            work.result(*answer)
        else:
            await asyncio.to_thread(work.run)


def _measured(folder: Path) -> tuple[float, int, Path]:
    """When a folder was last added to, and its bytes; another process may delete it meanwhile."""
    try:
        return folder.stat().st_mtime, sum(file.stat().st_size for file in folder.iterdir()), folder
    except FileNotFoundError:
        return time.time(), 0, folder


def clean_name(sent: str) -> str:
    r"""Return the name of a file without its folders, and without what could be taken for anything but a name.

    >>> clean_name("../../C:\\data\\people 1.csv")
    'people 1.csv'
    """
    return re.sub(r"[^\w .()\[\]-]", "_", re.split(r"[/\\]", sent)[-1])[-80:].strip() or "the file"
