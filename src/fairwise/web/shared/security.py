"""Security of every request: headers, limits of size and time, origins of forms, and counted attempts."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairwise.store.errors import StoreUnavailable
from fairwise.store.logs import FailedWrites
from fairwise.store.operators import same_letters
from fairwise.study.recruitment import Keys
from fairwise.tables.output import create_private

# Bodies that never come to an end hold no place for ever.

BODY_SECONDS = 30.0
LEAST_RATE = 4096.0
"""Bytes a second of a body, on average after its first half minute; the slowest phone sends more."""


class TooSlow(Exception):  # noqa: N818 - a refusal, not an error
    """A request whose body comes too slowly."""


class TooLarge(Exception):  # noqa: N818 - a refusal, not an error
    """A request with more than we read."""


def bounded(receive: Receive, most: int) -> Receive:
    """Return a `receive` that refuses bodies that are too slow or too large.

    What comes after it may take its time.
    """
    loop = asyncio.get_running_loop()
    deadline, received, whole = loop.time() + BODY_SECONDS, 0, False

    async def receive_bounded() -> Message:
        nonlocal deadline, received, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise TooSlow from None
        size = len(message.get("body", b""))
        deadline += size / LEAST_RATE
        received += size
        if received > most:
            raise TooLarge
        whole = not message.get("more_body", False)
        return message

    return receive_bounded


# Cookies as they arrive.


def cookie_of(visitor: HTTPConnection, name: str) -> str | None:
    """Return a cookie's value, the last of several with one name.

    Ours are tokens, and never in quotes. ``request.cookies`` would take the quotes off everybody's, also those that are
    not ours, and in older versions of Python that takes the square of their length.
    """
    pairs = (pair.partition("=") for header in visitor.headers.getlist("cookie") for pair in header.split(";"))
    return next((value.strip() for key, _, value in reversed(list(pairs)) if key.strip() == name), None)


_log = logging.getLogger("fairwise")
MOST_BYTES = 400 * 1024  # the three closing texts; a character is up to twelve bytes on its way
_LONGEST_HOST = 260  # no name is longer, and a port

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'"
)
"""Content policy of every page: what it may load, and where its forms may go."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    # The address of a page is the key to it, so no other site may learn it. ("no-referrer" would hide the origin of our
    # own forms as well.)
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}


# The page of whatever is answered without a study; its style, which cannot be loaded then, is allowed by its hash.
_STYLE = (
    "html{background:#fff;color:#17212b;border-top:.375rem solid #0b5c6b}"
    "body{max-width:43.5rem;margin:0 auto;padding:1.75rem 1.25rem;font:1.125rem/1.5 system-ui,sans-serif}"
    "h1{margin:0 0 1.25rem;font-size:1.75rem;line-height:1.2;text-wrap:balance}p{margin:0}"
    "@media(prefers-color-scheme:dark){html{background:#12181c;color:#e9eff2;border-color:#7fd0de}}"
)
_STYLE_HASH = f"'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
_PLAIN_POLICY = HEADERS["content-security-policy"].replace("style-src 'self'", f"style-src {_STYLE_HASH}")


def plain_page(heading: str, text: str, status: int, language: str = "en") -> HTMLResponse:
    """Return a page that needs no template and no other file, with our headers."""
    html = (
        f'<!doctype html><html lang="{language}"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{heading}</title><style>{_STYLE}</style><main><h1>{heading}</h1><p>{text}</p></main></html>"
    )
    return HTMLResponse(html, status, {**HEADERS, "content-security-policy": _PLAIN_POLICY})


