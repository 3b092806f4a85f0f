"""The study's own questions: a page before the pairs, and one after them, before somebody finishes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store import answers, participants
from fairwise.store.errors import NotYet
from fairwise.store.participants import Participant
from fairwise.study.questions import Question, Refusal, questions_on_page
from fairwise.study.settings import ANSWERING, Stage, stage_after
from fairwise.web.participant.base import ParticipantPages
from fairwise.web.participant.second_look import SecondLookPages
from fairwise.web.shared.forms import MOST_QUESTION_FIELDS, asked_again, typed_in

if TYPE_CHECKING:
    from fairwise.web.participant.base import Services


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
        names = {question.name for question in questions_on_page(self._settings.questions, "after")}
        return bool(names) and not names <= (await self._read(request, participants.question_answers_of)).keys()

    async def questions(self, request: Request) -> Response:
        who = await self._participant(request)
        if who.stage in ANSWERING and not await self._has_come_to_the_end(request, who):
            return self._to_own(request, "/closing")  # which says what is left
        if not self._asked_of(who):
            return await self._go_on(request, who, [])
        kept = await self._read(request, participants.question_answers_of)
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
        return questions_on_page(self._settings.questions, "before" if who.stage == Stage.QUESTIONS else "after")

    async def _has_come_to_the_end(self, request: Request, who: Participant) -> bool:
        pairs = await self._read(request, answers.appearances_of)
        if len(pairs) < self._settings.pairs or any(pair.answer is None for pair in pairs):
            return False
        await self._second_look.comes_first(request, who)
        return True

    async def _go_on(self, request: Request, who: Participant, given: list[tuple[Question, str]]) -> Response:
        stage = Stage(who.stage)
        to = stage_after(stage, self._settings) if stage == Stage.QUESTIONS else stage
        await self._write(request, participants.save_question_answers, answers=given, leaving=stage, to=to)
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
