"""numba, which compiles our loops: modules that use it take it from here, so that it is loaded in one go."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from fairwise.loading import collection_paused

with collection_paused():
    import numba
    from numba.core.event import Event, Listener, install_listener
    from numba.core.registry import cpu_target

    cpu_target.target_context.refresh()  # loads what it needs for any loop, which the first one would otherwise do

__all__ = ["COMPILING", "compilation_announced", "numba"]
COMPILING = "Compiling the loops of the learner, once after each install or update; this takes up to half a minute."
_log = logging.getLogger("fairwise")


class _Announcement(Listener):
    def on_start(self, event: Event) -> None:
        """Before a loop is compiled that was not in numba's cache."""
        if event.data["dispatcher"].py_func.__module__.startswith("fairwise."):
            _announce()

    def on_end(self, event: Event) -> None:
        pass


@contextmanager
def compilation_announced() -> Iterator[None]:
    """Log a line if something of ours is compiled meanwhile: half a minute without a word looks like a fault."""
    with install_listener("numba:compile", _Announcement()):
        yield


@cache
def _announce() -> None:
    """Say it once, on the level that is seen where nobody has set up logging; not as a warning, as nothing is wrong."""
    _log.warning("%s", COMPILING)
