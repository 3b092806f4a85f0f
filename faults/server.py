"""The server under test: started, killed and started again on the same port."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from typing import TYPE_CHECKING

from benchmarks.served_study import HOST
from psutil import Popen, Process
from tests.support.served_process import free_port

from faults.line import Cut, Line
from faults.sabotaged import CLOCK, DIE_AFTER_COMMIT, READ_ONLY, serve

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 60.0
# Loading the program takes longer than all else, so it is done once, in a process from which servers are forked.
_LOADED = multiprocessing.get_context("forkserver")
_LOADED.set_forkserver_preload(["__main__", "faults.loaded"])


class Server:
    """``fairwise serve`` for one study; its database is SQLite in the folder unless a URL is given."""

    def __init__(self, folder: Path, database: str | None, *words: str) -> None:
        self.port, self.folder, self.database = free_port(), folder, database or folder / "study.sqlite"
        self.log = folder.with_name("server.log")
        self._wishes = folder.with_name("wishes")
        self._wishes.mkdir(exist_ok=True)
        where = [] if database is None else ["--database", database]
        self._words = [str(folder), "--port", str(self.port), "--no-jobs", *where, *words]
        self._forked = "--workers" not in words  # workers are processes of their own, and want a parent like any other
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        pid: int = self._process.pid
        return pid

    async def start(self) -> None:
        """Returns when pages are served."""
        self._process = self._launched()
        line, until = Line(), asyncio.get_running_loop().time() + _PATIENCE
        while asyncio.get_running_loop().time() < until and self._process.is_running():
            try:
                await line.ask(self.port, "/health")
            except Cut:
                await asyncio.sleep(0.03)
            else:
                line.hang_up()
                return
        raise RuntimeError(f"the server did not start: {self.log.read_text(encoding='utf-8')[-2000:]}")

    def _launched(self) -> Process:
        if self._forked:
            process = _LOADED.Process(target=serve, args=(self._words, self._wishes, self.log))
            process.start()
            return Process(process.pid)
        with self.log.open("ab") as log:
            words = [sys.executable, "-c", "from fairwise.cli import main; main()", "serve", *self._words]
            return Popen(words, stdout=log, stderr=log)

    async def kill(self) -> None:
        """At once, whatever it is doing."""
        os.kill(self.pid, signal.SIGKILL)
        await self.gone()

    async def die_after_commit(self) -> None:
        """Something was committed, and nobody was told."""
        self.wish(DIE_AFTER_COMMIT)
        await self.gone()

    async def stop(self) -> None:
        """As an operator does."""
        os.kill(self.pid, signal.SIGTERM)
        await self.gone()

    async def gone(self) -> None:
        """Until the process is, and whoever it left behind on its port."""
        assert self._process is not None
        await asyncio.to_thread(self._process.wait, _PATIENCE)
        async with asyncio.timeout(_PATIENCE):
            while await _is_taken(self.port):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)

    def wish(self, fault: str, text: str = "") -> None:
        draft = self._wishes / f"{fault}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(self._wishes / fault)  # at once: the server may look at any moment

    def unwish(self, fault: str) -> None:
        (self._wishes / fault).unlink(missing_ok=True)

    def read_only(self, wanted: bool) -> None:
        (self.wish if wanted else self.unwish)(READ_ONLY)

    def clock(self, seconds: float) -> None:
        self.wish(CLOCK, str(seconds))


async def _is_taken(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    writer.transport.abort()
    return True
