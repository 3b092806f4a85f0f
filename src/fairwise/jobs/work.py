"""The computing itself. Every function here runs on a worker of dask and takes and returns all that it needs."""

from __future__ import annotations

import json
import math
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.elicitation.job_files import FRONTIER, MODEL, REPORT, SCORES, SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from fairwise.jobs.task import Task
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.preparation import Prepared
    from fairwise.learning.result import Solution
    from fairwise.reporting import Findings

LOOSEST = 1.0
"""No panel suffers more than this, so that it limits nothing."""

STEPS = 10
_MOST_GIVEN_UP = 50
_CLOSE = 1e-6
_MOMENTS = {
    "dp": "DemographicParity",
    "tpr": "TruePositiveRateParity",
    "fpr": "FalsePositiveRateParity",
    "eo": "EqualizedOdds",
    "error": "ErrorRateParity",
}
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
)


def fit(task: Task, eta: float | None) -> bytes:
    """Return a model file of the fit at this eta."""
    model = _model(task, eta)
    with _one_thread():
        model.fit(task.people, task.outcome, judgments=task.judgments, sensitive_features=task.groups)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / MODEL)
        return (Path(folder) / MODEL).read_bytes()


def etas(task: Task, loosest: bytes) -> list[float]:
    """Return where to look: from 0 to what the panel suffers if nobody listens, and what was asked for."""
    end = _opened(loosest).certificate_.mean_excess
    if end < _CLOSE:
        return [0.0]
    found = [float(f"{eta:.4g}") for eta in np.linspace(0.0, end, STEPS + 1)]
    own = task.settings.eta
    if own is not None and own < found[-1]:
        found = [eta for eta in found if abs(own - eta) > _CLOSE] + [own]
    return sorted(found)


def frontier(task: Task, at: list[float], models: list[bytes]) -> list[dict[str, Any]]:
    """Make one curve of fits that were made apart."""
    from fairwise.learning.curve import join_points
    from fairwise.learning.preparation import prepare

    settings = _model(task, LOOSEST).get_params(deep=False)
    points = [(task.settings.gamma, eta) for eta in at]
    fits = [_opened(model) for model in models]
    with _one_thread():
        prepared = prepare(settings, task.people, task.outcome, task.judgments, None, task.groups)
        found = [model.classifiers_ for model in fits]
        solutions = join_points(prepared, points, found, [model.certificate_.oracle_bound for model in fits])
    return [_point(prepared, solution, *point) for point, solution in zip(points, solutions, strict=True)]


def artefacts(task: Task, own: bytes, curve: list[dict[str, Any]] | None) -> dict[str, bytes]:
    """Return every file of a finished job."""
    import pandas as pd

    from fairwise.reporting import findings, write_report

    model = _opened(own)
    columns = ("gamma", "eta", "error", "max_violation", "mean_violation", "mean_excess", "lower_bound")
    traced = None if curve is None else pd.DataFrame([{name: point[name] for name in columns} for point in curve])
    with _one_thread():
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
        )
    files = {SUMMARY: _json(_summary(task, model, found)), MODEL: own}
    if curve is not None:
        files[FRONTIER] = _json({"points": curve})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_report(found, folder / REPORT)
        _scores(task, model).to_parquet(folder / SCORES, index=False)
        return files | {file.name: file.read_bytes() for file in folder.iterdir()}


def _model(task: Task, eta: float | None) -> PairwiseFairClassifier:
    from fairwise.learning.estimator import PairwiseFairClassifier

    asked = task.settings
    estimator: Any = asked.estimator
    if estimator == "logistic":
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(max_iter=1000)
    moments = None
    if asked.group_rules:
        from fairlearn import reductions

        moments = [getattr(reductions, _MOMENTS[rule.rate])(difference_bound=rule.bound) for rule in asked.group_rules]
    return PairwiseFairClassifier(
        estimator,
        max_depth=asked.max_depth,
        gamma=asked.gamma,
        eta=eta,
        favorable_label=task.favorable_label,
        group_constraints=moments,
        judge_budgets=asked.judge_budget,
        random_state=0,
    )


def _opened(content: bytes) -> PairwiseFairClassifier:
    from fairwise.learning.estimator import PairwiseFairClassifier

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MODEL).write_bytes(content)
        return PairwiseFairClassifier.load(Path(folder) / MODEL)


def _point(prepared: Prepared, solution: Solution, gamma: float, eta: float) -> dict[str, Any]:
    from fairwise.learning.certificate import certify
    from fairwise.learning.mixture import Mixture
    from fairwise.learning.prices import price_table

    probability = Mixture(solution.classifiers, solution.weights).probabilities(prepared.judged_rows)
    favorable = probability if prepared.problem.sign > 0 else 1.0 - probability
    certificate = certify(
        solution,
        prepared.pairs,
        error=solution.error,
        favorable=favorable,
        gamma=gamma,
        eta=eta,
        weighting="answers",
    )
    multipliers = np.zeros(len(prepared.pairs))
    multipliers[prepared.problem.source] = solution.multipliers.rows[: prepared.problem.n_pairs]
    prices = price_table(prepared.pairs, multipliers, favorable, gamma)
    given_up = prices[prices["status"] == "given up"]
    dearest = given_up.sort_values(["price", "violation"], ascending=False, kind="stable").head(_MOST_GIVEN_UP)
    shown = ["judge", "a", "b", "answer", "violation"]
    measured = ("error", "lower_bound", "kind", "mean_excess", "mean_violation", "max_violation")
    return {
        "gamma": gamma,
        "eta": eta,
        **{name: getattr(certificate, name) for name in measured},
        "honoured": int((prices["status"] == "honoured").sum()),
        "given_up": len(given_up),
        "judgments": dearest[shown].to_dict("records"),
    }


def _summary(task: Task, model: PairwiseFairClassifier, found: Findings) -> dict[str, Any]:
    status = model.prices_["status"]
    certificate = asdict(model.certificate_)
    return {
        "settings": task.settings.model_dump(mode="json"),
        "judges": task.judgments.n_judges,
        "answers": len(task.judgments.counted()),
        "people": len(task.people),
        "certificate": {name: certificate[name] for name in _CERTIFIED},
        "error_without_judgments": found.plain_error,
        "error_of_guessing": found.guess_error,
        "honoured": int((status == "honoured").sum()),
        "given_up": int((status == "given up").sum()),
        "asks_nothing": int((status == "asks nothing").sum()),
        "group_rules": model.group_rules_[["rule", "value", "limit"]].to_dict("records"),
        "labels": [str(label) for label in model.classes_.tolist()],
        "times": {"begun": task.begun.isoformat(), "ended": datetime.now(UTC).isoformat()},
    }


def _scores(task: Task, model: PairwiseFairClassifier) -> pd.DataFrame:
    import pandas as pd

    place = model.classes_.tolist().index(task.favorable_label)
    return pd.DataFrame({"id": task.people.index, "good": model.predict_proba(task.people)[:, place]})


def _json(content: Any) -> bytes:
    return json.dumps(_plain(content), ensure_ascii=False, allow_nan=False, indent=1).encode()


def _plain(value: Any) -> Any:
    """Without what JSON cannot say: a number that is none is null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _one_thread() -> Iterator[None]:
    """The same numbers on any machine, and no core more than the one that was given."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
