"""A study about the people of COMPAS, served by a process of its own on a free port of this machine."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.served_process import served as serve_process

from benchmarks import compas
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Served:
    """Where it listens, and which process it is."""

    port: int
    process: subprocess.Popen[str]

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
    with (
        (folder.parent / "server.log").open("w") as log,
        serve_process(folder, *words, module=module, output=log) as (address, process),
    ):
        if process.poll() is not None:
            raise RuntimeError("the server did not start; see server.log")
        yield Served(int(address.rpartition(":")[2]), process)
