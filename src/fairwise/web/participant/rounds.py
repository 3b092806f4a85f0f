"""The second round, and rooms in which people talk about pairs."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairwise.judgments.answer import PairDesign
from fairwise.messages import marked
from fairwise.store import deliberation, rooms
from fairwise.store.answers import Appearance
from fairwise.store.deliberation import Opinion
from fairwise.store.errors import ChangedTooOften, Full, NotOpen, NotYet, Unknown
from fairwise.store.participants import Participant
from fairwise.store.quotas import take_place
from fairwise.store.recording import NewAnswer, RoundPolicy, SentAnswer, record_all
from fairwise.store.rooms import Room, Talk, TwoPeople, find_room, read_code
from fairwise.store.store import Batchable
from fairwise.store.study_state import FIRST, SECOND, Standing, require_open, standing
from fairwise.study.deliberation import FEWEST_COUNTED, Step, Turn
from fairwise.study.design import shows_reasons
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import Stage, StudyState
from fairwise.web.participant.base import CHOOSE, LONGEST_NONCE, ParticipantPages, Services
from fairwise.web.shared import views
from fairwise.web.shared.security import HEADERS
from fairwise.web.shared.views import LONGEST_WHY, OthersAnswer, OthersReason, PairAgain

# The script on these pages asks whether the room has gone on; nothing else may be asked.
_MAY_ASK = {"content-security-policy": f"{HEADERS['content-security-policy']}; connect-src 'self'"}
_TOO_LATE = (
    marked("The room has gone on"),
    marked("Your answer came too late and was not kept. Go on with the others."),
)


class SecondRoundPages(ParticipantPages):
    """Pairs shown again with the answers and reasons of others.

    Each page is made from what is stored at that moment, so that nothing of somebody who withdrew stays on it.
    """

    def routes(self) -> list[Route]:
        path = "/p/{token}/second-round"
        return [  # finishing the first round is no end here: each page checks itself whether the study is open
            self._get(path, self.pairs, always=True),
            self._get(f"{path}/end", self.pairs, always=True),
            self._get(path + "/{position:number}", self.pair, always=True),
            self._post(path + "/{position:number}", self.answer, always=True),
            self._get(path + "/{position:number}/report/{reason}", self.report, always=True),
            self._post(path + "/{position:number}/report/{reason}", self.hide, always=True),
        ]

    async def address_for(self, request: Request) -> str:
        """Return the address of the second round's beginning or end; empty if it is not for this participant now."""
        state = await self._store.read(standing)
        if not self._is_on(state) or state.state != StudyState.OPEN:
            return ""
        pairs = await self._all_pairs(request)
        if not pairs:
            return ""
        return "/second-round/end" if all(_of_round(pair, SECOND) for pair in pairs) else "/second-round"

    def _is_on(self, state: Standing) -> bool:
        return self._settings.deliberation.on and state.round == SECOND

    async def _all_pairs(self, request: Request) -> list[Appearance]:
        return await self._read(request, deliberation.shown_again, most=self._settings.deliberation.pairs)

    async def _open_pairs(self, request: Request) -> list[Appearance]:
        """Return the pairs that a participant is shown again, while they may answer."""
        state = await self._store.read(standing)
        if not self._is_on(state):
            raise NotYet
        if state.state != StudyState.OPEN:
            raise NotOpen
        pairs = await self._all_pairs(request)
        if not pairs:
            raise NotYet
        return pairs

    async def pairs(self, request: Request) -> Response:
        """Show all pairs, at the address of the beginning or, once all are answered, of the end."""
        appearances, participant = await self._open_pairs(request), await self._participant(request)
        pairs = [self._view(request, appearances, pair, participant) for pair in appearances]
        is_end, is_done = request.scope["path"].endswith("/end"), all(pair.pair.answer for pair in pairs)
        if is_done != is_end:
            return self._to_own(request, "/second-round/end" if is_done else "/second-round")
        return self._own_page(request, "second_round", participant.arm, pairs=pairs, done=is_done)

    async def pair(self, request: Request, problem: str | None = None) -> Response:
        view = await self._pair_view(request)
        is_reported = "reported" in request.query_params
        arm = await self._arm(request)
        return self._own_page(request, "pair_again", arm, second=view, reported=is_reported, problem=problem)

    async def _pair_view(self, request: Request) -> PairAgain:
        pairs, participant = await self._open_pairs(request), await self._participant(request)
        position = request.path_params["position"]
        pair = next((one for one in pairs if one.position == position), None)
        if pair is None:
            raise NotYet
        opinion = None
        if shows_reasons(self._settings.arms, participant.arm):
            opinion = await self._store.read(partial(deliberation.opinion, pair=pair))
        return self._view(request, pairs, pair, participant, opinion)

    def _view(
        self,
        request: Request,
        pairs: list[Appearance],
        pair: Appearance,
        participant: Participant,
        opinion: Opinion | None = None,
    ) -> PairAgain:
        cards = self._edition(request, participant.arm).cards
        first, second = _of_round(pair, FIRST), _of_round(pair, SECOND)
        assert first is not None
        view = views.Pair(
            number=pairs.index(pair) + 1,
            total=len(pairs),
            answered=sum(_of_round(one, SECOND) is not None for one in pairs),
            a=cards[pair.a],
            b=cards[pair.b],
            answer=second and second.answer,
            why="" if second is None else second.why,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        shows_opinions = shows_reasons(self._settings.arms, participant.arm)
        return PairAgain(pair.position, view, first.answer, first.why, shows_opinions, self._opinions(opinion))

    def _opinions(self, opinion: Opinion | None) -> tuple[OthersAnswer, ...]:
        """Return answers in the order of the buttons; the order of reasons depends on no author, time or length."""
        if opinion is None or opinion.counts is None:
            return ()
        named = sorted((self._keys.reason_name(one.answer_id), one) for one in opinion.reasons)
        return tuple(
            OthersAnswer(
                answer,
                opinion.counts.get(answer, 0),
                tuple(OthersReason(name, one.text) for name, one in named if one.answer == answer),
            )
            for answer in self._settings.allowed_answers
        )

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        if answer is None:
            return await self.pair(request, problem=self._say(request, CHOOSE))
        key = form.text("key", 32)
        new = NewAnswer(
            key=key,
            nonce=form.text("nonce", LONGEST_NONCE),
            answer=answer,
            why=form.text("why", LONGEST_WHY),
            confidence=None,
            seconds=self._keys.seconds_since(key, form.text("stamp", 200)),
            at=datetime.now(UTC),
        )
        try:
            policy = deliberation.second_round_policy(self._settings.deliberation.pairs)
            await self._store.write(Batchable(record_all, SentAnswer(self._hash(request), new, policy)))
        except ChangedTooOften:
            return self._changed_too_often(request)
        left = [pair.position for pair in await self._open_pairs(request) if not _of_round(pair, SECOND)]
        return self._to_own(request, f"/second-round/{left[0]}" if left else "/second-round/end")

    # Reasons that nobody should read

    async def report(self, request: Request) -> Response:
        view, name = await self._pair_view(request), request.path_params["reason"]
        reason = next((reason for other in view.others for reason in other.reasons if reason.name == name), None)
        if reason is None:  # hidden meanwhile, or its author withdrew
            raise Unknown
        return self._own_page(request, "report_reason", position=view.position, reason=reason)

    async def hide(self, request: Request) -> Response:
        """Report a reason that this participant is shown, while it is shown."""
        await self._own_form(request)
        participant, position = await self._participant(request), request.path_params["position"]
        pair = next((pair for pair in await self._open_pairs(request) if pair.position == position), None)

        def change(connection: Connection) -> None:
            require_open(connection)
            if pair is None or not shows_reasons(self._settings.arms, participant.arm):
                raise Unknown
            for one in deliberation.opinion(connection, pair).reasons:
                name = self._keys.reason_name(one.answer_id)
                if name == request.path_params["reason"]:
                    deliberation.report_reason(connection, one.answer_id, name, datetime.now(UTC))

        await self._store.write(change)
        return self._to_own(request, f"/second-round/{position}?reported")


def _of_round(pair: Appearance, turn: int) -> PairAnswer | None:
    """Return the last answer of a round."""
    return next((one for one in reversed(pair.versions) if one.round == turn), None)


class TalkingPages(ParticipantPages):
    """Rooms that talk: phones show the pair of the turn, the wall all answers; sides are as on the wall."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._talks = self._settings.deliberation.rooms
        self.pairs: tuple[TwoPeople, ...] = self._folder.schedules.fixed if self._talks else ()

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/room", self.phone),
            self._post("/p/{token}/room", self.answer),
            self._get("/p/{token}/room/turn", self.turn),
            self._get("/room/{code}/wall/turn", self.turn_of_wall, always=True),
        ]

    async def talk(self, request: Request) -> Talk | None:
        """Return the turn of this participant's room; None if it does not talk, or no longer."""
        talk = await self._read(request, rooms.talk_of) if self._talks else None
        return None if talk is None or talk.turn.step == Step.OVER else talk

    async def require_done(self, request: Request) -> None:
        """Refuse to go on before the room has."""
        if await self.talk(request) is not None:
            raise NotYet

    async def is_over(self, request: Request, pair: Appearance) -> bool:
        """Return whether a pair is not, or no longer, to be answered alone: see :mod:`fairwise.store.recording`."""
        if not self._talks or await self._read(request, rooms.talk_of) is None:
            return False
        was_discussed = pair.design == PairDesign.FIXED and pair.answer is not None
        return was_discussed or await self.talk(request) is not None

    # On the phone

    async def phone(self, request: Request, problem: str | None = None) -> Response:
        await self._participant_at(request, Stage.PAIRS)
        talk = await self.talk(request)
        if talk is None:
            return self._to_own(request, "")
        turn = talk.turn
        if turn.step == Step.WAITING:
            return self._on_phone(request, "room", state=views.InTurn(turn))
        two = self.pairs[turn.pair - 1]
        pair = await self._read(request, rooms.own_pair, two=two)
        answer = pair.answer and (pair.answer.answer if (pair.a, pair.b) == two else pair.answer.answer.swapped())
        can_answer, has_answered = rooms.is_asked(pair, turn), rooms.has_answered(pair, turn)
        if not can_answer or (has_answered and "change" not in request.query_params):
            state = views.InTurn(turn, said=answer, asked=can_answer, answered=has_answered)
            return self._on_phone(request, "room", state=state)
        a, b = (self._edition(request).cards[person] for person in two)
        view = views.Pair(
            number=turn.pair,
            total=len(self.pairs),
            answered=turn.pair - 1,
            a=a,
            b=b,
            answer=answer,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        return self._on_phone(request, "pair", pair=view, problem=problem, turn=turn)

    def _on_phone(self, request: Request, template: str, **values: Any) -> Response:
        response = self._own_page(request, template, **values)
        response.headers.update(_MAY_ASK)
        return response

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer, turn = form.answer(self._settings.allowed_answers), Turn.read(form.text("turn", 20))
        if answer is None:
            return await self.phone(request, self._say(request, CHOOSE))
        if turn is None:
            raise Unknown
        key, at = form.text("key", 32), datetime.now(UTC)
        seconds = self._keys.seconds_since(key, form.text("stamp", 200))
        new = NewAnswer(key, form.text("nonce", LONGEST_NONCE), answer, None, None, seconds, at)
        take = partial(take_place, quotas=self._quotas, at=at)
        policy = RoundPolicy(before_first=take, in_rooms=True, turn=turn, fixed_pairs=self.pairs)
        try:
            await self._services.answering.record(SentAnswer(self._hash(request), new, policy))
        except NotYet:
            return self._message(request, 409, *_TOO_LATE, back=self._own(request).path)
        except ChangedTooOften:
            return self._changed_too_often(request)
        except Full:
            return await self._no_place(request)
        return self._to_own(request, "/room")

    async def turn(self, request: Request) -> Response:
        """Return the room's turn in a few letters, or 304 if the phone shows it already."""
        talk = await self._read(request, rooms.talk_of) if self._talks else None
        if talk is None:
            raise Unknown
        return _if_new(request, str(talk.turn))

    # On the wall

    async def wall(self, request: Request, room: Room) -> Response | None:
        """Return the pair of the turn with its answers; None while people come in."""
        state = await self._wall_state(room)
        if state is None or state.turn.step == Step.WAITING:
            return None
        cards = None
        if state.turn.step != Step.OVER:
            cards = tuple(self._edition(request).cards[person] for person in self.pairs[state.turn.pair - 1])
        total = len(self.pairs)
        response = self._page(request, "talking_wall", room=room, shown=state, cards=cards, total=total)
        response.headers.update(_MAY_ASK)
        return response

    async def turn_of_wall(self, request: Request) -> Response:
        code = read_code(request.path_params["code"])
        room = await self._store.read(partial(find_room, code=code))
        state = None if room is None else await self._wall_state(room)
        if state is None:
            raise Unknown
        return _if_new(request, state.tag)

    async def _wall_state(self, room: Room) -> views.OnWall | None:
        talk = await self._store.read(partial(rooms.talk_in, code=room.code)) if self._talks else None
        if talk is None:
            return None
        two = self.pairs[talk.turn.pair - 1] if talk.turn.pair else None
        inside = await self._store.read(partial(rooms.room_answers, room_id=talk.room_id, two=two))
        return views.OnWall.of(talk.turn, inside, FEWEST_COUNTED)


def _if_new(request: Request, tag: str) -> Response:
    headers = {"etag": f'"{tag}"', "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(tag, media_type="text/plain", headers=headers)
