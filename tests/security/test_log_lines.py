"""What strangers send fills no log: each kind is told once a minute, with how many there were, without a traceback."""

from __future__ import annotations

import logging
import re
import signal
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.support.served_process import served

from fairwise.store import logs
from fairwise.store.logs import MOST_KINDS, LogLimit

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = 20
_RESET = struct.pack("ii", 1, 0)
_GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
_UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
SENT = {
    "no request": b"\x00\x01 nonsense\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00",
    "no address": b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel": b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a head without end": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-a: b\r\n" * 300,
    "no length": b"POST /consent HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "no chunk": b"POST /consent HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "half a body": b"POST /consent HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\na=",
    "a web socket": _UPGRADE % b"websocket",
    "another protocol": _UPGRADE % b"h2c" + b"PRI * HTTP/2.0",
    "too many in line": _GET * 100,
    "nonsense behind a request": _GET + b"\x00",
}


def _consent(url: str) -> bytes:
    """To agree, which takes a moment, as it is written down."""
    page = httpx2.get(url, trust_env=False).text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    body = str(httpx2.QueryParams({**fields, "decision": "agree"})).encode()
    head = b"POST /consent HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    return head % url.removeprefix("http://").encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _hang_up(port: int, content: bytes, *, reset: bool) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        with suppress(ConnectionError):
            line.sendall(content)
            if not reset:
                line.shutdown(socket.SHUT_WR)
                while line.recv(65536):
                    pass
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


@pytest.mark.slow
def test_strangers_fill_no_log(make_study: Callable[..., Any]) -> None:
    """`fairwise serve` itself; those who hang up wait for a reply, or not even for that, nor for those before it."""
    with served(make_study().path) as (url, process):
        port = int(url.rpartition(":")[2])
        for content in SENT.values():
            for number in range(TIMES):
                _hang_up(port, content, reset=number % 2 == 0)
        for _ in range(TIMES):
            _hang_up(port, _consent(url) + _GET * 3, reset=True)
        assert httpx2.get(f"{url}/healthz", trust_env=False).text == "ok"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    told = [line for line in said.splitlines() if not line.startswith(("To be filled in", "Open", "Console", "No acc"))]
    assert "Traceback" not in said
    assert len(told) <= 3, told


def test_each_kind_is_told_once_a_minute(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(logs, "monotonic", lambda: now)
    log = logging.getLogger("fairwise.tests.told")
    limit = LogLimit()
    log.addFilter(limit)
    for number in range(5):
        log.warning("Of %d", number)
        log.error("Fatal: %s\nprotocol at %d", "x", number)
        try:
            int(f"x{number}")
        except ValueError:
            log.exception("It failed")
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == ["Of 0", "Fatal: x", "It failed"]
    now += 61
    log.warning("Of %d", 9)
    assert caplog.messages[-1] == "Of 9 (4 more since this was last said)"
    log.removeFilter(limit)


def test_kinds_without_number_are_one_kind(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("fairwise.tests.kinds")
    limit = LogLimit()
    log.addFilter(limit)
    for number in range(10 * MOST_KINDS):
        log.warning(f"Task at {number}")  # noqa: G004 - as asyncio does
    assert len(caplog.messages) == MOST_KINDS + 1
    log.removeFilter(limit)
