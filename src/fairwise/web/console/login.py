"""Logging in and out, making the first account, and choosing a new password by a link."""

from __future__ import annotations

import re
import secrets
import time
from datetime import UTC, datetime
from functools import cache, partial

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairwise.store import operators
from fairwise.store.errors import LastOwner, NameTaken, NotLoggedIn
from fairwise.store.operators import Operator, same_letters
from fairwise.store.schema import ROLES
from fairwise.study.recruitment import Keys
from fairwise.study.texts import marked
from fairwise.web.console.base import COOKIE, ConsolePages, ConsoleRoute
from fairwise.web.console.rendering import Rendering
from fairwise.web.shared.attempts import Attempts, change_limits, login_limits
from fairwise.web.shared.host import Host
from fairwise.web.shared.security import cookie_of

# Browsers in which somebody logged in before, known again by a cookie: guessing elsewhere keeps nobody out of them.

DEVICE_COOKIE = "fairwise_device"
DEVICE_SECONDS = 90 * 24 * 3600
"""So long a browser is known after it was last used to log in."""


class Devices:
    """Cookies that only this study could have made, each for one name; nothing is kept of them."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def new(self, name: str, password_hash: str) -> str:
        """The cookie of a browser in which this name has just logged in by this password."""
        said = f"{int(time.time())}.{self._keys.new()}"
        return f"{said}.{self._keys.form(_subject(said, name, password_hash))}"

    def device_of(self, name: str, password_hash: str, cookie: str) -> str | None:
        """Which browser this is, if this name logged in by it; None for strangers.

        With another password all browsers are strangers: whoever knew the old one must not guess the new one freely.
        """
        said, _, signature = cookie.rpartition(".")
        if not self._keys.is_form(_subject(said, name, password_hash), signature):
            return None
        return said if time.time() - int(said.partition(".")[0]) < DEVICE_SECONDS else None


def _subject(said: str, name: str, password_hash: str) -> str:
    return f"device {said} {password_hash} {same_letters(name)}"


# Passwords: kept as argon2 hashes, and checked in the same time whether there is such an account or not.

SHORTEST = 12
LONGEST = 200

_NONE = "none "

_hasher = PasswordHasher()


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _hasher.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether this is the password; for nobody's account (None), or one without a password, it takes as long."""
    real = None if kept is None or kept.startswith(_NONE) else kept
    try:
        return _hasher.verify(real or _nobodys(), password) and real is not None
    except (Argon2Error, InvalidHashError):
        return False


def no_password() -> str:
    """What is kept while an account has no password: nothing fits it, and it is another each time."""
    return f"{_NONE}{secrets.token_urlsafe(18)}"


