"""Requests and routes: forms and their fields, the language of a visitor, static files, and an app with its guard."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from python_multipart.multipart import parse_options_header
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairwise.judgments import Answer
from fairwise.store.errors import StoreUnavailable
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT, MOST_OPTIONS, MOST_QUESTIONS, Question
from fairwise.web.shared.security import MOST_BYTES, Guard, TooLarge, TooSlow, cookie_of

MOST_FIELDS = 40
_MOST_MARKS = 30
"""Limit of marks on one letter, as in Unicode's format for streams: sorting n of them takes time that grows with n²."""
MOST_QUESTION_FIELDS = MOST_QUESTIONS * MOST_OPTIONS + 40
"""Limit of fields in a form in which everything is ticked."""


@dataclass(frozen=True)
class Form:
    """Fields by name, the last of several with one name."""

    fields: Mapping[str, str]

    def text(self, name: str, longest: int) -> str:
        """A field without what no database takes and no one types; cut where the page would not have allowed more."""
        # Cut before anything is done with it; a browser sends two characters for the end of a line.
        value = self.fields.get(name, "")[: 2 * longest]
        if not (value.isascii() and value.isprintable()):  # unlike keys and signatures, which are most of what arrives
            value = unicodedata.normalize("NFC", _typed(value))
        return value[:longest].strip()

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number, or None if there is none within the limits."""
        value = whole_number(self.fields.get(name, ""))
        return value if value is not None and least <= value <= most else None

    def answer(self, allowed: tuple[Answer, ...]) -> Answer | None:
        """One of the answers that this study allows."""
        value = self.fields.get("answer", "")
        return next((answer for answer in allowed if answer == value), None)


def whole_number(text: str) -> int | None:
    """Digits as a number, if they are no more than nine and of our own script; of thousands even reading takes long."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def decimal_number(text: str) -> float | None:
    """A number as people write it, with a point or a comma, if it has no more than fifteen digits on either side.

    Three digits behind a comma may be thousands or thousandths: that is no number either. Behind a point they are
    decimals, as our own pages write them.

    >>> decimal_number("0,125"), decimal_number("20000"), decimal_number("20.125"), decimal_number("20,000")
    (0.125, 20000.0, 20.125, None)
    """
    if may_mean_thousands(text):
        return None
    return float(text.replace(",", ".")) if re.fullmatch(r"[+-]?[0-9]{1,15}([.,][0-9]{1,15})?", text) else None


def may_mean_thousands(text: str, decimal: str = ".") -> bool:
    """Whether one who writes decimals like that may mean thousands by the other mark.

    >>> may_mean_thousands("2,400"), may_mean_thousands("2.400"), may_mean_thousands("2.400", ",")
    (True, False, True)
    """
    mark = re.escape("," if decimal == "." else ".")
    return re.fullmatch(rf"[+-]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+([.,][0-9]*)?", text) is not None


async def read_form(request: Request, most_fields: int = MOST_FIELDS) -> Form:
    """The fields of a request; files, and anything but a form, are refused."""
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind not in (b"application/x-www-form-urlencoded", b"multipart/form-data"):
        raise HTTPException(415)
    if options.get(b"charset", b"utf-8").lower() != b"utf-8":  # pages are in UTF-8; some others take the square of time
        raise HTTPException(415)
    async with request.form(max_files=0, max_fields=most_fields, max_part_size=MOST_BYTES) as form:
        return Form({name: value for name, value in form.multi_items() if isinstance(value, str)})


def _typed(text: str) -> str:
    """A text without control characters, and without more marks on a letter than anyone writes."""
    kept, marks = [], 0
    for character in text:
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cs") and character not in "\n\t":
            continue  # before marks are counted: what is not kept parts no marks either
        marks = marks + 1 if kind[0] == "M" else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


@dataclass(frozen=True)
class AskedQuestion:
    """One question as somebody sees it."""

    question: Question
    """Question in the reader's language."""

    typed: Collection[str] = ()
    """Values that the form has."""

    problem: str | None = None

    @property
    def field(self) -> str:
        """The name of its field."""
        return self.question.field


def typed_in(form: Form, question: Question) -> list[str]:
    """Return what a form says to a question."""
    field = question.field
    if question.kind == "several":
        return [str(at) for at in range(len(question.options)) if f"{field}-{at}" in form.fields]
    longest = LONGEST_TEXT if question.kind == "text" else LONGEST_NUMBER
    text = form.text(field, longest)
    return [text] if text else []


def questions_with_values(
    questions: Sequence[Question], typed: Mapping[str, Collection[str]], problems: Mapping[str, str] | None = None
) -> list[AskedQuestion]:
    """Return the questions of a page with what was typed and what is wrong, by the names of the questions."""
    wrong = problems or {}
    return [AskedQuestion(one, typed.get(one.name, ()), wrong.get(one.name)) for one in questions]


LANGUAGE_COOKIE = "fairwise_language"
PARAMETER = "lang"
_MONTH = 30 * 24 * 3600
_MOST_WISHES = 20


