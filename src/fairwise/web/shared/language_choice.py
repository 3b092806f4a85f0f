"""Which of a study's languages a visitor reads: the one they chose, or else what their browser says they prefer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairwise.web.shared.security import cookie_of

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
            chosen = self._chosen(scope)
            scope.setdefault("state", {})["language"] = chosen or self._kept_or_preferred(scope)
            if chosen is not None:
                send = self._keeping(chosen, scope["scheme"] == "https", send)
        await self._app(scope, receive, send)

    def _chosen(self, scope: Scope) -> str | None:
        if len(self._languages) == 1 or not scope["query_string"]:
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1")).get(PARAMETER, [""])[0]
        return asked if asked in self._languages else None

    def _kept_or_preferred(self, scope: Scope) -> str:
        if len(self._languages) == 1:
            return self._languages[0]
        visitor = HTTPConnection(scope)
        kept = cookie_of(visitor, self._cookie)
        return kept if kept in self._languages else preferred(visitor.headers.get("accept-language"), self._languages)

    def _keeping(self, language: str, secure: bool, send: Send) -> Send:
        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = f"{self._cookie}={language}; Max-Age={_MONTH}; Path={self._path}; HttpOnly; SameSite=lax"
                MutableHeaders(scope=message).append("set-cookie", cookie + "; Secure" * secure)
            await send(message)

        return send_with_cookie


def language_of(scope: Scope) -> str:
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
