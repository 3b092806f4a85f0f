"""Hundreds of participants at the same time, who come, answer, finish and are followed by others."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faults.bot import LONGEST_SILENCE, Bot, Stuck

if TYPE_CHECKING:
    from faults.ledger import Ledger

USUAL_UNRULINESS = 0.03


@dataclass
class Seen:
    """By all of them, in one phase."""

    cut: int = 0
    """Connections that broke or were refused."""

    refused: int = 0
    """Pages that said: not at the moment."""

    tracebacks: int = 0
    strange_pages: int = 0
    """Failures without a page of our own."""

    example: str = ""
    acknowledged: int = 0
    """Answers, also those that said nothing new."""

    longest_silence: float = 0.0
    """Seconds in which not one answer was acknowledged to anyone."""


class Crowd:
    """As many at a time as there are places."""

    def __init__(self, *ports: int, places: int, pairs: int, thinking: float, seed: int = 0) -> None:
        self.ports, self.pairs = list(ports), pairs
        self.unruliness = USUAL_UNRULINESS
        """How likely, with each answer, somebody does something else than answer and go on."""

        self.ledgers: list[Ledger] = []
        self.seen = Seen()
        self._places, self._thinking, self._seed = places, thinking, seed
        self._come, self._leaving = 0, False
        self._resting, self._go = 0, asyncio.Event()
        self._go.set()
        self._chance = random.Random(seed)
        self._last_answer = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def port(self) -> int:
        """Where the next request goes: if there are several servers, to any of them."""
        return self._chance.choice(self.ports)

    def chance_of(self, number: int) -> random.Random:
        return random.Random(f"{self._seed} {number}")

    def begin(self) -> None:
        self._last_answer = asyncio.get_running_loop().time()
        self._tasks = [asyncio.create_task(self._place()) for _ in range(self._places)]

    async def rest(self) -> None:
        """Until everyone sits still: nothing is under way, everything was acknowledged."""
        self._go.clear()
        while self._resting < sum(not task.done() for task in self._tasks):
            self._raise_problems()
            await asyncio.sleep(0.05)
        self._raise_problems()

    def wake(self) -> None:
        """Go on after a rest."""
        self._resting = 0
        self._last_answer = asyncio.get_running_loop().time()
        self._go.set()

    def go_on(self) -> None:
        """Begin a new phase."""
        self.seen, self.unruliness = Seen(), USUAL_UNRULINESS
        self.wake()

    async def finish(self) -> None:
        """Everyone comes to the end, and nobody new comes."""
        self._leaving, self._thinking = True, 0.0
        self.wake()
        await asyncio.gather(*self._tasks)

    async def leave(self) -> None:
        """At once, wherever they are."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def between_pages(self) -> None:
        if not self._go.is_set():
            self._resting += 1
            await self._go.wait()
        if self._thinking:
            await asyncio.sleep(self._chance.uniform(0.0, 2 * self._thinking))

    def noticed_answer(self) -> None:
        now = asyncio.get_running_loop().time()
        self.seen.longest_silence = max(self.seen.longest_silence, now - self._last_answer)
        self._last_answer = now
        self.seen.acknowledged += 1

    async def answers(self, more: int) -> None:
        """Wait until so many more were acknowledged."""
        loop, wanted = asyncio.get_running_loop(), self.seen.acknowledged + more
        since = loop.time()
        while self.seen.acknowledged < wanted:
            self._raise_problems()
            if loop.time() - max(since, self._last_answer) > 2 * LONGEST_SILENCE:
                raise Stuck(f"nobody could answer for {2 * LONGEST_SILENCE:.0f} s, and nobody was told why")
            await asyncio.sleep(0.02)

    async def _place(self) -> None:
        while not self._leaving:
            self._come += 1
            await Bot(self, self._come).take_part()

    def _raise_problems(self) -> None:
        for task in self._tasks:
            if task.done() and (problem := task.exception()) is not None:
                raise problem
