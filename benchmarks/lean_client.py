"""Participants who cost as little as possible: one connection each, forms read by pattern, no browser."""

from __future__ import annotations

import asyncio
import random
import re
import time
from typing import Self
from urllib.parse import quote_plus

from benchmarks.served_study import HOST

_FIELD = re.compile(rb'name="(csrf|start_key|key|nonce|stamp|turn)"\s+value="([^"]*)"')
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_LOCATION = re.compile(rb"\r\nlocation: (\S+)", re.IGNORECASE)
ANSWERS = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")


class LeanParticipant:
    """Knows where it is and what the form there says."""

    def __init__(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, cookie: str = ""
    ) -> None:
        self._port = port
        known = f"Cookie: {cookie}\r\n" if cookie else ""
        self._end = f" HTTP/1.1\r\nHost: {HOST}:{port}\r\n{known}".encode()
        self._reader, self._writer = reader, writer
        self._path = b"/"
        self._form: dict[bytes, bytes] = {}
        self.accepted: dict[str, str] = {}
        """What was answered and acknowledged, by the key of the pair."""

        self.acknowledged_after = 0.0
        """Seconds that the last of them took, without the page after it."""

    @classmethod
    async def connected(cls, port: int, *, cookie: str = "") -> Self:
        return cls(port, *await _connection(port), cookie=cookie)

    async def arrive(self, link: str = "/") -> None:
        """Open the link."""
        await self._look(link.encode())

    async def agree(self) -> None:
        """Take part."""
        await self._go(b"/consent", {"decision": "agree"})

    async def begin(self, link: str = "/") -> None:
        """From the link to the first pair."""
        await self.arrive(link)
        await self.agree()
        await self._go(self._path, {})
        if self._path.endswith(b"/practice"):
            await self._go(self._path, {"done": "yes"})

    async def withdraw(self) -> None:
        """Have everything deleted, from wherever they are."""
        own = b"/".join(self._path.split(b"/")[:3])
        await self._look(own + b"/withdraw")
        await self._go(self._path, {})

    async def answer(self, turn: int) -> bool:
        """Answer the pair on the page; look at the next one. False after the last."""
        if b"/pair/" not in self._path:
            return False
        key, answer = self._form[b"key"].decode(), ANSWERS[turn % 4]
        sent = time.perf_counter()
        after = await self._send(self._path.partition(b"?")[0], {"answer": answer})
        self.acknowledged_after = time.perf_counter() - sent
        self.accepted[key] = answer
        await self._look(after)
        return True

    async def reload(self) -> None:
        """Look at the same page by a new connection, as the server closes those on which nothing is said."""
        await self.reconnect()
        await self._look(self._path)

    async def reconnect(self) -> None:
        await self.close()
        self._reader, self._writer = await _connection(self._port)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def _go(self, action: bytes, more: dict[str, str]) -> None:
        await self._look(await self._send(action.partition(b"?")[0], more))

    async def _send(self, action: bytes, more: dict[str, str]) -> bytes:
        fields = {**{name.decode(): value.decode() for name, value in self._form.items()}, **more}
        body = "&".join(f"{name}={quote_plus(value)}" for name, value in fields.items()).encode()
        kind = b"Content-Type: application/x-www-form-urlencoded\r\n"
        length = f"Content-Length: {len(body)}\r\n\r\n".encode()
        head, _ = await self._ask(b"POST " + action + self._end + kind + length + body, b"303")
        location = _LOCATION.search(head)
        if location is None:
            raise RuntimeError(head.decode())
        return location[1]

    async def _look(self, path: bytes) -> bytes:
        """Open a page, going on where it sends one; returns what it says."""
        while True:
            head, body = await self._ask(b"GET " + path + self._end + b"\r\n", b"200", b"303")
            location = _LOCATION.search(head)
            if location is None:
                break
            path = location[1]
        self._path, self._form = path, dict(_FIELD.findall(body))
        return body

    async def _ask(self, request: bytes, *wanted: bytes) -> tuple[bytes, bytes]:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1])) if length else b""
        if head[9:12] not in wanted:
            raise RuntimeError((head + body).decode()[:2000])
        return head, body


async def thinking_panel(port: int, people: int, thinking: float) -> None:
    """Let people take part at the same time, each with about so many seconds of thinking about every pair."""

    async def take_part(number: int) -> None:
        someone = await LeanParticipant.connected(port)
        await someone.begin()
        chance = random.Random(number)
        turn, more = number, True
        while more:
            await asyncio.sleep(chance.uniform(0.5, 1.5) * thinking)
            more = await someone.answer(turn)
            turn += 1
        await someone.close()

    await asyncio.gather(*(take_part(number) for number in range(people)))


async def _connection(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HOST, port, limit=2**18)
