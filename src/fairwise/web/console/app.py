"""The console as an app of its own, under ``/admin``."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from fairwise.store.errors import NotAllowed, NotLoggedIn, Unknown
from fairwise.store.failures import NO_ROOM, FailedWrites
from fairwise.web.console.base import ConsolePages, Rendering
from fairwise.web.console.downloads import DownloadPages
from fairwise.web.console.fits import FitPages, ResultPages
from fairwise.web.console.login import AccountPages, LoginPages
from fairwise.web.console.overview import OverviewPages
from fairwise.web.console.participants import OneParticipantPages, ParticipantsPages
from fairwise.web.console.recruitment import RecruitmentPages
from fairwise.web.console.study_pages import StudyPages
from fairwise.web.console.study_wizard import StudyWizardPages
from fairwise.web.shared.host import Host
from fairwise.web.shared.routing import application

ALL_PAGES: tuple[type[ConsolePages], ...] = (
    LoginPages,
    OverviewPages,
    AccountPages,
    StudyWizardPages,
    StudyPages,
    ParticipantsPages,
    OneParticipantPages,
    RecruitmentPages,
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


def create_console(host: Host) -> Starlette:
    """An app whose every page but the login needs an account."""
    rendering = Rendering(host.prefix)

    def message(_scope: Scope, status: int) -> Response:
        heading, text = _WORDS.get(status, _OTHERWISE)
        html = rendering.page(
            "message", operator=None, csrf="", here="", study=host.study, done=None, heading=heading, text=text
        )
        return HTMLResponse(html, status)

    files = FailedWrites(str(host.path))

    async def no_room(request: Request, error: Exception) -> Response:
        if not isinstance(error, OSError) or error.errno not in NO_ROOM:
            raise error
        files.add(error)
        return message(request.scope, 507)

    return application(
        [route for pages in ALL_PAGES for route in pages(host, rendering).starlette_routes()],
        message,
        {NotLoggedIn: 401, NotAllowed: 403, Unknown: 404},
        handlers={OSError: no_room},
        scripts_may_ask=True,
        larger={route.path: route.most_bytes for pages in ALL_PAGES for route in pages.routes if route.most_bytes},
    )
