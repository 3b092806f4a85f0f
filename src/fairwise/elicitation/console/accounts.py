"""Who may use the console."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from fairwise.elicitation.console import passwords
from fairwise.elicitation.console.routes import ConsolePages, Route
from fairwise.elicitation.store import operators
from fairwise.elicitation.store.problems import NameTaken
from fairwise.elicitation.store.tables import ROLES

if TYPE_CHECKING:
    from fastapi.responses import Response
    from starlette.requests import Request


class AccountPages(ConsolePages):
    """Owners make and remove accounts; everyone changes their own password."""

    routes = (
        Route("GET", "/admin/accounts", "accounts", "owner"),
        Route("POST", "/admin/accounts", "add", "owner"),
        Route("POST", "/admin/accounts/{id}/remove", "remove", "owner"),
        Route("GET", "/admin/password", "password", "viewer"),
        Route("POST", "/admin/password", "change", "viewer"),
    )

    async def accounts(self, request: Request) -> Response:
        return await self._accounts(request)

    async def _accounts(self, request: Request, problem: str | None = None, name: str = "") -> Response:
        everyone = await self._read(operators.all_operators)
        return self._page(request, "accounts", 422 if problem else 200, accounts=everyone, problem=problem, name=name)

    async def add(self, request: Request) -> Response:
        form = request.state.form
        name, role = form.text("name", 100), form.text("role", 16)
        password = form.fields.get("password", "")
        problem = passwords.problem_with(password, form.fields.get("again", ""))
        if not name or role not in ROLES:
            problem = "Give a name, and say whether this is an owner or a viewer"
        if problem:
            return await self._accounts(request, problem, name)
        kept = await self._beside(passwords.hashed, password)
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
        await self._noted(request, "account removed", everyone[which].name, remove)
        return self._to("/accounts?done=account-removed")

    async def password(self, request: Request) -> Response:
        return self._page(request, "password", problem=None)

    async def change(self, request: Request) -> Response:
        form, operator = request.state.form, request.state.operator
        found = await self._read(partial(operators.credentials, name=operator.name))
        kept = None if found is None else found[1]
        problem = passwords.problem_with(form.fields.get("password", ""), form.fields.get("again", ""))
        if not await self._beside(passwords.is_right, form.fields.get("old", ""), kept):
            problem = "The old password is not right"
        if problem:
            return self._page(request, "password", 422, problem=problem)
        new = await self._beside(passwords.hashed, form.fields.get("password", ""))
        change = partial(operators.change_password, operator_id=operator.id, password_hash=new)
        await self._noted(request, "password changed", operator.name, change)
        return self._to("/login?done=password-changed")
