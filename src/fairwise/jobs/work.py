"""The computing of fits. Every function takes and returns all that it needs.

They run in another process, perhaps on a worker of dask.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairwise.constraints.parities import parity
from fairwise.constraints.violations import GIVEN_UP, status_counts
from fairwise.errors import InputError
from fairwise.store.job_files import MODEL, PRICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from fairwise.auditing import HeldOut
    from fairwise.jobs.task import Task
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.model.certificate import Certificate

LOOSEST = 1.0
"""No panel suffers more than this, so that it limits nothing."""

STEPS = 10
SPLITS = 3
"""So many times the model is made anew from a part of the people, to be measured on the others."""

_MOST_GIVEN_UP = 50
_CLOSE = 1e-6


class FitFiles(NamedTuple):
    """A model file, and beside it the file of what each answer costs."""

    model: bytes
    prices: bytes

    def opened(self) -> PairwiseFairClassifier:
        """Return the model, with its prices."""
        from fairwise.learning.estimator import PairwiseFairClassifier

        with tempfile.TemporaryDirectory() as folder:
            model, prices = Path(folder) / MODEL, Path(folder) / PRICES
            model.write_bytes(self.model)
            prices.write_bytes(self.prices)
            return PairwiseFairClassifier.load(model, prices=prices)


def fit(task: Task, eta: float | None) -> FitFiles:
    """Return the files of the fit at this eta."""
    model = _model(task, eta)
    with one_thread():
        model.fit(task.people, task.outcome, judgments=task.judgments, sensitive_features=task.groups)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / MODEL, Path(folder) / PRICES
        model.save(files[0], prices=files[1])
        return FitFiles(*(file.read_bytes() for file in files))


def held_out(task: Task) -> HeldOut | None:
    """Return how such a model does on people it was not made from; None where there are too few answers to part."""
    from fairwise.auditing import held_out as measured

    settings: dict[str, Any] = {} if task.groups is None else {"fit_params": {"sensitive_features": task.groups}}
    model = _model(task, task.settings.eta)
    try:
        with one_thread():
            return measured(model, task.people, task.outcome, task.judgments, n_repeats=SPLITS, **settings)
    except InputError:
        return None


def etas(task: Task, own: FitFiles, loosest: FitFiles) -> list[float]:
    """Return where to look: from 0 to what the panel suffers if nobody listens, and what was asked for.

    Where what was asked for limits nothing, the fit itself is one that listens to nobody, and the last point.
    """
    asked, end = task.settings.eta, loosest.opened().certificate_.mean_excess
    if asked is None or asked >= end:
        end = own.opened().certificate_.mean_excess
    if end < _CLOSE:
        return [0.0]
    found = [float(f"{eta:.4g}") for eta in np.linspace(0.0, end, STEPS + 1)]
    if asked is not None and asked < found[-1]:
        found = [eta for eta in found if abs(asked - eta) > _CLOSE] + [asked]
    return sorted(found)


def own_place(eta: float | None, at: list[float]) -> int:
    """Return which point is the fit itself; beyond the last one, more budget changes nothing."""
    return len(at) - 1 if eta is None or eta >= at[-1] else at.index(eta)


def frontier(task: Task, at: list[float], models: list[FitFiles], own: int) -> list[dict[str, Any]]:
    """Make one curve of fits that were made apart, of which one is the fit that was asked for.

    Over all classifiers together other mixtures are as good, with other judgments given up; the numbers of the fit
    itself are its own.
    """
    from fairwise.learning.model.mixture import Measurement
    from fairwise.learning.preparation import prepare
    from fairwise.learning.solvers.dispatch import join_points

    settings = _model(task, LOOSEST).get_params(deep=False)
    points = [(task.settings.gamma, eta) for eta in at]
    fits = [model.opened() for model in models]
    with one_thread():
        prepared = prepare(settings, task.people, task.outcome, task.judgments, None, task.groups)
        found = [model.classifiers_ for model in fits]
        bounds = [model.certificate_.oracle_bound for model in fits]
        solutions = join_points(prepared, points, found, bounds)
        measured = [Measurement(prepared, solution) for solution in solutions]
    lines = [
        _point(one.certificate(*point, "answers"), one.prices(point[0]), *point)
        for one, point in zip(measured, points, strict=True)
    ]
    lines[own] = _point(fits[own].certificate_, fits[own].prices_, *points[own], own=True)
    return lines


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


def _point(
    certificate: Certificate, prices: pd.DataFrame, gamma: float, eta: float, *, own: bool = False
) -> dict[str, Any]:
    given_up = prices[prices["status"] == GIVEN_UP]
    counts = status_counts(prices["status"])
    dearest = given_up.sort_values(["price", "violation"], ascending=False, kind="stable").head(_MOST_GIVEN_UP)
    shown = ["judge", "a", "b", "answer", "violation"]
    told = ("error", "lower_bound", "kind", "mean_excess", "mean_violation", "max_violation")
    return {
        "gamma": gamma,
        "eta": eta,
        "own": own,
        **{name: getattr(certificate, name) for name in told},
        **{name: counts[name] for name in ("honoured", "given_up")},
        "judgments": dearest[shown].to_dict("records"),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """The same numbers on any machine, and no core more than the one that was given."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