def problem_with(password: str, again: str) -> str | None:
    """What is wrong with a new password, in one sentence."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"A password needs {SHORTEST} to {LONGEST} characters; a few words do well"
    if len(set(password)) < 5:
        return marked("This password repeats itself too much; a few words do well")
    if password != again:
        return marked("The two passwords differ")
    return None


@cache
def _nobodys() -> str:
    return _hasher.hash("nobody has this password")


_WRONG = marked("There is no account with this name and password")
TOO_MANY = marked("Too many wrong passwords. Wait a quarter of an hour, then try again")
RESET_HOURS = 24
"""So long an operator has time to choose a password by a link."""


def setup_key(host: Host) -> str:
    """Lets whoever can read it, and so the study's folder or the server's words, make the first account."""
    return host.keys.form("first operator")


def reset_key(keys: Keys, operator_id: int, password_hash: str) -> str:
    """Lets whoever has it choose a password for an account once: as long as this is what is kept of the password."""
    until = int(time.time()) + RESET_HOURS * 3600
    return f"{operator_id}-{until}-{keys.form(_reset_subject(operator_id, until, password_hash))}"


def _reset_subject(operator_id: int, until: int, password_hash: str) -> str:
    return f"reset {operator_id} {until} {password_hash}"


class LoginPages(ConsolePages):
    """Everything that needs no account."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts, self._devices = Attempts(host.path, host.keys), Devices(host.keys)

    async def ask(self, request: Request) -> Response:
        if request.state.operator is not None:
            return self._to("")
        return await self._ask(request)

    async def _ask(self, request: Request, problem: str | None = None, name: str = "", status: int = 200) -> Response:
        anyone = await self._read(operators.was_set_up)
        return self._page(request, "login", status, problem=problem, name=name, anyone=anyone)

    async def log_in(self, request: Request) -> Response:
        form = request.state.form
        name, password = form.text("name", operators.LONGEST_NAME), form.fields.get("password", "")
        address = request.client.host if request.client else ""
        found = await self._read(partial(operators.credentials, name=name))
        kept = None if found is None else found[1]
        device = self._devices.device_of(name, kept or "", cookie_of(request, DEVICE_COOKIE) or "")
        limits = login_limits(name, address, device)
        if not await self._beside(self._attempts.begin, *limits):
            return await self._ask(request, TOO_MANY, name, 429)
        if not await self._beside(is_right, password[: LONGEST + 1], kept) or found is None:
            return await self._ask(request, _WRONG, name, 422)
        await self._beside(self._attempts.forgive, *limits)
        return await self._begin(request, name, *found, action="logged in")

    async def _begin(
        self, request: Request, name: str, operator_id: int, password_hash: str, action: str = ""
    ) -> Response:
        """Always under a new token, so that nobody can prepare one for somebody else; an `action` is written down."""
        token, now = self._host.keys.new(), datetime.now(UTC)
        token_hash = self._host.keys.hashed(token)

        def begin(connection: Connection) -> bool:
            begun = operators.begin_session(connection, operator_id, password_hash, token_hash, now)
            who = operators.operator_of(connection, token_hash, now)
            if who is not None and action:
                operators.note(connection, who, action, "", now)
            return begun

        if not await self._host.store.write(begin):  # removed, or given another password, while this one was checked
            return await self._ask(request, _WRONG, name, 422)
        response, path, secure = self._to(""), f"{self._host.prefix}/admin", request.url.scheme == "https"
        device = self._devices.new(name, password_hash)
        for cookie, value, seconds in ((COOKIE, token, None), (DEVICE_COOKIE, device, DEVICE_SECONDS)):
            response.set_cookie(cookie, value, seconds, path=path, secure=secure, httponly=True, samesite="strict")
        if self._host.start_page is not None:
            self._host.start_page.list_study(response, self._host.keys, token_hash, secure=secure)
        return response

    async def log_out(self, request: Request) -> Response:
        token = cookie_of(request, COOKIE) or ""
        await self._host.store.write(partial(operators.end_session, token_hash=self._host.keys.hashed(token)))
        response = self._to("/login")
        response.delete_cookie(COOKIE, path=f"{self._host.prefix}/admin")
        if self._host.start_page is not None:
            self._host.start_page.unlist_study(response)
        return response

    # The first account

    async def ask_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        return self._page(request, "setup", name="")

    async def make_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        form = request.state.form
        name, password = form.text("name", operators.LONGEST_NAME), form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", "")) if name else marked("Give a name")
        if problem:
            return self._page(request, "setup", problem=problem, name=name)
        kept, now = await self._beside(hashed, password), datetime.now(UTC)
        add = partial(operators.add_first_owner, name=name, password_hash=kept, at=now)
        made = await self._host.store.write(add)
        return self._to("/login") if made is None else await self._begin(request, name, made, kept)

    async def _is_set_up(self, request: Request) -> bool:
        if not self._host.keys.is_form("first operator", request.path_params["key"]):
            raise HTTPException(404)
        return await self._read(operators.was_set_up)

    # Another password, by a link from the command line

    async def ask_password(self, request: Request) -> Response:
        operator, _ = await self._of_link(request)
        return self._page(request, "reset", account=operator)

    async def set_password(self, request: Request) -> Response:
        operator, before = await self._of_link(request)
        form, now = request.state.form, datetime.now(UTC)
        password = form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", ""))
        if problem:
            return self._page(request, "reset", problem=problem, account=operator)
        after = await self._beside(hashed, password)

        def change(connection: Connection) -> bool:
            if not operators.change_password(connection, operator.id, before, after):
                return False
            operators.note(connection, operator, "password set by link", operator.name, now)
            return True

        if not await self._host.store.write(change):
            raise HTTPException(404)
        return await self._begin(request, operator.name, operator.id, after)

    async def _of_link(self, request: Request) -> tuple[Operator, str]:
        """Whose link it is, and what is kept of their password; one that was used, or is too old, is not found."""
        parts = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,12})-([\w-]{1,100})", request.path_params["key"], re.ASCII)
        if parts is None:
            raise HTTPException(404)
        operator_id, until = int(parts[1]), int(parts[2])
        kept = await self._read(partial(operators.password_hash_of, operator_id=operator_id))
        known = kept is not None and self._host.keys.is_form(_reset_subject(operator_id, until, kept), parts[3])
        everyone = await self._read(operators.all_operators)
        operator = next((one for one in everyone if one.id == operator_id), None)
        if not known or kept is None or operator is None or time.time() > until:
            raise HTTPException(404)
        return operator, kept

    routes = (
        ConsoleRoute("GET", "/admin/login", ask, "anyone"),
        ConsoleRoute("POST", "/admin/login", log_in, "anyone"),
        ConsoleRoute("POST", "/admin/logout", log_out, "viewer"),
        ConsoleRoute("GET", "/admin/setup/{key}", ask_first, "anyone"),
        ConsoleRoute("POST", "/admin/setup/{key}", make_first, "anyone"),
        ConsoleRoute("GET", "/admin/reset/{key}", ask_password, "anyone"),
        ConsoleRoute("POST", "/admin/reset/{key}", set_password, "anyone"),
    )


