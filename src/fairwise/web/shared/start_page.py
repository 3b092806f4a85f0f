"""Of a server with several studies: how its start page knows which of them a browser is logged in to.

Sessions are cookies of one study, which no browser sends to the start page. So who logs in gets one cookie more, for
the whole server, that says so and opens nothing: it holds a hash of the session's key, signed by the study.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response

from fairwise.study.signing import Keys
from fairwise.web.shared.security import cookie_of


@dataclass(frozen=True)
class StartPage:
    """As one of the studies knows it."""

    path: str
    """Where it is: ``/``, or what a proxy shows the server under."""

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
