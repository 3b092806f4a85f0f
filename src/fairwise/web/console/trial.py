"""Trying a study as a participant would, in a copy of it with a database of its own: nothing of it is left behind."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.console.rendering import Rendering
from fairwise.web.shared.host import Host
from fairwise.web.shared.trials import HOURS_KEPT, Trials

TRIED = "study tried"
"""What is written down when a trial ends."""

NOTICE = marked("This is a trial: nothing that you answer here is kept.")
END = marked("End the trial")


class TrialPages(ConsolePages):
    """Begin and end a trial; its own pages are those of participants, see ``web/trial_site.py``."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._trials = Trials(host.path, host.keys, host.prefix)
        self._trials.discard_old()

    async def show(self, request: Request) -> Response:
        study = self._study()
        link = self._trials.link(self._trials.name_of(request.state.operator))
        return self._page(
            request, "try", link=link, pairs=study.settings.pairs, hours=HOURS_KEPT, arms=study.settings.arms
        )

    async def begin(self, request: Request) -> Response:
        self._trials.discard_old()
        name = self._trials.name_of(request.state.operator)
        link = await self._beside(self._trials.begin, name, self._study(), request.state.form.text("arm", 100))
        asyncio.get_running_loop().call_later(HOURS_KEPT * 3600 + 60, self._trials.discard_old)
        return RedirectResponse(link, 303)

    async def end(self, request: Request) -> Response:
        study, name = self._study(), self._trials.name_of(request.state.operator)
        if self._trials.link(name) is not None:
            await self._beside(self._trials.end, name)
            await self._noted(request, TRIED, study.settings.title, lambda _: None)
        return self._to("?done=tried")

    routes = (
        ConsoleRoute("GET", "/admin/try", show, "owner"),
        ConsoleRoute("POST", "/admin/try", begin, "owner"),
        ConsoleRoute("POST", "/admin/try/end", end, "owner"),
    )
