"""Requests that never come to an end hold no place for ever: neither their headers nor their bodies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from starlette.types import Message, Receive

HEADER_SECONDS = 15.0
BODY_SECONDS = 30.0
LEAST_RATE = 4096.0
"""Bytes a second of a body, on average after its first half minute; the slowest phone sends more."""


class TooSlow(Exception):  # noqa: N818 - a refusal, not an error
    """A request whose body comes too slowly."""


class ImpatientProtocol(HttpToolsProtocol):
    """uvicorn's own, but a connection on which no whole head of a request arrives in time is closed.

    Between two requests, uvicorn itself waits for some seconds only.
    """

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._closing is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._closing = self.loop.call_later(HEADER_SECONDS, self._close)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def _close(self) -> None:
        self.transport.close()


def impatient(receive: Receive) -> Receive:
    """What is received of a body, as long as it comes fast enough; what comes after it may take its time."""
    loop = asyncio.get_running_loop()
    deadline, whole = loop.time() + BODY_SECONDS, False

    async def receive_in_time() -> Message:
        nonlocal deadline, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise TooSlow from None
        deadline += len(message.get("body", b"")) / LEAST_RATE
        whole = not message.get("more_body", False)
        return message

    return receive_in_time
