"""Heads without end and connections without number, on a real socket: refused by our own page; others are served."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from unittest.mock import create_autospec

import psutil
import pytest
import uvicorn
from tests.support.served import listening
from uvicorn.server import ServerState

from fairwise.web import connections
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1024**2
HERE, NEXT_DOOR = "127.0.0.1", "127.0.0.2"
"""A proxy as the server sees it, and a visitor of its own."""


class Line:
    """A connection, byte for byte."""

    def __init__(self, port: int, source: str = HERE) -> None:
        self.socket = socket.create_connection((HERE, port), timeout=60, source_address=(source, 0))

    def send(self, content: bytes) -> None:
        """As far as the other side takes it."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(content)

    def all(self) -> bytes:
        """What comes until the other side hangs up."""
        said = b""
        try:
            while more := self.socket.recv(65536):
                said += more
        except ConnectionResetError:
            pass
        return said

    def ask(self, more: bytes = b"") -> bytes:
        self.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + more + b"\r\n")
        return self.socket.recv(65536)

    @property
    def is_over(self) -> bool:
        self.socket.settimeout(20)
        return self.socket.recv(1) == b""


@pytest.fixture
def port(make_study: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of a server that waits for ever, so that what ends was ended by something else."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 600)
    site = connections.LimitConnections(Site(make_study().path, tmp_path / "study.sqlite"))
    with listening(site, http=connections.Connection, ws="none", access_log=False, timeout_keep_alive=600) as address:
        yield int(address.rpartition(":")[2])


@contextmanager
def lines(port: int, number: int, source: str = HERE, *, asking: bool = False) -> Iterator[list[Line]]:
    with ExitStack() as stack:
        found = []
        for _ in range(number):
            line = Line(port, source)
            stack.enter_context(line.socket)
            if asking:
                assert b"200 OK" in line.ask()
            found.append(line)
        yield found


def refused(reply: bytes, status: bytes) -> None:
    """Our page, with our headers, and nothing else."""
    assert reply.startswith(b"HTTP/1.1 " + status), reply[:200]
    head, _, page = reply.partition(b"\r\n\r\n")
    for header in (b"x-frame-options: DENY", b"frame-ancestors 'none'", b"cache-control: no-store", b"nosniff"):
        assert header in head
    assert page.startswith(b"<!doctype html>")
    assert page.endswith(b"</html>")
    assert b"connection: close" in head


HEADS = {
    "many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % k for k in range(200)) + b"\r\n",
    "one long header": b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"a" * 100_000 + b"\r\n\r\n",
    "one long name": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a" * 100_000 + b": b\r\n\r\n",
    "a long address": b"GET /" + b"a" * 50_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "much in all": b"GET / HTTP/1.1\r\nHost: x\r\n"
    + b"".join(b"X-%d: %s\r\n" % (k, b"y" * 1000) for k in range(90))
    + b"\r\n",
}
ENDLESS = {
    "one header": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: ", b"a" * 10_000),
    "headers": (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-a: y\r\n" * 1000),
    "trailers": (
        b"POST /consent HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        b"X-a: y\r\n" * 1000,
    ),
}


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("piece", [1_000_000, 5000])
def test_a_long_head_is_refused(port: int, kind: str, piece: int) -> None:
    with lines(port, 1) as (line,):
        for start in range(0, len(HEADS[kind]), piece):
            line.send(HEADS[kind][start : start + piece])
        refused(line.all(), b"431")
    with lines(port, 1, asking=True):
        pass


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_head_without_end_is_hung_up_on(port: int, kind: str) -> None:
    """Nothing that anybody reads is sent to it, and it fills no memory."""
    begin, piece = ENDLESS[kind]
    process = psutil.Process()
    before = process.memory_info().rss
    with lines(port, 1) as (line,):
        line.send(begin)
        for _ in range(1000):
            line.send(piece)
        assert b"200 OK" not in line.all()
    assert process.memory_info().rss - before < 30 * MIB
    with lines(port, 1, asking=True):
        pass


def test_what_is_no_request_is_refused(port: int) -> None:
    with lines(port, 1) as (line,):
        line.send(b"\x00\x01 nonsense\r\n\r\n")
        assert line.all().startswith(b"HTTP/1.1 400")


def test_an_ordinary_head_is_read(port: int) -> None:
    """Long, with many headers, in any pieces, and several on one connection."""
    with lines(port, 1) as (line,):
        more = b"".join(b"X-%d: %s\r\n" % (k, b"y" * 300) for k in range(80))
        for _ in range(5):
            assert b"200 OK" in line.ask(more)
        whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + more + b"\r\n"
        for start in range(0, len(whole), 100):
            line.send(whole[start : start + 100])
        assert b"200 OK" in line.socket.recv(65536)


def test_a_large_body_is_no_long_head(port: int) -> None:
    with lines(port, 1) as (line,):
        body = b"csrf=x&start_key=" + b"a" * 300_000
        kind = b"Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
        head = b"POST /consent HTTP/1.1\r\nHost: x\r\n" + kind
        line.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert line.all().startswith(b"HTTP/1.1 403")


def test_many_requests_in_one_packet_wait_in_the_network(port: int) -> None:
    """The server reads no further while it answers, and all of them are answered."""
    process = psutil.Process()
    before = process.memory_info().rss
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with lines(port, 1) as (line,):
        line.send(request * 2000)
        line.send(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert line.all().count(b"200 OK") == 2001
    assert process.memory_info().rss - before < 30 * MIB


def test_who_reads_nothing_is_hung_up_on(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they would keep their place for ever: what is sent to them waits until they read it."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.2)
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.settimeout(60)
        lazy.connect(("127.0.0.1", port))
        with pytest.raises(ConnectionError):
            _ask_without_end(lazy)


def _ask_without_end(line: socket.socket) -> None:
    while True:
        line.sendall(b"GET /static/study.css HTTP/1.1\r\nhost: study.example\r\n\r\n" * 10)
        time.sleep(0.02)  # not all at once, which is refused


def test_half_open_connections_give_way(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is served, however many others hold connections open and ask nothing."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 10)
    with lines(port, 10) as silent:
        for line in silent[:5]:
            line.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-a: ")
        with lines(port, 10, asking=True):
            assert all(line.is_over for line in silent)


def test_one_address_cannot_take_all_connections(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 4)
    with lines(port, 3) as others, lines(port, 8, NEXT_DOOR, asking=True) as many:
        assert all(line.is_over for line in many[:4])
        assert b"200 OK" in many[-1].ask()
        assert all(b"200 OK" in line.ask() for line in others)


def test_behind_a_proxy_everyone_has_one_address(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 4)
    with lines(port, 8, asking=True) as all_of_them:
        assert all(b"200 OK" in line.ask() for line in all_of_them)


def test_who_finds_no_room_is_told_so(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is being answered keeps its place."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(
        connections.Connection, "is_protected", property(lambda _: True, lambda *_: None), raising=False
    )
    with lines(port, 1, asking=True), lines(port, 1) as (second,):
        second.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        refused(second.all(), b"503")


def test_addresses_of_one_network_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 1)

    async def closed(*hosts: str) -> list[bool]:
        config, state = uvicorn.Config(lambda: None), ServerState()
        transports = [create_autospec(asyncio.Transport, instance=True) for _ in hosts]
        visitors = [connections.Connection(config, server_state=state, app_state={}) for _ in hosts]
        for visitor, transport, host in zip(visitors, transports, hosts, strict=True):
            transport.get_extra_info.side_effect = {"peername": (host, 1)}.get
            visitor.connection_made(transport)
        for visitor in visitors:
            visitor.connection_lost(None)
        return [transport.abort.called for transport in transports]

    assert asyncio.run(closed("2001:db8::1", "2001:db8::2:3:4:5", "2001:db8:0:1::1")) == [True, False, False]
    assert asyncio.run(closed("::ffff:192.0.2.1", "::ffff:192.0.2.2")) == [False, False]
