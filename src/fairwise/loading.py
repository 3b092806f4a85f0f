"""Loading of modules: without garbage collection, and with the extras that a part needs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from fairwise.errors import MissingExtraError


@contextmanager
def collection_paused() -> Iterator[None]:
    """Look for no garbage meanwhile: nearly all that modules make stays, and looking takes up to a third of loading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # what a program has frozen stays so
                gc.freeze()
                gc.unfreeze()  # with it all objects count as old, which are looked through least often
            gc.enable()


EXTRAS = {
    "report": ("babel", "jinja2", "matplotlib"),
    "study": (
        *("alembic", "argon2", "babel", "httptools", "itsdangerous", "jinja2", "markdown_it", "nh3", "pydantic"),
        *("prometheus_client", "python_multipart", "segno", "sqlalchemy", "starlette", "tomlkit", "uvicorn"),
    ),
    "bots": ("httpx2",),
    "scale": ("dask", "distributed"),
    "onnx": ("onnx", "skl2onnx"),
}
"""The modules that an extra brings."""


def require(extra: str, what: str) -> None:
    """Refuse if a module of the extra is not there; `what` is what needs it, as the message begins.

    >>> require("report", "A report")
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
        packages = f"{', '.join(missing[:2])}{more}, not installed here"
        raise MissingExtraError(f"{what} needs the extra {extra} ({packages}): pip install 'fairwise[{extra}]'")
