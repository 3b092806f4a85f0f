"""A panel of simulated people who take part in a running study at the same time."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fairwise.bots.browser import Browser
from fairwise.bots.page import Eyes
from fairwise.bots.participant import BotParticipant, World
from fairwise.study.recruitment import Arrival
from fairwise.study.signing import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx2

    from fairwise.simulation import Respondent
    from fairwise.study.folder import StudyFolder
    from fairwise.study.recruitment import Recruitment


@dataclass(frozen=True)
class Played:
    """What came of it."""

    receipts: dict[str, str]
    """By the name of the simulated person, all of whom finished."""

    answers: int
    seconds: float
    sent_away: int = 0
    """How many were screened out, or came when there were enough."""

    @property
    def answers_per_second(self) -> float:
        return self.answers / self.seconds


async def play(
    study: StudyFolder,
    site: httpx2.URL,
    respondents: Sequence[Respondent],
    *,
    seed: int = 0,
    thinking: bool = False,
    concurrency: int = 50,
    progress: Callable[[int, int], None] | None = None,
    room_code: str | None = None,
) -> Played:
    """Let them take part from consent to receipt, so many at a time; the first that is stuck stops all of them.

    They come into a room by its code, or as from the panel where only a panel sends people, or else by the open link.
    """
    total, done = len(respondents) * study.settings.pairs, 0

    def answered() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    world = World(study.settings, study.people(), Eyes(study.cards), thinking, answered)
    certificates = ssl.create_default_context()  # once, as reading them takes longer than a page
    room, receipts = asyncio.Semaphore(concurrency), dict[str, str]()

    async def take_part(number: int, respondent: Respondent) -> None:
        async with room, Browser(site, certificates) as browser:
            entrance = _entrance(study.settings.recruitment, number, room_code)
            receipt = await BotParticipant(world, respondent, [seed, number]).take_part(browser, entrance)
            if receipt is not None:
                receipts[respondent.name] = receipt

    start = perf_counter()
    await _all_or_the_first_problem(take_part(*person) for person in enumerate(respondents))
    seconds = perf_counter() - start
    return Played(dict(sorted(receipts.items())), done, seconds, len(respondents) - len(receipts))


def _entrance(recruitment: Recruitment, number: int, room_code: str | None) -> str:
    if room_code is not None:
        return f"/room/{quote(room_code)}"
    if recruitment.open or not recruitment.panel:
        return "/"
    who = f"simulated-{number}-{Keys.new()}"
    return Arrival(recruitment.panel, who, session=who).address


async def _all_or_the_first_problem(ways: Any) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for way in ways:
                group.create_task(way)
    except ExceptionGroup as problems:  # not `except*`, which before Python 3.11.4 wraps what is raised from it
        raise problems.exceptions[0] from None
