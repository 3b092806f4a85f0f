"""One job from its first step to its files. What is finished is kept, so that a job cut short goes on where it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairwise.jobs.fit_data import MEANT, FitData
from fairwise.store.fit_files import FRONTIER, INFLUENCE, MODEL, PRICES, job_folder, unfinished_folder
from fairwise.store.jobs import Job
from fairwise.study.fit_choices import MOST_LEFT_OUT
from fairwise.tables.output import write_whole

if TYPE_CHECKING:
    Tell = Callable[[float, str], None]

Call = tuple[Any, ...]
"""A function and its arguments."""

_CURVE_WEIGHT = 6
"""To trace a frontier takes about as long as so many fits."""


_INFLUENCE_WEIGHT = 6
"""To leave out each participant, likewise."""


class Workers(Protocol):
    """Those who compute: a process of our own, or a cluster of dask."""

    shares_disk: bool
    """Whether they can write into the job's folder."""

    def result(self, call: Call, wait: Callable[[float], None]) -> Any:
        """Make a call; `wait` is called again and again with the share that is known to be done, and may raise."""


class JobFolder:
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

    def kept(self, names: tuple[str, ...]) -> dict[str, bytes] | None:
        """The files of an earlier try, if all of these are there."""
        files = {name: self.unfinished / name for name in names}
        if not all(file.exists() for file in files.values()):
            return None
        return {name: file.read_bytes() for name, file in files.items()}

    def keep(self, files: dict[str, bytes]) -> None:
        """Each whole or not at all, also if the machine stops now."""
        for name, content in files.items():
            write_whole(self.unfinished / name, partial(_write, content=content))

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


def perform(data: FitData, folder: JobFolder, workers: Workers, tell: Tell) -> None:
    """Fit, trace the frontier if it is asked for, and finish the files; `tell` is called often, and may raise."""
    weight = _CURVE_WEIGHT if data.settings.frontier else 0
    left_out = _INFLUENCE_WEIGHT if leaves_out(data) else 0
    asked_again = data.second_round is not None
    steps = _Steps(folder, workers, tell, total=3 + asked_again + data.uses_meaning + weight + left_out)
    talked = steps.result("Comparing both rounds", 1, "talking", data) if asked_again else None
    if data.uses_meaning:
        steps.files((MEANT,), "Learning what people mean", 1, "meant", data)
        data = data.with_answers(folder.unfinished / MEANT)
    files = steps.files((MODEL, PRICES), "Fitting the model", 1, "fit", data)
    if data.settings.frontier:
        kept = folder.unfinished if workers.shares_disk else None
        files |= steps.files((FRONTIER,), "Tracing the frontier", weight, "trace", data, files, kept, progress)
    if left_out:
        words = "Leaving out each participant"
        files |= steps.files((INFLUENCE,), words, left_out, "influence", data, files, progress)
    held_out = steps.result("Measuring on people left out", 1, "held_out", data)
    folder.finish(files | steps.result("Writing the report", 1, "artefacts", data, files, held_out, talked))


def leaves_out(data: FitData) -> bool:
    """Whether it is found out what each participant changes: of few, and of models that may decide by lot."""
    if data.amount is not None or data.settings.deterministic:
        return False
    return data.settings.influence and data.judgments.n_judges <= MOST_LEFT_OUT


def compute(name: str, *arguments: Any) -> Any:
    """Call a function of `work`, which is imported only where it runs: it brings along all that a fit needs."""
    return getattr(import_module("fairwise.jobs.work"), name)(*arguments)


def progress(_done: int, _total: int) -> None:
    """An argument that stands for the progress of a call: a worker that can tell it puts its own in its place."""


class _Steps:
    """Counts what is done, by weight."""

    def __init__(self, folder: JobFolder, workers: Workers, tell: Tell, total: int) -> None:
        self._folder, self._workers, self._tell = folder, workers, tell
        self._total, self._done = total, 0

    def files(self, names: tuple[str, ...], words: str, weight: int, *call: Any) -> dict[str, bytes]:
        """Files with these names; those of an earlier try are taken as they are."""
        files = self._folder.kept(names)
        if files is None:
            files = self.result(words, weight, *call)
            self._folder.keep(files)
        else:
            self._done += weight
        return files

    def result(self, words: str, weight: int, *call: Any) -> Any:
        def wait(share: float) -> None:
            self._tell(min((self._done + share * weight) / self._total, 0.99), words)

        result = self._workers.result((compute, *call), wait)
        self._done += weight
        return result


def _write(file: Path, content: bytes) -> None:
    with file.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
