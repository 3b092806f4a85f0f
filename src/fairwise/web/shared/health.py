"""For those who watch whether the server is there, and whether it can do its work."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from alembic.runtime.migration import MigrationContext
from fastapi.responses import PlainTextResponse

from fairwise.store.errors import StoreUnavailable
from fairwise.store.identity import identity_in
from fairwise.store.migrate import newest_version

if TYPE_CHECKING:
    from fastapi import FastAPI
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response

    from fairwise.store.store import Store


def add_health(app: FastAPI) -> None:
    """`/healthz` (also `/health`): the process answers. `/readyz`: the database is ours and takes what is written."""
    for path in ("/healthz", "/health"):
        app.add_route(path, _alive, methods=["GET"])
    app.add_route("/readyz", _ready, methods=["GET"])


async def _alive(_request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(request: Request) -> Response:
    """In a few words why not: whoever asks may be anyone."""
    store: Store = request.app.state.store
    try:
        problem = await store.read(partial(_problem, own=store.identity))
    except StoreUnavailable:
        problem = "the database cannot be reached"
    if not problem:
        try:
            await store.check_writing()
        except StoreUnavailable:
            problem = "the database cannot be written to"
    return PlainTextResponse(problem, 503) if problem else PlainTextResponse("ready")


def _problem(connection: Connection, own: str | None) -> str:
    if MigrationContext.configure(connection).get_current_revision() != _newest():
        return "the database has tables of another version"
    return "" if identity_in(connection) == own else "the database is not the one that this study began with"


@cache
def _newest() -> str | None:
    return newest_version()