# Who may use the console.


class AccountPages(ConsolePages):
    """Owners make and remove accounts; everyone changes their own password."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts = Attempts(host.path, host.keys)

    async def accounts(self, request: Request, problem: str | None = None, name: str = "") -> Response:
        everyone = await self._read(operators.all_operators)
        return self._page(request, "accounts", accounts=everyone, problem=problem, name=name)

    async def add(self, request: Request) -> Response:
        form = request.state.form
        name, role = form.text("name", operators.LONGEST_NAME), form.text("role", 16)
        password = form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", ""))
        if not name or role not in ROLES:
            problem = marked("Give a name, and say whether this is an owner or a viewer")
        if problem:
            return await self.accounts(request, problem, name)
        kept = await self._beside(hashed, password)
        add = partial(operators.add_operator, name=name, password_hash=kept, role=role, at=datetime.now(UTC))
        try:
            await self._noted(request, "account added", f"{role} {name}", add)
        except NameTaken:
            return await self.accounts(request, f"There is an account named {name} already", name)
        return self._to("/accounts?done=account-added")

    async def remove(self, request: Request) -> Response:
        which = request.path_params["id"]
        everyone = {one.id: one for one in await self._read(operators.all_operators)}
        if which not in everyone:
            raise HTTPException(404)
        if everyone[which].id == request.state.operator.id:
            return await self.accounts(request, marked("You cannot remove the account that you are using"))
        remove = partial(operators.remove_operator, operator_id=everyone[which].id)
        try:
            await self._noted(request, "account removed", everyone[which].name, remove)
        except LastOwner:
            problem = marked("This is the only owner; without one nobody could change anything")
            return await self.accounts(request, problem)
        return self._to("/accounts?done=account-removed")

    async def password(self, request: Request) -> Response:
        return self._page(request, "password")

    async def change(self, request: Request) -> Response:
        form, operator = request.state.form, request.state.operator
        old, new = (form.fields.get(name, "")[: LONGEST + 1] for name in ("old", "password"))
        limits = change_limits(operator.name)
        if not await self._beside(self._attempts.begin, *limits):
            return self._page(request, "password", 429, problem=TOO_MANY)
        before = await self._read(partial(operators.password_hash_of, operator_id=operator.id))
        if before is None or not await self._beside(is_right, old, before):
            return self._page(request, "password", problem=marked("The old password is not right"))
        await self._beside(self._attempts.forgive, *limits)
        problem = problem_with(new, form.fields.get("again", ""))
        if problem:
            return self._page(request, "password", problem=problem)
        after = await self._beside(hashed, new)

        def change(connection: Connection) -> None:
            if not operators.change_password(connection, operator.id, before, after):
                raise NotLoggedIn  # the password was changed meanwhile, which ends every session

        await self._noted(request, "password changed", operator.name, change)
        return self._to("/login?done=password-changed")

    routes = (
        ConsoleRoute("GET", "/admin/accounts", accounts, "owner"),
        ConsoleRoute("POST", "/admin/accounts", add, "owner"),
        ConsoleRoute("POST", "/admin/accounts/{id:number}/remove", remove, "owner"),
        ConsoleRoute("GET", "/admin/password", password, "viewer"),
        ConsoleRoute("POST", "/admin/password", change, "viewer"),
    )
