"""A study in the console: what it says and asks, changed part by part; and whether it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.errors import InputError
from fairwise.store.study_state import set_state, standing
from fairwise.study.texts import LONGEST
from fairwise.web.console import preview
from fairwise.web.console.base import ConsolePages, Route
from fairwise.web.console.editing import (
    LOCKED,
    ChangedMeanwhile,
    discard_left_behind,
    edited,
    has_begun,
    is_locked,
    version,
)
from fairwise.web.console.study_parts import parts_of
from fairwise.web.console.words_parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.responses import Response
    from sqlalchemy import Connection
    from starlette.requests import Request

    from fairwise.study.folder import StudyFolder
    from fairwise.web.console.part import Part
    from fairwise.web.console.rendering import Rendering
    from fairwise.web.shared.host import Host

_TRIES = 5
_MEANWHILE = (
    "Someone else saved this part while you were changing it. What you typed is still here, and what they saved can be "
    "seen in another tab. Saving now puts yours in the place of theirs."
)
# From which states one may come to each.
_FROM = {"open": ("paused",), "paused": ("open",), "closed": ("open", "paused")}
_DONE = {"open": "opened", "paused": "paused", "closed": "closed"}


class _NotFromHere(Exception):  # noqa: N818 - someone else was faster, or it is closed
    """The study is not in a state from which it may come to the one that is wanted."""


class StudyPages(ConsolePages):
    """The study as its operators decide about it."""

    routes = (
        Route("GET", "/admin/study", "show", "owner"),
        Route("GET", "/admin/study/{part}", "part", "owner"),
        Route("POST", "/admin/study/{part}", "save", "owner"),
        Route("GET", "/admin/study/{part}/preview", "first_preview", "owner"),
        Route("POST", "/admin/study/{part}/preview", "preview", "owner"),
        Route("POST", "/admin/state", "change_state", "owner"),
    )

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        discard_left_behind(host.path)

    def _study(self) -> StudyFolder:
        if self._host.study is None:
            raise HTTPException(404)
        return self._host.study

    async def show(self, request: Request) -> Response:
        study = self._host.study
        if study is None:
            return self._page(request, "no_study")
        try:
            parts = parts_of(self._host.path)
        except InputError as error:
            heading = "The files of the study were changed, and cannot be read"
            return self._page(request, "message", 500, heading=heading, text=str(error))
        begun = await self._read(has_begun)
        places = {part.files[0]: part.name for part in reversed(list(parts.values()))}
        unfinished = [(note, places.get(note.partition(":")[0])) for note in study.unfinished]
        return self._page(request, "study", all_parts=parts.values(), begun=begun, unfinished=unfinished)

    def _found(self, request: Request) -> Part:
        self._study()
        try:
            found = parts_of(self._host.path).get(request.path_params["part"])
        except InputError:  # the list of all parts says why
            raise HTTPException(500) from None
        if found is None:
            raise HTTPException(404)
        return found

    async def part(self, request: Request) -> Response:
        part = self._found(request)
        return await self._part(request, part, part.values)

    async def _part(
        self,
        request: Request,
        part: Part,
        values: Mapping[str, str],
        problem: str | None = None,
        *,
        status: int = 200,
    ) -> Response:
        locked = await self._read(is_locked)
        response = self._page(
            request,
            part.template,
            status,
            problem=problem,
            part=part,
            values=values,
            token=part.token,
            locked=locked and any(field.locked for field in part.fields),
            why_locked=LOCKED,
            begun=await self._read(has_begun),
            meanwhile=status == 409,
            longest=LONGEST,
        )
        response.headers.update(preview.FRAMING)
        return response

    async def first_preview(self, request: Request) -> Response:
        part = self._found(request)
        return await self._beside(self._preview, part, part.values.get("text", ""))

    async def preview(self, request: Request) -> Response:
        text = request.state.form.text("text", LONGEST)
        return await self._beside(self._preview, self._found(request), text)  # of long ones it takes a second or two

    def _preview(self, part: Part, text: str) -> Response:
        edition = self._study().editions.get(part.code) if isinstance(part, TextPart) else None
        if edition is None or not isinstance(part, TextPart):
            raise HTTPException(404)
        return preview.framed(preview.text_preview(edition, part.document, text, self._host.prefix))

    # Saving

    async def save(self, request: Request) -> Response:
        form = request.state.form
        for _ in range(_TRIES):
            part = self._found(request)
            if form.text("token", 64) != part.token:
                return await self._part(request, part, form.fields, _MEANWHILE, status=409)
            try:
                await self._saved(request, part)
            except ChangedMeanwhile:  # another part of the same file, unless the token says otherwise
                continue
            except InputError as error:
                return await self._part(request, part, form.fields, str(error).removeprefix("study: "), status=422)
            self._host.look_again()
            return self._to(f"/study/{part.name}?done=saved")
        return await self._part(request, part, form.fields, _MEANWHILE, status=409)

    async def _saved(self, request: Request, part: Part) -> None:
        before = {name: version(self._host.path / name) for name in part.files}
        # Read before its versions were: if it was changed between, they are not those of what was read.
        if self._found(request).token != part.token:
            raise ChangedMeanwhile
        changes = part.changes(request.state.form, locked=await self._read(is_locked))
        if not changes:
            return
        known = {name: before[name] for name in changes}
        fingerprint = self._study().fingerprint

        def check_and_change() -> None:
            with edited(self._host.path, changes, known) as edit:

                def change(connection: Connection) -> None:
                    edit.take_effect(connection, fingerprint)

                self._noted_now(request, "study changed", part.title, change)

        await self._beside(check_and_change)

    # Open, pause, close

    async def change_state(self, request: Request) -> Response:
        study, form = self._study(), request.state.form
        wanted = form.text("state", 10)
        if wanted not in _FROM:
            raise HTTPException(404)
        sure = "sure" in form.fields
        if not sure and (wanted == "closed" or (wanted == "open" and study.unfinished)):
            return self._to("?done=not-sure")

        def change(connection: Connection) -> None:
            if standing(connection).state not in _FROM[wanted]:
                raise _NotFromHere
            set_state(connection, wanted)

        try:
            await self._noted(request, f"study {_DONE[wanted]}", study.settings.title, change)
        except _NotFromHere:
            return self._to("?done=state-known")
        self._host.look_again()
        return self._to(f"?done={_DONE[wanted]}")
