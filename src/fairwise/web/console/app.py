"""The console as an app of its own, under ``/admin``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from fairwise.store.errors import NotAllowed, NotLoggedIn, StoreUnavailable
from fairwise.store.failures import NO_ROOM, FailedWrites
from fairwise.web.console.accounts import AccountPages
from fairwise.web.console.base import Rendering
from fairwise.web.console.downloads import DownloadPages
from fairwise.web.console.fits import FitPages
from fairwise.web.console.login import LoginPages
from fairwise.web.console.overview import OverviewPages
from fairwise.web.console.participants import OneParticipantPages, ParticipantsPages
from fairwise.web.console.recruitment import ComingPages
from fairwise.web.console.results import ResultPages
from fairwise.web.console.study_pages import StudyPages
from fairwise.web.console.study_wizard import MakingPages
from fairwise.web.shared.security import Guard, TooLarge, TooSlow

if TYPE_CHECKING:
    from fastapi.responses import Response
    from starlette.requests import Request
    from starlette.types import Scope

    from fairwise.web.console.base import ConsolePages
    from fairwise.web.shared.host import Host

ALL_PAGES: tuple[type[ConsolePages], ...] = (
    LoginPages,
    OverviewPages,
    AccountPages,
    MakingPages,
    StudyPages,
    ParticipantsPages,
    OneParticipantPages,
    ComingPages,
    DownloadPages,
    FitPages,
    ResultPages,
)

_WORDS = {
    401: ("You are not logged in any more", "Log in again, then do it once more. Nothing was changed."),
    403: ("This is not for you to do", "It needs an owner's account, or the form is too old. Nothing was changed."),
    404: ("There is no such page", "It may have been there before. Nothing was changed."),
    413: ("That was too large", "The file is larger than what is taken here. Nothing was changed."),
    503: ("The database cannot be reached at the moment", "Wait a minute, then reload. Nothing was lost."),
    507: ("The disk of the server is full", "Make room there, then do it once more. Nothing was changed."),
}
_OTHERWISE = ("Something went wrong", "Nothing was changed. The log of the server says more.")
_STATUS = {NotLoggedIn: 401, NotAllowed: 403, TooSlow: 408, TooLarge: 413, StoreUnavailable: 503}


def create_console(host: Host) -> FastAPI:
    """An app whose every page but the login needs an account."""
    rendering = Rendering(host.prefix)
    app = FastAPI(title="Fairwise console", docs_url=None, redoc_url=None, openapi_url=None)
    app.router.redirect_slashes = False

    def message(_scope: Scope, status: int) -> Response:
        heading, text = _WORDS.get(status, _OTHERWISE)
        html = rendering.page(
            "message", operator=None, csrf="", here="", study=host.study, done=None, heading=heading, text=text
        )
        return HTMLResponse(html, status)

    for pages in ALL_PAGES:
        pages(host, rendering).add_to(app.router)
    larger = {route.path: route.most_bytes for pages in ALL_PAGES for route in pages.routes if route.most_bytes}
    app.add_middleware(Guard, refuse=message, scripts_may_ask=True, larger=larger)

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return message(request.scope, error.status_code)
        return message(request.scope, next(status for kind, status in _STATUS.items() if isinstance(error, kind)))

    files = FailedWrites(str(host.path))

    async def no_room(request: Request, error: Exception) -> Response:
        if not isinstance(error, OSError) or error.errno not in NO_ROOM:
            raise error
        files.add(error)
        return message(request.scope, 507)

    for problem in (HTTPException, *_STATUS):
        app.add_exception_handler(problem, failed)
    app.add_exception_handler(OSError, no_room)
    return app
