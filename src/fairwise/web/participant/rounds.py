"""The second round, and rooms in which people talk about pairs."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.judgments.answer import PairDesign
from fairwise.store import deliberation, reasons, talking
from fairwise.store.answers import Appearance, NewAnswer
from fairwise.store.deliberation import Opinion
from fairwise.store.errors import ChangedTooOften, Full, NotOpen, NotYet, Unknown
from fairwise.store.participants import Participant
from fairwise.store.quotas import take_place
from fairwise.store.recruitment import Room, find_room, read_code
from fairwise.store.study_state import FIRST, SECOND, Standing, require_open, standing
from fairwise.store.talking import Talk, TwoPeople
from fairwise.study.arms import shows_reasons
from fairwise.study.designs import PairAnswer
from fairwise.study.languages import marked
from fairwise.study.stages import Stage, StudyState
from fairwise.study.talking import FEWEST_COUNTED, Step, Turn
from fairwise.web.participant.base import LONGEST_NONCE, ParticipantPages, Services
from fairwise.web.participant.onboarding import CHOOSE
from fairwise.web.shared import views
from fairwise.web.shared.security import HEADERS
from fairwise.web.shared.views import LONGEST_WHY, OthersAnswer, OthersReason, PairAgain


class SecondRoundPages(ParticipantPages):
    """Its pages, and what other pages must know about it."""

    def routes(self) -> list[Route]:
        return [  # whoever finished the first round is not at an end here: each page looks whether the study is open
            self._get("/p/{token}/second-round", self.begin, always=True),
            self._get("/p/{token}/second-round/end", self.end, always=True),
            self._get("/p/{token}/second-round/{position:number}", self.pair, always=True),
            self._post("/p/{token}/second-round/{position:number}", self.answer, always=True),
            self._get("/p/{token}/second-round/{position:number}/report/{reason}", self.report, always=True),
            self._post("/p/{token}/second-round/{position:number}/report/{reason}", self.hide, always=True),
        ]

    async def way_there(self, request: Request) -> str:
        """Where someone is led who comes back: to its beginning or its end, or nowhere if it is not for them now."""
        stands = await self._store.read(standing)
        if not self._is_on(stands) or stands.state != StudyState.OPEN:
            return ""
        shown = await self._shown(request)
        if not shown:
            return ""
        return "/second-round/end" if all(_of_round(pair, SECOND) for pair in shown) else "/second-round"

    def _is_on(self, stands: Standing) -> bool:
        return self._settings.deliberation.on and stands.round == SECOND

    async def _shown(self, request: Request) -> list[Appearance]:
        return await self._read(request, deliberation.shown_again, most=self._settings.deliberation.pairs)

    async def _shown_now(self, request: Request) -> list[Appearance]:
        """What someone is shown again, while they may answer."""
        stands = await self._store.read(standing)
        if not self._is_on(stands):
            raise NotYet
        if stands.state != StudyState.OPEN:
            raise NotOpen
        shown = await self._shown(request)
        if not shown:
            raise NotYet
        return shown

    async def begin(self, request: Request) -> Response:
        return await self._list(request, done=False)

    async def end(self, request: Request) -> Response:
        return await self._list(request, done=True)

    async def _list(self, request: Request, *, done: bool) -> Response:
        shown, who = await self._shown_now(request), await self._participant(request)
        pairs = [self._view(request, shown, pair, who) for pair in shown]
        finished = all(pair.pair.answer for pair in pairs)
        if finished != done:
            return self._to_own(request, "/second-round/end" if finished else "/second-round")
        return HTMLResponse(self._pages(request, who.arm).second_round(self._own(request), pairs, done=done))

    async def pair(self, request: Request) -> Response:
        return await self._pair(request)

    async def _pair(self, request: Request, problem: str | None = None) -> Response:
        again = await self._pair_again(request)
        reported = "reported" in request.query_params
        pages = self._pages(request, await self._arm(request))
        page = pages.pair_again(self._own(request), again, reported=reported, problem=problem)
        return HTMLResponse(page, 422 if problem else 200)

    async def _pair_again(self, request: Request) -> PairAgain:
        shown, who = await self._shown_now(request), await self._participant(request)
        position = request.path_params["position"]
        pair = next((one for one in shown if one.position == position), None)
        if pair is None:
            raise NotYet
        if not shows_reasons(self._settings.arms, who.arm):
            return self._view(request, shown, pair, who)
        others = await self._store.read(partial(deliberation.opinion, pair=pair))
        return self._view(request, shown, pair, who, others)

    def _view(
        self,
        request: Request,
        shown: list[Appearance],
        pair: Appearance,
        who: Participant,
        others: Opinion | None = None,
    ) -> PairAgain:
        cards, first, now = self._edition(request, who.arm).cards, _of_round(pair, FIRST), _of_round(pair, SECOND)
        assert first is not None
        view = views.Pair(
            number=shown.index(pair) + 1,
            total=len(shown),
            answered=sum(_of_round(one, SECOND) is not None for one in shown),
            a=cards[pair.a],
            b=cards[pair.b],
            answer=now and now.answer,
            why="" if now is None else now.why,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        told = self._told(others) if others is not None else ()
        return PairAgain(
            pair.position, view, first.answer, first.why, shows_reasons(self._settings.arms, who.arm), told
        )

    def _told(self, others: Opinion) -> tuple[OthersAnswer, ...]:
        """In the order of the buttons; reasons in one that follows from no author, time or length."""
        if others.counts is None:
            return ()
        found = sorted((self._keys.reason_name(one.answer_id), one) for one in others.reasons)
        return tuple(
            OthersAnswer(
                answer,
                others.counts.get(answer, 0),
                tuple(OthersReason(name, one.text) for name, one in found if one.answer == answer),
            )
            for answer in self._settings.allowed_answers
        )

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        if answer is None:
            return await self._pair(request, problem=self._pages(request).translate(CHOOSE))
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
            await self._write(request, deliberation.record_again, new=new, most=self._settings.deliberation.pairs)
        except ChangedTooOften:
            return self._changed_too_often(request)
        left = [pair.position for pair in await self._shown_now(request) if not _of_round(pair, SECOND)]
        return self._to_own(request, f"/second-round/{left[0]}" if left else "/second-round/end")

    # Reasons that nobody should read

    async def report(self, request: Request) -> Response:
        reason = await self._reason(request)
        position = request.path_params["position"]
        return HTMLResponse(self._pages(request).report_reason(self._own(request), position, reason))

    async def hide(self, request: Request) -> Response:
        """Only what this participant is shown can be reported, and only while it is shown."""
        await self._own_form(request)
        who, position, name = await self._participant(request), *map(request.path_params.get, ("position", "reason"))
        shown = next((pair for pair in await self._shown_now(request) if pair.position == position), None)

        def change(connection: Connection) -> None:
            require_open(connection)
            if shown is None or not shows_reasons(self._settings.arms, who.arm):
                raise Unknown
            for one in deliberation.opinion(connection, shown).reasons:
                if self._keys.reason_name(one.answer_id) == name:
                    reasons.report(connection, one.answer_id, name, datetime.now(UTC))

        await self._store.write(change)
        return self._to_own(request, f"/second-round/{position}?reported")

    async def _reason(self, request: Request) -> OthersReason:
        others, name = (await self._pair_again(request)).others, request.path_params["reason"]
        found = [reason for one in others for reason in one.reasons if reason.name == name]
        if not found:  # hidden meanwhile, or its author withdrew
            raise Unknown
        return found[0]


def _of_round(pair: Appearance, turn: int) -> PairAnswer | None:
    """The last answer of a round."""
    return next((one for one in reversed(pair.versions) if one.round == turn), None)


_LONGEST_NONCE = 28
# The script on these pages asks whether the room has gone on; nothing else may be asked.
_MAY_ASK = {"content-security-policy": f"{HEADERS['content-security-policy']}; connect-src 'self'"}
_TOO_LATE = (
    marked("The room has gone on"),
    marked("Your answer came too late and was not kept. Go on with the others."),
)


class TalkingPages(ParticipantPages):
    """For those in a room of a study whose rooms talk; all see a pair on the same sides, which are the wall's."""

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

    # What other pages must know

    async def talk(self, request: Request) -> Talk | None:
        """Where this participant's room is, as long as it talks; None for everybody else."""
        talk = await self._read(request, talking.talk_of) if self._talks else None
        return None if talk is None or talk.turn.step == Step.OVER else talk

    async def comes_first(self, request: Request) -> None:
        """Refuse to go past it."""
        if await self.talk(request) is not None:
            raise NotYet

    async def is_over(self, request: Request, pair: Appearance) -> bool:
        """Whether a pair is not, or no longer, to be answered by oneself: see :func:`record_outside`."""
        in_room = self._talks and await self._read(request, talking.talk_of) is not None
        if not in_room:
            return False
        talked = pair.design == PairDesign.FIXED and pair.answer is not None
        return talked or await self.talk(request) is not None

    # On the phone

    async def phone(self, request: Request) -> Response:
        return await self._phone(request)

    async def _phone(self, request: Request, problem: str | None = None) -> Response:
        await self._participant_at(request, Stage.PAIRS)
        talk = await self.talk(request)
        if talk is None:
            return self._to_own(request, "")
        turn, pages, own = talk.turn, self._pages(request), self._own(request)
        if turn.step == Step.WAITING:
            return HTMLResponse(pages.room(own, views.InTurn(turn)), headers=_MAY_ASK)
        two = self.pairs[turn.pair - 1]
        pair = await self._read(request, talking.own_pair, two=two)
        asked, answered = talking.is_asked(pair, turn), talking.has_answered(pair, turn)
        if not asked or (answered and "change" not in request.query_params):
            said = None if pair.answer is None else pair.answer.answer
            if said is not None and (pair.a, pair.b) != two:
                said = said.swapped()
            state = views.InTurn(turn, said=said, asked=asked, answered=answered)
            return HTMLResponse(pages.room(own, state), headers=_MAY_ASK)
        a, b = (self._edition(request).cards[person] for person in two)
        given = pair.answer and (pair.answer.answer if (pair.a, pair.b) == two else pair.answer.answer.swapped())
        view = views.Pair(
            number=turn.pair,
            total=len(self.pairs),
            answered=turn.pair - 1,
            a=a,
            b=b,
            answer=given,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        page = pages.pair(own, view, problem=problem, turn=turn)
        return HTMLResponse(page, 422 if problem else 200, headers=_MAY_ASK)

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer, seen = form.answer(self._settings.allowed_answers), Turn.read(form.text("turn", 20))
        if answer is None:
            return await self._phone(request, self._pages(request).translate(CHOOSE))
        if seen is None:
            raise Unknown
        key, at = form.text("key", 32), datetime.now(UTC)
        seconds = self._keys.seconds_since(key, form.text("stamp", 200))
        new = NewAnswer(key, form.text("nonce", _LONGEST_NONCE), answer, None, None, seconds, at)
        take = partial(take_place, quotas=self._quotas, at=at)
        keep = partial(talking.record_in_room, seen=seen, pairs=self.pairs, before_first=take)
        try:
            await self._services.answering.record(self._hash(request), new, keep)
        except NotYet:
            return self._message(request, 409, *_TOO_LATE, back=self._own(request).path)
        except ChangedTooOften:
            return self._changed_too_often(request)
        except Full:
            return await self._no_place(request)
        return self._to_own(request, "/room")

    async def turn(self, request: Request) -> Response:
        """Where the room is, in a few letters; nothing at all to whoever knows it already."""
        talk = await self._read(request, talking.talk_of) if self._talks else None
        if talk is None:
            raise Unknown
        return _if_new(request, str(talk.turn))

    # On the wall

    async def wall(self, request: Request, room: Room) -> Response | None:
        """The pair that a room is at and how it was answered; None while people come in."""
        shown = await self._shown(room)
        if shown is None or shown.turn.step == Step.WAITING:
            return None
        cards = None
        if shown.turn.step != Step.OVER:
            cards = tuple(self._edition(request).cards[person] for person in self.pairs[shown.turn.pair - 1])
        return HTMLResponse(self._pages(request).talking_wall(room, shown, cards, len(self.pairs)), headers=_MAY_ASK)

    async def turn_of_wall(self, request: Request) -> Response:
        code = read_code(request.path_params["code"])
        room = await self._store.read(partial(find_room, code=code))
        shown = None if room is None else await self._shown(room)
        if shown is None:
            raise Unknown
        return _if_new(request, shown.tag)

    async def _shown(self, room: Room) -> views.OnWall | None:
        talk = await self._store.read(partial(talking.talk_in, code=room.code)) if self._talks else None
        if talk is None:
            return None
        two = self.pairs[talk.turn.pair - 1] if talk.turn.pair else None
        inside = await self._store.read(partial(talking.in_room, room_id=talk.room_id, two=two))
        return views.OnWall.of(talk.turn, inside, FEWEST_COUNTED)


def _if_new(request: Request, tag: str) -> Response:
    quoted = f'"{tag}"'
    headers = {"etag": quoted, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == quoted:
        return Response(status_code=304, headers=headers)
    return Response(tag, media_type="text/plain", headers=headers)
