"""``fairwise serve`` with a clock around the pair page; the times are written when it stops."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from fairwise.cli import main as fairwise
from fairwise.web import server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TIMES = "FAIRWISE_BENCHMARK_TIMES"
_PAIR = re.compile(r"/p/[^/]+/pair/\d+")


class Timed:
    """From the moment the app is given a request to the moment its reply is handed over."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._times: dict[str, list[float]] = {"GET": [], "POST": []}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = perf_counter()
        await self._app(scope, receive, send)
        if scope["type"] == "http" and _PAIR.fullmatch(scope["path"]):
            self._times[scope["method"]].append(perf_counter() - start)
        elif scope["type"] == "lifespan":
            self._write()

    def _write(self) -> None:
        Path(os.environ[TIMES]).write_text(json.dumps(self._times), encoding="utf-8")


def main() -> None:
    make = server.app_from_environment
    server.app_from_environment = lambda: Timed(make())  # type: ignore[assignment, return-value]
    fairwise()
