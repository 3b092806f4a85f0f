"""Cookies as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection


def cookie_of(visitor: HTTPConnection, name: str) -> str | None:
    """Return a cookie's value, the last of several with one name.

    Ours are tokens, and never in quotes. ``request.cookies`` would take the quotes off everybody's, also those that are
    not ours, and in older versions of Python that takes the square of their length.
    """
    pairs = (pair.partition("=") for header in visitor.headers.getlist("cookie") for pair in header.split(";"))
    return next((value.strip() for key, _, value in reversed(list(pairs)) if key.strip() == name), None)
