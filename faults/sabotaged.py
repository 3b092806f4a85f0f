"""``fairwise serve`` in a process that can be told, by files in a folder, to have a fault.

``die-after-commit``
    The next time a change was committed, and before anybody is told, the process is gone.
``read-only``
    SQLite's file cannot be written to.
``clock``
    Holds by how many seconds the clock is wrong.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import Future
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa

from fairwise.cli.app import run
from fairwise.store import store
from fairwise.web import server

if TYPE_CHECKING:
    from pathlib import Path

DIE_AFTER_COMMIT, READ_ONLY, CLOCK = "die-after-commit", "read-only", "clock"


def serve(words: list[str], wishes: Path, log: Path) -> None:
    """Serve until killed, having the faults that are wished for."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    _die_after_commit(wishes / DIE_AFTER_COMMIT)
    _be_read_only(wishes / READ_ONLY)
    make = server.app_from_environment

    def with_a_wrong_clock() -> Any:
        app = make()
        _move_the_clock(wishes / CLOCK)  # now that everything is loaded that asks for the time
        return app

    server.app_from_environment = with_a_wrong_clock
    sys.argv = ["fairwise", "serve", *words]
    run()


def _die_after_commit(wish: Path) -> None:
    class Told(Future[Any]):
        def set_result(self, result: Any) -> None:
            if wish.exists():
                wish.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            super().set_result(result)

    store.Future = Told  # type: ignore[attr-defined]


def _be_read_only(wish: Path) -> None:
    make = store.writing_engine  # type: ignore[attr-defined]

    def writing_engine(url: sa.URL, **more: Any) -> sa.Engine:
        engine: sa.Engine = make(url, **more)
        if engine.dialect.name == "sqlite":
            sa.event.listen(
                engine, "checkout", lambda driver, *_: driver.execute(f"PRAGMA query_only = {wish.exists()}")
            )
        return engine

    store.writing_engine = writing_engine  # type: ignore[attr-defined]


def _move_the_clock(wish: Path) -> None:
    right, right_ns = time.time, time.time_ns

    def wrong_by() -> float:
        return float(wish.read_text(encoding="utf-8")) if wish.exists() else 0.0

    class WrongTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(right() + wrong_by(), tz)

    time.time = lambda: right() + wrong_by()
    time.time_ns = lambda: right_ns() + int(wrong_by() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith("fairwise.") and getattr(module, "datetime", None) is datetime:
            module.datetime = WrongTime  # type: ignore[attr-defined]
