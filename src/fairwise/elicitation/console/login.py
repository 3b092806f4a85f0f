"""Logging in and out, and making the first account."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.elicitation.console import passwords
from fairwise.elicitation.console.attempts import Attempts
from fairwise.elicitation.console.routes import COOKIE, ConsolePages, Route
from fairwise.elicitation.store import operators
from fairwise.elicitation.web.cookies import cookie_of

if TYPE_CHECKING:
    from fastapi.responses import Response
    from starlette.requests import Request

    from fairwise.elicitation.console.host import Host
    from fairwise.elicitation.console.rendering import Rendering

_WRONG = "There is no account with this name and password"
_TOO_MANY = "Too many wrong passwords. Wait a quarter of an hour, then try again"


def setup_key(host: Host) -> str:
    """Lets whoever can read it, and so the study's folder or the server's words, make the first account."""
    return host.keys.form("first operator")


class LoginPages(ConsolePages):
    """Everything that needs no account."""

    routes = (
        Route("GET", "/admin/login", "ask", "anyone"),
        Route("POST", "/admin/login", "log_in", "anyone"),
        Route("POST", "/admin/logout", "log_out", "viewer"),
        Route("GET", "/admin/setup/{key}", "ask_first", "anyone"),
        Route("POST", "/admin/setup/{key}", "make_first", "anyone"),
    )

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts = Attempts(host.path, host.keys)

    async def ask(self, request: Request) -> Response:
        if request.state.operator is not None:
            return self._to("")
        return await self._ask(request)

    async def _ask(self, request: Request, problem: str | None = None, name: str = "", status: int = 200) -> Response:
        anyone = await self._read(operators.has_owner)
        return self._page(request, "login", status, problem=problem, name=name, anyone=anyone)

    async def log_in(self, request: Request) -> Response:
        name, password = request.state.form.text("name", 100), request.state.form.fields.get("password", "")
        address = request.client.host if request.client else ""
        if not await self._beside(self._attempts.begin, name, address):
            return await self._ask(request, _TOO_MANY, name, 429)
        found = await self._read(partial(operators.credentials, name=name))
        kept = None if found is None else found[1]
        if not await self._beside(passwords.is_right, password[: passwords.LONGEST + 1], kept) or found is None:
            return await self._ask(request, _WRONG, name, 422)
        await self._beside(self._attempts.forgive, name, address)
        return await self._begin(request, found[0])

    async def _begin(self, request: Request, operator_id: int) -> Response:
        """Always under a new token, so that nobody can prepare one for somebody else."""
        token, now = self._host.keys.new(), datetime.now(UTC)
        token_hash = self._host.keys.hashed(token)
        await self._change(partial(operators.begin_session, operator_id=operator_id, token_hash=token_hash, at=now))
        response = self._to("")
        response.set_cookie(
            COOKIE,
            token,
            path=f"{self._host.prefix}/admin",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    async def log_out(self, request: Request) -> Response:
        token = cookie_of(request, COOKIE) or ""
        await self._change(partial(operators.end_session, token_hash=self._host.keys.hashed(token)))
        response = self._to("/login")
        response.delete_cookie(COOKIE, path=f"{self._host.prefix}/admin")
        return response

    # The first account

    async def ask_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        return self._page(request, "setup", problem=None, name="")

    async def make_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        form = request.state.form
        name, password = form.text("name", 100), form.fields.get("password", "")
        problem = passwords.problem_with(password, form.fields.get("again", "")) if name else "Give a name"
        if problem:
            return self._page(request, "setup", 422, problem=problem, name=name)
        kept, now = await self._beside(passwords.hashed, password), datetime.now(UTC)
        made = await self._change(partial(operators.add_first_owner, name=name, password_hash=kept, at=now))
        return self._to("/login") if made is None else await self._begin(request, made)

    async def _is_set_up(self, request: Request) -> bool:
        if not self._host.keys.is_form("first operator", request.path_params["key"]):
            raise HTTPException(404)
        return await self._read(operators.has_owner)
