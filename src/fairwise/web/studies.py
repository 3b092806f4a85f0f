"""A server with several studies, each at its own address with its own database, operators and cookies.

``/NAME/…`` is the site of the study in the folder ``NAME``, as if a proxy showed it under that prefix. The server
itself has a start page and the addresses for monitoring.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fairwise.errors import FairwiseError
from fairwise.store.logs import log_lines_of
from fairwise.store.operators import has_owner
from fairwise.store.places import Place, Places, find_places, is_address, is_settled, last_change
from fairwise.web.app import Site
from fairwise.web.console.base import LANGUAGE_COOKIE, languages
from fairwise.web.console.overview import Listing, listed
from fairwise.web.shared import monitoring
from fairwise.web.shared.requests import LanguageChoice, application, static_route
from fairwise.web.shared.security import StartPage, plain_page

_log = logging.getLogger("fairwise")
LOOKING_SECONDS = 2.0
"""Interval of looking for new, removed and repaired studies."""

_TRYING_SECONDS = 30.0
"""A study that could not be opened is tried again so often, and when something in its folder changes."""

_FOLDER = "the folder of studies"
_BROKEN = plain_page(
    "This study cannot be served at the moment",
    "Nothing that was saved is lost. Whoever runs the server finds the reason in its log.",
    503,
)


@dataclass
class Served:
    """A study that is open, and what is to be closed when it is gone."""

    place: Place
    site: Site
    life: AsyncExitStack = field(default_factory=AsyncExitStack)


class Studies:
    """Hand each request to the site of the study in its address; studies may come and go."""

    def __init__(self, folder: Path, database: str | None, prefix: str = "") -> None:
        """`database` is an address with ``{name}`` in it, or None for a file in the folder of each study."""
        self._folder, self._database, self._prefix = folder, database, prefix
        self._served: dict[str, Served] = {}
        self._complaints: dict[str, str] = {}
        self._failed: dict[str, tuple[float, float]] = {}
        """Times of the last change and the last try of studies that could not be opened."""

        self._server = self._server_pages()

    def site(self, name: str) -> Site:
        """Return the site of one study."""
        return self._served[name].site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path: str = scope.get("path", "")
        name, slash, rest = path.removeprefix("/").partition("/")
        served = self._served.get(name)
        if served is None:
            app = _BROKEN if name in self._complaints and is_address(name) else self._server
            await app(scope, receive, send)
        elif not slash and scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            # Not only for looks: cookies of the study are for what is below its address.
            query = scope["query_string"].decode("latin-1")
            address = f"{self._prefix}/{name}/" + (f"?{query}" if query else "")
            await RedirectResponse(address, 307)(scope, receive, send)
        else:
            below = f"/{rest}"
            with log_lines_of(name):
                await served.site({**scope, "path": below, "raw_path": below.encode()}, receive, send)

    # Which studies there are

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._working():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        await self.look(anew=True)
        looking = asyncio.create_task(self._go_on_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait([looking])
            for name in list(self._served):
                await self._close(name)

    async def _go_on_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOKING_SECONDS)
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - nobody else looks at this task, and the next time it may work
                _log.exception("Which studies there are could not be looked up; trying again")

    async def look(self, *, anew: bool = False) -> None:
        """Open studies that are new or whole again, and close those that are gone; `anew`: when the server starts."""
        try:
            places = await asyncio.to_thread(find_places, self._folder, self._database)
        except OSError as error:  # a disk that is away for a moment: what is open stays open
            self._complain(_FOLDER, f"{self._folder}: {error.strerror or error}")
            return
        for name in [name for name in self._served if name not in places.studies]:
            await self._close(name)
            with log_lines_of(name):
                _log.warning("Its folder is gone, and it is no longer served.")
        self._forget_complaints(places)
        for name, why in places.refused.items():
            self._complain(name, why)
        for place in places.studies.values():
            if place.name not in self._served and (anew or await asyncio.to_thread(self._is_due, place)):
                await self._open(place, is_new=not anew)

    def _is_due(self, place: Place) -> bool:
        """Whether to try a study: no longer being copied, and not as it was when it failed a moment ago."""
        changed, tried = self._failed.get(place.name, (0.0, -_TRYING_SECONDS))
        may_retry = time.monotonic() - tried >= _TRYING_SECONDS or last_change(place.path) != changed
        return may_retry and is_settled(place.path)

    async def _open(self, place: Place, *, is_new: bool) -> None:
        start_page = StartPage(f"{self._prefix}/", place.name)
        site = Site(place.path, place.database, f"{self._prefix}/{place.name}", start_page)
        with log_lines_of(place.name):
            try:
                await asyncio.to_thread(site.open)
                served = Served(place, site)
                await served.life.enter_async_context(site.working())
            except Exception as error:  # noqa: BLE001 - whatever it is, other studies are not to blame
                kind = "" if isinstance(error, (FairwiseError, OSError)) else f"{type(error).__name__}: "
                self._complain(place.name, kind + " ".join(str(error).split()))
                self._failed[place.name] = (last_change(place.path), time.monotonic())
            else:
                self._served[place.name] = served
                self._complaints.pop(place.name, None)
                self._failed.pop(place.name, None)
                if is_new:
                    _log.warning("A study was found in %s, and is served now.", place.path)
                    if not await site.host.store.read(has_owner):
                        _log.warning("It has no account yet: fairwise study operator add %s NAME", place.path)

    async def _close(self, name: str) -> None:
        """Requests under way are told that its database cannot be reached."""
        with log_lines_of(name):
            await self._served.pop(name).life.aclose()

    def _complain(self, name: str, why: str) -> None:
        """Log a problem once, and not every two seconds."""
        if self._complaints.get(name) != why:
            self._complaints[name] = why
            with log_lines_of(name):
                _log.error("It cannot be served: %s", why)

    def _forget_complaints(self, listed_studies: Places) -> None:
        for name in [
            name
            for name in self._complaints
            if name not in listed_studies.studies and name not in listed_studies.refused
        ]:
            del self._complaints[name]
            self._failed.pop(name, None)

    # What is not of one study

    def _server_pages(self) -> ASGIApp:
        listing = Listing(self._prefix)

        async def start(request: Request) -> Response:
            listed_studies = [await listed(served.site.host, request) for served in list(self._served.values())]
            return listing.page(request.scope, [one for one in listed_studies if one is not None])

        async def metrics(request: Request) -> Response:
            sites = {name: (served.site.metrics, served.site.host.store) for name, served in self._served.items()}
            return await monitoring.page_of_several(request.scope, sites)

        return application(
            [
                Route("/", start),
                Route("/healthz", monitoring.alive),
                Route("/health", monitoring.alive),
                Route("/readyz", self._ready),
                Route(monitoring.PATH, metrics),
                static_route(),
            ],
            listing.refusal,
            {},
            outside=[
                Middleware(LanguageChoice, languages=languages(), path=f"{self._prefix}/", cookie=LANGUAGE_COOKIE)
            ],
        )

    async def _ready(self, _request: Request) -> Response:
        """Ready as long as one study is: a broken one must not end the others. Each has a page of its own."""
        troubles = await asyncio.gather(*(monitoring.trouble(one.site.host.store) for one in self._served.values()))
        if any(troubles) or self._complaints:
            if "" not in troubles:
                return PlainTextResponse("no study is ready; the log says why", HTTPStatus.SERVICE_UNAVAILABLE)
            return PlainTextResponse("ready, but not every study is; the log says why")
        return PlainTextResponse("ready")
