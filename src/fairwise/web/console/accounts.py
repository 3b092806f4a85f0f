"""Operators: login, passwords, accounts, and the audit log of what they did."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import secrets
import time
from datetime import UTC, date, datetime
from functools import cache, partial
from math import ceil
from urllib.parse import urlencode

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairwise.messages import marked
from fairwise.store import operators
from fairwise.store.errors import LastOwner, NameTaken, NotLoggedIn
from fairwise.store.export import defused
from fairwise.store.operators import Event, Operator, TrailFilter, count_events, event_values, same_letters, trail
from fairwise.store.schema import ROLES
from fairwise.study.recruitment import Keys
from fairwise.web.console.base import COOKIE, ConsolePages, Rendering, get, post
from fairwise.web.shared.host import Host
from fairwise.web.shared.requests import whole_number
from fairwise.web.shared.security import Attempts, change_limits, cookie_of, login_limits

# Browsers in which somebody logged in before, known again by a cookie: guessing elsewhere keeps nobody out of them.

DEVICE_COOKIE = "fairwise_device"
DEVICE_SECONDS = 90 * 24 * 3600
"""Lifetime of a browser's cookie after the last login."""


class Devices:
    """Cookies that only this study could have made, each for one name; nothing is kept of them."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def new(self, name: str, password_hash: str) -> str:
        """The cookie of a browser in which this name has just logged in by this password."""
        device = f"{int(time.time())}.{self._keys.new()}"
        return f"{device}.{self._keys.form(_subject(device, name, password_hash))}"

    def device_of(self, name: str, password_hash: str, cookie: str) -> str | None:
        """Return the browser if this name logged in by it, or None.

        With another password all browsers are strangers: whoever knew the old one must not guess the new one freely.
        """
        device, _, signature = cookie.rpartition(".")
        if not self._keys.is_form(_subject(device, name, password_hash), signature):
            return None
        return device if time.time() - int(device.partition(".")[0]) < DEVICE_SECONDS else None


def _subject(device: str, name: str, password_hash: str) -> str:
    return f"device {device} {password_hash} {same_letters(name)}"


# Passwords: kept as argon2 hashes, and checked in the same time whether there is such an account or not.

SHORTEST = 12
LONGEST = 200

_NONE = "none "

_hasher = PasswordHasher()


def hashed(password: str) -> str:
    """Return the hash of a password."""
    return _hasher.hash(password)


def is_right(password: str, kept: str | None) -> bool:
    """Whether this is the password; for nobody's account (None), or one without a password, it takes as long."""
    real = None if kept is None or kept.startswith(_NONE) else kept
    try:
        return _hasher.verify(real or _nobodys(), password) and real is not None
    except (Argon2Error, InvalidHashError):
        return False


def no_password() -> str:
    """Return a new value for an account without a password, which no password matches."""
    return f"{_NONE}{secrets.token_urlsafe(18)}"


