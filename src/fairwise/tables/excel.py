"""Excel workbooks: the first sheet as rows of text, as a CSV file of it would have them.

Nothing is believed that a workbook says of its own size: every part is unpacked piece by piece, and what comes of it is
counted.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, BinaryIO
from xml.parsers import expat

from fairwise.errors import InputError, cut

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""Limit for any sheet."""

_PIECE = 1 << 16
_TEXT_COST, _CELL_COST, _BLANK_COST = 64, 24, 8
"""Bytes that a text takes beside its characters, a cell of the workbook, and one of the table."""

# Whatever a damaged archive or damaged XML makes its readers raise.
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError, NotImplementedError, OverflowError, RuntimeError),
    *(ValueError, expat.ExpatError),
)
_ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}
_DATES, _DURATIONS = {*range(14, 23), 45, 47}, {46}  # numbers of formats that every workbook has
_NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_IS_DATE = re.compile(r"[dmhys]", re.IGNORECASE)
_IS_DURATION = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_LONGEST_FORMAT = 255
_EPOCH, _EPOCH_OF_MACS = datetime(1899, 12, 30), datetime(1904, 1, 1)  # noqa: DTZ001 - workbooks have no zones
_MARCH_1900 = 60  # the day before is one that there was not, a 29th of February
_PLACE = re.compile(r"([A-Za-z]{1,3})([1-9][0-9]{0,6})")


@dataclass
class Budget:
    """Bytes that what is unpacked from a file may still take."""

    name: str
    most: int
    spent: int = 0

    def spend(self, count: int) -> None:
        """Count bytes; refuse those that are too many."""
        self.spent += count
        if self.spent > self.most:
            raise InputError(
                f"{self.name}: more than {self.most >> 20:,} MB when unpacked, which is more than is read from a file "
                "of its size"
            )


