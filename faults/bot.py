"""A participant who does not give up: whatever breaks, the same form is sent again until it is acknowledged."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from benchmarks.lean_client import ANSWERS

from faults.ledger import Ledger
from faults.line import Cut, Line, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faults.crowd import Crowd

LONGEST_SILENCE = 90.0
_MOST_REDIRECTS = 10
_OWN_PAGES = (b"The study cannot be reached at the moment", b"Something went wrong")


class Stuck(Exception):  # noqa: N818 - a finding about the study, not an error of ours
    """A participant cannot go on."""


class Bot:
    """From consent to receipt, keeping a ledger of every answer that was acknowledged."""

    def __init__(self, crowd: Crowd, seed: int) -> None:
        self._crowd, self._chance = crowd, crowd.chance_of(seed)
        self._line = Line()
        self._me = ""
        self._sent: list[tuple[str, dict[str, str]]] = []
        self.ledger: Ledger | None = None

    async def take_part(self) -> None:
        """Go wherever the pages lead, until the receipt."""
        try:
            where = await self._agree()
            while not where.endswith("/thanks"):
                await self._crowd.between_pages()
                where = await self._step(where)
            await self._finished()
        finally:
            self._line.hang_up()

    async def _agree(self) -> str:
        page = await self._look("/")
        reply = await self._send("/consent", {**page.fields, "decision": "agree"})
        self._me = "/".join(reply.location.split("/")[:3])
        self.ledger = Ledger(self._me.removeprefix("/p/"))
        self._crowd.ledgers.append(self.ledger)
        return reply.location

    async def _step(self, where: str) -> str:
        """Do what the page there asks for; returns where one is then."""
        page = await self._look(where)
        for _ in range(_MOST_REDIRECTS):
            if not page.location:
                break
            where = page.location
            if where.endswith("/thanks"):
                return where
            page = await self._look(where)
        else:
            raise Stuck(f"sent round in circles, at last to …/{where.rpartition('/')[2]}")
        path = where.partition("?")[0].partition("#")[0]
        if "/pair/" in path:
            return await self._pair(path, page)
        if path.endswith("/review"):
            return f"{self._me}/closing"
        return (await self._send(path, {**page.fields, "answer": ANSWERS[0], "done": "yes"})).location

    # Pairs, answered as people do: mostly in order, sometimes twice, late, or otherwise than before

    async def _pair(self, path: str, page: Reply) -> str:
        where = await self._answer(path, page.fields)
        if self._chance.random() < self._crowd.unruliness:
            await self._chance.choice([self._replay, self._change, self._late, self._ahead])()
        return where

    async def _answer(self, path: str, form: Mapping[str, str]) -> str:
        assert self.ledger is not None
        sent = {**form, "answer": self._chance.choice(ANSWERS)}
        times = 2 if self._chance.random() < self._crowd.unruliness else 1
        lines = [self._line, *(Line() for _ in range(times - 1))]
        replies = await asyncio.gather(*(self._send(path, sent, line) for line in lines))  # a double click
        for line in lines[1:]:
            line.hang_up()
        if not all("saved" in reply.location for reply in replies):
            raise Stuck(f"an answer was not taken: {[reply.location.removeprefix(self._me) for reply in replies]}")
        self.ledger.acknowledged(sent["key"], sent["nonce"], sent["answer"])
        self._crowd.noticed_answer()
        self._sent.append((path, sent))
        return replies[0].location

    async def _replay(self) -> None:
        """An old form once more, which says nothing new."""
        await self._send(*self._chance.choice(self._sent))

    async def _change(self) -> None:
        path, _ = self._chance.choice(self._sent)
        await self._answer(path, (await self._look(path)).fields)

    async def _late(self) -> None:
        """Two tabs: the form that was opened first is sent last, and counts."""
        path, _ = self._chance.choice(self._sent)
        older, newer = (await self._look(path)).fields, (await self._look(path)).fields
        await self._answer(path, newer)
        await self._answer(path, older)

    async def _ahead(self) -> None:
        """A pair that is not the next."""
        path = f"{self._me}/pair/{self._chance.randint(1, self._crowd.pairs)}"
        await self._answer(path, (await self._look(path)).fields)

    async def _finished(self) -> None:
        assert self.ledger is not None
        self.ledger.finished = True
        page = await self._look(f"{self._me}/thanks")
        if b'class="code"' not in page.body:
            raise Stuck("no receipt at the end")
        if self._chance.random() < self._crowd.unruliness:
            await self._replay()  # after the end nothing changes

    # Asking until there is an answer

    async def _look(self, path: str) -> Reply:
        return await self._persist(path, None, self._line)

    async def _send(self, path: str, fields: Mapping[str, str], line: Line | None = None) -> Reply:
        reply = await self._persist(path, fields, line or self._line)
        if reply.status != 303:
            raise Stuck(f"{reply.status} after a form was sent to …/{path.rpartition('/')[2]}")
        return reply

    async def _persist(self, path: str, fields: Mapping[str, str] | None, line: Line) -> Reply:
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_SILENCE
        while loop.time() < until:
            try:
                reply = await line.ask(self._crowd.port, path, fields)
            except Cut:
                self._crowd.seen.cut += 1
            else:
                self._check(reply)
                if reply.status < 500:
                    return reply
                self._crowd.seen.refused += 1
            await asyncio.sleep(self._chance.uniform(0.3, 1.2))
        raise Stuck(f"no answer for {LONGEST_SILENCE:.0f} s")

    def _check(self, reply: Reply) -> None:
        """No page may show what went wrong inside, and a failure has a page of our own."""
        if b"Traceback" in reply.body or b'File "' in reply.body:
            self._crowd.seen.tracebacks += 1
        if reply.status >= 500 and not any(words in reply.body for words in _OWN_PAGES):
            self._crowd.seen.strange_pages += 1
            self._crowd.seen.example = reply.body[:300].decode(errors="replace")
        if 400 <= reply.status < 500:
            raise Stuck(f"{reply.status}: {reply.body[:300]!r}")
