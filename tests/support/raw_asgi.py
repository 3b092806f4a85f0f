"""One request to an app, byte for byte as it is wanted: no client that tidies it up on the way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

PATIENCE = 60.0
"""Seconds after which a request that was not answered is said to hang; ordinary ones take a thousandth of that."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    """As it stands in the first line of the request, with its percent signs; a query may follow."""

    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    def with_header(self, name: str, value: bytes) -> Asked:
        """The same with a header in the place of those of its name."""
        others = tuple(header for header in self.headers if header[0] != name.encode())
        return Asked(self.method, self.path, (*others, (name.encode(), value)), self.body)

    @property
    def bytes(self) -> bytes:
        """What tells it from others."""
        return b"\n".join((self.method.encode(), self.path.encode(), repr(self.headers).encode(), self.body))


@dataclass
class Reply:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


async def send(app: Any, asked: Asked, client: str = "203.0.113.7") -> Reply:
    """Ask an app; an error that it does not handle is raised here, as it would show as a bare 500 elsewhere."""
    path, _, query = asked.path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "https",
        "path": unquote(path),
        "raw_path": path.encode(errors="replace"),
        "query_string": query.encode(errors="replace"),
        "root_path": "",
        "headers": list(asked.headers),
        "client": (client, 50000),
        "server": ("study.example", 443),
        "state": {},
    }
    reply, sent = Reply(), False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def take(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        elif message["type"] == "http.response.body":
            reply.body += message.get("body", b"")

    await asyncio.wait_for(app(scope, receive, take), PATIENCE)
    return reply
