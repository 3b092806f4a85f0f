"""The web app of one study."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from fairwise.store.errors import AlreadyFinished, NotOpen, NotShownAgain, NotYet, StoreUnavailable, Unknown
from fairwise.store.housekeeping import Housekeeper
from fairwise.store.store import Store
from fairwise.study.languages import marked
from fairwise.study.signing import Keys
from fairwise.web.participant.answering import answering
from fairwise.web.participant.consent import ArrivalPages
from fairwise.web.participant.onboarding import PreparingPages
from fairwise.web.participant.pairs import ParticipantPages
from fairwise.web.participant.result import ResultPages
from fairwise.web.participant.second_look import SecondLookPages
from fairwise.web.shared.language_choice import LanguageChoice, language_of
from fairwise.web.shared.monitoring import add_health
from fairwise.web.shared.pages import pages_of
from fairwise.web.shared.security import Guard, TooLarge, TooSlow
from fairwise.web.shared.templating import read_static_files

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import Scope

    from fairwise.study.folder import StudyFolder

_WORDS = {
    403: (
        marked("This form cannot be taken"),
        marked("It is too old, or came from another site. Go back, reload the page, try again."),
    ),
    404: (
        marked("There is no such page"),
        marked("Check that the link is complete. If you withdrew, your link no longer works."),
    ),
    405: (marked("This page cannot be opened like that"), marked("Go back and try again.")),
    413: (marked("That was too much text"), marked("Go back, shorten what you wrote, and send it again.")),
    503: (
        marked("The study cannot be reached at the moment"),
        marked("Nothing that was saved is lost. Wait a minute, then reload."),
    ),
}
_STATUS = {Unknown: 404, TooSlow: 408, TooLarge: 413, StoreUnavailable: 503}
_OTHERWISE = (marked("Something went wrong"), marked("Nothing that was saved is lost. Go back and try again."))


def create_app(folder: StudyFolder, database: str | Path, *, prefix: str = "") -> FastAPI:
    """An app that serves this study and nothing else; ``prefix`` is the path that a proxy before it takes away."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store.open(database, folder.fingerprint)
        app.state.store, app.state.database = store, database
        app.state.answering = answering(folder, store, database)
        app.state.housekeeper = Housekeeper(lambda: folder, store, database)
        try:
            async with app.state.housekeeper.working():
                yield
        finally:
            app.state.answering.close()
            store.close()

    app = participant_app(folder, prefix)
    app.router.lifespan_context = lifespan
    return app


def participant_app(folder: StudyFolder, prefix: str) -> FastAPI:
    """The pages of one study; whoever serves them gives ``app.state`` a store, and what takes the answers."""
    pages = pages_of(folder, prefix)
    app = FastAPI(title=folder.settings.title, docs_url=None, redoc_url=None, openapi_url=None)

    def message(scope: Scope, status: int) -> Response:
        heading, text = _WORDS.get(status, _OTHERWISE)
        said = pages[language_of(scope)]
        return HTMLResponse(said.message(heading=said.say(heading), text=said.say(text)), status)

    app.router.redirect_slashes = False  # it knows of no prefix, and would lead out of the study
    keys = Keys(folder.secret)
    arrivals = ArrivalPages(folder, pages, keys, prefix)
    second_look = SecondLookPages(folder, pages, keys, prefix)
    ParticipantPages(folder, pages, keys, prefix, arrivals.invited, second_look).add_to(app.router)
    PreparingPages(folder, pages, keys, prefix).add_to(app.router)
    second_look.add_to(app.router)
    ResultPages(folder, pages, keys, prefix).add_to(app.router)
    arrivals.add_to(app.router)
    add_files(app)
    app.add_middleware(Guard, refuse=message)
    app.add_middleware(LanguageChoice, languages=folder.settings.languages, prefix=prefix)

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return message(request.scope, error.status_code)
        status = next((status for problem, status in _STATUS.items() if isinstance(error, problem)), 500)
        return message(request.scope, status)

    async def elsewhere(request: Request, error: Exception) -> Response:
        """To where they are: this was an old page, or a stage that they have left behind."""
        told = "/second-look?kept" if isinstance(error, NotShownAgain) else ""
        return RedirectResponse(f"{prefix}/p/{request.path_params['token']}{told}", 303)

    async def not_open(request: Request, _error: Exception) -> Response:
        return await arrivals.not_open(request)

    app.add_exception_handler(NotOpen, not_open)
    for problem in (HTTPException, *_STATUS):
        app.add_exception_handler(problem, failed)
    for problem in (AlreadyFinished, NotYet):
        app.add_exception_handler(problem, elsewhere)
    return app


def add_files(app: FastAPI) -> None:
    """Styles and scripts, and pages for those who watch whether the server is there."""
    app.add_route("/static/{name}", _static(read_static_files()), methods=["GET"])
    add_health(app)


def _static(files: Mapping[str, tuple[bytes, str]]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        if request.path_params["name"] not in files:
            raise HTTPException(404)
        content, media_type = files[request.path_params["name"]]
        # Its address holds a hash of it: another content has another address.
        return Response(
            content, media_type=media_type, headers={"cache-control": "public, max-age=31536000, immutable"}
        )

    return serve
