"""One participant: their way through the study and their answers; excluding them, taking them back, erasing them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from fairwise.store import exclusions
from fairwise.store.engine import database_url
from fairwise.store.erasure import about, clean_files, erase
from fairwise.store.errors import StoreUnavailable, Unknown
from fairwise.store.housekeeping import tidy_fits
from fairwise.store.one_participant import claims, one_participant
from fairwise.store.progress import answers_of
from fairwise.study.quality import EXPLAINED, WORDS, flags
from fairwise.web.console.base import ConsolePages, Route
from fairwise.web.console.participants import CAME_BY

if TYPE_CHECKING:
    from fastapi.responses import Response
    from sqlalchemy import Connection
    from starlette.requests import Request

    from fairwise.store.one_participant import OneParticipant

_LONGEST_REASON = 500
_STAGES = {
    "relation": "is asked what they are to the decision",
    "task": "reads what is asked of them",
    "check": "answers the comprehension check",
    "practice": "tries the buttons",
    "pairs": "judges pairs",
    "second_look": "takes a second look",
    "finished": "has finished",
    "screened_out": "was screened out",
}
_DESIGNS = {"repeat": "shown again, sides swapped", "check": "two identical people", "anchor": "shared with others"}


class OneParticipantPages(ConsolePages):
    """Viewers see how they went; owners also who they are and what they wrote, and may leave them out or erase them."""

    routes = (
        Route("GET", "/admin/participants/{number}", "one", "viewer"),
        Route("POST", "/admin/participants/{number}/exclude", "exclude", "owner"),
        Route("POST", "/admin/participants/{number}/include", "include", "owner"),
        Route("GET", "/admin/participants/{number}/erase", "ask_erase", "owner"),
        Route("POST", "/admin/participants/{number}/erase", "erase", "owner"),
    )

    async def one(self, request: Request) -> Response:
        return await self._one(request)

    async def _one(self, request: Request, problem: str | None = None, reason: str = "") -> Response:
        number, study = _number(request), self._host.study
        if study is None:
            raise HTTPException(404)

        def look(connection: Connection) -> tuple[Any, ...]:
            found = one_participant(connection, number)
            given = [each.given for each in answers_of(connection, [found.way.id])]
            same_id = claims(connection, found.way)
            return found, flags(given[0] if given else []), exclusions.history(connection, number), same_id

        try:
            found, signs, history, same_id = await self._read(look)
        except Unknown:
            raise HTTPException(404) from None
        return self._page(
            request,
            "one_participant",
            422 if problem else 200,
            problem=problem,
            reason=reason,
            longest=_LONGEST_REASON,
            one=found,
            flags=signs,
            history=history,
            same_id=same_id,
            cards=study.cards,
            pairs=study.settings.pairs,
            steps=_steps(found),
            way=CAME_BY[found.way.came_by],
            stage=_STAGES[found.way.stage],
            words=WORDS,
            explained=EXPLAINED,
            designs=_DESIGNS,
            zip=zip,
        )

    async def exclude(self, request: Request) -> Response:
        number, reason = _number(request), request.state.form.text("reason", _LONGEST_REASON)
        if not reason:
            return await self._one(request, "Say why this participant is left out")
        by, at = request.state.operator.name, datetime.now(UTC)
        await self._decide(
            request, number, "excluded", partial(exclusions.exclude, number=number, reason=reason, by=by, at=at)
        )
        return self._to(f"/participants/{number}?done=excluded")

    async def include(self, request: Request) -> Response:
        number, by, at = _number(request), request.state.operator.name, datetime.now(UTC)
        await self._decide(request, number, "included", partial(exclusions.include, number=number, by=by, at=at))
        return self._to(f"/participants/{number}?done=included")

    async def _decide(self, request: Request, number: int, action: str, change: Any) -> None:
        try:
            await self._noted(request, action, about(number), change)
        except Unknown:
            raise HTTPException(404) from None
        self._host.watch.forget()

    async def ask_erase(self, request: Request) -> Response:
        return await self._ask_erase(request)

    async def _ask_erase(self, request: Request, problem: str | None = None) -> Response:
        number = _number(request)
        try:
            found = await self._read(partial(one_participant, number=number))
        except Unknown:
            raise HTTPException(404) from None
        backend = database_url(self._host.database).get_backend_name()
        answered = sum(bool(pair.versions) for pair in found.pairs)
        return self._page(
            request,
            "erase",
            422 if problem else 200,
            problem=problem,
            way=found.way,
            answered=answered,
            backend=backend,
        )

    async def erase(self, request: Request) -> Response:
        number, form = _number(request), request.state.form
        if form.text("number", 20) != str(number):
            return await self._ask_erase(request, f"To erase participant {number}, type their number: {number}")
        try:
            # Nothing of what was erased is noted, not even the number.
            in_fits = await self._noted(request, "erased a participant", "", partial(erase, number=number))
        except Unknown:
            raise HTTPException(404) from None
        self._host.watch.forget()
        with suppress(StoreUnavailable, OSError):  # then the server does it within the hour
            if in_fits:
                await self._beside(tidy_fits, self._host.path, self._host.store)
        cleaned = await self._beside(clean_files, self._host.database)
        return self._to(f"/participants?done={'erased' if cleaned else 'erased-later'}")


def _number(request: Request) -> int:
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise HTTPException(404)
    return int(text)


def _steps(found: OneParticipant) -> list[tuple[datetime, str]]:
    """What happened when, as far as it was kept."""
    way = found.way
    said = sorted(version.answered_at for pair in found.pairs for version in pair.versions)
    second = sorted(v.answered_at for pair in found.pairs for v in pair.versions if v.round > 1)
    steps = [(way.started_at, f"agreed to take part (consent text {way.consent_version})")]
    if said:
        steps.append((said[0], "gave the first answer"))
        steps.append((said[-1], "gave the last answer so far" if way.finished_at is None else "gave the last answer"))
    if second:
        steps.append((second[0], "changed an answer in the second look"))
    if way.finished_at is not None:
        steps.append((way.finished_at, "finished"))
    return sorted(steps, key=lambda step: step[0])
