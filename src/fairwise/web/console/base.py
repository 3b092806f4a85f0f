"""What every page of the console has in common: who may open it, and how it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fairwise.store import operators
from fairwise.store.errors import NotLoggedIn
from fairwise.store.operators import Operator
from fairwise.study.folder import StudyFolder
from fairwise.web.console.rendering import Rendering
from fairwise.web.shared.forms import Form, read_form
from fairwise.web.shared.host import Host
from fairwise.web.shared.language_choice import language_of
from fairwise.web.shared.security import cookie_of

P = ParamSpec("P")
T = TypeVar("T")
COOKIE = "fairwise_operator"
# Tables of people may have many columns, and each of them several fields.
_MOST_FIELDS = 5000
# A session is marked as used at most so often; each time is a write.
_MARKED = timedelta(minutes=1)


@dataclass(frozen=True)
class ConsoleRoute:
    """A page or an action, and who may use it."""

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[Any, Request], Awaitable[Response]]
    role: Literal["anyone", "viewer", "owner"]
    """Owners may do whatever viewers may."""

    most_bytes: int = 0
    """Of what brings a file, which its handler takes; 0 for a form as everywhere."""


class ConsolePages:
    """Pages about one thing. A GET shows and changes nothing; a POST changes, then sends the browser to a GET.

    Handlers take the request; ``request.state.operator`` is who is logged in. Every route is refused to whoever may not
    use it before its handler is called, and every POST without a form of this session. What was allowed then may not be
    allowed any more when something is changed: every change goes through :meth:`_noted`, which looks again.
    """

    routes: tuple[ConsoleRoute, ...] = ()

    def __init__(self, host: Host, rendering: Rendering) -> None:
        self._host, self._rendering = host, rendering
        self._marked: dict[bytes, datetime] = {}

    def starlette_routes(self) -> list[Route]:
        return [Route(route.path, self._guarded(route), methods=[route.method]) for route in self.routes]

    def _guarded(self, route: ConsoleRoute) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            request.state.role = route.role
            try:
                await self._check(request)
            except NotLoggedIn:
                if route.method == "GET":
                    return self._to("/login")
                raise
            if route.method == "POST" and not route.most_bytes:
                request.state.form = await self._own_form(request)
            return await route.handler(self, request)

        return guarded

    async def _check(self, request: Request) -> None:
        """See who it is, and refuse those who may not use this route."""
        request.state.operator = await self._operator(request)
        if request.state.role != "anyone":
            operators.check_role(request.state.operator, request.state.role)

    async def _operator(self, request: Request) -> Operator | None:
        token = cookie_of(request, COOKIE)
        if token is None:
            return None
        now, token_hash = datetime.now(UTC), self._host.keys.hashed(token)
        found = await self._read(partial(operators.operator_of, token_hash=token_hash, at=now))
        if found is not None and now - self._marked.get(token_hash, now - 2 * _MARKED) > _MARKED:
            self._marked[token_hash] = now
            await self._host.store.write(partial(operators.use_session, token_hash=token_hash, at=now))
        return found

    async def _own_form(self, request: Request) -> Form:
        """The form, if it was made for this session, and if its sender may still send it now that all of it is here."""
        form = await read_form(request, _MOST_FIELDS)
        self._refuse_others(request, form)
        await self._check(request)
        return form

    def _refuse_others(self, request: Request, form: Form) -> None:
        if not self._host.keys.is_form(self._subject(request), form.text("csrf", 200)):
            raise HTTPException(403)

    def _subject(self, request: Request) -> str:
        """Forms of the console are signed for the session; before there is one, for nobody."""
        return f"console {cookie_of(request, COOKIE) or ''}"

    def _study(self) -> StudyFolder:
        """The study, for pages that nobody comes to while there is none."""
        if self._host.study is None:
            raise HTTPException(404)
        return self._host.study

    async def _read(self, question: Callable[[Connection], T]) -> T:
        return await self._host.store.read(question)

    async def _noted(self, request: Request, action: str, about: str, change: Callable[[Connection], T]) -> T:
        """Make a change and write down who made it, if they may still make it: all in one transaction."""
        return await self._host.store.write(self._authorised(request, action, about, change))

    async def _changed(self, request: Request, change: Callable[[Connection, Operator, datetime], T]) -> T:
        """The same of a change that writes down itself what its operator does."""
        return await self._host.store.write(self._by_operator(request, change))

    def _noted_now(self, request: Request, action: str, about: str, change: Callable[[Connection], T]) -> T:
        """As `_noted`, in a thread that waits."""
        return self._host.store.change_now(self._authorised(request, action, about, change))

    def _authorised(
        self, request: Request, action: str, about: str, change: Callable[[Connection], T]
    ) -> Callable[[Connection], T]:
        def noted(connection: Connection, operator: Operator, now: datetime) -> T:
            operators.note(connection, operator, action, about, now)
            return change(connection)  # last, as some put files in their places

        return self._by_operator(request, noted)

    def _by_operator(
        self, request: Request, change: Callable[[Connection, Operator, datetime], T]
    ) -> Callable[[Connection], T]:
        """A change, if its operator may still make it."""
        token_hash, role = self._host.keys.hashed(cookie_of(request, COOKIE) or ""), request.state.role

        def authorised(connection: Connection) -> T:
            now = datetime.now(UTC)
            operator = operators.authorised(connection, token_hash, role, now)
            return change(connection, operator, now)

        return authorised

    @staticmethod
    async def _beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something slow in a thread, so that participants need not wait for it."""
        return await asyncio.to_thread(work, *args, **kwargs)

    def _page(
        self, request: Request, template: str, status: int = 0, *, problem: str | None = None, **values: object
    ) -> Response:
        """A page with the menu around it; `values` are what its template needs, `problem` is said at its top."""
        csrf = self._host.keys.form(self._subject(request))
        html = self._rendering.page(
            template,
            language_of(request.scope),
            operator=getattr(request.state, "operator", None),
            csrf=csrf,
            here=f"{self._host.prefix}{request.url.path}",
            study=self._host.study,
            done=request.query_params.get("done"),
            problem=problem,
            **values,
        )
        return HTMLResponse(html, status or (422 if problem else 200))

    def _to(self, path: str) -> RedirectResponse:
        """To another page of the console."""
        return RedirectResponse(f"{self._host.prefix}/admin{path}", 303)
