"""A participant's way: consent, task, check, practice, pairs, closing, end; and the way out."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from fairwise.elicitation.languages import marked
from fairwise.elicitation.store import pairs, participants
from fairwise.elicitation.store.problems import NotYet, Unknown
from fairwise.elicitation.web import views
from fairwise.elicitation.web.asking import Asking
from fairwise.elicitation.web.forms import read_form
from fairwise.elicitation.web.pages import LONGEST_CLOSING, LONGEST_WHY
from fairwise.elicitation.web.rehearsal import check_questions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from fairwise.elicitation.folder import StudyFolder
    from fairwise.elicitation.signing import Keys
    from fairwise.elicitation.web.pages import Pages

COOKIE = "fairwise_participant"
_MONTH = 30 * 24 * 3600
_TRIES = 2
_CHOOSE = marked("Choose one of the answers")


class ParticipantPages(Asking):
    """Routes of one study. A GET shows and changes nothing; a POST changes, then sends the browser to a GET."""

    def __init__(self, folder: StudyFolder, pages: Mapping[str, Pages], keys: Keys, prefix: str) -> None:
        super().__init__(folder, pages, keys, prefix)
        optional = [("check", self._settings.comprehension_check), ("practice", self._settings.practice)]
        self._stages = ("task", *(stage for stage, wanted in optional if wanted), "pairs")
        # Also after a stage that the operator switched off while somebody was there.
        every = ("task", *(stage for stage, _ in optional), "pairs")
        self._after = {
            stage: next(later for later in every[place:] if later in self._stages)
            for place, stage in enumerate(every[:-1], start=1)
        }
        self.router = APIRouter(include_in_schema=False)
        for method, path, handler in (  # the first are found fastest
            ("GET", "/p/{token}/pair/{position}", self.pair),
            ("POST", "/p/{token}/pair/{position}", self.answer),
            ("GET", "/", self.welcome),
            ("POST", "/consent", self.consent),
            ("GET", "/consent", self.welcome),  # where a switch of languages leads after a problem
            ("GET", "/declined", self.declined),
            ("GET", "/withdrawn", self.withdrawn),
            ("GET", "/p/{token}", self.resume),
            ("GET", "/p/{token}/", self.resume),  # as some programs copy links
            ("GET", "/p/{token}/task", self.task),
            ("POST", "/p/{token}/task", self.leave_task),
            ("GET", "/p/{token}/check", self.check),
            ("POST", "/p/{token}/check", self.try_check),
            ("GET", "/p/{token}/practice", self.practice),
            ("POST", "/p/{token}/practice", self.leave_practice),
            ("GET", "/p/{token}/review", self.review),
            ("GET", "/p/{token}/closing", self.closing),
            ("POST", "/p/{token}/closing", self.finish),
            ("GET", "/p/{token}/thanks", self.thanks),
            ("GET", "/p/{token}/withdraw", self.withdrawal),
            ("POST", "/p/{token}/withdraw", self.withdraw),
        ):
            self.router.add_route(path, handler, methods=[method])

    # Before anyone is known

    async def welcome(self, request: Request) -> Response:
        return self._welcome(request)

    def _welcome(self, request: Request, problem: str | None = None) -> Response:
        token = request.cookies.get(COOKIE)
        resume = None
        if token is not None and self._known(request, token):
            resume = f"{self._prefix}/p/{token}"
        start_key = self._keys.new()
        csrf = self._keys.form(f"consent {start_key}")
        page = self._in(request).consent(start_key=start_key, csrf=csrf, resume=resume, problem=problem)
        return HTMLResponse(page, 422 if problem else 200)

    def _known(self, request: Request, token: str) -> bool:
        try:
            self._store(request).read_now(partial(participants.find, token_hash=self._keys.hashed(token)))
        except Unknown:
            return False
        return True

    async def consent(self, request: Request) -> Response:
        form = await read_form(request)
        start_key = form.text("start_key", 100)
        if not self._keys.is_form(f"consent {start_key}", form.text("csrf", 200)):
            raise HTTPException(403)
        decision = form.text("decision", 20)
        if decision == "decline":
            return self._to("/declined")
        if decision != "agree":
            return self._welcome(request, self._in(request).say("Say whether you agree to take part"))
        token = self._keys.token(start_key)
        consent = participants.Consent(
            token_hash=self._keys.hashed(token),
            version=self._edition(request).consent_version,
            at=datetime.now(UTC),
            first_stage=self._stages[0],
            lease=self._settings.design.lease,
        )
        await self._store(request).write(
            lambda connection: participants.start(connection, consent, self._folder.schedule, self._keys.new)
        )
        response = self._to(f"/p/{token}/task")
        response.set_cookie(
            COOKIE,
            token,
            max_age=_MONTH,
            path=f"{self._prefix}/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )
        return response

    async def declined(self, request: Request) -> Response:
        return HTMLResponse(self._in(request).declined())

    async def withdrawn(self, request: Request) -> Response:
        return HTMLResponse(self._in(request).withdrawn())

    # Before the pairs

    async def resume(self, request: Request) -> Response:
        """To where they were."""
        who = await self._who(request)
        if who.stage == "finished":
            return self._to_own(request, "/thanks")
        if who.stage != "pairs":
            return self._to_own(request, f"/{who.stage}")
        given = await self._read(request, pairs.listed)
        open_pairs = [position for position, answer in given if answer is None]
        return self._to_own(request, f"/pair/{open_pairs[0]}" if open_pairs else "/review")

    async def task(self, request: Request) -> Response:
        await self._who(request)
        return HTMLResponse(self._in(request).task(self._me(request)))

    async def leave_task(self, request: Request) -> Response:
        await self._own_form(request)
        return await self._move_on(request, "task")

    async def check(self, request: Request) -> Response:
        who = await self._who_at(request, "check")
        return HTMLResponse(self._in(request).check(self._me(request), tries_left=_TRIES - who.check_tries))

    async def try_check(self, request: Request) -> Response:
        """Two tries; then everyone goes on, and how many tries they took is kept."""
        form = await self._own_form(request)
        await self._who_at(request, "check")
        tries = await self._write(request, participants.count_try)
        questions = check_questions(self._settings)
        given = {question.name: form.text(question.name, 100) for question in questions}
        wrong = [question.name for question in questions if given[question.name] != question.right]
        if not wrong or tries >= _TRIES:
            return await self._move_on(request, "check")
        problem = self._in(request).say("Not all of that is right. Look at the task again, then try once more")
        page = self._in(request).check(
            self._me(request), tries_left=_TRIES - tries, problem=problem, wrong=wrong, given=given
        )
        return HTMLResponse(page, 422)

    async def practice(self, request: Request) -> Response:
        await self._who_at(request, "practice")
        return HTMLResponse(self._in(request).practice(self._me(request)))

    async def leave_practice(self, request: Request) -> Response:
        form = await self._own_form(request)
        if form.answer(self._settings.allowed_answers) is None:
            page = self._in(request).practice(self._me(request), problem=self._in(request).say(_CHOOSE))
            return HTMLResponse(page, 422)
        return await self._move_on(request, "practice")

    # The pairs

    async def pair(self, request: Request) -> Response:
        return await self._pair(request, saved="saved" in request.query_params)

    async def _pair(
        self, request: Request, *, saved: bool = False, problem: str | None = None, **typed: Any
    ) -> Response:
        position = request.path_params["position"]
        if not position.isascii() or not position.isdigit() or len(position) > 4:
            raise Unknown
        shown = await self._read(request, pairs.shown, position=int(position))
        if shown.stage != "pairs":
            raise NotYet
        given = None
        if shown.answer is not None:
            given = views.Given(shown.answer, shown.why, shown.confidence)
        view = views.Pair(
            number=shown.position,
            total=shown.total,
            answered=shown.answered,
            a=self._edition(request).cards[shown.a],
            b=self._edition(request).cards[shown.b],
            given=given,
            key=shown.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(shown.key),
        )
        page = self._in(request).pair(self._me(request), view, saved=saved, problem=problem, **typed)
        return HTMLResponse(page, 422 if problem else 200)

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        why = form.text("why", LONGEST_WHY) if self._settings.ask_why else ""
        confidence = form.number("confidence", 1, 5) if self._settings.ask_confidence else None
        if answer is None:
            return await self._pair(request, problem=self._in(request).say(_CHOOSE), why=why, confidence=confidence)
        key = form.text("key", 32)
        new = pairs.NewAnswer(
            key=key,
            nonce=form.text("nonce", 32),
            answer=answer,
            why=why,
            confidence=confidence,
            seconds=self._keys.seconds_since(key, form.text("stamp", 200)),
            at=datetime.now(UTC),
        )
        position = await self._write(request, pairs.record, new=new)
        last = position >= self._settings.pairs
        return self._to_own(request, "/review?saved" if last else f"/pair/{position + 1}?saved")

    async def review(self, request: Request) -> Response:
        await self._who_at(request, "pairs")
        saved = "saved" in request.query_params
        return HTMLResponse(self._in(request).review(self._me(request), await self._answered(request), saved=saved))

    async def _answered(self, request: Request) -> list[views.Answered]:
        return [views.Answered(position, answer) for position, answer in await self._read(request, pairs.listed)]

    # The end

    async def closing(self, request: Request) -> Response:
        await self._who_at(request, "pairs")
        answered = await self._answered(request)
        if any(line.answer is None for line in answered):
            problem = self._in(request).say("Some pairs are still open. Answer them first")
            return HTMLResponse(self._in(request).review(self._me(request), answered, problem=problem), 422)
        return HTMLResponse(self._in(request).closing(self._me(request), views.Closing()))

    async def finish(self, request: Request) -> Response:
        form = await self._own_form(request)
        texts = {name: form.text(name, LONGEST_CLOSING) for name in ("rules", "expressible", "comments")}
        await self._write(request, participants.finish, at=datetime.now(UTC), **texts)
        return self._to_own(request, "/thanks")

    async def thanks(self, request: Request) -> Response:
        who = await self._who_at(request, "finished")
        given = await self._read(request, pairs.listed)
        said = [f"{position} {answer}" for position, answer in given]
        code = self._keys.receipt([self._folder.fingerprint, who.number, *said])
        finished_at = who.finished_at or datetime.now(UTC)
        if finished_at.tzinfo is None:  # SQLite forgets that it is UTC
            finished_at = finished_at.replace(tzinfo=UTC)
        receipt = views.Receipt(code, len(given), finished_at)
        return HTMLResponse(self._in(request).thanks(self._me(request), receipt))

    async def withdrawal(self, request: Request) -> Response:
        await self._who(request)
        return HTMLResponse(self._in(request).withdraw(self._me(request)))

    async def withdraw(self, request: Request) -> Response:
        await self._own_form(request)
        await self._write(request, participants.withdraw, at=datetime.now(UTC))
        response = self._to("/withdrawn")
        response.delete_cookie(COOKIE, path=f"{self._prefix}/")
        return response

    async def _move_on(self, request: Request, leaving: str) -> Response:
        await self._write(request, participants.move_on, leaving=leaving, to=self._after[leaving])
        return self._to_own(request, "")
