"""What a fit leaves behind, in ``jobs/<id>/`` of the study's folder: all of it, or nothing.

``summary.json``
    ``settings`` as they were asked for; how many ``judges``, ``answers`` and ``people``; ``certificate`` (kind, error,
    lower_bound, gap, oracle_bound, max_violation, mean_violation, mean_excess; what is not known is null);
    ``error_without_judgments`` and ``error_of_guessing``; ``held_out`` (error on people left out, training on the
    others, low, high, splits), null where there are too few answers for it; how many answers are ``honoured``,
    ``given_up`` and ``asks_nothing``; ``group_rules`` (rule, value, limit); ``labels``, the outcomes as written;
    ``times`` (begun, ended).
``frontier.json``
    If it was asked for: ``points`` by eta (gamma, eta, error, lower_bound, kind, mean_excess, mean_violation,
    max_violation, honoured, given_up, and ``judgments`` given up, the dearest first: judge, a, b, answer, violation).
    The one that is ``own`` is the fit itself, number by number.
    At 0 every judgment is kept; from the last eta on nothing more is gained by giving judgments up.
``report.html``, ``model.skops``, ``scores.parquet``
    The report; the model; and ``id`` and ``good``, each person's probability of the favourable label.
``prices.parquet``
    What each answer costs: judge, a, b, answer, price, violation, excess, status.

Single answers are in ``report.html``, ``frontier.json`` and ``prices.parquet`` alone, which go when somebody withdraws
whose answers are in them; the fit is then made again without that person, and replaces the other files. A model of
version 0.1 may hold them too, until it is rewritten (see old_models.py): till then nobody gets it.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fairwise.store.jobs import Job

JOBS = "jobs"
SUMMARY, FRONTIER = "summary.json", "frontier.json"
REPORT, MODEL, SCORES, PRICES = "report.html", "model.skops", "scores.parquet", "prices.parquet"
WITH_ANSWERS = (REPORT, FRONTIER, PRICES)
"""Those that name single answers."""

MODEL_SCHEMA, MODEL_PRICES = "schema.json", "prices"  # as skops writes a dict: its values are nodes of their names

_ENDED = ("done", "failed", "cancelled")
_UNFINISHED = re.compile(r"\.(\d{1,9})(?:\.(\d{1,9}))?\.unfinished")


def job_folder(study: Path, job_id: int) -> Path:
    """Where the files of a job are, once it is done."""
    return study / JOBS / str(job_id)


def unfinished_folder(study: Path, job_id: int, run: int) -> Path:
    """Where a run of a job keeps what it has, answers too, until it is done; each ``restarts`` of a job is a run."""
    return study / JOBS / f".{job_id}.{run}.unfinished"


def remove_leftovers(study: Path, jobs: Iterable[Job]) -> None:
    """Delete the files of these jobs that nobody will use, such as those that hold answers of who withdrew.

    That is: what is unfinished of jobs that have ended and of earlier runs, the single answers of jobs that are made
    again, all that is there of jobs that failed or were stopped. No job may end meanwhile.
    """
    known = {job.id: job for job in jobs}
    for folder in (study / JOBS).glob(".*.unfinished"):
        number, run = _numbers(folder.name)
        job = known.get(number)
        if job is None:
            continue
        if run < job.restarts or (run == job.restarts and job.state in _ENDED):
            shutil.rmtree(folder, ignore_errors=True)
    for job in known.values():
        if job.state in ("failed", "cancelled"):
            shutil.rmtree(job_folder(study, job.id), ignore_errors=True)
        elif job.state != "done":
            folder = job_folder(study, job.id)
            old = [MODEL] if (folder / MODEL).exists() and may_hold_answers(folder / MODEL) else []
            for name in (*WITH_ANSWERS, *old):
                (folder / name).unlink(missing_ok=True)


def may_hold_answers(model: Path) -> bool:
    """Whether a model file holds prices of single answers, as those of version 0.1 do, or cannot be looked into."""
    try:
        with zipfile.ZipFile(model) as archive:
            prices = json.loads(archive.read(MODEL_SCHEMA))["content"].get(MODEL_PRICES)
        return bool(prices and prices["content"])
    except Exception:  # noqa: BLE001 - whatever it is
        return True


def _numbers(name: str) -> tuple[int, int]:
    """Of a folder of what is unfinished, the job and its run; version 0.1 kept all runs in one folder."""
    found = _UNFINISHED.fullmatch(name)
    return (0, 0) if found is None else (int(found[1]), int(found[2] or -1))


def read_json(study: Path, job_id: int, name: str) -> Any:
    """Return what ``summary.json`` or ``frontier.json`` says, or None if there is no such file."""
    file = job_folder(study, job_id) / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
