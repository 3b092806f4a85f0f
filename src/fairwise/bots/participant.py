"""One simulated person's way through a study, page by page, deciding from nothing but what each page shows."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from fairwise.bots.browser import Browser, Page, PageForm, Recognition
from fairwise.errors import InputError
from fairwise.simulation import Respondent
from fairwise.study.cards import check_questions
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Arrival, Keys, Recruitment
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    import httpx2
    import pandas as pd


_STEPS_OF_A_PAIR, _STEPS_BESIDE_PAIRS = 2, 20  # an answer, and why
# Seconds of thinking about a page: half of all thoughts take less than the first, few more than the second.
_USUAL_THOUGHT, _LONGEST_THOUGHT, _SPREAD = 4.0, 20.0, 0.5


@dataclass(frozen=True, eq=False)
class BotStudy:
    """What every simulated participant of one study has in common."""

    settings: StudySettings
    people: pd.DataFrame
    recognition: Recognition
    thinking: bool
    """Whether they take a few seconds for every page, as people do."""

    answered: Callable[[], None]
    """Told after every answer."""


class BotParticipant:
    """Goes from the first page to the receipt; the seed decides careless answers and how long thoughts take."""

    def __init__(self, study: BotStudy, respondent: Respondent, seed: list[int]) -> None:
        self._study, self._respondent = study, respondent
        # Apart, so that taking one's time, or being somebody else, changes no answer.
        self._luck, pace, self._birth = (np.random.default_rng([*seed, purpose]) for purpose in (1, 2, 3))
        self._pace = Pace(pace, thinking=study.thinking)
        self.answers = 0

    async def take_part(self, browser: Browser, entrance: str = "/") -> str | None:
        """Return the code of the receipt; None if there were enough people, or enough like this one."""
        page = await browser.start(entrance)
        for _ in range(_STEPS_OF_A_PAIR * self._study.settings.pairs + _STEPS_BESIDE_PAIRS):
            if page.receipt:
                return page.receipt
            if page.is_end:
                return None
            await self._pace.think()
            if page.forms:
                form = page.forms[0]
                page = await browser.send(form, self._fill_in(page, form))
            else:
                page = await browser.follow(_next_link(page))
        raise InputError(f"{self._respondent.name} did not come to an end; the last page was: {page.heading}")

    def _fill_in(self, page: Page, form: PageForm) -> Mapping[str, str]:
        """What this person chooses, presses or writes, by what the form asks for."""
        if "agree" in form.values_of("decision"):
            return {"decision": "agree"}
        if about_oneself := self._about_oneself(form):
            return about_oneself
        asks_more = "why" in form.fields  # about an answer, which is enough
        if form.options and not form.buttons and not asks_more:
            return {question.name: question.right for question in check_questions(self._study.settings)}
        if "rules" in form.fields:
            return self._respondent.closing_words()
        if form.values_of("answer"):
            return {"answer": self._answer(page) if "key" in form.fields else form.values_of("answer")[0]}
        return {"why": self._respondent.reason()} if asks_more else {}

    def _about_oneself(self, form: PageForm) -> dict[str, str]:
        """Anything that may be said to what the form asks about a participant; of the study's own questions, to all."""
        if "relation" in form.options:
            welcome = [relation.name for relation in self._study.settings.relations if relation.most != 0]
            return {"relation": welcome[self._luck_of(len(welcome))]}
        said: dict[str, str] = {}
        for question in self._study.settings.questions:
            one_of = [f"{question.field}-{at}" for at in range(len(question.options))]
            if not {question.field, *one_of} & {*form.fields, *form.options}:
                continue
            if question.kind == "several":
                said |= dict.fromkeys(one_of[self._luck_of(len(one_of)) :], "yes")
            elif question.kind == "choice":
                said[question.field] = str(self._luck_of(len(question.options)))
            elif question.kind == "text":
                said[question.field] = self._respondent.closing_words()["comments"]
            else:
                numbers = question.steps if question.kind == "scale" else question.numbers
                said[question.field] = str(numbers[self._luck_of(len(numbers))])
        return said

    def _luck_of(self, count: int) -> int:
        return int(self._birth.integers(count))

    def _answer(self, page: Page) -> str:
        pair = self._study.recognition.two_people(page)
        scale, people = self._study.settings.answers, self._study.people
        [answer] = self._respondent.answers(people, [pair], self._luck, scale=scale, already=self.answers)
        self.answers += 1
        self._study.answered()
        return str(answer)


class Pace:
    """How long somebody looks at pages: not at all, unless thinking."""

    def __init__(self, luck: np.random.Generator, *, thinking: bool) -> None:
        self._luck, self._thinking = luck, thinking

    async def think(self) -> None:
        if self._thinking:
            thought = self._luck.lognormal(np.log(_USUAL_THOUGHT), _SPREAD)
            await asyncio.sleep(min(float(thought), _LONGEST_THOUGHT))


def _next_link(page: Page) -> str:
    """From the list of answers, which has no form, to the last questions."""
    onward = [link for link in page.links if link.endswith("/closing")]
    if not onward:
        raise InputError(f"{page.heading}: a page from which nothing leads on")
    return onward[0]


# A panel of simulated people who take part in a running study at the same time.


@dataclass(frozen=True)
class BotRun:
    """What came of simulated people taking part."""

    receipts: dict[str, str]
    """By the name of the simulated person, all of whom finished."""

    links: dict[str, str]
    """By their name, too: the own link of everyone who finished, by which they can come back."""

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
    force: bool = False,
) -> BotRun:
    """Let them take part from consent to receipt, so many at a time; the first that is stuck stops all of them.

    A study that real people have answered lets them in only with `force`.
    They come into a room by its code, or as from the panel where only a panel sends people, or else by the open link.
    """
    total, done = len(respondents) * study.settings.pairs, 0

    def answered() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    known = Recognition(study.cards, *(study.first.in_arm(arm.name).cards for arm in study.settings.arms))
    shared = BotStudy(study.settings, study.people(), known, thinking, answered)
    certificates = ssl.create_default_context()  # once, as reading them takes longer than a page
    room, receipts = asyncio.Semaphore(concurrency), dict[str, str]()
    links = dict[str, str]()

    async def take_part(number: int, respondent: Respondent) -> None:
        async with room, Browser(site, certificates, force=force) as browser:
            entrance = _entrance(study.settings.recruitment, number, room_code)
            receipt = await BotParticipant(shared, respondent, [seed, number]).take_part(browser, entrance)
            if receipt is not None:
                receipts[respondent.name] = receipt
                links[respondent.name] = browser.address.rpartition("/")[0]

    start = perf_counter()
    await all_or_the_first_problem(take_part(*person) for person in enumerate(respondents))
    seconds = perf_counter() - start
    receipts, links = (dict(sorted(by_name.items())) for by_name in (receipts, links))
    return BotRun(receipts, links, done, seconds, len(respondents) - len(receipts))


def _entrance(recruitment: Recruitment, number: int, room_code: str | None) -> str:
    if room_code is not None:
        return f"/room/{quote(room_code)}"
    if recruitment.open or not recruitment.panel:
        return "/"
    who = f"simulated-{number}-{Keys.new()}"
    return Arrival(recruitment.panel, who, session=who).address


async def all_or_the_first_problem(visits: Iterable[Coroutine[None, None, None]]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for visit in visits:
                group.create_task(visit)
    except ExceptionGroup as problems:  # not `except*`, which before Python 3.11.4 wraps what is raised from it
        raise problems.exceptions[0] from None
