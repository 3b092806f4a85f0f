"""One job from its first step to its files. What is finished is kept, so that a job cut short goes on where it was."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, Protocol

from fairwise.jobs import work
from fairwise.jobs.artefacts import artefacts
from fairwise.store.job_files import job_folder, unfinished_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fairwise.jobs.task import Task
    from fairwise.store.jobs import Job

    Tell = Callable[[float, str], None]

Call = tuple[Any, ...]
"""A function and what it is given."""


class Workers(Protocol):
    """Those who compute: a process of our own, or a cluster of dask."""

    def do(self, calls: Mapping[str, Call], done: Callable[[str, Any], None], wait: Callable[[], None]) -> None:
        """Make calls, and hand on each result by its name; `wait` is called again and again, and may raise."""


class JobHome:
    """Where a job keeps what it has, until all of it is there."""

    def __init__(self, study: Path, job: Job) -> None:
        self._done = job_folder(study, job.id)
        self.unfinished = unfinished_folder(study, job.id, job.restarts)
        self._whole = self.unfinished / "whole"

    def open(self) -> None:
        """Only who serves the study may look into it."""
        self._done.parent.mkdir(mode=0o700, exist_ok=True)
        self.unfinished.mkdir(mode=0o700, exist_ok=True)

    def clear(self) -> None:
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def kept(self, name: str) -> bytes | None:
        file = self.unfinished / name
        return file.read_bytes() if file.exists() else None

    def keep(self, name: str, content: bytes) -> None:
        """Whole or not at all, also if the machine stops now."""
        _write(self.unfinished / f"{name}.part", content)
        (self.unfinished / f"{name}.part").replace(self.unfinished / name)

    def finish(self, files: dict[str, bytes]) -> None:
        """Write all files down, to be published."""
        shutil.rmtree(self._whole, ignore_errors=True)
        self._whole.mkdir(mode=0o700)
        for name, content in files.items():
            _write(self._whole / name, content)

    def publish(self) -> None:
        """Give the files their place, all at once, also of a job made again. A second time it changes nothing."""
        if self._whole.exists():
            before = self.unfinished / "before"
            shutil.rmtree(before, ignore_errors=True)  # of a time when the transaction came to nothing
            if self._done.exists():
                self._done.rename(before)
            self._whole.rename(self._done)


def perform(task: Task, home: JobHome, workers: Workers, tell: Tell) -> None:
    """Fit, trace the frontier if it is asked for, and finish the files; `tell` is called often, and may raise."""
    asked = task.settings
    steps = _Steps(home, workers, tell, total=4 + (work.STEPS + 2 if asked.frontier else 0))
    first: dict[str, Call] = {"own": (work.fit, task, asked.eta)}
    if asked.frontier:
        first["loosest"] = (work.fit, task, work.LOOSEST)
    fits = steps.fits(first, "Fitting the model")
    curve = None
    if asked.frontier:
        at = steps.one((work.etas, task, fits["own"], fits["loosest"]), "Fitting the model")
        own = work.own_place(asked.eta, at)
        known = {at[-1]: fits["loosest"]} | {at[own]: fits["own"]}
        others = {f"point {eta!r}": (work.fit, task, eta) for eta in at if eta not in known}
        found = steps.fits(others, "Tracing the frontier")
        models = [known[eta] if eta in known else found[f"point {eta!r}"] for eta in at]
        curve = steps.one((work.frontier, task, at, models, own), "Joining the points of the frontier")
    held_out = steps.one((work.held_out, task), "Measuring on people left out")
    home.finish(steps.one((artefacts, task, fits["own"], curve, held_out), "Writing the report"))


class _Steps:
    """Counts what is done."""

    def __init__(self, home: JobHome, workers: Workers, tell: Tell, total: int) -> None:
        self._home, self._workers, self._tell = home, workers, tell
        self._total, self._count = total, 0

    def fits(self, calls: dict[str, Call], words: str) -> dict[str, work.FitFiles]:
        """Files of fits by name; those of an earlier try are taken as they are."""
        found = {name: files for name in calls if (files := self._kept(name)) is not None}
        self._count += len(found)

        def done(name: str, files: work.FitFiles) -> None:
            self._home.keep(f"{name}.parquet", files.prices)
            self._home.keep(f"{name}.skops", files.model)  # comes last: with it, both are there
            found[name] = files
            self._count += 1

        def wait() -> None:
            of = f": {len(found)} of {len(calls)}" if len(calls) > 2 else ""
            self._tell(self._share, f"{words}{of}")

        self._workers.do({name: call for name, call in calls.items() if name not in found}, done, wait)
        return found

    def _kept(self, name: str) -> work.FitFiles | None:
        model, prices = self._home.kept(f"{name}.skops"), self._home.kept(f"{name}.parquet")
        return None if model is None or prices is None else work.FitFiles(model, prices)

    def one(self, call: Call, words: str) -> Any:
        """The result of a single call."""
        results: list[Any] = []
        self._workers.do({"": call}, lambda _, result: results.append(result), lambda: self._tell(self._share, words))
        self._count += 1
        return results[0]

    @property
    def _share(self) -> float:
        return min(self._count / self._total, 0.99)


def _write(file: Path, content: bytes) -> None:
    with file.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
