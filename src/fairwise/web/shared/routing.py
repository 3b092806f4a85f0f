"""What every application of ours has in common: numbers in addresses, the guard before it, one page for refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from fairwise.store.errors import StoreUnavailable
from fairwise.web.shared.security import Guard, TooLarge, TooSlow
from fairwise.web.shared.templating import read_static_files

if TYPE_CHECKING:
    Answer = Callable[[Request, Exception], Awaitable[Response]]

_STATUS: Mapping[type[Exception], int] = {TooSlow: 408, TooLarge: 413, StoreUnavailable: 503}


class NumberConvertor(Convertor[int]):
    """``{number:number}`` in a path: digits as we write them. Whatever else stands there is an address of nothing."""

    regex = r"(?:0|[1-9][0-9]{0,8})(?!\n)"  # Starlette's own end of an address lets the end of a line pass

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", NumberConvertor())


class Application(Starlette):
    """Starlette without its own page for failures: the site that serves the app has one, and writes them to the log."""

    def build_middleware_stack(self) -> ASGIApp:
        page_for_failures = super().build_middleware_stack()
        assert isinstance(page_for_failures, ServerErrorMiddleware)
        return page_for_failures.app


def application(
    routes: Iterable[Route],
    message: Callable[[Scope, int], Response],
    statuses: Mapping[type[Exception], int],
    *,
    handlers: Mapping[type[Exception], Answer] | None = None,
    outside: Iterable[Middleware] = (),
    scripts_may_ask: bool = False,
    larger: Mapping[str, int] | None = None,
) -> Starlette:
    """Pages behind the guard, and ``message`` for whatever is refused.

    ``statuses`` says with which status a problem is refused, ``handlers`` answer what needs more than a message,
    ``outside`` are middlewares before the guard, ``scripts_may_ask`` and ``larger`` are options of :class:`Guard`.
    """
    refusals = {**statuses, **_STATUS}

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return message(request.scope, error.status_code)
        return message(request.scope, next(status for kind, status in refusals.items() if isinstance(error, kind)))

    app = Application(
        routes=list(routes),
        middleware=[*outside, Middleware(Guard, refuse=message, scripts_may_ask=scripts_may_ask, larger=larger)],
        exception_handlers={**dict.fromkeys((HTTPException, *refusals), refused), **(handlers or {})},
    )
    app.router.redirect_slashes = False  # it knows of no prefix, and would lead out of the study
    return app


def static_route() -> Route:
    """Styles and scripts, read once."""
    files = read_static_files()

    async def serve(request: Request) -> Response:
        if request.path_params["name"] not in files:
            raise HTTPException(404)
        content, media_type = files[request.path_params["name"]]
        # Its address holds a hash of it: another content has another address.
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=media_type, headers=headers)

    return Route("/static/{name}", serve, methods=["GET"])
