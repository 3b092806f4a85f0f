"""Before the pairs: what one is to the decision, the task, the comprehension check, a pair to practise on."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store import participants
from fairwise.store.quotas import choose_relation
from fairwise.study.cards import check_questions
from fairwise.study.settings import Stage, stage_after
from fairwise.study.texts import marked
from fairwise.web.participant.base import ParticipantPages
from fairwise.web.shared.forms import Form
from fairwise.web.shared.views import TRIES

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
