"""The web app of one study."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairwise.store.errors import AlreadyFinished, NotOpen, NotShownAgain, NotYet, Unknown
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
from fairwise.web.shared.monitoring import health_routes
from fairwise.web.shared.pages import pages_of
from fairwise.web.shared.routing import application, static_route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.applications import Starlette
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
_OTHERWISE = (marked("Something went wrong"), marked("Nothing that was saved is lost. Go back and try again."))


def create_app(folder: StudyFolder, database: str | Path, *, prefix: str = "") -> Starlette:
    """An app that serves this study and nothing else; ``prefix`` is the path that a proxy before it takes away."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
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


def participant_app(folder: StudyFolder, prefix: str) -> Starlette:
    """The pages of one study; whoever serves them gives ``app.state`` a store, and what takes the answers."""
    pages, keys = pages_of(folder, prefix), Keys(folder.secret)
    arrivals = ArrivalPages(folder, pages, keys, prefix)
    second_look = SecondLookPages(folder, pages, keys, prefix)
    everything = (
        ParticipantPages(folder, pages, keys, prefix, arrivals.invited, second_look),
        PreparingPages(folder, pages, keys, prefix),
        second_look,
        ResultPages(folder, pages, keys, prefix),
        arrivals,
    )

    def message(scope: Scope, status: int) -> Response:
        heading, text = _WORDS.get(status, _OTHERWISE)
        said = pages[language_of(scope)]
        return HTMLResponse(said.message(heading=said.say(heading), text=said.say(text)), status)

    async def elsewhere(request: Request, error: Exception) -> Response:
        """To where they are: this was an old page, or a stage that they have left behind."""
        told = "/second-look?kept" if isinstance(error, NotShownAgain) else ""
        return RedirectResponse(f"{prefix}/p/{request.path_params['token']}{told}", 303)

    async def not_open(request: Request, _error: Exception) -> Response:
        return await arrivals.not_open(request)

    return application(
        [route for each in everything for route in each.routes()] + [static_route(), *health_routes()],
        message,
        {Unknown: 404},
        handlers={NotOpen: not_open, AlreadyFinished: elsewhere, NotYet: elsewhere},
        outside=[Middleware(LanguageChoice, languages=folder.settings.languages, prefix=prefix)],
    )