def excel_rows(name: str, file: BinaryIO, most_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, the header first, with its number in the workbook, all as wide as the header.

    A number is written in full, a date as ISO 8601, and nothing as the empty text.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            yield from _Workbook(name, archive, most_bytes).rows()
    except InputError:
        raise
    except _DAMAGES as error:
        raise InputError(f"{name}: not an Excel workbook (.xlsx), or a damaged one: {cut(str(error))}") from error


@dataclass
class _Workbook:
    name: str
    archive: zipfile.ZipFile
    most_bytes: int
    kept: Budget = field(init=False)
    """Limits for what is kept in memory: texts, styles and cells."""

    unpacked: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.kept, self.unpacked = Budget(self.name, self.most_bytes), Budget(self.name, self.most_bytes)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        book = self._related("", "officeDocument") or "xl/workbook.xml"
        parts = self._relations(book)
        sheets, epoch = list[str](), _EPOCH
        for what, about in self._events(book):
            if what == "<workbookPr" and about.get("date1904") in {"1", "true"}:
                epoch = _EPOCH_OF_MACS
            if what == "<sheet":
                sheets += [parts[about["id"]][1]] if parts[about["id"]][0] == "worksheet" else []
        by_kind = dict(parts.values())
        cells = _Cells(
            self._texts(by_kind["sharedStrings"]) if "sharedStrings" in by_kind else [],
            self._formats(by_kind["styles"]) if "styles" in by_kind else [],
            epoch,
        )
        header, width = 0, 0
        for number, texts in self._sheet_rows(sheets[0], cells):
            used = max((place + 1 for place, text in texts.items() if text), default=0)
            if not used:
                continue
            header, width = header or number, width or used
            if used > width:
                raise InputError(
                    f"{self.name}, row {number}: {used} cells where the header has {width}; "
                    f"row {header} was read as the header: delete whatever stands above the names of the columns"
                )
            wrong = next((text for text in texts.values() if text in _ERRORS), None)
            if wrong is not None:
                raise InputError(
                    f"{self.name}, row {number}: {wrong} is an error of the workbook; correct the cell or empty it"
                )
            row = [texts.get(place, "") for place in range(width)]
            self.kept.spend(sum(map(len, row)) + _BLANK_COST * width)
            yield number, row

    def _sheet_rows(self, part: str, cells: _Cells) -> Iterator[tuple[int, dict[int, str]]]:
        """Yield the number of each row, and its cells that are there by their column."""
        number, place, row, cell, text = 0, -1, dict[int, str](), dict[str, str](), ""
        for what, about in self._events(part):
            if what == "<row":
                last, number, place, row = number, int(about.get("r", number + 1)), -1, {}
                if number > MOST_ROWS:
                    raise InputError(f"{self.name}, row {cut(str(number))}: a workbook has at most {MOST_ROWS:,} rows")
                if number <= last:
                    raise ValueError(f"row {number} comes after row {last}")
            elif what == "<c":
                self.kept.spend(_CELL_COST)  # also of one in which nothing is
                place, cell, text = self._column(about, place + 1), about, ""
            elif what in {"v>", "t>"}:
                text += about
            elif what == "c>" and text:
                row[place] = cells.text(text, cell.get("t", "n"), int(cell.get("s", 0)))
            elif what == "row>":
                yield number, row

    def _column(self, cell: Mapping[str, str], following: int) -> int:
        """Return the column of a cell, counted from 0; without a place of its own it is the following one."""
        number = following + 1
        if "r" in cell:
            place = _PLACE.fullmatch(cell["r"])
            if place is None:
                raise ValueError(f"{cut(cell['r'])!r} is no place of a cell")
            number = reduce(lambda sum_, letter: 26 * sum_ + ord(letter) - 64, place[1].upper(), 0)
        if number > MOST_COLUMNS:
            raise InputError(f"{self.name}, column {number:,}: a workbook has at most {MOST_COLUMNS:,} columns")
        return number - 1

    def _texts(self, part: str) -> list[str]:
        """Return the texts that cells refer to by their place."""
        texts, text, is_reading_aid = list[str](), "", False
        for what, about in self._events(part):
            if what == "t>" and not is_reading_aid:
                text += about
            elif what == "<si":
                text = ""
            elif what == "si>":
                texts.append(text)
                self.kept.spend(len(text) + _TEXT_COST)
            elif what in {"<rPh", "rPh>"}:
                is_reading_aid = what == "<rPh"
        return texts

    def _formats(self, part: str) -> list[str]:
        """Return what a number is in each style: a "number", a "date" or a "duration"."""
        own, kinds, in_cells = dict[int, str](), list[str](), False
        for what, about in self._events(part):
            if what == "<numFmt":
                self.kept.spend(_TEXT_COST)
                own[int(about["numFmtId"])] = _kind_of_format(about.get("formatCode", ""))
            elif what in {"<cellXfs", "cellXfs>"}:
                in_cells = what == "<cellXfs"
            elif what == "<xf" and in_cells:
                self.kept.spend(_TEXT_COST)
                number = int(about.get("numFmtId", 0))
                usual = "date" if number in _DATES else "duration" if number in _DURATIONS else "number"
                kinds.append(own.get(number, usual))
        return kinds

    def _related(self, part: str, kind: str) -> str | None:
        return next((target for one, target in self._relations(part).values() if one == kind), None)

    def _relations(self, part: str) -> Mapping[str, tuple[str, str]]:
        """Return the parts that a part refers to: by id their kind and their name."""
        folder, _, file = part.rpartition("/")
        about = f"{folder}/_rels/{file}.rels".lstrip("/")
        parts = {}
        for what, one in self._events(about) if about in self.archive.NameToInfo else ():
            if what == "<Relationship" and one.get("TargetMode") != "External":
                self.kept.spend(_TEXT_COST)
                target = posixpath.normpath(posixpath.join("/", folder, one["Target"])).lstrip("/")
                parts[one["Id"]] = one["Type"].rpartition("/")[2], target
        return parts

    def _events(self, part: str) -> Iterator[tuple[str, Any]]:
        """Yield beginnings and ends of a part's elements: ("<row", attributes), ("row>", ""), with text ("t>", "x")."""
        entry = self.archive.getinfo(part)
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise InputError(f"{self.name}: {cut(part)} is packed in another way than by deflate; save the table anew")
        events: list[tuple[str, Any]] = []
        text: list[str] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True

        def begin(name: str, about: Mapping[str, str]) -> None:
            text.clear()
            attributes = {key.rpartition(":")[2]: value for key, value in about.items()}
            events.append((f"<{name.rpartition(':')[2]}", attributes))

        def end(name: str) -> None:
            events.append((f"{name.rpartition(':')[2]}>", "".join(text)))
            text.clear()

        def refuse(*_: object) -> None:
            raise InputError(f"{self.name}: {cut(part)} has a document type, which no workbook has")

        parser.StartElementHandler = begin
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text.append
        parser.StartDoctypeDeclHandler = refuse
        with self.archive.open(entry) as source:
            while piece := source.read(_PIECE):
                self.unpacked.spend(len(piece))
                parser.Parse(piece, False)
                yield from events
                events.clear()
        parser.Parse(b"", True)
        yield from events


@dataclass(frozen=True)
class _Cells:
    """Texts and date styles that the cells of a workbook refer to."""

    texts: list[str]
    formats: list[str]
    epoch: datetime

    def text(self, value: str, kind: str, style: int) -> str:
        """Return a cell as a CSV file would have it."""
        if kind == "s":
            return self.texts[int(value)]
        if kind == "b":
            return str(bool(int(value)))
        if kind == "d":
            return datetime.fromisoformat(value).isoformat()
        return self._number(value.strip(), style) if kind == "n" and value.strip() else value

    def _number(self, value: str, style: int) -> str:
        number, what = float(value), self.formats[style] if style < len(self.formats) else "number"
        if what == "number":
            is_written_whole = value.lstrip("+-").isdecimal()  # perhaps with more digits than a float has
            return str(int(value) if is_written_whole else int(number) if number.is_integer() else number)
        days, moment = divmod(number, 1)
        time = timedelta(milliseconds=round(moment * 86_400_000))
        if what == "duration":
            return str(timedelta(days=days) + time)
        if days == 0 and time.days == 0:
            return (self.epoch + time).time().isoformat()
        if 0 < number < _MARCH_1900 and self.epoch < _EPOCH_OF_MACS:
            days += 1
        return (self.epoch + timedelta(days=days) + time).isoformat()


def _kind_of_format(code: str) -> str:
    """Return what a number is that is written by a format.

    >>> _kind_of_format('[$-407]d. mmm yyyy'), _kind_of_format('[h]:mm'), _kind_of_format('0.0 "days"')
    ('date', 'duration', 'number')
    """
    codes = _NOT_CODES.sub("", code[:_LONGEST_FORMAT].partition(";")[0])
    if _IS_DURATION.search(codes):
        return "duration"
    return "date" if _IS_DATE.search(codes) else "number"
