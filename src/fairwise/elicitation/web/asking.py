"""Who is asking for a page: the participant of its address, the language they read, the form they sent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from fairwise.elicitation.store import participants
from fairwise.elicitation.store.problems import NotYet
from fairwise.elicitation.web import views
from fairwise.elicitation.web.forms import Form, read_form
from fairwise.elicitation.web.language_choice import PARAMETER, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from fairwise.elicitation.editions import Edition
    from fairwise.elicitation.folder import StudyFolder
    from fairwise.elicitation.signing import Keys
    from fairwise.elicitation.store.participants import Participant
    from fairwise.elicitation.store.store import Store
    from fairwise.elicitation.web.pages import Pages


class Asking:
    """What every page of a participant needs to know, and where it may lead."""

    def __init__(self, folder: StudyFolder, pages: Mapping[str, Pages], keys: Keys, prefix: str) -> None:
        self._folder, self._settings = folder, folder.settings
        self._pages, self._keys, self._prefix = pages, keys, prefix

    def _in(self, request: Request) -> Pages:
        """The pages in the language that this visitor reads."""
        return self._pages[language_of(request.scope)]

    def _edition(self, request: Request) -> Edition:
        return self._folder.editions[language_of(request.scope)]

    def _store(self, request: Request) -> Store:
        store: Store = request.app.state.store
        return store

    def _hash(self, request: Request) -> bytes:
        return self._keys.hashed(request.path_params["token"])

    async def _read(self, request: Request, question: Callable[..., Any], **more: Any) -> Any:
        return await self._store(request).read(partial(question, token_hash=self._hash(request), **more))

    async def _write(self, request: Request, change: Callable[..., Any], **more: Any) -> Any:
        return await self._store(request).write(partial(change, token_hash=self._hash(request), **more))

    async def _who(self, request: Request) -> Participant:
        who: Participant = await self._read(request, participants.find)
        return who

    async def _who_at(self, request: Request, stage: str) -> Participant:
        who = await self._who(request)
        if who.stage != stage:
            raise NotYet
        return who

    async def _own_form(self, request: Request) -> Form:
        """The form, if it was made for this participant."""
        form = await read_form(request)
        if not self._keys.is_form(request.path_params["token"], form.text("csrf", 200)):
            raise HTTPException(403)
        return form

    def _me(self, request: Request) -> views.Me:
        token = request.path_params["token"]
        path = f"{self._prefix}/p/{token}"
        base = request.url
        # On another device, too, they read on in the language they have read so far.
        language = f"?{PARAMETER}={language_of(request.scope)}" if len(self._pages) > 1 else ""
        link = f"{base.scheme}://{base.netloc}{path}{language}"
        return views.Me(path=path, link=link, csrf=self._keys.form(token))

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._prefix}{path}", 303)

    def _to_own(self, request: Request, path: str) -> RedirectResponse:
        return self._to(f"/p/{request.path_params['token']}{path}")