class Guard:
    """Refuse requests that are too large or come from elsewhere; add the headers to every reply, also to a failure."""

    def __init__(
        self,
        app: ASGIApp,
        refuse: Callable[[Scope, int], Response],
        *,
        scripts_may_ask: bool = False,
        larger: Mapping[str, int] | None = None,
    ) -> None:
        """Guard an app; with `scripts_may_ask`, its own scripts may ask this server for numbers.

        `larger` are paths to which more bytes may be sent than anywhere else, and how many.
        """
        self._app = app
        self._refuse = refuse
        self._larger = larger or {}
        self._headers = dict(HEADERS)
        if scripts_may_ask:
            self._headers["content-security-policy"] += "; connect-src 'self'"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = Reply(send, self._headers)
        most = self._larger.get(scope["path"], MOST_BYTES)
        refused = _refused(scope["method"], Headers(scope=scope), most)
        if refused:
            await self._refuse(scope, refused)(scope, receive, reply.send)
            return
        try:
            await self._app(scope, bounded(receive, most), reply.send)
        except ClientDisconnect:
            return  # nobody is there to be answered, and nothing went wrong here
        except Exception as error:
            if reply.begun:
                raise
            page = self._refuse(scope, 500)  # if this fails, too, both are told by whoever takes that
            _log.error("A page failed", exc_info=error)  # without its address, which is a key
            await page(scope, receive, reply.send)


class Reply:
    """A reply with our headers, and its status once it is sent."""

    def __init__(self, send: Send, headers: Mapping[str, str] = HEADERS) -> None:
        self._send, self._headers = send, _encoded(tuple(headers.items()))
        self.begun, self.status = False, 500

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            headers = message.get("headers", ())
            names = {name for name, _ in headers}
            message["headers"] = [*headers, *(one for one in self._headers if one[0] not in names)]
        await self._send(message)


