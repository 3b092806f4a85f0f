"""The pages of the pairs, from the first pair to the receipt, and the ways out of a study."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fairwise.messages import marked
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
from fairwise.web.participant.base import CHOOSE, LONGEST_NONCE, ParticipantPages
from fairwise.web.participant.onboarding import QuestionPages, SecondLookPages
from fairwise.web.participant.result import announced
from fairwise.web.participant.rounds import SecondRoundPages, TalkingPages
from fairwise.web.shared import views
from fairwise.web.shared.requests import whole_number
from fairwise.web.shared.views import CLOSING_QUESTIONS, LONGEST_CLOSING, LONGEST_WHY

if TYPE_CHECKING:
    from fairwise.web.participant.base import Handler, Services

_ENDS: dict[str, str] = {Stage.FINISHED: "/thanks", Stage.SCREENED_OUT: "/screened-out"}


class PairPages(ParticipantPages):
    """Pairs, the list of answers, the end, and withdrawal."""

    def __init__(
        self,
        services: Services,
        invited: Handler,
        second_look: SecondLookPages,
        second_round: SecondRoundPages,
        questions: QuestionPages,
        talking: TalkingPages,
    ) -> None:
        """Take the other pages of the study; `invited` answers those whose personal link nobody has used yet."""
        super().__init__(services)
        self._invited, self._second_look, self._second_round = invited, second_look, second_round
        self._questions, self._talking = questions, talking
        recruitment = self._settings.recruitment
        self._has_quotas = bool(recruitment.most or any(one.most is not None for one in self._settings.relations))
        # Without quotas or a panel nobody can be one too many, and the first answer needs no query.
        self._takes_place = bool(self._has_quotas or recruitment.panel)
        self._asks_more = self._settings.ask_why or self._settings.ask_confidence

    def routes(self) -> list[Route]:
        return [  # the first are matched fastest
            self._get("/p/{token}/pair/{position:number}", self.pair),
            self._post("/p/{token}/pair/{position:number}", self.answer),
            self._get("/p/{token}/pair/{position:number}/why", self.why),
            self._get("/p/{token}/picture/{name}", self.picture, always=True),
            self._get("/p/{token}", self.resume, late=True),
            self._get("/p/{token}/", self.resume, late=True),  # as some programs copy links
            self._get("/p/{token}/review", self.review),
            self._get("/p/{token}/closing", self.closing, late=True),  # needs no new answer
            self._post("/p/{token}/closing", self.finish, late=True),
            self._get("/p/{token}/thanks", self.thanks, always=True),
            self._get("/p/{token}/screened-out", self.screened_out, always=True),
            self._get("/p/{token}/back", self.back, always=True),
            self._get("/p/{token}/withdraw", self.withdrawal, always=True),
            self._post("/p/{token}/withdraw", self.withdraw, always=True),
            self._get("/withdrawn", self.withdrawn, always=True),
        ]

    async def resume(self, request: Request) -> Response:  # noqa: PLR0911 - one for each stage
        """Redirect to where the participant was; an unused personal link leads to the consent page."""
        try:
            participant = await self._participant(request)
        except Unknown:
            return await self._invited(request)
        if address := await self._second_round.address_for(request):
            return self._to_own(request, address)
        if participant.stage in _ENDS:
            return self._to_own(request, _ENDS[participant.stage])
        if self._is_first_round_over:
            raise RoundOver
        if await self._lost_place(request):
            return await self._no_place(request)
        if participant.stage != Stage.PAIRS:
            return self._to_own(request, f"/{participant.stage.replace('_', '-')}")
        if await self._talking.talk(request) is not None:
            return self._to_own(request, "/room")
        pairs = await self._read(request, answers.appearances_of)
        position = next((pair.position for pair in pairs if pair.answer is None), None)
        return self._to_own(request, "/review" if position is None else f"/pair/{position}")

    # The pairs

    async def pair(self, request: Request, problem: str | None = None) -> Response:
        arm = await self._arm(request)
        view, is_second_look = await self._pair_view(request, arm)
        if view.answered == 0 and await self._lost_place(request):
            return await self._no_place(request)
        return self._own_page(
            request, "pair", arm, pair=view, undo=self._undo(request), problem=problem, again=is_second_look
        )

    async def why(self, request: Request) -> Response:
        """Ask for the reason and the confidence, once the answer is saved."""
        arm = await self._arm(request)
        view, _ = await self._pair_view(request, arm)
        if view.answer is None or not self._asks_more:
            return self._to_own(request, f"/pair/{view.number}")
        return self._own_page(request, "why", arm, pair=view)

    async def picture(self, request: Request) -> Response:
        """Return a picture of somebody whom this participant compares."""
        name, cards = request.path_params["name"], self._folder.first.in_arm(await self._arm(request)).cards
        pairs = await self._read(request, answers.appearances_of)
        if name not in names_of(cards[person] for pair in pairs for person in (pair.a, pair.b)):
            raise Unknown
        content, kind = await asyncio.to_thread(read_picture, self._folder.path, name)
        return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    async def _pair_view(self, request: Request, arm: str | None) -> tuple[views.Pair, bool]:
        """Return the pair of this address, and whether it is shown in a second look."""
        position, places = request.path_params["position"], self._settings.pairs
        row = await self._store.read(Batchable(answers.appearances_at, (self._hash(request), position)))
        if row is None:
            row = await self._read(request, answers.appearance_at, position=position, places=places)
        pair, answered = row
        is_second_look = await self._second_look.shows(request, pair)
        if (pair.stage != Stage.PAIRS and not is_second_look) or await self._talking.is_over(request, pair):
            raise NotYet
        answer, cards = pair.answer, self._edition(request, arm).cards
        view = views.Pair(
            number=pair.position,
            total=places,
            answered=answered,
            a=cards[pair.a],
            b=cards[pair.b],
            answer=answer and answer.answer,
            why="" if answer is None else answer.why,
            confidence=answer and answer.confidence,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        return view, is_second_look

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        if answer is None:
            return await self.pair(request, problem=self._say(request, CHOOSE))
        key = form.text("key", 32)
        has_reason = self._asks_more and ("why" in form.fields or "confidence" in form.fields)
        why = form.text("why", LONGEST_WHY) if self._settings.ask_why else ""
        new = NewAnswer(
            key=key,
            nonce=form.text("nonce", LONGEST_NONCE),
            answer=answer,
            why=why if has_reason else None,
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
        if self._asks_more and not has_reason:
            return self._to_own(request, f"/pair/{position}/why")
        if self._settings.second_look and (await self._participant(request)).stage == Stage.SECOND_LOOK:
            return self._to_own(request, f"/second-look?saved={position}#pair-{position}")
        last = position >= self._settings.pairs
        return self._to_own(request, f"/review?saved={position}" if last else f"/pair/{position + 1}?saved={position}")

    async def _lost_place(self, request: Request) -> bool:
        """Return whether others have taken this place because the participant did not answer for too long."""
        return self._has_quotas and await self._read(request, lost_place, quotas=self._quotas, at=datetime.now(UTC))

    def _undo(self, request: Request) -> str:
        """Return the address of the answer that was just saved; empty if none was."""
        saved = whole_number(request.query_params.get("saved", ""))
        return "" if saved is None else f"{self._own(request).path}/pair/{saved}"

    async def review(self, request: Request) -> Response:
        await self._participant_at(request, Stage.PAIRS)
        await self._talking.require_done(request)
        pairs = await self._review_pairs(request)
        return self._own_page(request, "review", pairs=pairs, undo=self._undo(request))

    async def _review_pairs(self, request: Request) -> list[views.ReviewPair]:
        """Return all places; pairs that are chosen later have no people yet."""
        pairs, arm = await self._read(request, answers.appearances_of), await self._arm(request)
        cards = self._edition(request, arm).cards
        by_place = {
            pair.position: views.ReviewPair(
                pair.position, (cards[pair.a], cards[pair.b]), pair.answer and pair.answer.answer
            )
            for pair in pairs
        }
        places = range(1, self._settings.pairs + 1)
        return [by_place.get(place) or views.ReviewPair(place, None, None) for place in places]

    # The end

    async def closing(self, request: Request) -> Response:
        """Ask the last questions."""
        participant = await self._participant_at(request, Stage.PAIRS, Stage.SECOND_LOOK)
        await self._talking.require_done(request)
        pairs = await self._review_pairs(request)
        if any(pair.answer is None for pair in pairs):
            if self._is_first_round_over:
                raise RoundOver
            problem = self._say(request, marked("Some pairs are still open. Answer them first"))
            return self._own_page(request, "review", pairs=pairs, problem=problem)
        await self._second_look.require_done(request, participant)
        if await self._questions.are_left(request):
            return self._to_own(request, "/questions")
        return self._own_page(request, "closing", again=participant.stage == Stage.SECOND_LOOK)

    async def finish(self, request: Request) -> Response:
        form = await self._own_form(request)
        texts = {name: form.text(name, LONGEST_CLOSING) for name, _ in CLOSING_QUESTIONS}
        await self._second_look.require_done(request, await self._participant(request))
        await self._talking.require_done(request)
        if await self._questions.are_left(request):
            return self._to_own(request, "/questions")
        await self._write(request, self._store_end, at=datetime.now(UTC), **texts)
        response = self._to_own(request, "/thanks")
        self._forget_device(response)  # the next person to use it is not offered to continue
        return response

    def _store_end(self, connection: Connection, token_hash: bytes, /, at: datetime, **texts: str) -> None:
        """Store the end of a participant, who may be the last of the first round."""
        arms, places = self._folder.arms_at_end, self._settings.pairs
        participant = participants.find(connection, token_hash)
        panel_id = participant.panel_id
        mark = self._keys.group_mark(participant.came_by, panel_id) if panel_id else None
        participants.finish(connection, token_hash, at=at, places=places, arms=arms, group_mark=mark, **texts)
        if self._settings.deliberation.on:
            end_when_enough(connection, self._settings.deliberation.close_after, at)

    async def thanks(self, request: Request) -> Response:
        participant = await self._participant_at(request, Stage.FINISHED)
        answered, code = await self._receipt(request, participant)
        recruitment, state = self._settings.recruitment, await self._store.read(standing)
        back = f"{self._own(request).path}/back" if recruitment.completion_url else None
        second_round = "never"
        if self._settings.deliberation.on and state.round == FIRST and state.state != StudyState.CLOSED:
            second_round = "later"
        elif await self._second_round.address_for(request):
            second_round = "now"
        vote = await self._store.read(last_vote)
        return self._own_page(
            request,
            "thanks",
            receipt=views.Receipt(code, answered, participant.finished_at or datetime.now(UTC)),
            way_back=views.WayBack.to(participant.came_by, back, recruitment.completion_code or code),
            result=announced(state, self._folder.path),
            second_round=second_round,
            vote=vote is not None and vote.is_open,
        )

    async def _receipt(self, request: Request, participant: participants.Participant) -> tuple[int, str]:
        """Return the number of answered pairs, and a code for exactly these answers."""
        if self._settings.deliberation.on:  # a second round changes no receipt
            both = await self._read(request, answers.first_and_current)
            lines = [f"{first.position} {first.answer}" for first, _ in both]
        else:
            pairs = await self._read(request, answers.appearances_of)
            lines = [f"{pair.position} {pair.answer and pair.answer.answer}" for pair in pairs]
        return len(lines), self._keys.receipt([self._folder.fingerprint, participant.number, *lines])

    async def screened_out(self, request: Request) -> Response:
        participant = await self._participant_at(request, Stage.SCREENED_OUT)
        back = f"{self._own(request).path}/back" if self._settings.recruitment.screened_out_url else None
        return self._own_page(request, "screened_out", back=views.WayBack.to(participant.came_by, back))

    async def back(self, request: Request) -> Response:
        """Redirect to the panel once everything is saved; until then to where the participant is."""
        participant, recruitment = await self._participant(request), self._settings.recruitment
        addresses: dict[str, str] = {
            Stage.FINISHED: recruitment.completion_url,
            Stage.SCREENED_OUT: recruitment.screened_out_url,
        }
        address, code = addresses.get(participant.stage, ""), ""
        if not address or participant.came_by not in PANELS:
            return self._to_own(request, "")
        if participant.stage == Stage.FINISHED:
            code = recruitment.completion_code or (await self._receipt(request, participant))[1]
        address = filled(address, panel_id=participant.panel_id, session=participant.panel_session, code=code)
        return RedirectResponse(address, 303)

    async def withdrawal(self, request: Request) -> Response:
        await self._participant(request)
        return self._own_page(request, "withdraw", voted=await self._read(request, has_voted))

    async def withdraw(self, request: Request) -> Response:
        await self._own_form(request)
        participant = await self._participant(request)
        came_by = participant.came_by
        mark = self._keys.mark(came_by, participant.panel_id) if came_by in PANELS else None
        forget = partial(participants.withdraw, token_hash=self._hash(request), at=datetime.now(UTC), mark=mark)
        if await self._store.write(forget):  # whether the study is open or not
            with suppress(StoreUnavailable, OSError):  # then the housekeeper does it
                await asyncio.to_thread(tidy_fits, self._folder.path, self._store)
        self._services.housekeeper.wake()
        response = self._to("/withdrawn")
        self._forget_device(response)
        return response

    async def withdrawn(self, request: Request) -> Response:
        return self._page(request, "withdrawn")
