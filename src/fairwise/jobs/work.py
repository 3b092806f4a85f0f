"""The computing of fits. Every function here runs on a worker of dask and takes and returns all that it needs."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairwise.constraints.parities import parity
from fairwise.elicitation.job_files import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairwise.jobs.task import Task
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.preparation import Prepared
    from fairwise.learning.result import Solution

LOOSEST = 1.0
"""No panel suffers more than this, so that it limits nothing."""

STEPS = 10
_MOST_GIVEN_UP = 50
_CLOSE = 1e-6


def fit(task: Task, eta: float | None) -> bytes:
    """Return a model file of the fit at this eta."""
    model = _model(task, eta)
    with one_thread():
        model.fit(task.people, task.outcome, judgments=task.judgments, sensitive_features=task.groups)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / MODEL)
        return (Path(folder) / MODEL).read_bytes()


def etas(task: Task, loosest: bytes) -> list[float]:
    """Return where to look: from 0 to what the panel suffers if nobody listens, and what was asked for."""
    end = opened(loosest).certificate_.mean_excess
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
    fits = [opened(model) for model in models]
    with one_thread():
        prepared = prepare(settings, task.people, task.outcome, task.judgments, None, task.groups)
        found = [model.classifiers_ for model in fits]
        bounds = [model.certificate_.oracle_bound for model in fits]
        solutions = join_points(prepared, points, found, bounds, settings)
    return [_point(prepared, solution, *point) for point, solution in zip(points, solutions, strict=True)]


def _model(task: Task, eta: float | None) -> PairwiseFairClassifier:
    from fairwise.learning.estimator import PairwiseFairClassifier

    asked = task.settings
    estimator: Any = asked.estimator
    if estimator == "logistic":
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(max_iter=1000)
    return PairwiseFairClassifier(
        estimator,
        max_depth=asked.max_depth,
        gamma=asked.gamma,
        eta=eta,
        favorable_label=task.favorable_label,
        group_constraints=[parity(rule.rate, rule.bound) for rule in asked.group_rules] or None,
        judge_budgets=asked.judge_budget,
        random_state=0,
    )


def opened(content: bytes) -> PairwiseFairClassifier:
    """Return the model of a file."""
    from fairwise.learning.estimator import PairwiseFairClassifier

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MODEL).write_bytes(content)
        return PairwiseFairClassifier.load(Path(folder) / MODEL)


def _point(prepared: Prepared, solution: Solution, gamma: float, eta: float) -> dict[str, Any]:
    from fairwise.learning.measuring import Measured

    measured = Measured(prepared, solution)
    certificate, prices = measured.certificate(gamma, eta, "answers"), measured.prices(gamma)
    given_up = prices[prices["status"] == "given up"]
    dearest = given_up.sort_values(["price", "violation"], ascending=False, kind="stable").head(_MOST_GIVEN_UP)
    shown = ["judge", "a", "b", "answer", "violation"]
    told = ("error", "lower_bound", "kind", "mean_excess", "mean_violation", "max_violation")
    return {
        "gamma": gamma,
        "eta": eta,
        **{name: getattr(certificate, name) for name in told},
        "honoured": int((prices["status"] == "honoured").sum()),
        "given_up": len(given_up),
        "judgments": dearest[shown].to_dict("records"),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """The same numbers on any machine, and no core more than the one that was given."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
