"""Numbers for Prometheus: how many requests, how long they take, how the study goes. About nobody in particular."""

from __future__ import annotations

import hmac
import os
import time
from bisect import bisect_left
from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from fairwise.store.errors import StoreUnavailable
from fairwise.store.identity import identity_in
from fairwise.store.migrate import newest_version
from fairwise.store.tables import JOB_STATES, answers, jobs, participants

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fairwise.store.store import Store


# Numbers for Prometheus: how many requests, how long they take, how the study goes. About nobody in particular.

PATH = "/metrics"
TOKEN = "FAIRWISE_METRICS_TOKEN"  # noqa: S105 - the name of where it is
"""Whoever has this secret may read the numbers. A setting, since an address tells little: behind a proxy on the same
machine everyone comes from there."""

_SHORTEST_TOKEN = 16
_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "HEAD", "POST")
_OTHER = "other"


class Metrics:
    """Counts the requests of one process. Paths are keys to pages, so only their patterns are told."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()

    async def measured(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and count what became of it."""
        begun, status = time.perf_counter(), 500

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, send_and_look)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else _OTHER
            route, seconds = _pattern(app, scope), time.perf_counter() - begun
            self._requests[method, route, status] += 1
            self._within[route, bisect_left(_SECONDS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]  # sums of seconds, by the same name

    async def page(self, scope: Scope, store: Store) -> Response:
        """All numbers as text; for whoever does not have the token, there is no such page."""
        if not _may_read(Headers(scope=scope)):
            return PlainTextResponse("not found", 404)
        try:
            study = await store.read(_of_the_study)
        except StoreUnavailable:
            study = []  # the requests are known all the same
        text = "".join(f"{line}\n" for line in (*self._lines(), *_failed(store), *study))
        return PlainTextResponse(text, media_type=_MEDIA_TYPE, headers={"cache-control": "no-store"})

    def _lines(self) -> Iterator[str]:
        """Of this process alone, which says so: with several, each is asked now and then."""
        process = f'process="{os.getpid()}"'
        yield from _head("fairwise_requests_total", "counter", "Requests by pattern of their path and by status.")
        for (method, route, status), number in sorted(self._requests.items()):
            labels = f'{process},method="{method}",route="{route}",status="{status}"'
            yield f"fairwise_requests_total{{{labels}}} {number}"
        yield from _head("fairwise_request_seconds", "histogram", "Seconds until a reply was sent.")
        for route in sorted(self._seconds):
            labels, so_far = f'{process},route="{route}"', 0
            for place, most in enumerate((*map(str, _SECONDS), "+Inf")):
                so_far += self._within[route, place]
                yield f'fairwise_request_seconds_bucket{{{labels},le="{most}"}} {so_far}'
            yield f"fairwise_request_seconds_sum{{{labels}}} {self._seconds[route]:.6f}"
            yield f"fairwise_request_seconds_count{{{labels}}} {so_far}"


def _may_read(headers: Headers) -> bool:
    token = os.environ.get(TOKEN, "")
    given = headers.get("authorization", "")
    return len(token) >= _SHORTEST_TOKEN and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _pattern(app: ASGIApp, scope: Scope) -> str:
    """Return the path of the route that answered, with its gaps; whatever no route knows is one and the same."""
    endpoint, routes = scope.get("endpoint"), getattr(app, "routes", ())
    return next((route.path_format for route in routes if endpoint is not None and route.endpoint == endpoint), _OTHER)


def _of_the_study(connection: Connection) -> list[str]:
    """What is in the database, whichever process put it there."""
    begun, finished = connection.execute(
        sa.select(sa.func.count(), sa.func.count(participants.c.finished_at)).select_from(participants)
    ).one()
    saved = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
    queued = connection.execute(sa.select(jobs.c.state, sa.func.count()).group_by(jobs.c.state))
    waiting = {row[0]: row[1] for row in queued}
    return [
        *_gauge("fairwise_answers", "Answers that are kept, each version of one counted.", [("", saved)]),
        *_gauge("fairwise_participants_begun", "Participants who agreed to take part.", [("", begun)]),
        *_gauge("fairwise_participants_finished", "Participants who finished.", [("", finished)]),
        *_gauge("fairwise_jobs", "Fits by state.", [(f'{{state="{s}"}}', waiting.get(s, 0)) for s in JOB_STATES]),
    ]


def _failed(store: Store) -> Iterator[str]:
    """Of this process alone, as the requests."""
    yield from _head("fairwise_failed_writes_total", "counter", "Changes that the database did not take, by kind.")
    for kind, number in sorted(store.failed.counts.items()):
        yield f'fairwise_failed_writes_total{{process="{os.getpid()}",kind="{kind}"}} {number}'


def _gauge(name: str, meaning: str, values: Iterable[tuple[str, int]]) -> Iterator[str]:
    yield from _head(name, "gauge", meaning)
    for labels, value in values:
        yield f"{name}{labels} {value}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


# For those who watch whether the server is there, and whether it can do its work.


def health_routes(store: Store) -> list[Route]:
    """`/healthz` (also `/health`): the process answers. `/readyz`: the database is ours and takes what is written."""

    async def alive(_request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(_request: Request) -> Response:
        problem = await _trouble(store)
        return PlainTextResponse(problem, 503) if problem else PlainTextResponse("ready")

    return [Route("/healthz", alive), Route("/health", alive), Route("/readyz", ready)]


async def _trouble(store: Store) -> str:
    """In a few words why not: whoever asks may be anyone."""
    try:
        problem = await store.read(partial(_problem, own=store.identity))
    except StoreUnavailable:
        problem = "the database cannot be reached"
    if not problem:
        try:
            await store.check_writing()
        except StoreUnavailable:
            problem = "the database cannot be written to"
    return problem


def _problem(connection: Connection, own: str | None) -> str:
    if MigrationContext.configure(connection).get_current_revision() != _newest():
        return "the database has tables of another version"
    return "" if identity_in(connection) == own else "the database is not the one that this study began with"


@cache
def _newest() -> str | None:
    return newest_version()
