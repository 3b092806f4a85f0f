"""Forms that bring a file: written to disk piece by piece, never held in memory as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairwise.web.shared.forms import Form

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
