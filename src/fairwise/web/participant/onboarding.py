"""Before the pairs: what one is to the decision, the task, the comprehension check, a pair to practise on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fastapi.responses import HTMLResponse, Response

from fairwise.store import participants
from fairwise.store.quotas import choose_relation
from fairwise.study.languages import marked
from fairwise.study.practice import check_questions
from fairwise.web.participant.base import Asking
from fairwise.web.shared.views import TRIES

if TYPE_CHECKING:
    from starlette.requests import Request

CHOOSE = marked("Choose one of the answers")
_NOT_RIGHT = marked("Not all of that is right. Look at the task again, then try once more")


class PreparingPages(Asking):
    """Each page leads to the next that the study wants."""

    routes = (
        ("GET", "/p/{token}/relation", "relation"),
        ("POST", "/p/{token}/relation", "choose_relation"),
        ("GET", "/p/{token}/task", "task"),
        ("POST", "/p/{token}/task", "leave_task"),
        ("GET", "/p/{token}/check", "check"),
        ("POST", "/p/{token}/check", "try_check"),
        ("GET", "/p/{token}/practice", "practice"),
        ("POST", "/p/{token}/practice", "leave_practice"),
    )

    async def relation(self, request: Request) -> Response:
        await self._who_at(request, "relation")
        return HTMLResponse(self._in(request).relation(self._me(request)))

    async def choose_relation(self, request: Request) -> Response:
        form = await self._own_form(request)
        if not self._settings.relations:  # taken away while somebody was there
            return await self._move_on(request, "relation")
        said = form.text("relation", 100)
        chosen = next((relation for relation in self._settings.relations if relation.name == said), None)
        if chosen is None:
            problem = self._in(request).say(CHOOSE)
            return HTMLResponse(self._in(request).relation(self._me(request), problem=problem), 422)
        await self._write(
            request,
            choose_relation,
            relation=chosen.name,
            most=chosen.most,
            **self._quotas.since(datetime.now(UTC)),
            onward=self._after["relation"],
        )
        return self._to_own(request, "")

    async def task(self, request: Request) -> Response:
        await self._who(request)
        return HTMLResponse(self._in(request).task(self._me(request)))

    async def leave_task(self, request: Request) -> Response:
        await self._own_form(request)
        return await self._move_on(request, "task")

    async def check(self, request: Request) -> Response:
        who = await self._who_at(request, "check")
        problem = self._in(request).say(_NOT_RIGHT) if who.check_tries else None
        return HTMLResponse(self._in(request).check(self._me(request), tries=who.check_tries, problem=problem))

    async def try_check(self, request: Request) -> Response:
        """Two tries; then everyone goes on, and how many tries they took is kept."""
        form = await self._own_form(request)
        await self._who_at(request, "check")
        before = form.number("tries", 0, TRIES)
        if before is None or not await self._write(request, participants.count_try, before=before):
            return self._to_own(request, "/check")  # sent twice, or from another tab: this try was taken already
        tries = before + 1
        questions = check_questions(self._settings)
        given = {question.name: form.text(question.name, 100) for question in questions}
        wrong = [question.name for question in questions if given[question.name] != question.right]
        if wrong and tries >= TRIES and self._settings.check_must_pass:
            await self._write(request, participants.move_on, leaving="check", to="screened_out")
            return self._to_own(request, "")
        if not wrong or tries >= TRIES:
            return await self._move_on(request, "check")
        problem = self._in(request).say(_NOT_RIGHT)
        page = self._in(request).check(self._me(request), tries=tries, problem=problem, wrong=wrong, given=given)
        return HTMLResponse(page, 422)

    async def practice(self, request: Request) -> Response:
        await self._who_at(request, "practice")
        return HTMLResponse(self._in(request).practice(self._me(request)))

    async def leave_practice(self, request: Request) -> Response:
        form = await self._own_form(request)
        if form.answer(self._settings.allowed_answers) is None:
            page = self._in(request).practice(self._me(request), problem=self._in(request).say(CHOOSE))
            return HTMLResponse(page, 422)
        return await self._move_on(request, "practice")

    async def _move_on(self, request: Request, leaving: str) -> Response:
        await self._write(request, participants.move_on, leaving=leaving, to=self._after[leaving])
        return self._to_own(request, "")
