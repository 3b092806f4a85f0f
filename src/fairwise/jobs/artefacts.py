"""What a finished fit leaves behind, as files. Made where the fit is computed, perhaps on a worker of dask."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwise.constraints.violations import status_counts
from fairwise.jobs.work import one_thread
from fairwise.plain_json import json_text
from fairwise.store.job_files import FRONTIER, MODEL, PRICES, REPORT, SCORES, SUMMARY

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.auditing import HeldOut
    from fairwise.jobs.task import Task
    from fairwise.jobs.work import FitFiles
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.reporting import Findings

_CERTIFIED = (
    "kind",
    "error",
    "lower_bound",
    "gap",
    "oracle_bound",
    "max_violation",
    "mean_violation",
    "mean_excess",
    "hypothesis_class",
    "stopped",
    "warnings",
)


def artefacts(
    task: Task, own: FitFiles, curve: list[dict[str, Any]] | None, held_out: HeldOut | None
) -> dict[str, bytes]:
    """Return every file of a finished job."""
    import pandas as pd

    from fairwise.reporting import findings, write_report

    model = own.opened()
    columns = ("gamma", "eta", "error", "max_violation", "mean_violation", "mean_excess", "lower_bound")
    traced = None if curve is None else pd.DataFrame([{name: point[name] for name in columns} for point in curve])
    with one_thread():
        found = findings(
            model,
            task.people,
            task.judgments,
            outcome=task.outcome,
            frontier=None if traced is None else traced.assign(judge="panel"),
            groups=None if task.groups is None else list(task.groups.columns),
            question=task.question,
            title=f"{task.title}: {task.settings.name}",
            date=f"{task.begun:%Y-%m-%d}",
            simulated=task.simulated,
            held_out=held_out,
        )
    files = {SUMMARY: _json(_summary(task, model, found)), MODEL: own.model, PRICES: own.prices}
    if curve is not None:
        files[FRONTIER] = _json({"points": curve})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_report(found, folder / REPORT)
        _scores(task, model).to_parquet(folder / SCORES, index=False)
        return files | {file.name: file.read_bytes() for file in folder.iterdir()}


def _summary(task: Task, model: PairwiseFairClassifier, found: Findings) -> dict[str, Any]:
    certificate = asdict(model.certificate_)
    return {
        "settings": task.settings.model_dump(mode="json"),
        "judges": task.judgments.n_judges,
        "answers": len(task.judgments.counted()),
        "people": len(task.people),
        "certificate": {name: certificate[name] for name in _CERTIFIED},
        "error_without_judgments": found.plain_error,
        "error_of_guessing": found.guess_error,
        "held_out": None if found.held_out is None else asdict(found.held_out),
        **status_counts(model.prices_["status"]),
        "group_rules": model.group_rules_[["rule", "value", "limit"]].to_dict("records"),
        "labels": [str(label) for label in model.classes_.tolist()],
        "times": {"begun": task.begun.isoformat(), "ended": datetime.now(UTC).isoformat()},
    }


def _scores(task: Task, model: PairwiseFairClassifier) -> pd.DataFrame:
    import pandas as pd

    place = model.classes_.tolist().index(task.favorable_label)
    return pd.DataFrame({"id": task.people.index, "good": model.predict_proba(task.people)[:, place]})


def _json(content: Any) -> bytes:
    return json_text(content, indent=1).encode()
