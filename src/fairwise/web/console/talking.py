"""Leading a room that talks: an operator shows the answers, has people answer again, and goes on to the next pair."""

from __future__ import annotations

from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairwise.store import rooms
from fairwise.store.rooms import Room
from fairwise.study.deliberation import FEWEST_COUNTED, Step, Turn
from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.language_choice import language_of
from fairwise.web.shared.views import OnWall

_STEPS = {
    Step.WAITING: marked("People come in. The wall shows how."),
    Step.ALONE: marked("Everyone answers alone, on their phones."),
    Step.SHOWN: marked("The wall shows the answers. Let people talk."),
    Step.AGAIN: marked("Everyone answers again."),
    Step.COMPARED: marked("The wall shows the answers before and after talking."),
    Step.OVER: marked("All pairs were talked about. Whoever has pairs left answers them alone."),
}
_BUTTONS = {
    Step.SHOWN: marked("Show the answers"),
    Step.AGAIN: marked("Answer again"),
    Step.COMPARED: marked("Show both answers"),
    Step.ALONE: marked("Next pair"),
    Step.OVER: marked("End the talk"),
}
_FIRST = marked("Begin with the first pair")


class TalkingRoomPages(ConsolePages):
    """For owners, as everything that participants notice."""

    async def room(self, request: Request) -> Response:
        room, shown = await self._shown(request)
        following = [(str(turn), _words(shown.turn, turn)) for turn in shown.turn.following(self._pairs)]
        step = _STEPS[shown.turn.step]
        return self._page(request, "room", room=room, following=following, shown=shown, step=step, pairs=self._pairs)

    async def numbers(self, request: Request) -> Response:
        """The same again, while the page is open."""
        _, shown = await self._shown(request)
        values = {"shown": shown, "step": _STEPS[shown.turn.step], "pairs": self._pairs}
        return HTMLResponse(self._rendering.page("room_numbers", language_of(request.scope), **values))

    async def go_on(self, request: Request) -> Response:
        room, _ = await self._shown(request)
        form = request.state.form
        seen, to = Turn.read(form.text("seen", 20)), Turn.read(form.text("to", 20))
        if seen is None or to is None or to not in seen.following(self._pairs):
            raise HTTPException(404)
        move = partial(rooms.change_turn, code=room.code, seen=seen, to=to, pairs=self._pairs)
        await self._noted(request, "room led on", f"{room.code} {to}", move)
        return self._to(f"/coming/rooms/{room.code}")

    @property
    def _pairs(self) -> int:
        return self._study().settings.design.fixed

    async def _shown(self, request: Request) -> tuple[Room, OnWall]:
        study = self._study()
        code = rooms.read_code(request.path_params["code"])
        room = await self._read(partial(rooms.find_room, code=code))
        talk = await self._read(partial(rooms.talk_in, code=code))
        if room is None or talk is None or not study.settings.deliberation.rooms:
            raise HTTPException(404)
        two = study.schedules.fixed[talk.turn.pair - 1] if talk.turn.pair else None
        inside = await self._read(partial(rooms.room_answers, room_id=talk.room_id, two=two))
        return room, OnWall.of(talk.turn, inside, FEWEST_COUNTED)

    routes = (
        ConsoleRoute("GET", "/admin/coming/rooms/{code}", room, "owner"),
        ConsoleRoute("GET", "/admin/coming/rooms/{code}/numbers", numbers, "owner"),
        ConsoleRoute("POST", "/admin/coming/rooms/{code}/turn", go_on, "owner"),
    )


def _words(now: Turn, to: Turn) -> str:
    return _FIRST if now.step == Step.WAITING else _BUTTONS[to.step]
