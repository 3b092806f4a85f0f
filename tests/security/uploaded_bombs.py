"""Six small files at once that would fill the memory, each from the owner of another study, while others visit.

``python -m tests.security.uploaded_bombs`` sends each kind of file six times at once, and all kinds one after the
other. It prints how much memory the server and all its processes took above what they had before, and how long
visitors of another study waited. Words behind it choose the files that have one of them in their names.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import httpx2
import numpy as np
from tests.support.bombs import BOMBS
from tests.support.operating import PASSWORD
from tests.support.served_process import served

from fairwise.study.folder import SECRET, SECRET_BYTES
from fairwise.study.new_study import make_sample
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AT_ONCE = 6
_PAUSE = 0.02
_COOKIE, _ORIGIN = "fairwise_operator", {"sec-fetch-site": "same-origin"}


@dataclass(frozen=True)
class Bombarded:
    """What came of it."""

    megabytes: int
    """At most, above before."""

    visits: tuple[tuple[int, float], ...]
    """Status and seconds of each page of the other study."""

    replies: tuple[tuple[int, str], ...]
    """To those who sent files."""

    def __str__(self) -> str:
        seconds = [taken for _, taken in self.visits]
        return (
            f"+{self.megabytes} MB, {len(seconds)} visits, p50 {np.quantile(seconds, 0.5):.3f} s, "
            f"p99 {np.quantile(seconds, 0.99):.3f} s, statuses {sorted({status for status, _ in self.visits})}, "
            f"replies {sorted(status for status, _ in self.replies)}"
        )


class Bombardment:
    """A server with a study that is asked and several that are being made, whose owners send files."""

    def __init__(self, address: str, server: int, folders: Sequence[Path]) -> None:
        self.address, self.server, self.folders = address, server, folders
        self._owners = {folder: httpx2.Client(base_url=address, headers=_ORIGIN, timeout=300) for folder in folders}
        for folder in folders:
            setup = f"/{folder.name}/admin/setup/{_keys(folder).form('first operator')}"
            fields = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
            reply = self._owners[folder].post(setup, data={"csrf": self._csrf(folder), **fields})
            assert reply.status_code == 303

    def close(self) -> None:
        for owner in self._owners.values():
            owner.close()

    def _csrf(self, folder: Path) -> str:
        return _keys(folder).form(f"console {self._owners[folder].cookies.get(_COOKIE, '')}")

    def send(self, folder: Path, name: str) -> tuple[int, str]:
        """Upload a file as the owner of a study."""
        files = {"file": (name, BOMBS[name]())}
        reply = self._owners[folder].post(f"/{folder.name}/admin/new", data={"csrf": self._csrf(folder)}, files=files)
        return reply.status_code, reply.text

    def of(self, names: Sequence[str]) -> Bombarded:
        """Send files at once, each to another study."""
        before, most, over = self._memory(), [0], Event()
        visits: list[tuple[int, float]] = []

        def watch() -> None:
            while not over.is_set():
                most[0] = max(most[0], self._memory())
                time.sleep(_PAUSE)

        def visit() -> None:
            with httpx2.Client(base_url=self.address, timeout=300) as visitor:
                while not over.is_set():
                    begun = time.perf_counter()
                    status = visitor.get("/asked/").status_code
                    visits.append((status, time.perf_counter() - begun))
                    time.sleep(_PAUSE)

        beside = [Thread(target=watch), Thread(target=visit)]
        for thread in beside:
            thread.start()
        try:
            with ThreadPoolExecutor(len(names)) as senders:
                replies = tuple(senders.map(self.send, self.folders, names))
        finally:
            over.set()
            for thread in beside:
                thread.join()
        return Bombarded(most[0] - before, tuple(visits), replies)

    def _memory(self) -> int:
        """Megabytes of the server and of all processes that it began."""
        parents = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(folder.name)] = int(fields[1]), int(fields[21]) * 4096 >> 20
        total, ours = 0, {self.server}
        while ours:
            total += sum(parents[one][1] for one in ours if one in parents)
            ours = {one for one, (parent, _) in parents.items() if parent in ours}
        return total


@contextmanager
def bombardment(home: Path) -> Iterator[Bombardment]:
    """Serve a sample study, and folders in which studies are to be made."""
    make_sample(home / "asked")
    folders = [home / f"new{number}" for number in range(AT_ONCE)]
    for folder in folders:
        folder.mkdir()
        (folder / SECRET).write_bytes(secrets.token_bytes(SECRET_BYTES))
    with (
        served(home, "--several", "--no-jobs") as (address, process),
        closing(Bombardment(address, process.pid, folders)) as attack,
    ):
        yield attack


def _keys(folder: Path) -> Keys:
    return Keys((folder / SECRET).read_bytes())


def main() -> None:
    names = [name for name in BOMBS if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory() as folder, bombardment(Path(folder)) as attack:
        print(f"one small table: {attack.of(['blank cells.csv'])}", flush=True)
        for name in names:
            print(f"{name}: {attack.of([name] * AT_ONCE)}", flush=True)


if __name__ == "__main__":
    main()
