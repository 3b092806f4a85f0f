"""The web app: one site of participants' pages at ``/`` and the console at ``/admin``."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fairwise.messages import marked
from fairwise.store import operators
from fairwise.store.errors import (
    AlreadyFinished,
    NotAllowed,
    NotLoggedIn,
    NotOpen,
    NotShownAgain,
    NotYet,
    RoundOver,
    StoreUnavailable,
    Unknown,
)
from fairwise.store.housekeeping import Housekeeper
from fairwise.store.logs import NO_ROOM, FailedWrites, with_log_lines
from fairwise.web.console.accounts import AccountPages, LoginPages, TrailPages
from fairwise.web.console.base import (
    COOKIE,
    LANGUAGE_COOKIE,
    REFUSALS,
    REFUSED_OTHERWISE,
    ConsolePages,
    Rendering,
    console_language,
    languages,
)
from fairwise.web.console.fits import FitPages
from fairwise.web.console.overview import HelpPages, OverviewPages
from fairwise.web.console.participants import DownloadPages, OneParticipantPages, ParticipantsPages
from fairwise.web.console.recruitment import RecruitmentPages
from fairwise.web.console.results import ReportPages, ResultPages, VotingPages, public_report_route
from fairwise.web.console.second_round import DeliberationPages, TalkingRoomPages
from fairwise.web.console.study_pages import END, NOTICE, StudyPages, TrialPages
from fairwise.web.console.study_wizard import StudyWizardPages
from fairwise.web.participant.answering import answering
from fairwise.web.participant.base import Services
from fairwise.web.participant.consent import ConsentPages
from fairwise.web.participant.onboarding import OnboardingPages, QuestionPages, SecondLookPages
from fairwise.web.participant.pairs import PairPages
from fairwise.web.participant.result import OwnResultPages, VotePages
from fairwise.web.participant.rounds import SecondRoundPages, TalkingPages
from fairwise.web.shared import monitoring
from fairwise.web.shared.host import PATH, Host, Trials
from fairwise.web.shared.monitoring import health_routes
from fairwise.web.shared.pages import pages_of
from fairwise.web.shared.requests import LanguageChoice, application, static_route, visitor_language
from fairwise.web.shared.security import Reply, StartPage, cookie_of, plain_page

_log = logging.getLogger("fairwise")
_PATIENCE_SECONDS = 1.0
"""Time limit for learning whether the study was changed; then it is served as it was."""

_AT_ONCE = ("/healthz", "/health", "/readyz", monitoring.PATH)  # whatever is slow, these say so
_FAILED = plain_page("Something went wrong", "Nothing that was saved is lost. Go back and try again.", 500)


class Site:
    """Hand each request to the study as it is now, or to the console."""

    def __init__(self, path: Path, database: str | Path, prefix: str = "", start_page: StartPage | None = None) -> None:
        self._place = (path, database, prefix, start_page)
        self._host: Host | None = None
        self._console: ASGIApp | None = None
        self._study: ASGIApp | None = None
        self._trials: TrialSite | None = None
        self._services: Services | None = None
        self._housekeeper: Housekeeper | None = None
        self._refresher: ThreadPoolExecutor | None = None
        self._refreshing: Future[None] | None = None
        self._refresh_begun = 0.0
        self._complaint = ""
        self.metrics = monitoring.Metrics()

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RuntimeError("the site has not been opened")
        return self._host

    @property
    def services(self) -> Services:
        """Services of the study as it is served now."""
        if self._services is None:
            raise RuntimeError("there is no study yet")
        return self._services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        reply, start, app = Reply(send), time.perf_counter(), None
        path: str = scope.get("path", "")
        try:
            if path not in _AT_ONCE and not path.startswith("/static/"):
                await self._keep_up()
            if path == monitoring.PATH:
                page = await self.metrics.page(scope, self.host.store)
                await page(scope, receive, reply.send)
                return
            app = self._app(path)
            await app(scope, receive, reply.send)
        except Exception:
            if reply.begun:
                raise
            _log.exception("A request failed")  # without its address, which is a key
            await _FAILED(scope, receive, reply.send)
        finally:
            if app is not None and scope["type"] == "http":
                self.metrics.count(app, scope, reply.status, time.perf_counter() - start)

    def _app(self, path: str) -> ASGIApp:
        app: ASGIApp | None = self._study
        if path == "/admin" or path.startswith("/admin/"):
            app = self._trials if TrialSite.is_for(path) else self._console
        assert app is not None
        return app

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            self.open()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        async with self.working():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Keep house while the block lasts, and close at its end what was opened before."""
        assert self._housekeeper is not None
        async with self._housekeeper.working():
            yield
        self.close()

    def open(self) -> None:
        """Open the study, or leave nothing open."""
        try:
            self._open()
        except Exception:
            if self._host is not None:
                self.close()
            raise

    def _open(self) -> None:
        host = self._host = Host(*self._place)
        self._housekeeper = Housekeeper(lambda: host.study, host.store, host.database)
        self._console = create_console(self._host)
        self._trials = TrialSite(self._host, participant_app)
        self._serve_study()
        self._refresher = ThreadPoolExecutor(1, "fairwise-refresher")

    def close(self) -> None:
        if self._refresher is not None:
            self._refresher.shutdown()
        if self._services is not None:
            self._services.answering.close()
        if self._trials is not None:
            self._trials.close()
        self.host.close()

    async def _keep_up(self) -> None:
        """Wait until the study is known as it is now, but not for a database or a disk that hangs."""
        assert self._refresher is not None
        for _ in range(2):  # once more if something was changed after another request began to look
            if not self.host.is_due:
                return
            if self._refreshing is None or self._refreshing.done():
                self._refreshing, self._refresh_begun = (
                    self._refresher.submit(with_log_lines(self._refresh)),
                    time.monotonic(),
                )
            left = self._refresh_begun + _PATIENCE_SECONDS - time.monotonic()
            if left > 0:
                refreshed = asyncio.wrap_future(self._refreshing)
                await asyncio.wait([refreshed], timeout=left)
                refreshed.cancel()  # only the waiting: what is under way goes on

    def _refresh(self) -> None:
        """Look for changes and never fail: the study is served as it was, and pages that need the database say so."""
        try:
            if self.host.refresh():
                before = self._services
                self._serve_study()
                if before is not None:
                    before.answering.close()
        except StoreUnavailable as error:
            self._complain(f"The database cannot be used at the moment: {error}")
        except Exception as error:  # noqa: BLE001 - the log says what it was
            self._complain(f"Whether the study was changed cannot be seen: {type(error).__name__}: {error}")
        else:
            self._complaint = ""

    def _complain(self, what: str) -> None:
        """Log a problem once, and not every second."""
        if what != self._complaint:
            self._complaint = what
            _log.error("%s", what)

    def _serve_study(self) -> None:
        host, study = self.host, self.host.study
        if study is None:
            self._study = _nothing_yet(host)
            return
        assert self._housekeeper is not None
        pages, taking = pages_of(study, host.prefix), answering(study, host.store, host.database)
        self._services = Services(host, study, pages, taking, self._housekeeper)
        self._study = participant_app(self._services)


