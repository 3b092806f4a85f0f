"""numba, which compiles our loops: modules that use it take it from here, so that it is loaded in one go."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

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
        """Announce the compilation of a loop that was not in numba's cache."""
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
    """Log it once after each install or update, on the level that is seen where nobody has set up logging.

    Each process compiles only the loops it needs, so several processes come here after one install. A file beside the
    compiled loops remembers that one of them has announced it.
    """
    here = Path(__file__).parent
    changed = max(file.stat().st_mtime_ns for file in here.rglob("*.py"))
    name = f"fairwise-{version('fairwise')}-numba-{numba.__version__}-{changed}.announced"
    own: str = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    for folder in (own, here / "__pycache__", Path.home() / ".cache" / "fairwise"):
        if folder:
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                for earlier in Path(folder).glob("fairwise-*.announced"):
                    if earlier.name != name:
                        earlier.unlink(missing_ok=True)
                (Path(folder) / name).touch(exist_ok=False)
            except FileExistsError:
                return
            except OSError:  # not to be written to
                continue
            break
    _log.warning("%s", COMPILING)
