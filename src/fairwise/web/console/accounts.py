"""Who may use the console."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.store import operators
from fairwise.store.errors import LastOwner, NameTaken, NotLoggedIn
from fairwise.store.tables import ROLES
from fairwise.web.console import login
from fairwise.web.console.base import ConsolePages, Route
from fairwise.web.console.login import TOO_MANY
from fairwise.web.shared.attempts import Attempts, change_limits

if TYPE_CHECKING:
    from fastapi.responses import Response
    from sqlalchemy import Connection
    from starlette.requests import Request

    from fairwise.web.console.base import Rendering
    from fairwise.web.shared.host import Host


class AccountPages(ConsolePages):
    """Owners make and remove accounts; everyone changes their own password."""

    routes = (
        Route("GET", "/admin/accounts", "accounts", "owner"),
        Route("POST", "/admin/accounts", "add", "owner"),
        Route("POST", "/admin/accounts/{id}/remove", "remove", "owner"),
        Route("GET", "/admin/password", "password", "viewer"),
        Route("POST", "/admin/password", "change", "viewer"),
    )

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts = Attempts(host.path, host.keys)

    async def accounts(self, request: Request) -> Response:
        return await self._accounts(request)

    async def _accounts(self, request: Request, problem: str | None = None, name: str = "") -> Response:
        everyone = await self._read(operators.all_operators)
        return self._page(request, "accounts", 422 if problem else 200, accounts=everyone, problem=problem, name=name)

    async def add(self, request: Request) -> Response:
        form = request.state.form
        name, role = form.text("name", operators.LONGEST_NAME), form.text("role", 16)
        password = form.fields.get("password", "")
        problem = login.problem_with(password, form.fields.get("again", ""))
        if not name or role not in ROLES:
            problem = "Give a name, and say whether this is an owner or a viewer"
        if problem:
            return await self._accounts(request, problem, name)
        kept = await self._beside(login.hashed, password)
        add = partial(operators.add_operator, name=name, password_hash=kept, role=role, at=datetime.now(UTC))
        try:
            await self._noted(request, "account added", f"{role} {name}", add)
        except NameTaken:
            return await self._accounts(request, f"There is an account named {name} already", name)
        return self._to("/accounts?done=account-added")

    async def remove(self, request: Request) -> Response:
        which = request.path_params["id"]
        everyone = {str(one.id): one for one in await self._read(operators.all_operators)}
        if which not in everyone:
            raise HTTPException(404)
        if everyone[which].id == request.state.operator.id:
            return await self._accounts(request, "You cannot remove the account that you are using")
        remove = partial(operators.remove_operator, operator_id=everyone[which].id)
        try:
            await self._noted(request, "account removed", everyone[which].name, remove)
        except LastOwner:
            return await self._accounts(request, "This is the only owner; without one nobody could change anything")
        return self._to("/accounts?done=account-removed")

    async def password(self, request: Request) -> Response:
        return self._page(request, "password", problem=None)

    async def change(self, request: Request) -> Response:
        form, operator = request.state.form, request.state.operator
        old, new = (form.fields.get(name, "")[: login.LONGEST + 1] for name in ("old", "password"))
        limits = change_limits(operator.name)
        if not await self._beside(self._attempts.begin, *limits):
            return self._page(request, "password", 429, problem=TOO_MANY)
        before = await self._read(partial(operators.password_hash_of, operator_id=operator.id))
        if before is None or not await self._beside(login.is_right, old, before):
            return self._page(request, "password", 422, problem="The old password is not right")
        await self._beside(self._attempts.forgive, *limits)
        problem = login.problem_with(new, form.fields.get("again", ""))
        if problem:
            return self._page(request, "password", 422, problem=problem)
        after = await self._beside(login.hashed, new)

        def change(connection: Connection) -> None:
            if not operators.change_password(connection, operator.id, before, after):
                raise NotLoggedIn  # the password was changed meanwhile, which ends every session

        await self._noted(request, "password changed", operator.name, change)
        return self._to("/login?done=password-changed")