def problem_with(password: str, repeated: str) -> str | None:
    """Return what is wrong with a new password, or None."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"A password needs {SHORTEST} to {LONGEST} characters; a few words do well"
    if len(set(password)) < 5:
        return marked("This password repeats itself too much; a few words do well")
    if password != repeated:
        return marked("The two passwords differ")
    return None


@cache
def _nobodys() -> str:
    return _hasher.hash("nobody has this password")


_WRONG = marked("There is no account with this name and password")
TOO_MANY = marked("Too many wrong passwords. Wait a quarter of an hour, then try again")
RESET_HOURS = 24
"""Lifetime of a link to choose a password."""


def setup_key(host: Host) -> str:
    """Return the key of the link that makes the first account; it is shown to whoever starts the server."""
    return host.keys.form("first operator")


def reset_key(keys: Keys, operator_id: int, password_hash: str) -> str:
    """Return the key of a link to choose a password, valid until the password changes."""
    until = int(time.time()) + RESET_HOURS * 3600
    return f"{operator_id}-{until}-{keys.form(_reset_subject(operator_id, until, password_hash))}"


def _reset_subject(operator_id: int, until: int, password_hash: str) -> str:
    return f"reset {operator_id} {until} {password_hash}"


class LoginPages(ConsolePages):
    """Everything that needs no account."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts, self._devices = Attempts(host.path, host.keys), Devices(host.keys)

    @get("/admin/login", "anyone")
    async def ask(self, request: Request) -> Response:
        if request.state.operator is not None:
            return self._to("")
        return await self._ask(request)

    async def _ask(self, request: Request, problem: str | None = None, name: str = "", status: int = 200) -> Response:
        anyone = await self._store.read(operators.was_set_up)
        return self._page(request, "login", status, problem=problem, name=name, anyone=anyone)

    @post("/admin/login", "anyone")
    async def log_in(self, request: Request) -> Response:
        form = request.state.form
        name, password = form.text("name", operators.LONGEST_NAME), form.fields.get("password", "")
        address = request.client.host if request.client else ""
        account = await self._store.read(partial(operators.credentials, name=name))
        kept = None if account is None else account[1]
        device = self._devices.device_of(name, kept or "", cookie_of(request, DEVICE_COOKIE) or "")
        limits = login_limits(name, address, device)
        if not await asyncio.to_thread(self._attempts.begin, *limits):
            return await self._ask(request, TOO_MANY, name, 429)
        if not await asyncio.to_thread(is_right, password[: LONGEST + 1], kept) or account is None:
            return await self._ask(request, _WRONG, name, 422)
        await asyncio.to_thread(self._attempts.forgive, *limits)
        return await self._begin(request, name, *account, action="logged in")

    async def _begin(
        self, request: Request, name: str, operator_id: int, password_hash: str, action: str = ""
    ) -> Response:
        """Always under a new token, so that nobody can prepare one for somebody else; an `action` is written down."""
        token, now = self._host.keys.new(), datetime.now(UTC)
        token_hash = self._host.keys.hashed(token)

        def begin(connection: Connection) -> bool:
            is_current = operators.begin_session(connection, operator_id, password_hash, token_hash, now)
            who = operators.operator_of(connection, token_hash, now)
            if who is not None and action:
                operators.note(connection, who, action, "", now)
            return is_current

        if not await self._store.write(begin):  # removed, or given another password, while this one was checked
            return await self._ask(request, _WRONG, name, 422)
        response, path, secure = self._to(""), f"{self._host.prefix}/admin", request.url.scheme == "https"
        device = self._devices.new(name, password_hash)
        for cookie, value, seconds in ((COOKIE, token, None), (DEVICE_COOKIE, device, DEVICE_SECONDS)):
            response.set_cookie(cookie, value, seconds, path=path, secure=secure, httponly=True, samesite="strict")
        if self._host.start_page is not None:
            self._host.start_page.list_study(response, self._host.keys, token_hash, secure=secure)
        return response

    @post("/admin/logout", "viewer")
    async def log_out(self, request: Request) -> Response:
        token = cookie_of(request, COOKIE) or ""
        await self._store.write(partial(operators.end_session, token_hash=self._host.keys.hashed(token)))
        response = self._to("/login")
        response.delete_cookie(COOKIE, path=f"{self._host.prefix}/admin")
        if self._host.start_page is not None:
            self._host.start_page.unlist_study(response)
        return response

    # The first account

    @get("/admin/setup/{key}", "anyone")
    async def ask_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        return self._page(request, "setup", name="")

    @post("/admin/setup/{key}", "anyone")
    async def make_first(self, request: Request) -> Response:
        if await self._is_set_up(request):
            return self._to("/login")
        form = request.state.form
        name, password = form.text("name", operators.LONGEST_NAME), form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", "")) if name else marked("Give a name")
        if problem:
            return self._page(request, "setup", problem=problem, name=name)
        kept, now = await asyncio.to_thread(hashed, password), datetime.now(UTC)
        add = partial(operators.add_first_owner, name=name, password_hash=kept, at=now)
        operator_id = await self._store.write(add)
        return self._to("/login") if operator_id is None else await self._begin(request, name, operator_id, kept)

    async def _is_set_up(self, request: Request) -> bool:
        if not self._host.keys.is_form("first operator", request.path_params["key"]):
            raise HTTPException(404)
        return await self._store.read(operators.was_set_up)

    # Another password, by a link from the command line

    @get("/admin/reset/{key}", "anyone")
    async def ask_password(self, request: Request) -> Response:
        operator, _ = await self._of_link(request)
        return self._page(request, "reset", account=operator)

    @post("/admin/reset/{key}", "anyone")
    async def set_password(self, request: Request) -> Response:
        operator, before = await self._of_link(request)
        form, now = request.state.form, datetime.now(UTC)
        password = form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", ""))
        if problem:
            return self._page(request, "reset", problem=problem, account=operator)
        after = await asyncio.to_thread(hashed, password)

        def change(connection: Connection) -> bool:
            if not operators.change_password(connection, operator.id, before, after):
                return False
            operators.note(connection, operator, "password set by link", operator.name, now)
            return True

        if not await self._store.write(change):
            raise HTTPException(404)
        return await self._begin(request, operator.name, operator.id, after)

    async def _of_link(self, request: Request) -> tuple[Operator, str]:
        """Return the operator of a link and the hash of their password; used and old links are refused."""
        parts = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,12})-([\w-]{1,100})", request.path_params["key"], re.ASCII)
        if parts is None:
            raise HTTPException(404)
        operator_id, until = int(parts[1]), int(parts[2])
        kept = await self._store.read(partial(operators.password_hash_of, operator_id=operator_id))
        is_valid = kept is not None and self._host.keys.is_form(_reset_subject(operator_id, until, kept), parts[3])
        everyone = await self._store.read(operators.all_operators)
        operator = next((one for one in everyone if one.id == operator_id), None)
        if not is_valid or kept is None or operator is None or time.time() > until:
            raise HTTPException(404)
        return operator, kept


