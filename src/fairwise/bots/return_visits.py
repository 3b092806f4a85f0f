"""Simulated people who come back by their own links: for a second round, or to vote on which trade-off to use."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from fairwise.bots.browser import Browser, Page, PageForm
from fairwise.bots.participant import Pace, all_or_the_first_problem
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.simulation import SecondThoughts
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    import httpx2

_BEGIN, _END = "/second-round", "/second-round/end"
_VOTE, _OPTION = "/vote", "option-"
_PAIR = re.compile(r"/second-round/[0-9]+$")


@dataclass(frozen=True)
class BotReturn:
    """What came of simulated people coming back."""

    came_back: int
    not_asked: int
    """How many had nothing to answer: they were done, or had answered none of the pairs."""

    kept: int
    changed: int
    seconds: float


class ReturningBot:
    """Answers once more what it is shown again; the seed decides what moves it."""

    def __init__(self, settings: StudySettings, thoughts: SecondThoughts, seed: list[int], *, thinking: bool) -> None:
        self._settings, self._thoughts = settings, thoughts
        self._luck, self._character = (np.random.default_rng([*seed, purpose]) for purpose in (4, 5))
        self._pace = Pace(np.random.default_rng([*seed, 6]), thinking=thinking)
        self._gives_way = bool(self._character.random() >= thoughts.stubbornness)
        self.kept = self.changed = 0

    async def come_back(self, browser: Browser, link: str) -> bool:
        """Return whether there was anything to answer; if so, all of it is answered."""
        page = await browser.follow(link)
        if not browser.address.endswith(_BEGIN):
            return False
        page = await browser.follow(next(link for link in page.links if _PAIR.search(link)))
        for _ in range(self._settings.deliberation.pairs):
            await self._pace.think()
            form = next(form for form in page.forms if "answer" in form.options)
            page = await browser.send(form, {"answer": self._answer(page)})
            if browser.address.endswith(_END):
                return True
        raise InputError(f"a second round did not come to an end; the last page was: {page.heading}")

    def _answer(self, page: Page) -> str:
        own = Answer(page.first)
        others = {Answer(answer): seen.count for answer, seen in page.others.items()}
        reasons = [Answer(answer) for answer, seen in page.others.items() if seen.reasons]
        allowed = self._settings.allowed_answers
        now = self._thoughts.answer(own, allowed, self._luck, others=others, reasons=reasons)
        now = now if self._gives_way else own
        self.kept, self.changed = self.kept + (now == own), self.changed + (now != own)
        return now.value


async def come_back(
    settings: StudySettings,
    site: httpx2.URL,
    links: Mapping[str, str],
    thoughts: SecondThoughts,
    *,
    seed: int = 0,
    thinking: bool = False,
    concurrency: int = 50,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
) -> BotReturn:
    """Let those with these links, by their names, answer the second round; the first that is stuck stops all."""
    bots = [ReturningBot(settings, thoughts, [seed, at], thinking=thinking) for at in range(len(links))]
    visits = [partial(bot.come_back, link=link) for bot, link in zip(bots, links.values(), strict=True)]
    asked, seconds = await _visit_all(site, visits, concurrency, progress, force=force)
    if not any(asked):
        raise InputError(f"{site}: nobody is asked again; is the second round open, and not all of it answered?")
    kept, changed = sum(bot.kept for bot in bots), sum(bot.changed for bot in bots)
    return BotReturn(sum(asked), len(asked) - sum(asked), kept, changed, seconds)


async def _visit_all(
    site: httpx2.URL,
    visits: Sequence[Callable[[Browser], Awaitable[bool]]],
    concurrency: int,
    progress: Callable[[int, int], None] | None,
    *,
    force: bool,
) -> tuple[list[bool], float]:
    """Let each visit the site with a browser of their own, so many at a time.

    Returns for each, in the order of their ends, whether there was anything to do, and the seconds it took.
    """
    certificates, room, asked = ssl.create_default_context(), asyncio.Semaphore(concurrency), list[bool]()

    async def visited(visit: Callable[[Browser], Awaitable[bool]]) -> None:
        async with room, Browser(site, certificates, force=force) as browser:
            asked.append(await visit(browser))
        if progress is not None:
            progress(len(asked), len(visits))

    start = perf_counter()
    await all_or_the_first_problem(visited(visit) for visit in visits)
    return asked, perf_counter() - start


def write_links(file: Path, links: Mapping[str, str]) -> None:
    """Keep links for the second round. Whoever has one can answer in that simulated person's name."""
    file.write_text(f"{json.dumps(links, indent=2)}\n", encoding="utf-8")


def read_links(file: Path) -> dict[str, str]:
    """Return the own links of simulated people by their names."""
    try:
        links = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise InputError(f"{file}: is no JSON; needed: what `fairwise bots --links` wrote in the first round") from None
    if not isinstance(links, dict) or not links or not all(isinstance(link, str) for link in links.values()):
        raise InputError(f"{file}: has no links; needed: what `fairwise bots --links` wrote in the first round")
    return links


@dataclass(frozen=True)
class BotVotes:
    """What came of it."""

    voted: int
    not_asked: int
    """How many found no vote under their link."""

    seconds: float


def preferred(n_options: int, luck: np.random.Generator) -> list[int]:
    """All options, the best first: one is liked best, drawn at random, and others less the farther they are from it.

    Options are in the order of a frontier, so a majority prefers one to each other, if the number of ballots is odd.
    """
    best = int(luck.integers(n_options))
    return sorted(range(n_options), key=lambda option: (abs(option - best), luck.random()))


def filled_in(form: PageForm, luck: np.random.Generator) -> dict[str, str]:
    """What is sent: a place for every option or, where they are ticked, the one liked best and those next to it."""
    order = preferred(sum(name.startswith(_OPTION) for name in form.options), luck)
    if not any(form.options.values()):
        return {f"{_OPTION}{option}": str(place) for place, option in enumerate(order, start=1)}
    return {f"{_OPTION}{option}": "yes" for option in order if abs(option - order[0]) <= 1}


async def vote(
    site: httpx2.URL,
    links: Mapping[str, str],
    *,
    seed: int = 0,
    concurrency: int = 50,
    progress: Callable[[int, int], None] | None = None,
    force: bool = False,
) -> BotVotes:
    """Let those with these links, by their names, vote; who has voted chooses anew."""
    lucks = [np.random.default_rng([seed, at, 7]) for at in range(len(links))]
    visits = [partial(_vote, link=link, luck=luck) for link, luck in zip(links.values(), lucks, strict=True)]
    voted, seconds = await _visit_all(site, visits, concurrency, progress, force=force)
    if not any(voted):
        raise InputError(f"{site}: nobody is asked to vote; has an operator opened a vote, and have they finished?")
    return BotVotes(sum(voted), len(voted) - sum(voted), seconds)


async def _vote(browser: Browser, link: str, luck: np.random.Generator) -> bool:
    """Return whether there was a vote."""
    page = await browser.follow(f"{link}{_VOTE}")
    if not browser.address.endswith(_VOTE):
        return False
    form = next(form for form in page.forms if f"{_OPTION}0" in form.options)
    kept = {name: value for name, value in form.fields.items() if not name.startswith(_OPTION)}
    await browser.send(PageForm(form.action, kept), filled_in(form, luck))
    return True
