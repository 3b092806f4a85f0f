"""The second round and the rooms that talk, as operators lead them."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairwise.judgments import Answer
from fairwise.messages import marked
from fairwise.store import deliberation, rooms
from fairwise.store.deliberation import GivenReason, ListedPair, TwoPeople
from fairwise.store.errors import NothingToDiscuss, NotYet
from fairwise.store.fit_files import Fitted
from fairwise.store.rooms import Room
from fairwise.store.study_state import FIRST, SECOND, Standing, standing
from fairwise.study.cards import Card
from fairwise.study.deliberation import FEWEST_COUNTED, Step, Turn
from fairwise.web.console.base import ConsolePages, get, post
from fairwise.web.shared.pages import facts_of
from fairwise.web.shared.requests import visitor_language
from fairwise.web.shared.views import OnWall

_LONGEST_NAMES = 200_000
_REASON_NAME = re.compile(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}")


@dataclass(frozen=True)
class DiscussedPair:
    """A pair of the second round as operators see it."""

    listed: ListedPair
    people: tuple[Card, Card]
    counts: Mapping[Answer, int]
    """Number of each answer in the first round."""

    reasons: list[tuple[str, GivenReason]]
    """Return reasons under their keyed names and in this order, for owners only."""


class DeliberationPages(ConsolePages):
    """Everything that operators decide about the second round."""

    @get("/admin/second-round", "viewer")
    async def show(self, request: Request) -> Response:
        study, now = self._study(), datetime.now(UTC)
        settings = study.settings.deliberation
        if not settings.on:
            raise HTTPException(404)
        state = await self._store.read(standing)
        prices, name_of = await asyncio.to_thread(self._prices, state), self._host.keys.reason_name
        is_owner = request.state.operator.is_owner

        def look(connection: Connection) -> tuple[list[DiscussedPair], deliberation.Returned]:
            second = state.round == SECOND
            pairs = deliberation.round_list(connection) if second else deliberation.worth_discussing(connection, prices)
            counts = deliberation.first_counts(connection)
            by_pair = defaultdict[TwoPeople, list[tuple[str, GivenReason]]](list)
            for reason in deliberation.reasons_about(connection, {pair.two for pair in pairs}) if is_owner else []:
                by_pair[reason.two].append((name_of(reason.answer_id), reason))
            discussed = [
                DiscussedPair(
                    pair,
                    (study.cards[pair.a], study.cards[pair.b]),
                    counts.get(pair.two, {}),
                    sorted(by_pair[pair.two], key=lambda named: named[0]),
                )
                for pair in pairs
            ]
            return discussed, deliberation.returned(connection, settings.pairs)

        pairs, returned = await self._store.read(look)
        return self._page(
            request,
            "second_round",
            standing=state,
            over=state.first_is_over(now, settings.until),
            by_itself=settings,
            pairs=pairs,
            returned=returned,
            reported=[(name, reason) for pair in pairs for name, reason in pair.reasons if reason.waits],
            undecided=sum(reason.state is None for pair in pairs for _, reason in pair.reasons),
            facts=facts_of,
            answers=study.settings.allowed_answers,
            hides_columns=any(arm.columns and arm.reasons for arm in study.settings.arms),
        )

    def _prices(self, state: Standing) -> Mapping[TwoPeople, float]:
        """Return the prices of pairs in the chosen model, if there is one."""
        fitted = None if state.chosen_job_id is None else Fitted.of(self._host.path, state.chosen_job_id)
        return {} if fitted is None else fitted.pair_prices

    @post("/admin/second-round/end", "owner")
    async def end(self, request: Request) -> Response:
        if not self._study().settings.deliberation.on:
            raise HTTPException(404)
        if request.state.form.text("sure", 3) != "yes":
            return self._to("/second-round?done=not-sure")
        state = await self._store.read(standing)
        if state.round != FIRST or state.round_over:
            return self._to("/second-round?done=round-known")
        await self._log_change(
            request, deliberation.END, "", partial(deliberation.end_first_round, at=datetime.now(UTC))
        )
        self._host.look_again()
        return self._to("/second-round?done=round-ended")

    @post("/admin/second-round/open", "owner")
    async def begin(self, request: Request) -> Response:
        """Open the second round with the list of pairs at this moment."""
        settings = self._study().settings.deliberation
        if not settings.on:
            raise HTTPException(404)
        if request.state.form.text("sure", 3) != "yes":
            return self._to("/second-round?done=not-sure")
        state = await self._store.read(standing)
        if state.round != FIRST:
            return self._to("/second-round?done=round-known")
        prices, at = await asyncio.to_thread(self._prices, state), datetime.now(UTC)
        change = partial(deliberation.open_second_round, at=at, until=settings.until, prices=prices)
        try:
            await self._log_change(request, deliberation.OPEN, "", change)
        except NotYet:
            return self._to("/second-round?done=round-known")
        except NothingToDiscuss:
            return self._to("/second-round?done=nothing-to-discuss")
        self._host.look_again()
        return self._to("/second-round?done=round-opened")

    @post("/admin/second-round/reasons", "owner")
    async def decide(self, request: Request) -> Response:
        """Release or hide the reasons that the form names: those that the operator saw, and no others."""
        form = request.state.form
        state, named = form.text("state", 10), set(form.text("reasons", _LONGEST_NAMES).split())
        if state not in deliberation.ACTIONS or not named or not all(map(_REASON_NAME.fullmatch, named)):
            raise HTTPException(404)
        name_of = self._host.keys.reason_name
        names = {
            one: name for one in await self._store.read(deliberation.reason_ids) if (name := name_of(one)) in named
        }
        change = partial(deliberation.decide_reasons, names=names, state=state)
        await self._change_as_operator(request, lambda connection, who, at: change(connection, operator=who, at=at))
        place = form.text("place", 9)
        return self._to(f"/second-round?done=reasons-decided{f'#pair-{place}' if place.isdigit() else ''}")


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
    """Rooms that talk, led by owners."""

    @get("/admin/coming/rooms/{code}", "owner")
    async def room(self, request: Request) -> Response:
        room, wall = await self._room_and_state(request)
        following = [(str(turn), _words(wall.turn, turn)) for turn in wall.turn.following(self._pairs)]
        step = _STEPS[wall.turn.step]
        return self._page(request, "room", room=room, following=following, shown=wall, step=step, pairs=self._pairs)

    @get("/admin/coming/rooms/{code}/numbers", "owner")
    async def numbers(self, request: Request) -> Response:
        """Return the numbers again while the page is open."""
        _, wall = await self._room_and_state(request)
        values = {"shown": wall, "step": _STEPS[wall.turn.step], "pairs": self._pairs}
        return HTMLResponse(self._rendering.page("room_numbers", visitor_language(request.scope), **values))

    @post("/admin/coming/rooms/{code}/turn", "owner")
    async def go_on(self, request: Request) -> Response:
        room, _ = await self._room_and_state(request)
        form = request.state.form
        seen, to = Turn.read(form.text("seen", 20)), Turn.read(form.text("to", 20))
        if seen is None or to is None or to not in seen.following(self._pairs):
            raise HTTPException(404)
        move = partial(rooms.change_turn, code=room.code, seen=seen, to=to, pairs=self._pairs)
        await self._log_change(request, "room led on", f"{room.code} {to}", move)
        return self._to(f"/coming/rooms/{room.code}")

    @property
    def _pairs(self) -> int:
        return self._study().settings.design.fixed

    async def _room_and_state(self, request: Request) -> tuple[Room, OnWall]:
        study = self._study()
        code = rooms.read_code(request.path_params["code"])
        room = await self._store.read(partial(rooms.find_room, code=code))
        talk = await self._store.read(partial(rooms.talk_in, code=code))
        if room is None or talk is None or not study.settings.deliberation.rooms:
            raise HTTPException(404)
        two = study.schedules.fixed[talk.turn.pair - 1] if talk.turn.pair else None
        inside = await self._store.read(partial(rooms.room_answers, room_id=talk.room_id, two=two))
        return room, OnWall.of(talk.turn, inside, FEWEST_COUNTED)


def _words(now: Turn, to: Turn) -> str:
    return _FIRST if now.step == Step.WAITING else _BUTTONS[to.step]
