"""A room that talks: on phones the pair that it is at, and on the wall what everyone said about it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.judgments.answer import PairDesign
from fairwise.store import rooms
from fairwise.store.answers import Appearance
from fairwise.store.errors import ChangedTooOften, Full, NotYet, Unknown
from fairwise.store.quotas import take_place
from fairwise.store.recording import NewAnswer, RoundPolicy, SentAnswer
from fairwise.store.rooms import Room, Talk, TwoPeople, find_room, read_code
from fairwise.study.deliberation import FEWEST_COUNTED, Step, Turn
from fairwise.study.settings import Stage
from fairwise.study.texts import marked
from fairwise.web.participant.base import ParticipantPages, Services
from fairwise.web.participant.onboarding import CHOOSE
from fairwise.web.shared import views
from fairwise.web.shared.security import HEADERS

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
        talk = await self._read(request, rooms.talk_of) if self._talks else None
        return None if talk is None or talk.turn.step == Step.OVER else talk

    async def comes_first(self, request: Request) -> None:
        """Refuse to go past it."""
        if await self.talk(request) is not None:
            raise NotYet

    async def is_over(self, request: Request, pair: Appearance) -> bool:
        """Whether a pair is not, or no longer, to be answered by oneself: see :mod:`fairwise.store.recording`."""
        in_room = self._talks and await self._read(request, rooms.talk_of) is not None
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
        pair = await self._read(request, rooms.own_pair, two=two)
        asked, answered = rooms.is_asked(pair, turn), rooms.has_answered(pair, turn)
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
        policy = RoundPolicy(before_first=take, in_rooms=True, turn=seen, fixed_pairs=self.pairs)
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
        """Where the room is, in a few letters; nothing at all to whoever knows it already."""
        talk = await self._read(request, rooms.talk_of) if self._talks else None
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
        talk = await self._store.read(partial(rooms.talk_in, code=room.code)) if self._talks else None
        if talk is None:
            return None
        two = self.pairs[talk.turn.pair - 1] if talk.turn.pair else None
        inside = await self._store.read(partial(rooms.room_answers, room_id=talk.room_id, two=two))
        return views.OnWall.of(talk.turn, inside, FEWEST_COUNTED)


def _if_new(request: Request, tag: str) -> Response:
    quoted = f'"{tag}"'
    headers = {"etag": quoted, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == quoted:
        return Response(status_code=304, headers=headers)
    return Response(tag, media_type="text/plain", headers=headers)
