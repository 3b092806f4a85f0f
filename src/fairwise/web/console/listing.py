"""The start page of a server with several studies: those that a browser is logged in to, and to others nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from fairwise.store import operators
from fairwise.store.errors import StoreUnavailable
from fairwise.study.settings import StudyState
from fairwise.study.texts import marked
from fairwise.web.console.rendering import REFUSALS, REFUSED_OTHERWISE, Rendering
from fairwise.web.shared.host import Host
from fairwise.web.shared.language_choice import language_of

_LISTED = (marked("Your studies"), marked("This browser is logged in to them. Studies of others are not listed."))
_NOTHING_LISTED = (
    marked("There is nothing to see here"),
    marked("Open the link that you were given. Operators see their studies here once they have logged in to one."),
)
_STATES = {
    StudyState.OPEN: marked("open"),
    StudyState.PAUSED: marked("paused"),
    StudyState.CLOSED: marked("closed"),
}


@dataclass(frozen=True)
class Listed:
    """A study on the start page, for somebody who is logged in to it."""

    name: str
    title: str
    address: str
    state: str
    role: str


async def listed(host: Host, visitor: HTTPConnection) -> Listed | None:
    """Return one of several studies as it is listed, if whoever asks is logged in to it now."""
    token_hash = None if host.start_page is None else host.start_page.session_of(visitor, host.keys)
    if host.start_page is None or token_hash is None:
        return None
    try:
        who = await host.store.read(partial(operators.operator_of, token_hash=token_hash, at=datetime.now(UTC)))
    except StoreUnavailable:
        return None
    if who is None:
        return None
    name, title = host.start_page.study, "" if host.study is None else host.study.settings.title
    return Listed(name, title or name, f"{host.prefix}/admin", _STATES[host.standing.state], who.role)


class Listing:
    """Pages that belong to no study."""

    def __init__(self, prefix: str) -> None:
        self._rendering = Rendering(prefix)

    def page(self, scope: Scope, studies: Sequence[Listed]) -> Response:
        return self._page(
            scope, _LISTED if studies else _NOTHING_LISTED, 200, sorted(studies, key=lambda one: one.name)
        )

    def refusal(self, scope: Scope, status: int) -> Response:
        return self._page(scope, REFUSALS.get(status, REFUSED_OTHERWISE), status, [])

    def _page(self, scope: Scope, words: tuple[str, str], status: int, studies: Sequence[Listed]) -> Response:
        heading, text = words
        values = {"operator": None, "csrf": "", "here": "/", "study": None, "done": None}
        html = self._rendering.page(
            "studies", language_of(scope), **values, heading=heading, text=text, studies=studies
        )
        return HTMLResponse(html, status)
