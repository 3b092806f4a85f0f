"""A bad network: a proxy on this machine that delays what passes, and cuts connections in the middle of it."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self

from benchmarks.served_study import HOST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Proxy:
    """Between participants and a server. Of a chunk that is cut, half arrives."""

    def __init__(self, server_port: int, *, cuts: float, longest_delay: float) -> None:
        self.port, self.cut = 0, 0
        self._server_port, self._cuts, self._longest_delay = server_port, cuts, longest_delay
        self._chance = random.Random(0)
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        listener = await asyncio.start_server(self._pass_on, HOST, 0)
        self.port = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()
            for writer in tuple(self._open):
                writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            server_reader, server_writer = await asyncio.open_connection(HOST, self._server_port)
            both = {writer, server_writer}
            self._open |= both
            await asyncio.gather(self._flow(reader, server_writer, both), self._flow(server_reader, writer, both))
            self._open -= both
        writer.transport.abort()

    async def _flow(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, both: set[asyncio.StreamWriter]
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(2**16):
                await asyncio.sleep(self._chance.uniform(0, self._longest_delay))
                if self._chance.random() < self._cuts:
                    self.cut += 1
                    writer.write(chunk[: len(chunk) // 2])
                    break
                writer.write(chunk)
        for each in both:
            each.transport.abort()