@cache
def _encoded(headers: tuple[tuple[str, str], ...]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def _refused(method: str, headers: Headers, most: int) -> int | None:
    """The status of a request that is not let in, or None."""
    if len(headers.get("host", "")) > _LONGEST_HOST:  # it becomes links, and pictures of them
        return 400
    if method not in ("GET", "HEAD") and not from_here(headers):
        return 403
    length = headers.get("content-length", "0")
    # A digit of another script is no number here, and one of thousands of digits not worth reading.
    is_number = length.isascii() and length.isdigit() and len(length) < 16
    return None if is_number and int(length) <= most else 413


def from_here(headers: Headers) -> bool:
    """Whether the browser says that this form is ours; every browser of the last years says so."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    try:
        return origin is None or urlsplit(origin).netloc == headers.get("host")
    except ValueError:  # not an origin at all
        return False


@dataclass(frozen=True)
class StartPage:
    """Start page of a server with several studies, as one of them sees it.

    Sessions are cookies of one study, which no browser sends to the start page. So who logs in gets one cookie more,
    for the whole server, that says so and opens nothing: it holds a hash of the session's key, signed by the study.
    """

    path: str
    """Path of the start page."""

    study: str
    """The name of this study."""

    @property
    def _cookie(self) -> str:
        return f"fairwise_study_{self.study}"

    def list_study(self, response: Response, keys: Keys, token_hash: bytes, *, secure: bool) -> None:
        """Have this browser see the study on the start page, as long as the session lasts."""
        session = token_hash.hex()
        value = f"{session}.{keys.form(_subject(session))}"
        response.set_cookie(self._cookie, value, path=self.path, secure=secure, httponly=True, samesite="strict")

    def unlist_study(self, response: Response) -> None:
        response.delete_cookie(self._cookie, path=self.path)

    def session_of(self, visitor: HTTPConnection, keys: Keys) -> bytes | None:
        """Return the hash of a session's key, if this browser began one here; it may have ended."""
        session, _, signature = (cookie_of(visitor, self._cookie) or "").partition(".")
        return bytes.fromhex(session) if session and keys.is_form(_subject(session), signature) else None


def _subject(session: str) -> str:
    return f"start page {session}"


T = TypeVar("T")
FILE = ".attempts.sqlite"
SECONDS = 15 * 60
OF_ONE_NAME, FROM_ONE_ADDRESS = 10, 30
_BUSY_SECONDS = 10


@dataclass(frozen=True)
class Limit:
    """Something that attempts count for, and how many are allowed."""

    kind: str
    of: str
    most: int


def login_limits(name: str, address: str, device: str | None) -> tuple[Limit, ...]:
    """Return the limits of a login: its browser alone, if this name logged in by it before; see :class:`Devices`.

    Otherwise those of the name, by whomever it is tried, and of the network, whatever names are tried from there. So
    strangers who guess can keep nobody out of the browser that they use.
    """
    if device is not None:
        return (Limit("login by device", device, OF_ONE_NAME),)
    return (
        Limit("login by", same_letters(name), OF_ONE_NAME),
        Limit("login from", network(address), FROM_ONE_ADDRESS),
    )


def change_limits(name: str) -> tuple[Limit, ...]:
    """Return the limits of a change of password, which keep nobody from logging in."""
    return (Limit("old password of", same_letters(name), OF_ONE_NAME),)


def consent_limits(address: str, most: int, *, in_room: bool = False) -> tuple[Limit, ...]:
    """Return the limits of someone who begins; `most` 0 means any number. Rooms are counted separately.

    Addresses that are not public are not counted: behind a proxy that tells no other, everyone would have one.
    """
    parsed = _parsed(address)
    if not most or parsed is None or not parsed.is_global:
        return ()
    return (Limit("consent in a room from" if in_room else "consent from", network(address), most),)


def network(address: str) -> str:
    """Return what counts as one address: of IPv6 the first half, as everyone has all of the second to choose from.

    >>> network("2001:db8:1:2:3:4:5:6"), network("203.0.113.9"), network("::ffff:203.0.113.9")
    ('2001:db8:1:2::/64', '203.0.113.9', '203.0.113.9')
    """
    parsed = _parsed(address)
    if parsed is None:
        return address
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64" if isinstance(parsed, IPv6Address) else str(parsed)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, or None for anything else."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed


class Attempts:
    """An attempt counts from its beginning, so that many at once are not each the first; a right one is taken back."""

    def __init__(self, home: Path, keys: Keys) -> None:
        self._file, self._keys = home / FILE, keys
        self._failed = FailedWrites(str(self._file))

    def begin(self, *limits: Limit) -> bool:
        """Count an attempt, unless there were too many already; returns whether it may go on."""
        if not limits:
            return True
        now = time.time()

        def counted(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM attempts WHERE at < ?", (now - SECONDS,))
            for limit in limits:
                query = "SELECT count(*) FROM attempts WHERE mark = ?"
                (number,) = connection.execute(query, (self._mark(limit),)).fetchone()
                if number >= limit.most:
                    return False
            rows = [(self._mark(limit), now) for limit in limits]
            connection.executemany("INSERT INTO attempts VALUES (?, ?)", rows)
            return True

        return self._change(counted)

    def forgive(self, *limits: Limit) -> None:
        """Take back the last attempt, which was right."""
        last = "DELETE FROM attempts WHERE rowid = (SELECT max(rowid) FROM attempts WHERE mark = ?)"
        self._each(last, limits)

    def clear(self, name: str) -> None:
        """Take back all attempts for a name, by whomever."""
        self._each("DELETE FROM attempts WHERE mark = ?", (login_limits(name, "", None)[0], *change_limits(name)))

    def _each(self, statement: str, limits: Iterable[Limit]) -> None:
        rows = [(self._mark(limit),) for limit in limits]
        self._change(lambda connection: connection.executemany(statement, rows))

    def _mark(self, limit: Limit) -> bytes:
        return self._keys.mark(limit.kind, limit.of)

    def _change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """One at a time, whichever process it is."""
        try:
            try:
                return self._changed(change)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    raise
            # A quarter of an hour is worth less than that anybody can log in.
            _log.warning("%s was damaged, and is begun anew", self._file)
            for end in ("", "-journal"):
                self._file.with_name(f"{self._file.name}{end}").unlink(missing_ok=True)
            return self._changed(change)
        except (sqlite3.Error, OSError) as error:
            self._failed.add(error)
            raise StoreUnavailable(str(error)) from error

    def _changed(self, change: Callable[[sqlite3.Connection], T]) -> T:
        create_private(self._file)
        with closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a quarter of an hour is not worth waiting for a disk
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS attempts (mark BLOB NOT NULL, at REAL NOT NULL)")
            result = change(connection)
            connection.execute("COMMIT")
            return result
