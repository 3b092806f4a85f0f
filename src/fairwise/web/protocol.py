"""How requests arrive: uvicorn's own protocol, with an end to heads, to connections, and to patience with both."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary

from starlette.responses import HTMLResponse
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from fairwise.web.shared.attempts import network
from fairwise.web.shared.security import plain_page

HEADER_SECONDS = 15.0
LINGER_SECONDS = 2.0
"""So long a connection that was refused stays, so that the reason is read before it ends."""

UNREAD_SECONDS = 30.0
"""So long somebody may leave unread what was sent to them."""

MOST_HEAD_BYTES = 32 * 1024
MOST_HEADERS = 100
MOST_IN_LINE = 20
"""Requests of one connection that wait for the one before them."""

MOST_CONNECTIONS = 2000
"""To one process; each takes a file that it may open."""

MOST_OF_ONE_ADDRESS = 500
"""A lecture hall has one address, and a browser opens up to six connections."""

_EVERYONE = ""
_REASONS = {
    400: ("That could not be read", "Something was wrong with what your browser sent. Go back and try again."),
    431: (
        "Your browser sent too much",
        "Perhaps it keeps too many cookies of this website. Delete them in its settings, then open your link again.",
    ),
    503: (
        "Too many people are here at the moment",
        "Nothing that was saved is lost. Wait a minute, then load this page again.",
    ),
}


def _page(status: int) -> HTMLResponse:
    page = plain_page(*_REASONS[status], status)
    page.headers["connection"] = "close"
    return page


def _whole(status: int) -> bytes:
    """A reply as it is sent where there is no app yet to send one."""
    page = _page(status)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    lines += [name + b": " + value for name, value in page.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(page.body)])


_REPLIES = {status: _whole(status) for status in (400, 431)}
_TOO_MANY = _page(503)


class TooMuch(Exception):  # noqa: N818 - a refusal, not an error
    """A head of which no more is read."""


class Crowd:
    """Everyone who is connected to one server, together and by address, the longest connected first."""

    def __init__(self, proxies: str | list[str]) -> None:
        self._groups: dict[str, dict[LimitedProtocol, None]] = defaultdict(dict)
        self._proxies = ProxyHeadersMiddleware(_TOO_MANY, proxies).trusted_hosts  # type: ignore[arg-type]

    def enter(self, newcomer: LimitedProtocol) -> bool:
        """Count a connection. Whoever has not sent a whole request gives way to it; returns whether there is room."""
        is_room = True
        for group in self._groups_of(newcomer):
            members, most = self._groups[group], MOST_OF_ONE_ADDRESS if group else MOST_CONNECTIONS
            if len(members) >= most:
                slowest = next((member for member in members if member.has_asked_nothing), None)
                if slowest is None:
                    is_room = False
                else:
                    self.leave(slowest)
                    slowest.abort()  # to close waits until all is read that was sent
            self._groups[group][newcomer] = None
        return is_room

    def leave(self, connection: LimitedProtocol) -> None:
        for group in self._groups_of(connection):
            self._groups[group].pop(connection, None)
            if not self._groups[group]:
                del self._groups[group]

    def _groups_of(self, connection: LimitedProtocol) -> tuple[str, ...]:
        """An address is a network of IPv6, as each home has; that of a proxy stands for everyone behind it."""
        host = connection.client[0] if connection.client else ""
        return (_EVERYONE,) if not host or host in self._proxies else (_EVERYONE, network(host))


_crowds: WeakKeyDictionary[ServerState, Crowd] = WeakKeyDictionary()


class LimitedProtocol(HttpToolsProtocol):
    """A connection whose heads are neither endless nor endlessly long.

    What is refused here never reaches an app. Between two requests, uvicorn itself waits for some seconds only.
    """

    _closing: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _at_work: RequestResponseCycle | None = None
    _refused = _turned_away = False
    _head_bytes = _kept_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(HEADER_SECONDS)
        if self.server_state not in _crowds:
            _crowds[self.server_state] = Crowd(self.config.forwarded_allow_ips)
        self._crowd = _crowds[self.server_state]
        self._turned_away = not self._crowd.enter(self)

    @property
    def has_asked_nothing(self) -> bool:
        """Whether nobody is at work for this connection: no request has come, or only a part of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def data_received(self, data: bytes) -> None:
        if self._closing is None and (self.cycle is None or self.cycle.response_complete):
            self._wait(HEADER_SECONDS)
        # In pieces, as the parser keeps what is unfinished of each.
        for start in range(0, len(data), MOST_HEAD_BYTES):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + MOST_HEAD_BYTES]
            self._kept_bytes += len(piece)
            super().data_received(piece)
            if self._kept_bytes > MOST_HEAD_BYTES and not self._refused:
                self._refuse(431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = self._kept_bytes = 0
        if len(self.pipeline) >= MOST_IN_LINE:
            raise TooMuch

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        if len(self.headers) >= MOST_HEADERS:
            raise TooMuch
        super().on_header(name, value)

    def _count(self, read: int) -> None:
        """Of a head, and of what may come after a body in the way of a head."""
        self._kept_bytes = 0
        self._head_bytes += read
        if self._head_bytes > MOST_HEAD_BYTES:
            raise TooMuch

    def on_headers_complete(self) -> None:
        self._kept_bytes = 0
        self._stop_waiting()
        if self._turned_away:
            self.app = _TOO_MANY
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._kept_bytes = 0
        super().on_body(body)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_unread()
        self._crowd.leave(self)
        self._tell_nobody_is_there()
        super().connection_lost(exc)

    def abort(self) -> None:
        self._tell_nobody_is_there()
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._at_work = cycle
        super()._start_asgi_task(cycle, app)

    def _tell_nobody_is_there(self) -> None:
        """Also to whoever works on a request before the last, of which alone uvicorn thinks: to send would fail."""
        self.pipeline.clear()
        if self._at_work is not None:
            self._at_work.disconnected = True
            self._at_work.message_event.set()

    def _unsupported_upgrade_warning(self) -> None:
        """Is no news for the log: who asks for another protocol gets a reply in this one."""

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn for what its parser, or one of the limits above, does not take."""
        del msg
        read = self._head_bytes > MOST_HEAD_BYTES or len(self.headers or ()) >= MOST_HEADERS
        self._refuse(431 if read else 400)

    def _refuse(self, status: int) -> None:
        """Say why and hang up, but not before it could be read, and not within a reply to what came before."""
        self._refused = True
        self._stop_waiting()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_REPLIES[status])
            self.transport.write_eof()
            self._wait(LINGER_SECONDS)
        elif self.cycle.more_body:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def _wait(self, seconds: float) -> None:
        self._closing = self.loop.call_later(seconds, self._close)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _close(self) -> None:
        self.transport.close()
        self._closing = self.loop.call_later(UNREAD_SECONDS, self.abort)