class LanguageChoice:
    """Tell every page its language; ``?lang=`` chooses one, and not the study but the visitor's browser keeps it."""

    def __init__(self, app: ASGIApp, languages: Sequence[str], path: str, cookie: str = LANGUAGE_COOKIE) -> None:
        """`path` is where the choice is for, with all below it."""
        self._app = app
        self._languages = tuple(languages)
        self._path, self._cookie = path, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            language = self._languages[0]
            if len(self._languages) > 1:
                visitor = HTTPConnection(scope)
                chosen = parse_qs(scope["query_string"].decode("latin-1")).get(PARAMETER, [""])[0]
                kept = cookie_of(visitor, self._cookie)
                if chosen in self._languages:
                    language, send = chosen, self._with_cookie(chosen, scope["scheme"] == "https", send)
                elif kept in self._languages:
                    language = kept
                else:
                    language = preferred(visitor.headers.get("accept-language"), self._languages)
            scope.setdefault("state", {})["language"] = language
        await self._app(scope, receive, send)

    def _with_cookie(self, language: str, secure: bool, send: Send) -> Send:
        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = f"{self._cookie}={language}; Max-Age={_MONTH}; Path={self._path}; HttpOnly; SameSite=lax"
                MutableHeaders(scope=message).append("set-cookie", cookie + "; Secure" * secure)
            await send(message)

        return send_with_cookie


def visitor_language(scope: Scope) -> str:
    """Return the language that this visitor reads."""
    language: str = scope["state"]["language"]
    return language


def preferred(accepted: str | None, languages: Sequence[str]) -> str:
    """Return the language that an ``Accept-Language`` header likes most; the first if it likes none of them.

    >>> preferred("fr, de-CH;q=0.7, en;q=0.3", ["en", "de"])
    'de'
    """
    liked = dict.fromkeys(languages, 0.0)
    for wish in (accepted or "").split(",")[:_MOST_WISHES]:
        tag, _, quality = wish.partition(";")
        language = tag.strip().lower().partition("-")[0]
        if language in liked:
            liked[language] = max(liked[language], _number(quality))
    return max(languages, key=lambda language: liked[language])  # the first of equals


def _number(quality: str) -> float:
    """``q=0.7`` as a number; nothing said is 1."""
    name, _, digits = quality.partition("=")
    try:
        return float(digits) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0


if TYPE_CHECKING:
    ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]

_STATUS: Mapping[type[Exception], int] = {TooSlow: 408, TooLarge: 413, StoreUnavailable: 503}


class NumberConvertor(Convertor[int]):
    """``{number:number}`` in a path: digits as we write them. Whatever else stands there is an address of nothing."""

    regex = r"(?:0|[1-9][0-9]{0,8})(?!\n)"  # Starlette's own end of an address lets the end of a line pass

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", NumberConvertor())


class Application(Starlette):
    """Starlette without its own page for failures: the site that serves the app has one, and writes them to the log."""

    def build_middleware_stack(self) -> ASGIApp:
        page_for_failures = super().build_middleware_stack()
        assert isinstance(page_for_failures, ServerErrorMiddleware)
        return page_for_failures.app


def application(
    routes: Iterable[Route],
    message: Callable[[Scope, int], Response],
    statuses: Mapping[type[Exception], int],
    *,
    handlers: Mapping[type[Exception], ErrorHandler] | None = None,
    outside: Iterable[Middleware] = (),
    scripts_may_ask: bool = False,
    larger: Mapping[str, int] | None = None,
) -> Starlette:
    """Pages behind the guard, and ``message`` for whatever is refused.

    ``statuses`` says with which status a problem is refused, ``handlers`` answer what needs more than a message,
    ``outside`` are middlewares before the guard, ``scripts_may_ask`` and ``larger`` are options of :class:`Guard`.
    """
    refusals = {**statuses, **_STATUS}

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return message(request.scope, error.status_code)
        return message(request.scope, next(status for kind, status in refusals.items() if isinstance(error, kind)))

    app = Application(
        routes=list(routes),
        middleware=[*outside, Middleware(Guard, refuse=message, scripts_may_ask=scripts_may_ask, larger=larger)],
        exception_handlers={**dict.fromkeys((HTTPException, *refusals), refused), **(handlers or {})},
    )
    app.router.redirect_slashes = False  # it knows of no prefix, and would lead out of the study
    return app


# The style and the script that pages name: read once, and named by their content so that browsers may keep them.

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@cache
def read_static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every style and script under ``static/``, by name."""
    kept = [(file, file.name.rpartition(".")[2]) for file in files("fairwise.web.shared").joinpath("static").iterdir()]
    return {file.name: (file.read_bytes(), _MEDIA_TYPES[kind]) for file, kind in kept if kind in _MEDIA_TYPES}


def version_of(content: bytes) -> str:
    """Return the version of a file's content for its address."""
    return hashlib.sha256(content).hexdigest()[:12]


def static_addresses(prefix: str) -> dict[str, str]:
    """Return the address of every static file by its name."""
    return {
        name: f"{prefix}/static/{name}?v={version_of(content)}" for name, (content, _) in read_static_files().items()
    }


def static_route() -> Route:
    """Styles and scripts, read once."""
    contents = read_static_files()

    async def serve(request: Request) -> Response:
        if request.path_params["name"] not in contents:
            raise HTTPException(404)
        content, media_type = contents[request.path_params["name"]]
        # Its address holds a hash of it: another content has another address.
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=media_type, headers=headers)

    return Route("/static/{name}", serve, methods=["GET"])
