"""A connection that may break at any moment, and what was heard on it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.served_study import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_LOCATION = re.compile(rb"\r\nlocation: (\S+)", re.IGNORECASE)
_FIELD = re.compile(rb'name="(csrf|start_key|key|nonce|stamp)"\s+value="([^"]*)"')
_PATIENCE = 30.0


class Cut(Exception):  # noqa: N818 - it happened to us
    """Nobody knows whether the request arrived."""


@dataclass(frozen=True)
class Reply:
    status: int
    location: str
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """Of the form on the page."""
        return {name.decode(): value.decode() for name, value in _FIELD.findall(self.body)}


class Line:
    """One connection at a time to this machine; a new one after each that broke."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, port: int, path: str, fields: Mapping[str, str] | None = None) -> Reply:
        """GET, or POST if there are fields."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._asked(port, _written(port, path, fields))
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:  # also a timeout
            self.hang_up()
            raise Cut(type(error).__name__) from error

    def hang_up(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _asked(self, port: int, request: bytes) -> Reply:
        if self._writer is not None and self._writer.get_extra_info("peername")[1] != port:
            self.hang_up()
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(HOST, port, limit=2**18)
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length, location = _LENGTH.search(head), _LOCATION.search(head)
        body = await self._reader.readexactly(int(length[1])) if length else b""
        if b"\r\nconnection: close" in head.lower():
            self.hang_up()
        return Reply(int(head[9:12]), location[1].decode() if location else "", body)


def _written(port: int, path: str, fields: Mapping[str, str] | None) -> bytes:
    end = f" HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
    if fields is None:
        return f"GET {path}{end}\r\n".encode()
    body = urlencode(fields)
    kind = "Content-Type: application/x-www-form-urlencoded"
    return f"POST {path}{end}{kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
