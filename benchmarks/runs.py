"""Measure a row in a process of its own, so that none inherits what another loaded, and its peak memory is known."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.memory import GIB, largest_peak

if TYPE_CHECKING:
    from benchmarks.row import Row


@dataclass(frozen=True)
class Run:
    """A row and what measuring it took; ``peak`` in bytes, of the largest of its processes."""

    row: Row
    seconds: float
    peak: int

    @property
    def gib(self) -> str:
        return f"{self.peak / GIB:.2f} GiB"


_PLACES = {
    "answers-sqlite": "answering:on_sqlite",
    "answers-postgresql": "answering:on_postgresql",
    "knee-sqlite": "knee:on_sqlite",
    "knee-postgresql": "knee:on_postgresql",
}
"""Module and function of rows that share a module; others have one of their own, with ``run``."""


def place(name: str) -> tuple[str, str]:
    """Return the module and the function that measure a row."""
    module, _, function = _PLACES.get(name, f"{name.replace('-', '_')}:run").partition(":")
    return f"benchmarks.{module}", function


def measure(name: str) -> Run:
    with TemporaryDirectory() as folder:
        answer = Path(folder) / "run.pickle"
        command = f"from benchmarks.runs import measure_here; measure_here({name!r}, {str(answer)!r})"
        subprocess.run([sys.executable, "-c", command], check=True)
        run: Run = pickle.loads(answer.read_bytes())
    return run


def measure_here(name: str, answer: str) -> None:
    start = perf_counter()
    module, function = place(name)
    row: Row = getattr(import_module(module), function)()
    run = Run(row, perf_counter() - start, largest_peak())
    Path(answer).write_bytes(pickle.dumps(run))
