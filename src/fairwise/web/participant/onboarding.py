"""Pages beside the pairs: relation, task, comprehension check, practice, own questions and the second look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.judgments import Answer
from fairwise.store import answers, participants, questions
from fairwise.store.answers import Appearance
from fairwise.store.errors import NotYet
from fairwise.store.participants import Participant
from fairwise.store.quotas import choose_relation
from fairwise.study.cards import Card
from fairwise.study.contradictions import Compared, Contradiction, contradictions
from fairwise.study.designs import PairAnswer
from fairwise.study.languages import marked
from fairwise.study.practice import check_questions
from fairwise.study.questions import Question, Refusal, asked
from fairwise.study.stages import ANSWERING, Stage, stage_after
from fairwise.web.participant.base import ParticipantPages, Services
from fairwise.web.shared import views
from fairwise.web.shared.requests import MOST_QUESTION_FIELDS, Form, asked_again, typed_in
from fairwise.web.shared.views import TRIES

if TYPE_CHECKING:
    from fairwise.web.participant.base import Services


CHOOSE = marked("Choose one of the answers")
_NOT_RIGHT = marked("Not all of that is right. Read what your answer means, then try once more")


class OnboardingPages(ParticipantPages):
    """Each page leads to the next that the study wants."""

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/relation", self.relation),
            self._post("/p/{token}/relation", self.choose_relation),
            self._get("/p/{token}/task", self.task),
            self._post("/p/{token}/task", self.leave_task),
            self._get("/p/{token}/check", self.check),
            self._post("/p/{token}/check", self.try_check),
            self._get("/p/{token}/practice", self.practice),
            self._post("/p/{token}/practice", self.leave_practice),
        ]

    async def relation(self, request: Request) -> Response:
        await self._participant_at(request, Stage.RELATION)
        return HTMLResponse(self._pages(request).relation(self._own(request)))

    async def choose_relation(self, request: Request) -> Response:
        form = await self._own_form(request)
        if not self._settings.relations:  # taken away while somebody was there
            return await self._move_on(request, Stage.RELATION)
        name = form.text("relation", 100)
        chosen = next((relation for relation in self._settings.relations if relation.name == name), None)
        if chosen is None:
            problem = self._pages(request).translate(CHOOSE)
            return HTMLResponse(self._pages(request).relation(self._own(request), problem=problem), 422)
        await self._write(
            request,
            choose_relation,
            relation=chosen.name,
            most=chosen.most,
            **self._quotas.since(datetime.now(UTC)),
            onward=stage_after(Stage.RELATION, self._settings),
        )
        return self._to_own(request, "")

    async def task(self, request: Request) -> Response:
        who = await self._participant(request)
        return HTMLResponse(self._pages(request, who.arm).task(self._own(request)))

    async def leave_task(self, request: Request) -> Response:
        await self._own_form(request)
        return await self._move_on(request, Stage.TASK)

    async def check(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.CHECK)
        problem = self._pages(request).translate(_NOT_RIGHT) if who.check_tries else None
        return HTMLResponse(
            self._pages(request, who.arm).check(self._own(request), tries=who.check_tries, problem=problem)
        )

    async def try_check(self, request: Request) -> Response:
        """Two tries; then everyone goes on, and how many tries they took is kept."""
        form = await self._own_form(request)
        who = await self._participant_at(request, Stage.CHECK)
        before = form.number("tries", 0, TRIES)
        if before is None or not await self._write(request, participants.count_try, before=before):
            return self._to_own(request, "/check")  # sent twice, or from another tab: this try was taken already
        tries = before + 1
        questions = check_questions(self._settings)
        given = {question.name: form.text(question.name, 100) for question in questions}
        wrong = [question.name for question in questions if given[question.name] != question.right]
        if wrong and tries >= TRIES and self._settings.check_must_pass:
            await self._write(request, participants.move_on, leaving=Stage.CHECK, to=Stage.SCREENED_OUT)
            return self._to_own(request, "")
        if not wrong or tries >= TRIES:
            onward = await self._move_on(request, Stage.CHECK)
            return HTMLResponse(self._pages(request, who.arm).check_failed(self._own(request))) if wrong else onward
        problem = self._pages(request).translate(_NOT_RIGHT)
        page = self._pages(request, who.arm).check(
            self._own(request), tries=tries, problem=problem, wrong=wrong, given=given
        )
        return HTMLResponse(page, 422)

    async def practice(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.PRACTICE)
        pressed = Form(dict(request.query_params)).answer(self._settings.allowed_answers)
        return HTMLResponse(self._pages(request, who.arm).practice(self._own(request), pressed=pressed))

    async def leave_practice(self, request: Request) -> Response:
        """A press is answered with what it means, as often as they like; then they go on."""
        form = await self._own_form(request)
        if "done" in form.fields:
            return await self._move_on(request, Stage.PRACTICE)
        pressed = form.answer(self._settings.allowed_answers)
        if pressed is None:
            pages = self._pages(request, await self._arm(request))
            page = pages.practice(self._own(request), problem=pages.translate(CHOOSE))
            return HTMLResponse(page, 422)
        return self._to_own(request, f"/practice?answer={pressed.value}")

    async def _move_on(self, request: Request, leaving: Stage) -> Response:
        await self._write(request, participants.move_on, leaving=leaving, to=stage_after(leaving, self._settings))
        return self._to_own(request, "")


_REMEMBERED = 1000


class SecondLookPages(ParticipantPages):
    """Its page, and what other pages must know about it."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        # They are needed for every page and every change of mind, take tens of milliseconds, and stay the same.
        self._remembered = lru_cache(_REMEMBERED)(self._find)

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/second-look", self.second_look),
            self._post("/p/{token}/second-look", self.begin),
        ]

    async def begin(self, request: Request) -> Response:
        """From the list of answers: to the second look, or on to the last questions if there is nothing to show."""
        await self._own_form(request)
        who = await self._participant(request)
        if who.stage == Stage.PAIRS:
            pairs = await self._read(request, answers.appearances_of)
            if any(pair.answer is None for pair in pairs) or not await self._read(request, self.thoughts):
                return self._to_own(request, "/closing")
            await self._write(request, participants.move_on, leaving=Stage.PAIRS, to=Stage.SECOND_LOOK)
        return self._to_own(request, "/second-look")

    async def second_look(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.SECOND_LOOK)
        both = await self._read(request, answers.first_and_current)
        thoughts = self._thoughts(both, who.arm)
        if not thoughts:  # the operator has switched it off in the meantime
            return self._to_own(request, "/closing")
        answered = {current.position: (first.answer, current.answer) for first, current in both}
        cards = self._edition(request, who.arm).cards
        groups = [_group(thought, answered, cards) for thought in thoughts]
        query = request.query_params
        page = self._pages(request, who.arm).second_look(
            self._own(request), groups, saved=query.get("saved", ""), kept="kept" in query
        )
        return HTMLResponse(page)

    def thoughts(self, connection: Connection, token_hash: bytes) -> tuple[Contradiction, ...]:
        """What a participant is to be shown once more."""
        if not self._settings.second_look:
            return ()
        arm = participants.find(connection, token_hash).arm if self._settings.arms else None
        return self._thoughts(answers.first_and_current(connection, token_hash), arm)

    def positions(self, connection: Connection, token_hash: bytes) -> set[int]:
        """Which pairs that are."""
        return {pair.position for thought in self.thoughts(connection, token_hash) for pair in thought.pairs}

    async def shows(self, request: Request, pair: Appearance) -> bool:
        """Whether someone is there, and this pair is among them."""
        return pair.stage == Stage.SECOND_LOOK and pair.position in await self._read(request, self.positions)

    async def comes_first(self, request: Request, who: Participant) -> None:
        """Refuse to go past it."""
        if who.stage == Stage.PAIRS and len(await self._read(request, self.thoughts)):
            raise NotYet

    def _thoughts(self, both: list[tuple[PairAnswer, PairAnswer]], arm: str | None) -> tuple[Contradiction, ...]:
        if not self._settings.second_look:
            return ()
        return self._remembered(tuple(first for first, _ in both), arm)

    def _find(self, first_answers: tuple[PairAnswer, ...], arm: str | None) -> tuple[Contradiction, ...]:
        # As people look in the study's first language, so that reading another one changes nothing.
        cards = self._folder.first.in_arm(arm).cards
        looks = {who: cards[who].rows for one in first_answers for who in (one.a, one.b)}
        return contradictions(first_answers, looks)


