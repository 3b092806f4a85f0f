"""Simulated people who vote by their own links on which trade-off to use."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from fairwise.bots.browser import Browser, PageForm
from fairwise.bots.participant import all_or_the_first_problem
from fairwise.errors import InputError

if TYPE_CHECKING:
    import httpx2

_VOTE, _OPTION = "/vote", "option-"


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
    certificates, room, voted = ssl.create_default_context(), asyncio.Semaphore(concurrency), list[bool]()

    async def visit(link: str, luck: np.random.Generator) -> None:
        async with room, Browser(site, certificates, force=force) as browser:
            page = await browser.follow(f"{link}{_VOTE}")
            asked = browser.address.endswith(_VOTE)
            if asked:
                form = next(form for form in page.forms if f"{_OPTION}0" in form.options)
                kept = {name: value for name, value in form.fields.items() if not name.startswith(_OPTION)}
                await browser.send(PageForm(form.action, kept), filled_in(form, luck))
            voted.append(asked)
        if progress is not None:
            progress(len(voted), len(links))

    start = perf_counter()
    lucks = [np.random.default_rng([seed, at, 7]) for at in range(len(links))]
    await all_or_the_first_problem(visit(*one) for one in zip(links.values(), lucks, strict=True))
    if not any(voted):
        raise InputError(f"{site}: nobody is asked to vote; has an operator opened a vote, and have they finished?")
    return BotVotes(sum(voted), len(voted) - sum(voted), perf_counter() - start)
