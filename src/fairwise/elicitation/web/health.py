"""For those who watch whether the server is there, and whether it can do its work."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from alembic.runtime.migration import MigrationContext
from fastapi.responses import PlainTextResponse

from fairwise.elicitation.store.migrate import newest_version
from fairwise.elicitation.store.problems import StoreUnavailable

if TYPE_CHECKING:
    from fastapi import FastAPI
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response

    from fairwise.elicitation.store.store import Store


def add_health(app: FastAPI) -> None:
    """`/healthz` (also `/health`): the process answers. `/readyz`: so does the database, and its tables are ours."""
    for path in ("/healthz", "/health"):
        app.add_route(path, _alive, methods=["GET"])
    app.add_route("/readyz", _ready, methods=["GET"])


async def _alive(_request: Request) -> Response:
    return PlainTextResponse("ok")


async def _ready(request: Request) -> Response:
    """In one word why not: whoever asks may be anyone."""
    store: Store = request.app.state.store
    try:
        current = await store.read(_version)
    except StoreUnavailable:
        return PlainTextResponse("the database cannot be reached", 503)
    if current != _newest():
        return PlainTextResponse("the database has tables of another version", 503)
    return PlainTextResponse("ready")


def _version(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _newest() -> str | None:
    return newest_version()
