"""One simulated person's way through a study, page by page, deciding from nothing but what each page shows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairwise.errors import InputError
from fairwise.study.practice import check_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from fairwise.bots.browser import Browser
    from fairwise.bots.page import Eyes, Form, Page
    from fairwise.simulation import Respondent
    from fairwise.study.settings import StudySettings

SIMULATED = "Written by a simulated participant, not by a person."
_STEPS_BESIDE_PAIRS = 20
# Seconds of thinking about a page: half of all thoughts take less than the first, few more than the second.
_USUAL_THOUGHT, _LONGEST_THOUGHT, _SPREAD = 4.0, 20.0, 0.5


@dataclass(frozen=True, eq=False)
class World:
    """What every simulated participant of one study has in common."""

    settings: StudySettings
    people: pd.DataFrame
    eyes: Eyes
    thinking: bool
    """Whether they take a few seconds for every page, as people do."""

    answered: Callable[[], None]
    """Told after every answer."""


class BotParticipant:
    """Goes from the first page to the receipt; the seed decides careless answers and how long thoughts take."""

    def __init__(self, world: World, respondent: Respondent, seed: list[int]) -> None:
        self._world, self._respondent = world, respondent
        # Apart, so that taking one's time, or being somebody else, changes no answer.
        self._luck, self._pace, self._birth = (np.random.default_rng([*seed, purpose]) for purpose in (1, 2, 3))
        self.answers = 0

    async def take_part(self, browser: Browser, entrance: str = "/") -> str | None:
        """Return the code of the receipt; None if there were enough people, or enough like this one."""
        page = await browser.start(entrance)
        for _ in range(self._world.settings.pairs + _STEPS_BESIDE_PAIRS):
            if page.receipt:
                return page.receipt
            if page.is_end:
                return None
            await self._think()
            if page.forms:
                form = page.forms[0]
                page = await browser.send(form, self._filled_in(page, form))
            else:
                page = await browser.follow(_way_on(page))
        raise InputError(f"{self._respondent.name} did not come to an end; the last page was: {page.heading}")

    def _filled_in(self, page: Page, form: Form) -> Mapping[str, str]:
        """What this person chooses, presses or writes, by what the form asks for."""
        if "agree" in form.values_of("decision"):
            return {"decision": "agree"}
        if "relation" in form.options:
            welcome = [relation.name for relation in self._world.settings.relations if relation.most != 0]
            return {"relation": welcome[int(self._birth.integers(len(welcome)))]}
        if form.options and not form.buttons:
            return {question.name: question.right for question in check_questions(self._world.settings)}
        if "rules" in form.fields:
            return self._closing_words()
        if form.values_of("answer"):
            return {"answer": self._judged(page) if "key" in form.fields else form.values_of("answer")[0]}
        return {}

    def _judged(self, page: Page) -> str:
        pair = self._world.eyes.two_people(page)
        scale, people = self._world.settings.answers, self._world.people
        [answer] = self._respondent.answers(people, [pair], self._luck, scale=scale, already=self.answers)
        self.answers += 1
        self._world.answered()
        return str(answer)

    def _closing_words(self) -> Mapping[str, str]:
        return {
            "rules": f"{self._respondent.describe()} {SIMULATED}",
            "expressible": f"{self._respondent.name} has no opinion on this. {SIMULATED}",
            "comments": f"{self._respondent.name} has none. {SIMULATED}",
        }

    async def _think(self) -> None:
        if self._world.thinking:
            thought = self._pace.lognormal(np.log(_USUAL_THOUGHT), _SPREAD)
            await asyncio.sleep(min(float(thought), _LONGEST_THOUGHT))


def _way_on(page: Page) -> str:
    """From the list of answers, which has no form, to the last questions."""
    onward = [link for link in page.links if link.endswith("/closing")]
    if not onward:
        raise InputError(f"{page.heading}: a page from which nothing leads on")
    return onward[0]