def _group(
    thought: Contradiction, answered: Mapping[int, tuple[Answer, Answer]], cards: Mapping[str, Card]
) -> views.SecondLookGroup:
    pairs = []
    for pair in thought.pairs:
        first, current = answered[pair.position]
        before = None if current == first else _numbered(pair, first)
        pairs.append(views.SecondLookPair(pair.position, _numbered(pair, current), before))
    return views.SecondLookGroup(thought.kind, tuple(cards[person] for person in thought.people), tuple(pairs))


def _numbered(pair: Compared, answer: Answer) -> views.NumberedAnswer:
    """The answer about people who are numbered, whichever sides they were on."""
    one, other = (pair.a + 1, pair.b + 1)
    if answer == Answer.B_AT_LEAST_A or (one > other and not answer.ordered):
        one, other, answer = other, one, answer.swapped()
    return views.NumberedAnswer(answer, one, other)


class QuestionPages(ParticipantPages):
    """One address for both pages: which of them is shown follows from where somebody is."""

    def __init__(self, services: Services, second_look: SecondLookPages) -> None:
        super().__init__(services)
        self._second_look = second_look

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/questions", self.questions, late=True),
            self._post("/p/{token}/questions", self.keep, late=True),
        ]

    async def are_left(self, request: Request) -> bool:
        """Whether somebody who has answered all pairs is yet to be asked those that come after them."""
        names = {question.name for question in asked(self._settings.questions, "after")}
        return bool(names) and not names <= (await self._read(request, questions.answers_of)).keys()

    async def questions(self, request: Request) -> Response:
        who = await self._participant(request)
        if who.stage in ANSWERING and not await self._has_come_to_the_end(request, who):
            return self._to_own(request, "/closing")  # which says what is left
        if not self._asked_of(who):
            return await self._go_on(request, who, [])
        kept = await self._read(request, questions.answers_of)
        typed = {one.name: one.typed(kept.get(one.name, "")) for one in self._asked_of(who)}
        return self._page(request, who, typed)

    async def keep(self, request: Request) -> Response:
        form = await self._own_form(request, MOST_QUESTION_FIELDS)
        who = await self._participant(request)
        if who.stage in ANSWERING and not await self._has_come_to_the_end(request, who):
            raise NotYet
        typed = {one.name: typed_in(form, one) for one in self._asked_of(who)}
        given, problems = [], {}
        for question in self._asked_of(who):
            try:
                given.append((question, question.answer(typed[question.name])))
            except Refusal as refusal:
                problems[question.name] = self._words(request, refusal)
        if problems:
            return self._page(request, who, typed, problems)
        return await self._go_on(request, who, given)

    def _asked_of(self, who: Participant) -> list[Question]:
        """Those of the page on which somebody is, as the study's first language has them."""
        if who.stage != Stage.QUESTIONS and who.stage not in ANSWERING:
            raise NotYet
        return asked(self._settings.questions, "before" if who.stage == Stage.QUESTIONS else "after")

    async def _has_come_to_the_end(self, request: Request, who: Participant) -> bool:
        pairs = await self._read(request, answers.appearances_of)
        if len(pairs) < self._settings.pairs or any(pair.answer is None for pair in pairs):
            return False
        await self._second_look.comes_first(request, who)
        return True

    async def _go_on(self, request: Request, who: Participant, given: list[tuple[Question, str]]) -> Response:
        stage = Stage(who.stage)
        to = stage_after(stage, self._settings) if stage == Stage.QUESTIONS else stage
        await self._write(request, questions.keep, answers=given, leaving=stage, to=to)
        return self._to_own(request, "" if stage == Stage.QUESTIONS else "/closing")

    def _page(
        self,
        request: Request,
        who: Participant,
        typed: Mapping[str, Collection[str]],
        problems: Mapping[str, str] | None = None,
    ) -> Response:
        names = {question.name for question in self._asked_of(who)}
        read = [question for question in self._edition(request).settings.questions if question.name in names]
        page = self._pages(request).questions(
            self._own(request),
            asked_again(read, typed, problems),
            after=who.stage in ANSWERING,
            again=who.stage == Stage.SECOND_LOOK,
        )
        return HTMLResponse(page, 422 if problems else 200)

    def _words(self, request: Request, refusal: Refusal) -> str:
        pages = self._pages(request)
        words = pages.translate(refusal.words)
        return words if refusal.limit is None else words % {"limit": pages.language.number(refusal.limit)}
