"""A participant's way from the first pair to the end; and the ways out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fairwise.judgments import Answer
from fairwise.store import answers, participants
from fairwise.store.deliberation import end_when_enough
from fairwise.store.errors import ChangedTooOften, Full, NotYet, RoundOver, StoreUnavailable, Unknown
from fairwise.store.housekeeping import tidy_fits
from fairwise.store.quotas import lost_place, take_place
from fairwise.store.recording import NewAnswer, RoundPolicy, SentAnswer
from fairwise.store.store import Batchable
from fairwise.store.study_state import FIRST, standing
from fairwise.store.votes import has_voted, last_vote
from fairwise.study.cards import names_of, read_picture
from fairwise.study.recruitment import PANELS, filled
from fairwise.study.settings import Stage, StudyState
from fairwise.study.texts import marked
from fairwise.web.participant.base import LONGEST_NONCE, ParticipantPages
from fairwise.web.participant.onboarding import CHOOSE
from fairwise.web.participant.questions import QuestionPages
from fairwise.web.participant.result import announced
from fairwise.web.participant.second_look import SecondLookPages
from fairwise.web.participant.second_round import SecondRoundPages
from fairwise.web.participant.talking import TalkingPages
from fairwise.web.shared import views
from fairwise.web.shared.forms import whole_number
from fairwise.web.shared.views import LONGEST_CLOSING, LONGEST_WHY

if TYPE_CHECKING:
    from fairwise.web.participant.base import Handler, Services

_ENDS: dict[str, str] = {Stage.FINISHED: "/thanks", Stage.SCREENED_OUT: "/screened-out"}


class PairPages(ParticipantPages):
    """Routes of one study. A GET shows and changes nothing; a POST changes, then sends the browser to a GET."""

    def __init__(
        self,
        services: Services,
        invited: Handler,
        second_look: SecondLookPages,
        second_round: SecondRoundPages,
        questions: QuestionPages,
        talking: TalkingPages,
    ) -> None:
        """`invited` answers those whose personal link nobody has used yet."""
        super().__init__(services)
        self._invited, self._second_look, self._second_round = invited, second_look, second_round
        self._questions, self._talking = questions, talking
        recruitment = self._settings.recruitment
        quotas = recruitment.most or any(relation.most is not None for relation in self._settings.relations)
        self._limited = bool(quotas)
        # Nothing is asked before the first answer where nobody could be one too many.
        self._takes_place = bool(quotas or recruitment.panel)
        self._asks_more = self._settings.ask_why or self._settings.ask_confidence

    def routes(self) -> list[Route]:
        return [  # the first are found fastest
            self._get("/p/{token}/pair/{position:number}", self.pair),
            self._post("/p/{token}/pair/{position:number}", self.answer),
            self._get("/p/{token}/pair/{position:number}/why", self.why),
            self._get("/p/{token}/picture/{name}", self.picture, always=True),
            self._get("/p/{token}", self.resume, late=True),
            self._get("/p/{token}/", self.resume, late=True),  # as some programs copy links
            self._get("/p/{token}/review", self.review),
            self._get("/p/{token}/closing", self.closing, late=True),  # nothing is lost that needs no new answer
            self._post("/p/{token}/closing", self.finish, late=True),
            self._get("/p/{token}/thanks", self.thanks, always=True),
            self._get("/p/{token}/screened-out", self.screened_out, always=True),
            self._get("/p/{token}/back", self.back, always=True),
            self._get("/p/{token}/withdraw", self.withdrawal, always=True),
            self._post("/p/{token}/withdraw", self.withdraw, always=True),
            self._get("/withdrawn", self.withdrawn, always=True),
        ]

    # Those who may not, or no longer, take part

    async def withdrawn(self, request: Request) -> Response:
        return HTMLResponse(self._pages(request).withdrawn())

    async def screened_out(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.SCREENED_OUT)
        back = f"{self._own(request).path}/back" if self._settings.recruitment.screened_out_url else None
        page = self._pages(request).screened_out(self._own(request), back=views.WayBack.to(who.came_by, back))
        return HTMLResponse(page)

    async def back(self, request: Request) -> Response:
        """To the panel that sent them, once nothing is left to be saved; until then, to where they are."""
        who, recruitment = await self._participant(request), self._settings.recruitment
        ways: dict[str, str] = {
            Stage.FINISHED: recruitment.completion_url,
            Stage.SCREENED_OUT: recruitment.screened_out_url,
        }
        address = ways.get(who.stage, "")
        if not address or who.came_by not in PANELS:
            return self._to_own(request, "")
        code = await self._completion_code(request, who) if who.stage == Stage.FINISHED else ""
        return RedirectResponse(filled(address, panel_id=who.panel_id, session=who.panel_session, code=code), 303)

    async def resume(self, request: Request) -> Response:
        """To where they were; or, by a personal link that nobody has used, to where everyone begins."""
        try:
            who = await self._participant(request)
        except Unknown:
            return await self._invited(request)
        if again := await self._second_round.way_there(request):
            return self._to_own(request, again)
        if who.stage in _ENDS:
            return self._to_own(request, _ENDS[who.stage])
        if self._first_is_over:
            raise RoundOver
        if await self._lost_place(request):
            return await self._no_place(request)
        if who.stage != Stage.PAIRS:
            return self._to_own(request, f"/{who.stage.replace('_', '-')}")
        return self._to_own(request, await self._next_pair(request))

    async def _next_pair(self, request: Request) -> str:
        if await self._talking.talk(request) is not None:
            return "/room"
        open_pairs = [position for position, answer in (await self._own_answers(request)).items() if answer is None]
        return f"/pair/{open_pairs[0]}" if open_pairs else "/review"

    # The pairs

    async def pair(self, request: Request) -> Response:
        return await self._pair(request)

    async def _pair(self, request: Request, problem: str | None = None) -> Response:
        arm = await self._arm(request)
        view, again = await self._shown_pair(request, arm)
        if view.answered == 0 and await self._lost_place(request):
            return await self._no_place(request)
        own = self._own(request)
        page = self._pages(request, arm).pair(own, view, undo=_undo(own, request), problem=problem, again=again)
        return HTMLResponse(page, 422 if problem else 200)

    async def why(self, request: Request) -> Response:
        """What else the study wants to know of an answer, once that is saved."""
        arm = await self._arm(request)
        view, _ = await self._shown_pair(request, arm)
        if view.answer is None or not self._asks_more:
            return self._to_own(request, f"/pair/{view.number}")
        return HTMLResponse(self._pages(request, arm).why(self._own(request), view))

    async def picture(self, request: Request) -> Response:
        """A picture of somebody whom this participant compares, and of nobody else."""
        name, cards = request.path_params["name"], self._folder.first.in_arm(await self._arm(request)).cards
        pairs = await self._read(request, answers.appearances_of)
        if name not in names_of(cards[person] for pair in pairs for person in (pair.a, pair.b)):
            raise Unknown
        content, kind = await asyncio.to_thread(read_picture, self._folder.path, name)
        return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    async def _shown_pair(self, request: Request, arm: str | None) -> tuple[views.Pair, bool]:
        """The pair of this address, and whether it is shown in a second look."""
        position = request.path_params["position"]
        places = self._settings.pairs
        found = await self._store.read(Batchable(answers.appearances_at, (self._hash(request), position)))
        if found is None:
            found = await self._read(request, answers.appearance_at, position=position, places=places)
        shown, answered = found
        again = await self._second_look.shows(request, shown)
        if (shown.stage != Stage.PAIRS and not again) or await self._talking.is_over(request, shown):
            raise NotYet
        kept, cards = shown.answer, self._edition(request, arm).cards
        view = views.Pair(
            number=shown.position,
            total=places,
            answered=answered,
            a=cards[shown.a],
            b=cards[shown.b],
            answer=kept and kept.answer,
            why="" if kept is None else kept.why,
            confidence=kept and kept.confidence,
            key=shown.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(shown.key),
        )
        return view, again

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        if answer is None:
            return await self._pair(request, problem=self._pages(request).translate(CHOOSE))
        key = form.text("key", 32)
        explained = self._asks_more and ("why" in form.fields or "confidence" in form.fields)
        why = form.text("why", LONGEST_WHY) if self._settings.ask_why else ""
        new = NewAnswer(
            key=key,
            nonce=form.text("nonce", LONGEST_NONCE),
            answer=answer,
            why=why if explained else None,
            confidence=form.number("confidence", 1, 5) if self._settings.ask_confidence else None,
            seconds=self._keys.seconds_since(key, form.text("stamp", 200)),
            at=datetime.now(UTC),
        )
        policy = RoundPolicy(
            until=self._settings.deliberation.until,
            shown_again=self._second_look.positions,
            before_first=partial(take_place, quotas=self._quotas, at=new.at) if self._takes_place else None,
            in_rooms=self._settings.deliberation.rooms,
        )
        try:
            position = await self._services.answering.record(SentAnswer(self._hash(request), new, policy))
        except ChangedTooOften:
            return self._changed_too_often(request)
        except Full:
            return await self._no_place(request)
        if self._asks_more and not explained:
            return self._to_own(request, f"/pair/{position}/why")
        if self._settings.second_look and (await self._participant(request)).stage == Stage.SECOND_LOOK:
            return self._to_own(request, f"/second-look?saved={position}#pair-{position}")
        last = position >= self._settings.pairs
        return self._to_own(request, f"/review?saved={position}" if last else f"/pair/{position + 1}?saved={position}")

    async def _lost_place(self, request: Request) -> bool:
        """Whether they agreed, answered nothing for too long, and others have come in their place."""
        return self._limited and await self._read(request, lost_place, quotas=self._quotas, at=datetime.now(UTC))

    async def review(self, request: Request) -> Response:
        await self._participant_at(request, Stage.PAIRS)
        await self._talking.comes_first(request)
        pairs = await self._review_pairs(request)
        own = self._own(request)
        return HTMLResponse(self._pages(request).review(own, pairs, undo=_undo(own, request)))

    async def _review_pairs(self, request: Request) -> list[views.ReviewPair]:
        """All places; those whose pair is chosen later have no people yet."""
        found, arm = await self._read(request, answers.appearances_of), await self._arm(request)
        cards = self._edition(request, arm).cards
        by_place = {
            pair.position: views.ReviewPair(
                pair.position, (cards[pair.a], cards[pair.b]), pair.answer and pair.answer.answer
            )
            for pair in found
        }
        places = range(1, self._settings.pairs + 1)
        return [by_place.get(place) or views.ReviewPair(place, None, None) for place in places]

    async def _own_answers(self, request: Request) -> dict[int, Answer | None]:
        """The current ones to the pairs that are laid out, by position."""
        pairs = await self._read(request, answers.appearances_of)
        return {pair.position: pair.answer and pair.answer.answer for pair in pairs}

    # The end

    async def closing(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.PAIRS, Stage.SECOND_LOOK)
        await self._talking.comes_first(request)
        pairs = await self._review_pairs(request)
        if any(pair.answer is None for pair in pairs):
            if self._first_is_over:
                raise RoundOver
            problem = self._pages(request).translate(marked("Some pairs are still open. Answer them first"))
            return HTMLResponse(self._pages(request).review(self._own(request), pairs, problem=problem), 422)
        await self._second_look.comes_first(request, who)
        if await self._questions.are_left(request):
            return self._to_own(request, "/questions")
        again = who.stage == Stage.SECOND_LOOK
        return HTMLResponse(self._pages(request).closing(self._own(request), again=again))

    async def finish(self, request: Request) -> Response:
        form = await self._own_form(request)
        texts = {name: form.text(name, LONGEST_CLOSING) for name in ("rules", "expressible", "comments")}
        await self._second_look.comes_first(request, await self._participant(request))
        await self._talking.comes_first(request)
        if await self._questions.are_left(request):
            return self._to_own(request, "/questions")
        await self._write(request, self._finished, at=datetime.now(UTC), **texts)
        response = self._to_own(request, "/thanks")
        self._forget_device(response)  # whoever uses it next is not offered to go on
        return response

    def _finished(self, connection: Connection, token_hash: bytes, /, at: datetime, **texts: str) -> None:
        """All that is to be kept of someone's end; they may be the last of the first round."""
        arms, places = self._folder.arms_at_end, self._settings.pairs
        who = participants.find(connection, token_hash)
        mark = self._keys.group_mark(who.came_by, who.panel_id) if who.panel_id else None
        participants.finish(connection, token_hash, at=at, places=places, arms=arms, group_mark=mark, **texts)
        if self._settings.deliberation.on:
            end_when_enough(connection, self._settings.deliberation.close_after, at)

    async def thanks(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.FINISHED)
        answered, code = await self._receipt(request, who)
        finished_at = who.finished_at or datetime.now(UTC)
        receipt = views.Receipt(code, answered, finished_at)
        recruitment = self._settings.recruitment
        back = f"{self._own(request).path}/back" if recruitment.completion_url else None
        way_back = views.WayBack.to(who.came_by, back, recruitment.completion_code or code)
        stands = await self._store.read(standing)
        result, again = announced(stands, self._folder.path), "never"
        if self._settings.deliberation.on and stands.round == FIRST and stands.state != StudyState.CLOSED:
            again = "later"
        elif await self._second_round.way_there(request):
            again = "now"
        vote = await self._store.read(last_vote)
        may_vote = vote is not None and vote.is_open
        page = self._pages(request).thanks(self._own(request), receipt, way_back, result, again, vote=may_vote)
        return HTMLResponse(page)

    async def _receipt(self, request: Request, who: participants.Participant) -> tuple[int, str]:
        """How many pairs someone answered, and a code for exactly these answers."""
        own_answers = await self._own_answers(request)
        if self._settings.deliberation.on:  # a second round changes no receipt
            both = await self._read(request, answers.first_and_current)
            own_answers = {first.position: first.answer for first, _ in both}
        said = [f"{position} {answer}" for position, answer in own_answers.items()]
        return len(own_answers), self._keys.receipt([self._folder.fingerprint, who.number, *said])

    async def _completion_code(self, request: Request, who: participants.Participant) -> str:
        return self._settings.recruitment.completion_code or (await self._receipt(request, who))[1]

    async def withdrawal(self, request: Request) -> Response:
        await self._participant(request)
        voted = await self._read(request, has_voted)
        return HTMLResponse(self._pages(request).withdraw(self._own(request), voted=voted))

    async def withdraw(self, request: Request) -> Response:
        await self._own_form(request)
        who = await self._participant(request)
        mark = self._keys.mark(who.came_by, who.panel_id) if who.came_by in PANELS else None
        forget = partial(participants.withdraw, token_hash=self._hash(request), at=datetime.now(UTC), mark=mark)
        if await self._store.write(forget):  # whether the study is open or not
            with suppress(StoreUnavailable, OSError):  # then the housekeeper does it
                await asyncio.to_thread(tidy_fits, self._folder.path, self._store)
        self._services.housekeeper.wake()
        response = self._to("/withdrawn")
        self._forget_device(response)
        return response


def _undo(own: views.OwnPages, request: Request) -> str:
    """The way back to the answer that was saved just now; empty if none was."""
    saved = whole_number(request.query_params.get("saved", ""))
    return "" if saved is None else f"{own.path}/pair/{saved}"
