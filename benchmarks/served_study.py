"""A study about the people of COMPAS, served by a process of its own on a free port of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import compas
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
_PATIENCE = 30.0


@dataclass(frozen=True)
class Served:
    """Where it listens, and which process it is."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Spent so far by the server, on whichever core."""
        counts = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(counts[11]) + int(counts[12])) / os.sysconf("SC_CLK_TCK")


def make_study(home: Path, name: str = "study", *, pairs: int = 50, **choices: Any) -> Path:
    """All eight columns on every card, four answers."""
    people, _ = compas.people()
    people.to_csv(home / "people.csv", index_label="person")
    folder = home / name
    file = PeopleFile.read(home / "people.csv", "person")
    new_study(
        folder, file, list(map(str, people.columns)), {"title": "Benchmark", "pairs": pairs, "seed": 0, **choices}
    )
    return folder


@contextmanager
def served(folder: Path, *words: str, module: str = "fairwise.cli") -> Iterator[Served]:
    """Run ``fairwise serve`` until the block ends."""
    port = free_port()
    run = "import sys; from importlib import import_module; import_module(sys.argv.pop(1)).main()"
    command = [sys.executable, "-c", run, module, "serve", str(folder), "--port", str(port), *words]
    with (folder.parent / "server.log").open("w") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            _wait_for(port, server)
            yield Served(port, server)
        finally:
            server.terminate()
            server.wait(_PATIENCE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("the server did not start; see server.log")