# Who may use the console.


class AccountPages(ConsolePages):
    """Owners make and remove accounts; everyone changes their own password."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._attempts = Attempts(host.path, host.keys)

    @get("/admin/accounts", "owner")
    async def accounts(self, request: Request, problem: str | None = None, name: str = "") -> Response:
        everyone = await self._store.read(operators.all_operators)
        return self._page(request, "accounts", accounts=everyone, problem=problem, name=name)

    @post("/admin/accounts", "owner")
    async def add(self, request: Request) -> Response:
        form = request.state.form
        name, role = form.text("name", operators.LONGEST_NAME), form.text("role", 16)
        password = form.fields.get("password", "")
        problem = problem_with(password, form.fields.get("again", ""))
        if not name or role not in ROLES:
            problem = marked("Give a name, and say whether this is an owner or a viewer")
        if problem:
            return await self.accounts(request, problem, name)
        kept = await asyncio.to_thread(hashed, password)
        add = partial(operators.add_operator, name=name, password_hash=kept, role=role, at=datetime.now(UTC))
        try:
            await self._log_change(request, "account added", f"{role} {name}", add)
        except NameTaken:
            return await self.accounts(request, f"There is an account named {name} already", name)
        return self._to("/accounts?done=account-added")

    @post("/admin/accounts/{id:number}/remove", "owner")
    async def remove(self, request: Request) -> Response:
        which = request.path_params["id"]
        everyone = {one.id: one for one in await self._store.read(operators.all_operators)}
        if which not in everyone:
            raise HTTPException(404)
        if everyone[which].id == request.state.operator.id:
            return await self.accounts(request, marked("You cannot remove the account that you are using"))
        remove = partial(operators.remove_operator, operator_id=everyone[which].id)
        try:
            await self._log_change(request, "account removed", everyone[which].name, remove)
        except LastOwner:
            problem = marked("This is the only owner; without one nobody could change anything")
            return await self.accounts(request, problem)
        return self._to("/accounts?done=account-removed")

    @get("/admin/password", "viewer")
    async def password(self, request: Request) -> Response:
        return self._page(request, "password")

    @post("/admin/password", "viewer")
    async def change(self, request: Request) -> Response:
        form, operator = request.state.form, request.state.operator
        old, new = (form.fields.get(name, "")[: LONGEST + 1] for name in ("old", "password"))
        limits = change_limits(operator.name)
        if not await asyncio.to_thread(self._attempts.begin, *limits):
            return self._page(request, "password", 429, problem=TOO_MANY)
        before = await self._store.read(partial(operators.password_hash_of, operator_id=operator.id))
        if before is None or not await asyncio.to_thread(is_right, old, before):
            return self._page(request, "password", problem=marked("The old password is not right"))
        await asyncio.to_thread(self._attempts.forgive, *limits)
        problem = problem_with(new, form.fields.get("again", ""))
        if problem:
            return self._page(request, "password", problem=problem)
        after = await asyncio.to_thread(hashed, new)

        def change(connection: Connection) -> None:
            if not operators.change_password(connection, operator.id, before, after):
                raise NotLoggedIn  # the password was changed meanwhile, which ends every session

        await self._log_change(request, "password changed", operator.name, change)
        return self._to("/login?done=password-changed")


PAGE_SIZE = 100
# Everything that is ever written down, in the words of the page.
ACTIONS = {
    "first account made": marked("First account made"),
    "account added": marked("Account made"),
    "account removed": marked("Account removed"),
    "account reset": marked("Account reset from the command line"),
    "password changed": marked("Password changed"),
    "password set by link": marked("Password set by a link"),
    "logged in": marked("Logged in"),
    "study made": marked("Study made"),
    "sample study made": marked("Sample study made"),
    "study changed": marked("Study changed"),
    "study tried": marked("Study tried"),
    "study opened": marked("Study opened"),
    "study paused": marked("Study paused"),
    "study closed": marked("Study closed"),
    "links made": marked("Links made"),
    "link revoked": marked("Link revoked"),
    "ids listed": marked("Ids put on the list"),
    "list of ids deleted": marked("List of ids deleted"),
    "room opened": marked("Room opened"),
    "room closed": marked("Room closed"),
    "excluded": marked("Participant excluded"),
    "included": marked("Participant taken back in"),
    "erased a participant": marked("Participant erased"),
    "fit started": marked("Model asked for"),
    "fit stopped": marked("Model stopped"),
    "model chosen": marked("Model chosen"),
    "vote opened": marked("Vote opened"),
    "vote ended": marked("Vote ended"),
    "vote decided": marked("Vote decided"),
    "result shown": marked("Result shown to participants"),
    "result hidden": marked("Result no longer shown"),
    "first round ended": marked("First round ended"),
    "second round opened": marked("Second round opened"),
    "reason released": marked("Reason released to others"),
    "reason hidden": marked("Reason hidden"),
    "reason reported": marked("Reason reported by a participant"),
    "downloaded": marked("Downloaded"),
    "clock said to be right": marked("Clock said to be right"),
}


def read_filter(query: QueryParams) -> TrailFilter:
    """Return the filter of an address; invalid parts are ignored."""
    return TrailFilter(
        operator=query.get("operator", "")[:100],
        action=query.get("action", "")[:40],
        since=_day(query.get("since", "")),
        until=_day(query.get("until", "")),
    )


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if date.min < day < date.max else None  # the days beside it are reckoned with


class TrailPages(ConsolePages):
    """Audit log, for owners."""

    @get("/admin/trail", "owner")
    async def show(self, request: Request) -> Response:
        chosen = read_filter(request.query_params)
        count = await self._store.read(partial(count_events, which=chosen))
        pages = max(1, ceil(count / PAGE_SIZE))
        page = min(max(1, whole_number(request.query_params.get("page", "")) or 1), pages)
        listed = partial(trail, which=chosen, first=(page - 1) * PAGE_SIZE, most=PAGE_SIZE)
        filters = {name: str(value) for name, value in vars(chosen).items() if value}
        return self._page(
            request,
            "trail",
            chosen=chosen,
            events=await self._store.read(listed),
            found=count,
            page=page,
            pages=pages,
            query=urlencode(filters),
            operators=await self._store.read(partial(event_values, column="operator")),
            actions=await self._store.read(partial(event_values, column="action")),
            words=ACTIONS,
        )

    @get("/admin/trail.csv", "owner")
    async def download(self, request: Request) -> Response:
        """All that the filters leave, as CSV."""
        events = await self._store.read(partial(trail, which=read_filter(request.query_params)))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Event._fields)
        writer.writerows((one.at.isoformat(), *(defused(cell) for cell in one[1:])) for one in events)
        name = f"trail-{datetime.now(UTC):%Y-%m-%d}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
