"""Error against gamma or eta: what respecting the judgments costs, for the panel or for each judge alone."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise.auditing.provenance import COLUMN, Provenance, checksum_of_settings, checksum_of_tables
from fairwise.constraints.violations import NOT_FOLLOWED, status_counts
from fairwise.errors import InputError, shown
from fairwise.judgments import Judgments
from fairwise.learning.large.table import large_table
from fairwise.learning.settings import FitSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwise.auditing.curves import Curves, Rows
    from fairwise.constraints.certificate import Certificate
    from fairwise.learning.estimator import PairwiseFairClassifier

PANEL = "panel"
RATE = "false_positive_rate "
CERTIFIED = ("error", "max_violation", "mean_violation", "mean_excess", "lower_bound", "kind")
"""What a line of a frontier has of its certificate."""

_GAMMAS = tuple(float(gamma) for gamma in np.linspace(0.0, 1.0, 11).round(1))


def frontier(
    people: Any,
    outcome: Any,
    judgments: Judgments,
    *,
    gammas: Sequence[float] | None = None,
    etas: Sequence[float | None] | None = None,
    by: Literal["panel", "judge"] = "panel",
    n_jobs: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    groups: Any = None,
    start: PairwiseFairClassifier | None = None,
    n_not_followed: int | None = None,
    client: Any = None,
    **settings: Any,
) -> pd.DataFrame:
    """The least error found for every gamma and eta asked for.

    Parameters
    ----------
    gammas, etas
        Values to combine; without them gamma from 0 to 1 in steps of 0.1, and eta = 0. An eta of None leaves the
        panel without a budget.
    by
        ``"panel"``: one curve for everyone together; ``"judge"``: one for each judge alone.
    n_jobs
        How many curves at once. The numbers are the same for any.
    checkpoint
        A file that keeps finished curves, and of the panel's own what was found for each point: called again with it
        and the same arguments, the run goes on where it was cut short. Judges' curves have the same numbers then, the
        panel's the same to ``tol``.
    progress
        Called with the number of points done and in all.
    groups
        A group for each person, in the order of people: adds a column ``false_positive_rate GROUP`` for each.
    start
        A model of the same people and settings, with whose classifiers the search for each curve begins.
    n_not_followed
        Adds how many judgments are ``followed`` and ``not_followed`` at each point, and in ``judgments`` so many of the
        latter as records, the most expensive first.
    client
        That of a dask cluster: its workers trace the curves, or share the passes over a table that is read in blocks.
    settings
        Those of :class:`~fairwise.PairwiseFairClassifier`, but gamma and eta.

    Returns
    -------
    DataFrame with judge, gamma, eta, error, max_violation, mean_violation, mean_excess (all as realised), lower_bound
    (NaN without a proof), kind, error_low to error_high, a 95 % interval for the error of this very model on other
    people drawn like these (it knows nothing of how much the fit was fitted to these people), and made_from, by which a
    report sees whether the curve is of its own people, judgments and settings. With column generation
    each curve falls and is convex by construction (see :func:`~fairwise.learning.solvers.dispatch.solve_curve`).
    """
    # To audit scores needs none of this, and scikit-learn and the compiler take a second to load.
    from fairwise.auditing.checkpoint import Checkpoint
    from fairwise.auditing.curves import Curves, solve_large
    from fairwise.learning.inputs import group_labels

    checked = _checked_settings(settings)
    _check(judgments, by, n_jobs, checked)
    points = _checked_points(gammas, etas, checked)
    judges: list[Any] = [None] if by == "panel" else judgments.judges
    large = large_table(people, outcome)
    if large is not None:
        in_memory = {
            "checkpoint": checkpoint,
            "sample_weight": sample_weight,
            "groups": groups,
            "sensitive_features": sensitive_features,
            "start": start,
        }
        for name in (name for name, value in in_memory.items() if value is not None):
            raise InputError(f"{name}= needs the whole table in memory (groups: LargeTable(..., groups='column')).")
        rows = solve_large(large, judgments, points, checked, judges, n_not_followed, client)
        return pd.DataFrame(rows).assign(**{COLUMN: str(Provenance.of(None, None, judgments, checked))})
    if not judges:
        raise InputError("there is no judge to trace a curve for.")
    run = Curves(
        *(people, outcome, judgments, checked, points, sample_weight, sensitive_features),
        groups=None if groups is None else group_labels(groups, _index(people), "groups"),
        start=None if start is None else start.classifiers_,
        n_not_followed=n_not_followed,
    )
    kept = None if checkpoint is None else Checkpoint(checkpoint, _fingerprint(run, by))
    finished: dict[str, Rows] = {} if kept is None else kept.finished
    left = [judge for judge in judges if str(judge) not in finished]
    count = _Progress(progress, len(judges) * len(points), (len(judges) - len(left)) * len(points))
    keep = None
    if kept is not None and by == "panel":  # of many curves, those that are finished are enough
        run, keep = replace(run, start=kept.classifiers or run.start), kept.keep_classifiers
    for judge, rows in run.solve(left, n_jobs, count.step, client, keep):
        finished[str(judge)] = rows
        if kept is not None:
            kept.add(str(judge), rows)
    curves = pd.DataFrame([row for judge in judges for row in finished[str(judge)]])
    return curves.assign(**{COLUMN: str(Provenance.of(pd.DataFrame(people), outcome, judgments, checked))})


def certified_row(certificate: Certificate) -> dict[str, Any]:
    """What a line of a frontier says of a model's error, violations and bound."""
    eta = np.nan if certificate.eta is None else certificate.eta
    return {"gamma": certificate.gamma, "eta": eta} | {name: getattr(certificate, name) for name in CERTIFIED}


