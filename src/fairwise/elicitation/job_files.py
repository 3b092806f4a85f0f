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
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

JOBS = "jobs"
SUMMARY, FRONTIER = "summary.json", "frontier.json"
REPORT, MODEL, SCORES = "report.html", "model.skops", "scores.parquet"


def job_folder(study: Path, job_id: int) -> Path:
    """Where the files of a job are, once it is done."""
    return study / JOBS / str(job_id)


def forget_answers(study: Path) -> None:
    """Delete the files that name single answers, after somebody's were deleted: reports and frontiers.

    Numbers and models stay. What a fit under way keeps of the answers goes with it when it is cancelled.
    """
    for name in (REPORT, FRONTIER):
        for file in (study / JOBS).glob(f"*/{name}"):
            file.unlink(missing_ok=True)


def read_json(study: Path, job_id: int, name: str) -> Any:
    """Return what ``summary.json`` or ``frontier.json`` says, or None if there is no such file."""
    file = job_folder(study, job_id) / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
