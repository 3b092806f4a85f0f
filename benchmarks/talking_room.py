"""A room of a hundred phones that talks, led by an operator: how long an answer takes, and whether it is kept once."""

from __future__ import annotations

import asyncio
import os
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import sqlalchemy as sa
import uvloop

from benchmarks.console_pages import log_in
from benchmarks.lean_client import ANSWERS, LeanParticipant
from benchmarks.row import Row
from benchmarks.served_study import Served, make_study, served
from fairwise.judgments import Answer
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.schema import answers, appearances
from fairwise.store.store import snapshot
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.web.console.base import COOKIE

PHONES, PAIRS = 100, 6
ANSWERING, SHOWING = 8.5, 3.0
"""Seconds that the operator gives for each of the two answers, and between them."""

_THINKING = 2.0
_ASKS, _RELOADS = 3.0, 5.0
"""Seconds between two questions of the script, and between two loadings of a page that has none."""

_WITHOUT_SCRIPT, _TWICE = 4, 10
"""Every so many phones have no script, and send each form twice."""

_IDLE = 3.5
"""Seconds after which a connection is made anew, as the server closes those on which nothing is said."""

_BAR = 1.0
_OF_PHONE = re.compile(rb'data-turn="([^"]*)" data-tag="([^"]*)"')
_MOVES = re.compile(rb'name="seen" value="([^"]*)"><input type="hidden" name="to" value="([^"]*)"')
_ROOM = re.compile(rb"/admin/coming/rooms/([A-Z0-9]+)\"")
Kept = Counter[tuple[str, int, str]]
"""Key of the pair, round, and the answer on the wall's sides."""


@dataclass
class Seen:
    """What came back to the phones, the wall and the operator."""

    answers: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    accepted: Kept = field(default_factory=Counter)
    late: int = 0
    over: bool = False


class Phone(LeanParticipant):
    """In a room, with the script or without it; a page of the wall is followed in the same way."""

    used = 0.0
    turn = tag = b""

    async def follow(self, seen: Seen, number: int, *, script: bool) -> None:
        chance, pause = random.Random(number), _ASKS if script else _RELOADS
        await asyncio.sleep(chance.uniform(0, pause))
        page, answer_at = self._path, None
        await self._open(page)
        while not seen.over:
            if b"turn" not in self._form:
                answer_at = None
            elif answer_at is None:
                answer_at = time.perf_counter() + chance.uniform(0, _THINKING)
            wait = pause if answer_at is None else max(0.0, min(pause, answer_at - time.perf_counter()))
            await asyncio.sleep(wait)
            if answer_at is not None and time.perf_counter() >= answer_at:
                await self._say(seen, number)
                answer_at = None
            elif not script and answer_at is None:
                await self._open(page)
            elif script and await self._went_on(seen):
                await self._open(page)
                answer_at = None

    async def _went_on(self, seen: Seen) -> bool:
        """Ask as the script does."""
        start = time.perf_counter()
        await self._fresh()
        known = b'If-None-Match: "' + self.tag + b'"\r\n\r\n'
        head, _ = await self._ask(b"GET " + self.turn + self._end + known, b"200", b"304")
        seen.asked.append(time.perf_counter() - start)
        return head[9:12] == b"200"

    async def _say(self, seen: Seen, number: int) -> None:
        """Send the form and load the page that follows."""
        key, turn = (self._form[name].decode() for name in (b"key", b"turn"))
        pair, _, step = turn.partition("-")
        again = step == "again"
        answer = ANSWERS[(number + int(pair) + again) % 4]
        times = 2 if number % _TWICE == 1 else 1
        form, page = self._form, self._path
        start = time.perf_counter()
        for _ in range(times):
            self._form = form
            await self._fresh()
            try:
                after = await self._send(page.partition(b"?")[0], {"answer": answer})
            except RuntimeError as refused:
                if " 409 " not in str(refused):
                    raise
                seen.late += 1
                await self._open(page)
                return
        await self._open(after)
        seen.answers.append(time.perf_counter() - start)
        seen.accepted[key, 1 + again, answer] = 1

    async def _open(self, page: bytes) -> None:
        await self._fresh()
        found = _OF_PHONE.search(await self._look(page))
        if found is not None:
            self.turn, self.tag = found.groups()

    async def _fresh(self) -> None:
        if time.perf_counter() - self.used > _IDLE:
            await self.reconnect()
        self.used = time.perf_counter()


