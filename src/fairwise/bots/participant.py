"""Simulated participants of a running study, and their later visits for a second round or a vote."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from fairwise.bots.browser import Browser, Page, PageForm, Recognition
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.simulation import Respondent, SecondThoughts
from fairwise.study.cards import check_questions
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Arrival, Keys, Recruitment
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    import httpx2
    import pandas as pd

_STEPS_OF_A_PAIR, _MORE_STEPS = 2, 20  # an answer, and why
# Seconds of thinking about a page: half of all thoughts take less than the first, few more than the second.
_USUAL_THOUGHT, _LONGEST_THOUGHT, _SPREAD = 4.0, 20.0, 0.5


@dataclass(frozen=True, eq=False)
class BotStudy:
    """Surroundings that all simulated participants of one study share."""

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
        for _ in range(_STEPS_OF_A_PAIR * self._study.settings.pairs + _MORE_STEPS):
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
        """Return what this person chooses, presses or writes in a form."""
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
        values: dict[str, str] = {}
        for question in self._study.settings.questions:
            one_of = [f"{question.field}-{at}" for at in range(len(question.options))]
            if not {question.field, *one_of} & {*form.fields, *form.options}:
                continue
            if question.kind == "several":
                values |= dict.fromkeys(one_of[self._luck_of(len(one_of)) :], "yes")
            elif question.kind == "choice":
                values[question.field] = str(self._luck_of(len(question.options)))
            elif question.kind == "text":
                values[question.field] = self._respondent.closing_words()["comments"]
            else:
                numbers = question.steps if question.kind == "scale" else question.numbers
                values[question.field] = str(numbers[self._luck_of(len(numbers))])
        return values

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
    """Time that somebody looks at pages: none, unless thinking."""

    def __init__(self, luck: np.random.Generator, *, thinking: bool) -> None:
        self._luck, self._thinking = luck, thinking

    async def think(self) -> None:
        if self._thinking:
            thought = self._luck.lognormal(np.log(_USUAL_THOUGHT), _SPREAD)
            await asyncio.sleep(min(float(thought), _LONGEST_THOUGHT))


def _next_link(page: Page) -> str:
    """Go from the list of answers, which has no form, to the last questions."""
    onward = [link for link in page.links if link.endswith("/closing")]
    if not onward:
        raise InputError(f"{page.heading}: a page from which nothing leads on")
    return onward[0]


# A panel of simulated people who take part in a running study at the same time.


@dataclass(frozen=True)
class BotRun:
    """Result of a visit of simulated people."""

    receipts: dict[str, str]
    """Seconds by the name of the simulated person, for all who finished."""

    links: dict[str, str]
    """Personal link by name, for all who finished."""

    answers: int
    seconds: float
    sent_away: int = 0
    """Number who were screened out, or came when there were enough."""

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

    recognition = Recognition(study.cards, *(study.first.in_arm(arm.name).cards for arm in study.settings.arms))
    shared = BotStudy(study.settings, study.people(), recognition, thinking, answered)
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


_BEGIN, _END = "/second-round", "/second-round/end"
_VOTE, _OPTION = "/vote", "option-"
_PAIR = re.compile(r"/second-round/[0-9]+$")


@dataclass(frozen=True)
class BotReturn:
    """Result of a second visit of simulated people."""

    n_returned: int
    n_without_task: int
    """Number with nothing to answer: they were done, or had answered none of the pairs."""

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
    had_task, seconds = await _visit_all(site, visits, concurrency, progress, force=force)
    if not any(had_task):
        raise InputError(f"{site}: nobody is asked again; is the second round open, and not all of it answered?")
    kept, changed = sum(bot.kept for bot in bots), sum(bot.changed for bot in bots)
    return BotReturn(sum(had_task), len(had_task) - sum(had_task), kept, changed, seconds)


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
    certificates, room, had_task = ssl.create_default_context(), asyncio.Semaphore(concurrency), list[bool]()

    async def visited(visit: Callable[[Browser], Awaitable[bool]]) -> None:
        async with room, Browser(site, certificates, force=force) as browser:
            had_task.append(await visit(browser))
        if progress is not None:
            progress(len(had_task), len(visits))

    start = perf_counter()
    await all_or_the_first_problem(visited(visit) for visit in visits)
    return had_task, perf_counter() - start


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
    """Result of a vote of simulated people."""

    voted: int
    n_without_task: int
    """Number who found no vote under their link."""

    seconds: float


def preferred(n_options: int, luck: np.random.Generator) -> list[int]:
    """All options, the best first: one is liked best, drawn at random, and others less the farther they are from it.

    Options are in the order of a frontier, so a majority prefers one to each other, if the number of ballots is odd.
    """
    best = int(luck.integers(n_options))
    return sorted(range(n_options), key=lambda option: (abs(option - best), luck.random()))


def filled_in(form: PageForm, luck: np.random.Generator) -> dict[str, str]:
    """Return the form fields: a place for every option, or ticks for the best option and those next to it."""
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
