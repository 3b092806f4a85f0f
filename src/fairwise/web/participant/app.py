"""The web app of one study."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from fairwise.store.errors import AlreadyFinished, NotOpen, NotShownAgain, NotYet, Unknown
from fairwise.study.languages import marked
from fairwise.web.participant.base import Services
from fairwise.web.participant.consent import ConsentPages
from fairwise.web.participant.onboarding import OnboardingPages
from fairwise.web.participant.pairs import PairPages
from fairwise.web.participant.result import OwnResultPages
from fairwise.web.participant.second_look import SecondLookPages
from fairwise.web.shared.language_choice import LanguageChoice, language_of
from fairwise.web.shared.monitoring import health_routes
from fairwise.web.shared.routing import application, static_route

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


def participant_app(services: Services) -> Starlette:
    """The pages of one study."""
    prefix, languages = services.host.prefix, services.study.settings.languages
    consent, second_look = ConsentPages(services), SecondLookPages(services)
    groups = (
        PairPages(services, consent.invited, second_look),
        OnboardingPages(services),
        second_look,
        OwnResultPages(services),
        consent,
    )

    def message(scope: Scope, status: int) -> Response:
        heading, text = _WORDS.get(status, _OTHERWISE)
        pages = services.pages[language_of(scope)]
        return HTMLResponse(pages.message(heading=pages.translate(heading), text=pages.translate(text)), status)

    async def elsewhere(request: Request, error: Exception) -> Response:
        """To where they are: this was an old page, or a stage that they have left behind."""
        path = "/second-look?kept" if isinstance(error, NotShownAgain) else ""
        return RedirectResponse(f"{prefix}/p/{request.path_params['token']}{path}", 303)

    async def not_open(request: Request, _error: Exception) -> Response:
        return await consent.not_open(request)

    return application(
        [route for group in groups for route in group.routes()] + [static_route(), *health_routes(services.host.store)],
        message,
        {Unknown: 404},
        handlers={NotOpen: not_open, AlreadyFinished: elsewhere, NotYet: elsewhere},
        outside=[Middleware(LanguageChoice, languages=languages, prefix=prefix)],
    )