def _nothing_yet(host: Host) -> Starlette:
    """Return the app that everyone sees before there is a study."""
    rendering = Rendering(host.prefix, host.start_page)

    def page(_scope: Scope, status: int) -> Response:
        heading, text = "There is no study here yet", "Whoever runs this server makes one in the console."
        html = rendering.page(
            "message", operator=None, csrf="", here="", study=None, done=None, heading=heading, text=text
        )
        return HTMLResponse(html, status)

    return application([static_route(), *monitoring.health_routes(host.store)], page, {})


# The pages of one study.

_PARTICIPANTS_READ = {
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
_PARTICIPANTS_READ_OTHERWISE = (
    marked("Something went wrong"),
    marked("Nothing that was saved is lost. Go back and try again."),
)


def participant_app(services: Services) -> Starlette:
    """The pages of one study."""
    prefix, offered = services.host.prefix, services.study.offered
    second_look, second_round, talking = SecondLookPages(services), SecondRoundPages(services), TalkingPages(services)
    consent, questions = ConsentPages(services, talking), QuestionPages(services, second_look)
    groups = (
        PairPages(services, consent.invited, second_look, second_round, questions, talking),
        OnboardingPages(services),
        questions,
        second_look,
        second_round,
        talking,
        OwnResultPages(services),
        VotePages(services),
        consent,
    )

    def message(scope: Scope, status: int) -> Response:
        heading, text = _PARTICIPANTS_READ.get(status, _PARTICIPANTS_READ_OTHERWISE)
        pages = services.pages[visitor_language(scope)]
        # To where they are, made anew; a link that leads nowhere must not lead to itself.
        own = re.match(r"/p/[^/]+", scope["path"]) if status != HTTPStatus.NOT_FOUND else None
        back = f"{prefix}{own[0] if own else '/'}"
        html = pages.render("message", heading=pages.translate(heading), text=pages.translate(text), back=back)
        return HTMLResponse(html, status)

    async def elsewhere(request: Request, error: Exception) -> Response:
        """Redirect from an old page, or a past stage, to where the participant is."""
        is_unchanged_answer = isinstance(error, NotShownAgain) and not services.study.settings.deliberation.on
        path = "/second-look?kept" if is_unchanged_answer else ""
        return RedirectResponse(f"{prefix}/p/{request.path_params['token']}{path}", 303)

    async def not_open(request: Request, _error: Exception) -> Response:
        return await consent.not_open(request)

    async def round_over(request: Request, _error: Exception) -> Response:
        return await consent.round_over(request)

    return application(
        [route for group in groups for route in group.routes()]
        + [public_report_route(services.host), static_route(), *health_routes(services.host.store)],
        message,
        {Unknown: 404},
        handlers={NotOpen: not_open, RoundOver: round_over, AlreadyFinished: elsewhere, NotYet: elsewhere},
        outside=[Middleware(LanguageChoice, languages=offered, path=f"{prefix}/")],
    )


# The console as an app of its own, under ``/admin``.

ALL_PAGES: tuple[type[ConsolePages], ...] = (
    LoginPages,
    OverviewPages,
    AccountPages,
    StudyWizardPages,
    StudyPages,
    TrialPages,
    ParticipantsPages,
    OneParticipantPages,
    RecruitmentPages,
    TalkingRoomPages,
    DownloadPages,
    DeliberationPages,
    FitPages,
    ReportPages,
    ResultPages,
    VotingPages,
    TrailPages,
    HelpPages,
)


def create_console(host: Host) -> Starlette:
    """An app whose every page but the login needs an account."""
    rendering = Rendering(host.prefix, host.start_page)

    def message(scope: Scope, status: int) -> Response:
        heading, text = REFUSALS.get(status, REFUSED_OTHERWISE)
        code = visitor_language(scope)
        html = rendering.page(
            "message", code, operator=None, csrf="", here="", study=host.study, done=None, heading=heading, text=text
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
        outside=[
            Middleware(LanguageChoice, languages=languages(), path=f"{host.prefix}/admin", cookie=LANGUAGE_COOKIE)
        ],
        scripts_may_ask=True,
        larger={route.path: route.most_bytes for pages in ALL_PAGES for route in pages.routes if route.most_bytes},
    )


@dataclass(frozen=True)
class OpenTrial:
    """A trial as this process serves it."""

    link: str
    """Address of its participant; every trial has another."""

    services: Services
    app: ASGIApp

    def close(self) -> None:
        self.services.answering.close()
        self.services.host.close()


class TrialSite:
    """Everything under ``/admin/try/NAME/``. Trials are opened when somebody comes, and closed when they are gone."""

    def __init__(self, host: Host, make_app: Callable[[Services], ASGIApp]) -> None:
        self._host, self._make_app = host, make_app
        self._trials = Trials(host.path, host.keys, host.prefix)
        self._open: dict[str, OpenTrial] = {}
        self._opening = asyncio.Lock()

    @staticmethod
    def is_for(path: str) -> bool:
        """Whether an address is one of a trial's own pages."""
        return path.startswith(f"{PATH}/") and "/" in path.removeprefix(f"{PATH}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, _, rest = scope["path"].removeprefix(f"{PATH}/").partition("/")
        token_hash = self._host.keys.hashed(cookie_of(HTTPConnection(scope), COOKIE) or "")
        who = await self._host.store.read(partial(operators.operator_of, token_hash=token_hash, at=datetime.now(UTC)))
        trial = None
        if who is not None and self._trials.name_of(who) == name:
            async with self._opening:
                trial = await asyncio.to_thread(self._trial, name)
        if trial is None:
            await RedirectResponse(f"{self._host.prefix}{PATH}", 303)(scope, receive, send)
            return
        path = f"/{rest}"
        await trial.app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def close(self) -> None:
        for trial in self._open.values():
            trial.close()
        self._open.clear()

    def _trial(self, name: str) -> OpenTrial | None:
        link, trial = self._trials.link(name), self._open.get(name)
        if trial is not None and trial.link != link:
            self._open.pop(name).close()
            trial = None
        if trial is None and link is not None:
            trial = self._open[name] = self._opened(name, link)
        return trial

    def _opened(self, name: str, link: str) -> OpenTrial:
        host = self._trials.open(name)
        assert host.study is not None
        study = replace(host.study, tried_arm=self._trials.arm(name))
        services = Services(
            host,
            study,
            pages_of(study, host.prefix, self._notice),
            answering(study, host.store, host.database),
            Housekeeper(lambda: host.study, host.store, host.database),
        )
        return OpenTrial(link, services, self._make_app(services))

    def _notice(self, code: str) -> Markup:
        """Return the notice at the top of every page of a trial."""
        translate = console_language(code).translate
        return Markup('{} <a href="{}">{}</a>').format(translate(NOTICE), f"{self._host.prefix}{PATH}", translate(END))
