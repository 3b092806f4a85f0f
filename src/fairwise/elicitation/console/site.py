"""One address for participants and operators: the study at ``/``, the console at ``/admin``."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from fairwise.elicitation.console.app import create_console
from fairwise.elicitation.console.host import Host
from fairwise.elicitation.console.rendering import Rendering
from fairwise.elicitation.forgetting import SECONDS_BETWEEN, forget_in_time
from fairwise.elicitation.store.problems import StoreUnavailable
from fairwise.elicitation.web import metrics
from fairwise.elicitation.web.answering import answering
from fairwise.elicitation.web.app import add_files, participant_app
from fairwise.elicitation.web.security import Guard

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

_log = logging.getLogger("fairwise")


class Site:
    """Hands each request to the study as it is now, or to the console."""

    def __init__(self, path: Path, database: str | Path, prefix: str = "") -> None:
        self._given = (path, database, prefix)
        self._host: Host | None = None
        self._console: ASGIApp | None = None
        self._study: FastAPI | None = None
        self._changing = asyncio.Lock()
        self._metrics = metrics.Metrics()

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RuntimeError("the site has not been opened")
        return self._host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if self.host.is_due:
            await self._refresh()
        path: str = scope.get("path", "")
        if path == metrics.PATH and scope["type"] == "http":
            await (await self._metrics.page(scope, self.host.store))(scope, receive, send)
            return
        console = path == "/admin" or path.startswith("/admin/")
        app = self._console if console else self._study
        assert app is not None
        if scope["type"] == "http":
            await self._metrics.measured(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        forgetting: asyncio.Task[None] | None = None
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    self.open()
                except Exception as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    raise
                forgetting = asyncio.create_task(self._forget_daily())
                await send({"type": "lifespan.startup.complete"})
            else:
                if forgetting is not None:
                    forgetting.cancel()
                    await asyncio.wait([forgetting])
                self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def open(self) -> None:
        self._host = Host(*self._given)
        self._console = create_console(self._host)
        self._study = self._study_app()

    def close(self) -> None:
        if self._study is not None:
            self._study.state.answering.close()
        self.host.close()

    async def _forget_daily(self) -> None:
        """What a study keeps for some days only goes without anybody having to think of it."""
        while True:
            if self.host.study is not None:
                work = partial(forget_in_time, self.host.study.settings, self.host.store, self.host.database)
                try:
                    await asyncio.get_running_loop().run_in_executor(None, work)
                except StoreUnavailable:
                    _log.warning("What is older than retention_days could not be deleted; trying again in a day")
            await asyncio.sleep(SECONDS_BETWEEN)

    async def _refresh(self) -> None:
        async with self._changing:  # one looks, the others find it done
            if not self.host.is_due:
                return
            loop = asyncio.get_running_loop()
            try:
                changed = await loop.run_in_executor(None, self.host.refresh)
            except StoreUnavailable:  # whoever needs the database now is told so by the page they asked for
                return
            if changed:
                before, self._study = self._study, await loop.run_in_executor(None, self._study_app)
                if before is not None:
                    before.state.answering.close()

    def _study_app(self) -> FastAPI:
        host = self.host
        if host.study is None:
            return _nothing_yet(host)
        app = participant_app(host.study, host.prefix)
        app.state.store, app.state.database, app.state.host = host.store, host.database, host
        app.state.answering = answering(host.study, host.store, host.database)
        return app


class _NoAnswers:
    """Before there is a study."""

    def close(self) -> None: ...


def _nothing_yet(host: Host) -> FastAPI:
    """What everyone sees before there is a study."""
    rendering = Rendering(host.prefix)

    def page(status: int) -> Response:
        heading, text = "There is no study here yet", "Whoever runs this server makes one in the console."
        html = rendering.page(
            "message", operator=None, csrf="", here="", study=None, done=None, heading=heading, text=text
        )
        return HTMLResponse(html, status)

    async def nothing(_request: Request) -> Response:
        return page(404)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.answering, app.state.store = _NoAnswers(), host.store
    add_files(app)
    app.add_route("/{path:path}", nothing, methods=["GET"])
    app.add_middleware(Guard, refuse=lambda _scope, status: page(status))
    return app
