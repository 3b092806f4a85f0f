"""Numbers for Prometheus: how many requests, how long they take, how the study goes. About nobody in particular."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache, partial

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from sqlalchemy import Connection
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from fairwise.store.engine import current_version, newest_version
from fairwise.store.errors import StoreUnavailable
from fairwise.store.places import identity_in
from fairwise.store.schema import JOB_STATES, answers, jobs, participants
from fairwise.store.store import Store

PATH = "/metrics"
TOKEN = "FAIRWISE_METRICS_TOKEN"  # noqa: S105 - the name of where it is
"""Environment variable of the secret that opens the numbers. An address tells little: behind a proxy on the same
machine everyone comes from there."""

_SHORTEST_TOKEN = 16
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "HEAD", "POST")
_OTHER = "other"


class Metrics:
    """Counts the requests of one process, which says so: with several, each is asked now and then.

    Paths are keys to pages, so only their patterns are told.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # when a number was first counted: nobody asks
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "fairwise_requests_total",
            "Requests by pattern of their path and by status.",
            ("process", "method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "fairwise_request_seconds",
            "Seconds until a reply was sent.",
            ("process", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )

    def count(self, app: ASGIApp, scope: Scope, status: int, seconds: float) -> None:
        """Count a request by the pattern of its route; all addresses without a route count as one."""
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        endpoint, route = scope.get("endpoint"), _OTHER
        for candidate in getattr(app, "routes", ()) if endpoint is not None else ():
            if candidate.endpoint == endpoint:
                route = candidate.path_format
                break
        self._requests.labels(os.getpid(), method, route, status).inc()
        self._seconds.labels(os.getpid(), route).observe(seconds)

    async def page(self, scope: Scope, store: Store) -> Response:
        """Return all numbers as text, or 404 without the token."""
        if not _may_read(Headers(scope=scope)):
            return PlainTextResponse("not found", 404)
        return _numbers(b"".join(generate_latest(registry) for registry in await self.registries(store)))

    async def registries(self, store: Store) -> list[CollectorRegistry]:
        """Return the registries of one study."""
        registries = [self._registry, _failed_writes(store)]
        with suppress(StoreUnavailable):  # the requests are known all the same
            registries.append(await store.read(_study_numbers))
        return registries


async def page_of_several(scope: Scope, studies: Mapping[str, tuple[Metrics, Store]]) -> Response:
    """The numbers of several studies, each with the label ``study``."""
    if not _may_read(Headers(scope=scope)):
        return PlainTextResponse("not found", 404)
    registries = {name: await metrics.registries(store) for name, (metrics, store) in studies.items()}
    return _numbers(generate_latest(_Labelled(registries)))


class _Labelled:
    """A format in which every number is explained once: so those of one kind stand together, whichever study's."""

    def __init__(self, registries: Mapping[str, list[CollectorRegistry]]) -> None:
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        kinds: dict[str, Metric] = {}
        for study, registries in self._registries.items():
            for metric in (metric for registry in registries for metric in registry.collect()):
                kind = kinds.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                kind.samples += [one._replace(labels={"study": study, **one.labels}) for one in metric.samples]
        return kinds.values()


def _numbers(text: bytes) -> Response:
    return Response(text, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4, "cache-control": "no-store"})


def _may_read(headers: Headers) -> bool:
    token = os.environ.get(TOKEN, "")
    sent = headers.get("authorization", "")
    return len(token) >= _SHORTEST_TOKEN and hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())


def _study_numbers(connection: Connection) -> CollectorRegistry:
    """Return numbers of the database, for all processes."""
    registry = CollectorRegistry()
    started, finished = connection.execute(
        sa.select(sa.func.count(), sa.func.count(participants.c.finished_at)).select_from(participants)
    ).one()
    kept = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
    for name, meaning, number in (
        ("answers", "Answers that are kept, each version of one counted.", kept),
        ("participants_begun", "Participants who agreed to take part.", started),
        ("participants_finished", "Participants who finished.", finished),
    ):
        Gauge(f"fairwise_{name}", meaning, registry=registry).set(number)
    by_state = Gauge("fairwise_jobs", "Models by state.", ("state",), registry=registry)
    for state in JOB_STATES:
        by_state.labels(state)
    for state, number in connection.execute(sa.select(jobs.c.state, sa.func.count()).group_by(jobs.c.state)):
        by_state.labels(state).set(number)
    return registry


def _failed_writes(store: Store) -> CollectorRegistry:
    """Return the failed writes of this process."""
    registry = CollectorRegistry()
    meaning = "Changes that the database did not take, by kind."
    failed = Counter("fairwise_failed_writes_total", meaning, ("process", "kind"), registry=registry)
    for kind, number in store.failed.counts.items():
        failed.labels(os.getpid(), kind).inc(number)
    return registry


# For those who watch whether the server is there, and whether it can do its work.


async def alive(_request: Request) -> Response:
    return PlainTextResponse("ok")


def health_routes(store: Store) -> list[Route]:
    """`/healthz` (also `/health`): the process answers. `/readyz`: the database is ours and takes what is written."""

    async def ready(_request: Request) -> Response:
        problem = await trouble(store)
        return PlainTextResponse(problem, 503) if problem else PlainTextResponse("ready")

    return [Route("/healthz", alive), Route("/health", alive), Route("/readyz", ready)]


async def trouble(store: Store) -> str:
    """Return in a few words why the study is not ready; empty if it is. Anyone may read it."""
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
    if current_version(connection) != _newest_version():
        return "the database has tables of another version"
    return "" if identity_in(connection) == own else "the database is not the one that this study began with"


_newest_version = cache(newest_version)
