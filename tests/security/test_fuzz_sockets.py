"""Bytes on a real connection that are no request, or nearly one: refused, and the next visitor is served."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.mutations import damaged
from tests.support.served import listening
from tests.support.tried import Tried, how_many, rng_of

from fairwise.web.connections import Connection, LimitConnections

if TYPE_CHECKING:
    from pathlib import Path

_MOMENT = 0.1
_FORM = b"Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
GOOD = (
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /p/abcdefgh/pair/1?saved HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nConnection: close\r\n\r\n",
    b"POST /consent HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n" + _FORM + b"\r\ncsrf=ab",
    b"POST /room HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + _FORM + b"\r\n4\r\na=bc\r\n0\r\n\r\n",
)


@pytest.mark.slow
def test_any_bytes(tried: Tried, make_study: Any, tmp_path: Path) -> None:
    from fairwise.web.app import Site  # noqa: PLC0415

    site = LimitConnections(Site(make_study().path, tmp_path / "study.sqlite"))
    with listening(site, http=Connection, access_log=False) as address:
        port = int(address.rpartition(":")[2])
        for number in range(how_many(60)):
            rng = rng_of("socket", number)
            content = damaged(rng.choice(GOOD), rng)
            if not tried.is_new(content):
                continue
            status = said(port, content)
            assert not status.startswith(b"5"), (status, content)
            tried.taken += status.startswith((b"2", b"3"))
            if number % 20 == 0:
                assert said(port, GOOD[0]) == b"200"


def said(port: int, content: bytes) -> bytes:
    """The status of the first reply; nothing if there is none to what is not a whole request."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(content)
        if content not in GOOD:  # it may wait for more, as we do not
            line.settimeout(_MOMENT)
        reply = b""
        try:
            while len(reply) < 12 and (more := line.recv(4096)):
                reply += more
        except (ConnectionResetError, TimeoutError):
            pass
    return reply[9:12]
