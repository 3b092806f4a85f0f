"""The pages of participants in a trial of the study, shown to the operator who began it and to nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from markupsafe import Markup
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fairwise.store import operators
from fairwise.store.housekeeping import Housekeeper
from fairwise.web.console.base import COOKIE
from fairwise.web.console.rendering import console_language
from fairwise.web.console.trial import END, NOTICE
from fairwise.web.participant.answering import answering
from fairwise.web.participant.base import Services
from fairwise.web.shared.host import Host
from fairwise.web.shared.pages import pages_of
from fairwise.web.shared.security import cookie_of
from fairwise.web.shared.trials import PATH, Trials


@dataclass(frozen=True)
class OpenTrial:
    """A trial as this process serves it."""

    link: str
    """Of its participant: a trial that was begun anew has another."""

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
        link, known = self._trials.link(name), self._open.get(name)
        if known is not None and known.link != link:
            self._open.pop(name).close()
            known = None
        if known is None and link is not None:
            known = self._open[name] = self._opened(name, link)
        return known

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
        """What stands at the top of every page of a trial."""
        translate = console_language(code).translate
        return Markup('{} <a href="{}">{}</a>').format(translate(NOTICE), f"{self._host.prefix}{PATH}", translate(END))
