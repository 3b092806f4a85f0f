"""Limits of connections for which uvicorn has no options: the size of heads, time without a request, and number.

uvicorn reads and answers the requests of a `Connection`; `LimitConnections` tells the connection which of them are at
work. Both use only the interfaces of asyncio and ASGI.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextvars import ContextVar
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairwise.web.shared.security import network, plain_page

HEADER_SECONDS = 15.0
"""Time limit for the head of a request."""

UNREAD_SECONDS = 30.0
"""Time limit for reading what was sent."""

MOST_HEAD_BYTES = 32 * 1024
MOST_HEADERS = 100
MOST_CONNECTIONS = 2000
"""Connections of one process; each takes a file descriptor."""

MOST_OF_ONE_ADDRESS = 500
"""Connections of one address; a lecture hall has one, and a browser opens up to six."""

_BYTES_AT_ONCE = 16 * 1024
_MOST_UNUSED_BYTES = 512 * 1024
"""Bytes that may arrive while no request begins and no body grows: heads, chunk sizes and trailers."""

_EVERYONE = ""
_TOO_LARGE = plain_page(
    "Your browser sent too much",
    "Perhaps it keeps too many cookies of this website. Delete them in its settings, then open your link again.",
    431,
)
_TOO_MANY = plain_page(
    "Too many people are here at the moment",
    "Nothing that was saved is lost. Wait a minute, then load this page again.",
    503,
)
_STOPPING = plain_page(
    "This website is being restarted",
    "Nothing that was saved is lost. Wait a minute, then load this page again.",
    503,
)
for _page in (_TOO_LARGE, _TOO_MANY, _STOPPING):
    _page.headers["connection"] = "close"

_connections: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
"""Connections of this process by group, the oldest first; `_EVERYONE` is the group of all."""

_current: ContextVar[Connection | None] = ContextVar("connection", default=None)


class _OpenTransport:
    """A transport that drops what is written after the connection was lost, as uvicorn answers requests in line."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


class Connection(asyncio.BufferedProtocol):
    """A connection whose requests uvicorn reads, with limits of time, size and number."""

    def __init__(self, config: Config, **options: Any) -> None:
        self._http = HttpToolsProtocol(config, **options)
        self._proxies = ProxyHeadersMiddleware(_TOO_MANY, config.forwarded_allow_ips).trusted_hosts  # type: ignore[arg-type]
        self._buffer = bytearray(_BYTES_AT_ONCE)
        self._unused_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._at_work = False
        self.is_protected = False
        """Whether a whole request is being answered; other connections give way to new ones."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport, self._loop = transport, asyncio.get_running_loop()
        address = transport.get_extra_info("peername")
        host = address[0] if isinstance(address, tuple) else ""
        # A proxy stands for everyone behind it, and a network of IPv6 for one home.
        self._groups = (_EVERYONE,) if not host or host in self._proxies else (_EVERYONE, network(host))
        self._http.connection_made(_OpenTransport(transport))  # type: ignore[arg-type]
        self._expect_request()
        self.has_place = sum(map(self._take_place, self._groups)) == len(self._groups)

    def _take_place(self, group: str) -> bool:
        """Enter a group and return whether there is room; the oldest connection that is not protected gives way."""
        members = _connections[group]
        is_full = len(members) >= (MOST_OF_ONE_ADDRESS if group else MOST_CONNECTIONS)
        oldest = next((member for member in members if not member.is_protected), None) if is_full else None
        if oldest is not None:
            oldest.give_way()
        _connections[group][self] = None
        return not is_full or oldest is not None

    def give_way(self) -> None:
        """End without waiting until all is read that was sent."""
        self._leave()
        self._transport.abort()

    def _leave(self) -> None:
        for group in self._groups:
            _connections[group].pop(self, None)
            if not _connections[group]:
                del _connections[group]

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - asyncio's interface
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._unused_bytes += nbytes
        if self._unused_bytes > _MOST_UNUSED_BYTES:
            self._transport.abort()
            return
        if not self._at_work and self._timer is None:
            self._expect_request()
        _current.set(self)
        self._http.data_received(bytes(self._buffer[:nbytes]))

    def eof_received(self) -> None:
        self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()
        self._unread_timer = self._loop.call_later(UNREAD_SECONDS, self._transport.abort)

    def resume_writing(self) -> None:
        self._http.resume_writing()
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._unread_timer):
            if timer is not None:
                timer.cancel()
        self._leave()
        self._http.connection_lost(exc)

    def _expect_request(self) -> None:
        """Close the connection unless a request begins in time."""

        def close() -> None:
            self._transport.close()
            self._timer = self._loop.call_later(UNREAD_SECONDS, self._transport.abort)

        self._timer = self._loop.call_later(HEADER_SECONDS, close)

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose head is complete."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._unused_bytes, self._at_work, self.is_protected = 0, True, scope["method"] in ("GET", "HEAD")

        body_left = int(dict(scope["headers"]).get(b"content-length", _MOST_UNUSED_BYTES))
        has_started = False

        async def receive_and_count() -> Message:
            nonlocal body_left
            message = await receive()
            body_left -= len(message.get("body", b""))
            self._unused_bytes = 0
            self.is_protected = not message.get("more_body", False)
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        head_bytes = len(scope["raw_path"]) + sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if not self.has_place:
            app = _TOO_MANY
        elif head_bytes > MOST_HEAD_BYTES or len(scope["headers"]) > MOST_HEADERS:
            app = _TOO_LARGE
        try:
            await app(scope, receive_and_count, send_and_note)
        except asyncio.CancelledError:  # the server stops, and the grace for requests under way is over
            if has_started:
                raise
            await _STOPPING(scope, receive, send)
        finally:
            if not self.is_protected:  # the rest of a refused body is read: to hang up would lose the answer on its way
                self._unused_bytes -= max(body_left, 0)
            self._at_work = self.is_protected = False


class LimitConnections:
    """An app that answers the requests of connections with limits."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = _current.get()
        if scope["type"] == "http" and connection is not None:
            await connection.answer(self.app, scope, receive, send)
        else:
            await self.app(scope, receive, send)