class Leader(Phone):
    """An operator, who presses the first of the buttons."""

    async def open_room(self) -> str:
        await self.arrive("/admin/coming")
        await self._send(b"/admin/coming/rooms", {"name": "Benchmark"})
        found = _ROOM.search(await self._look(b"/admin/coming"))
        if found is None:
            raise RuntimeError("the console shows no room")
        return found[1].decode()

    async def lead_on(self, code: str, seen: Seen) -> None:
        page = f"/admin/coming/rooms/{code}".encode()
        await self._fresh()
        start = time.perf_counter()
        (now, to), *_ = _MOVES.findall(await self._look(page))
        await self._look(await self._send(page + b"/turn", {"seen": now.decode(), "to": to.decode()}))
        seen.moves.append(time.perf_counter() - start)


def run() -> Row:
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        folder = make_study(Path(home), pairs=PAIRS, design={"fixed": PAIRS}, deliberation={"rooms": True})
        with served(folder) as server:
            engine, token = writing_engine(database_url(folder / "study.sqlite")), Keys.new()
            with engine.begin() as connection:
                log_in(connection, token)
            engine.dispose()
            seen = uvloop.run(_talk(server, token))
        kept = _kept(folder)
    lost, doubled = (seen.accepted - kept).total(), (kept - seen.accepted).total()
    p95, slowest = float(np.quantile(seen.answers, 0.95)), max(seen.answers)
    without = len(range(0, PHONES, _WITHOUT_SCRIPT))
    return Row(
        what=f"a room of {PHONES} phones that talks, a pair each {2 * ANSWERING + SHOWING:.0f} s, each answered twice",
        bar="an answer with the page that follows ≤ 1 s at the 95th percentile; none lost, none doubled",
        measured=f"{p95:.2f} s; {lost} lost, {doubled} doubled",
        reached=p95 <= _BAR and lost == 0 and doubled == 0,
        notes=f"{PAIRS} pairs on SQLite, one worker, led through the console; the phones are on the same machine (load "
        f"average {busy:.1f} at the start). {PHONES - without} ask every {_ASKS:.0f} s as the script does and load the "
        f"page when the room has gone on; {without} have no script and load waiting pages every {_RELOADS:.0f} s; two "
        f"walls follow, one of each kind. Every {_TWICE}th phone sends each form twice, and both are timed as one. "
        f"Nobody thinks for more than {_THINKING:.0f} s, so answers come in bursts. {len(seen.answers)} answers of "
        f"{2 * PAIRS * PHONES} were acknowledged, {seen.late} came too late and were told so; median "
        f"{np.median(seen.answers):.3f} s, slowest {slowest:.2f} s. {len(seen.asked)} questions of scripts, "
        f"p95 {np.quantile(seen.asked, 0.95):.3f} s. The slowest move of the operator, page, form and page, took "
        f"{max(seen.moves):.2f} s.",
        ratios={"bar / p95": _BAR / p95},
    )


async def _talk(server: Served, token: str) -> Seen:
    seen, few = Seen(), asyncio.Semaphore(10)
    leader = await Leader.connected(server.port, cookie=f"{COOKIE}={token}")
    code = await leader.open_room()

    async def come() -> Phone:
        async with few:
            phone = await Phone.connected(server.port)
            await phone.begin(f"/room/{code}")
            return phone

    phones = await asyncio.gather(*(come() for _ in range(PHONES)))
    following = [
        asyncio.create_task(phone.follow(seen, number, script=number % _WITHOUT_SCRIPT != 0))
        for number, phone in enumerate(phones)
    ]
    walls = [await Phone.connected(server.port) for _ in range(2)]
    await leader.lead_on(code, seen)
    for number, wall in enumerate(walls):
        await wall.arrive(f"/room/{code}/wall")
        following.append(asyncio.create_task(wall.follow(seen, number, script=number == 0)))
    for _ in range(PAIRS):
        for pause in (ANSWERING, SHOWING, ANSWERING, 0.0):  # alone, shown, again, compared
            await asyncio.sleep(pause)
            await leader.lead_on(code, seen)
    seen.over = True
    await asyncio.gather(*following)
    for one in (*phones, *walls, leader):
        await one.close()
    return seen


def _kept(folder: Path) -> Kept:
    """What is in the database, turned to the wall's sides."""
    fixed = set(StudyFolder.open(folder).schedules.fixed)
    query = sa.select(appearances.c.key, appearances.c.a, appearances.c.b, answers.c.round, answers.c.answer)
    kept: Kept = Counter()
    with snapshot(folder / "study.sqlite") as connection:
        for row in connection.execute(query.join(answers)):
            answer = Answer(row.answer)
            kept[row.key, row.round, str(answer if (row.a, row.b) in fixed else answer.swapped())] += 1
    return kept
