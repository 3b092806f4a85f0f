"""Making a study in the browser: upload a table, choose, look at a pair as participants will, make it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.errors import InputError
from fairwise.store.store import claim
from fairwise.store.study_state import set_state
from fairwise.study.languages import available, language
from fairwise.study.new_study import drafted_study
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.web.console import preview
from fairwise.web.console.base import ConsolePages, Route
from fairwise.web.console.choices import DESIGNS, KINDS, NO_OUTCOME, choices_of, first_values, mixed
from fairwise.web.console.uploads import HOURS_KEPT, MOST_BYTES, NoFile, Uploads, receive_file
from fairwise.web.shared.forms import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.responses import Response
    from sqlalchemy import Connection
    from starlette.requests import Request

    from fairwise.web.console.base import Rendering
    from fairwise.web.console.choices import Choices
    from fairwise.web.console.uploads import UploadedPeople
    from fairwise.web.shared.host import Host

# What comes around the file: its name, and the token of the form.
_AROUND = 64 * 1024


class MakingPages(ConsolePages):
    """Nothing of a study is there before the last step, and then all of it."""

    routes = (
        Route("GET", "/admin/new", "start", "owner"),
        Route("POST", "/admin/new", "upload", "owner", most_bytes=MOST_BYTES + _AROUND),
        Route("GET", "/admin/new/{upload}", "choose", "owner"),
        Route("POST", "/admin/new/{upload}", "make", "owner"),
        Route("GET", "/admin/new/{upload}/preview", "first_preview", "owner"),
        Route("POST", "/admin/new/{upload}/preview", "preview", "owner"),
        Route("POST", "/admin/new/{upload}/discard", "discard", "owner"),
    )

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._uploads = Uploads(host.path)
        self._uploads.discard_old()

    # The table

    async def start(self, request: Request) -> Response:
        return self._start(request)

    def _start(self, request: Request, problem: str | None = None, status: int = 200) -> Response:
        there = self._host.has_study
        most = MOST_BYTES // 1024**2
        return self._page(request, "new", status, problem=problem, there=there, most=most, hours=HOURS_KEPT)

    async def upload(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind != "multipart/form-data":
            await self._own_form(request)
            return self._start(request, "Choose a file", 422)
        if self._host.has_study:
            return self._start(request, status=409)
        self._uploads.discard_old()
        name = self._uploads.new()
        try:
            into = self._uploads.place(name) / "received"
            called = await receive_file(request, into, lambda form: self._refuse_others(request, form))
            await self._check(request)
            await self._beside(self._uploads.look_at, name, called)
        except NoFile:
            self._uploads.discard(name)
            return self._start(request, "Choose a file", 422)
        except InputError as error:
            self._uploads.discard(name)
            return self._start(request, str(error), 422)
        except BaseException:
            self._uploads.discard(name)
            raise
        asyncio.get_running_loop().call_later(HOURS_KEPT * 3600 + 60, self._uploads.discard_old)
        return self._to(f"/new/{name}")

    async def discard(self, request: Request) -> Response:
        self._uploads.discard(self._found(request).id)
        return self._to("/new?done=discarded")

    def _found(self, request: Request) -> UploadedPeople:
        found = self._uploads.find(request.path_params["upload"])
        if found is None:
            raise HTTPException(404)
        return found

    # What is chosen

    async def choose(self, request: Request) -> Response:
        if self._host.has_study:
            return self._to("/new")
        found = self._found(request)
        return self._choose(request, found, first_values(found))

    def _choose(
        self, request: Request, upload: UploadedPeople, values: Mapping[str, str], problem: str | None = None
    ) -> Response:
        response = self._page(
            request,
            "choose",
            422 if problem else 200,
            problem=problem,
            upload=upload,
            values=values,
            kinds=KINDS,
            designs=DESIGNS,
            no_outcome=NO_OUTCOME,
            mixed=", ".join(f"{number} {kind}" for kind, number in mixed(50).items()),
            languages=[language(code) for code in available()],
            fields=StudySettings.model_fields,
            words=AnswerWords(),
        )
        response.headers.update(preview.FRAMING)
        return response

    async def first_preview(self, request: Request) -> Response:
        found = self._found(request)
        return self._preview(Form(first_values(found)), found)

    async def preview(self, request: Request) -> Response:
        return self._preview(request.state.form, self._found(request))

    def _preview(self, form: Form, upload: UploadedPeople) -> Response:
        try:
            html = preview.pair_preview(form, upload, self._host.prefix)
        except InputError as error:
            return preview.framed(self._rendering.page("preview_note", text=_said(error, upload)))
        return preview.framed(html)

    # The study

    async def make(self, request: Request) -> Response:
        if self._host.has_study:
            return self._start(request, status=409)
        found, form = self._found(request), request.state.form
        try:
            chosen = choices_of(form, found)
            await self._beside(self._made, request, found, chosen)
        except InputError as error:
            return self._choose(request, found, form.fields, _said(error, found))
        self._uploads.discard_all()
        self._host.look_again()
        return self._to("/study?done=made")

    def _made(self, request: Request, upload: UploadedPeople, chosen: Choices) -> None:
        people = upload.read(chosen.id_column)
        settings = chosen.settings_for(people.table)
        with drafted_study(self._host.path, people, chosen.show, settings, outcome=chosen.outcome) as draft:

            def appear(connection: Connection) -> None:
                claim(connection, draft.study.fingerprint)
                set_state(connection, "paused")
                draft.appear()

            self._noted_now(request, "study made", draft.study.settings.title, appear)


def _said(error: InputError, upload: UploadedPeople) -> str:
    return upload.told(error).removeprefix("study: ")