def followed_row(prices: pd.DataFrame, n_not_followed: int) -> dict[str, Any]:
    """How many judgments a model follows and how many not; of the latter so many, the most expensive first."""
    counts = status_counts(prices["status"])
    not_followed = prices[prices["status"] == NOT_FOLLOWED]
    first = not_followed.sort_values(["price", "violation"], ascending=False, kind="stable").head(n_not_followed)
    listed = first[["judge", "a", "b", "answer", "violation"]].to_dict("records")
    return {"followed": counts["followed"], "not_followed": counts["not_followed"], "judgments": listed}


class _Progress:
    def __init__(self, tell: Callable[[int, int], None] | None, total: int, done: int) -> None:
        self._tell, self._total, self._done = tell, total, done
        self.step(0)

    def step(self, points: int) -> None:
        self._done += points
        if self._tell is not None:
            self._tell(self._done, self._total)


def _check(judgments: Any, by: str, n_jobs: int, settings: dict[str, Any]) -> None:
    if not isinstance(judgments, Judgments):
        raise InputError("judgments must be a Judgments object: wrap the table in Judgments(...).")
    if by not in ("panel", "judge"):
        raise InputError(f"by={shown(by)} is not allowed: use 'panel' or 'judge'.")
    if by == "judge" and settings["judge_budgets"] is not None:
        raise InputError("judge_budgets are about a whole panel: use them with by='panel'.")
    if n_jobs == 0:
        raise InputError("n_jobs=0 is not allowed: at least one process must work, or -1 for one per core.")


def _checked_settings(settings: dict[str, Any]) -> dict[str, Any]:
    from fairwise.learning.estimator import PairwiseFairClassifier

    known = PairwiseFairClassifier().get_params(deep=False)
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(f"frontier has no setting {unknown[0]!r}; beside its own it takes those of the estimator.")
    for name, several in (("gamma", "gammas"), ("eta", "etas")):
        if name in settings:
            raise InputError(f"frontier takes {several}=[...], not {name}=: it is a curve over several values.")
    return {**known, **settings}


def _checked_points(
    gammas: Sequence[float] | None, etas: Sequence[float | None] | None, settings: dict[str, Any]
) -> list[tuple[float, float | None]]:
    points = []
    at_gammas = _GAMMAS if gammas is None else _values("gammas", gammas)
    for eta in (0.0,) if etas is None else _values("etas", etas):
        for gamma in at_gammas:
            FitSettings.of({**settings, "gamma": gamma, "eta": eta})
            points.append((float(gamma), None if eta is None else float(eta)))
    if not points:
        raise InputError("frontier needs at least one gamma and one eta.")
    return points


def _index(people: Any) -> pd.Index:
    return people.index if isinstance(people, pd.DataFrame) else pd.RangeIndex(len(people))


def _values(name: str, given: Any) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise InputError(f"{name}={shown(given)} is not allowed: give a list of numbers from 0 to 1.") from None


def _fingerprint(run: Curves, by: str) -> str:
    """Of everything that the numbers depend on."""
    content = checksum_of_tables(
        run.people,
        run.outcome,
        run.judgments.counted(),
        run.judgments.judge_attributes,
        run.judgments.people,
        run.sample_weight,
        run.sensitive_features,
        run.groups,
    )
    try:
        settings = checksum_of_settings(run.settings if run.start is None else (run.settings, run.start))
    except PicklingError as error:
        raise InputError(f"checkpoint= needs an estimator that can be pickled: {error.args[0]}") from None
    more = () if run.n_not_followed is None else (run.n_not_followed,)
    content.update(repr((version("fairwise"), by, run.points, settings, *more)).encode())
    return content.hexdigest()
