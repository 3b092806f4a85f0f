"""Error against gamma or eta: what respecting the judgments costs, for the panel or for each judge alone."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise.auditing.checkpoint import Checkpoint
from fairwise.auditing.curve_points import RATE, point_row
from fairwise.auditing.made_from import COLUMN, MadeFrom, checksum_of_settings, checksum_of_tables
from fairwise.errors import InputError, shown
from fairwise.judgments import Judgments
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.large.table import large_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from fairwise.auditing.checkpoint import Rows
    from fairwise.learning.oracles.base import Classifiers
    from fairwise.learning.preparation import Prepared
    from fairwise.learning.solvers.solution import Solution

PANEL = "panel"
_GAMMAS = tuple(float(gamma) for gamma in np.linspace(0.0, 1.0, 11).round(1))


@dataclass(frozen=True, eq=False)
class _Run:
    """What every curve of a run has in common."""

    people: Any
    outcome: Any
    judgments: Judgments
    settings: dict[str, Any]
    points: list[tuple[float, float | None]]
    sample_weight: Any
    sensitive_features: Any
    groups: pd.Series | None

    def prepared(self, judgments: Judgments) -> Prepared:
        # Any limit but 0 will do: it makes room for a budget, and each point of the curve sets its own.
        from fairwise.learning.preparation import prepare

        settings = {**self.settings, "gamma": 0.0, "eta": 1.0}
        return prepare(settings, self.people, self.outcome, judgments, self.sample_weight, self.sensitive_features)

    @property
    def n_people(self) -> float:
        """How many people of equal weight the table is worth (Kish)."""
        if self.sample_weight is None:
            return float(len(self.people))
        weight = np.asarray(self.sample_weight, dtype=float)
        weight = weight / weight.max()
        return float(weight.sum() ** 2 / (weight**2).sum())

    def curve(self, judge: Any, shared: Classifiers | None, step: Callable[[], None] = lambda: None) -> Rows:
        """Solve one curve (judge None: the panel's), on one thread: the same numbers for any number of workers."""
        from threadpoolctl import threadpool_limits

        from fairwise.learning.solvers.dispatch import solve_curve

        with threadpool_limits(1):
            prepared = self.prepared(self.judgments if judge is None else self.judgments.select([judge]))
            solutions = solve_curve(prepared, self.points, shared, step)
            return [
                {
                    "judge": PANEL if judge is None else judge,
                    **point_row(prepared, solution, *point, self.settings["weighting"], self.n_people),
                    **self._group_rates(prepared, solution),
                }
                for point, solution in zip(self.points, solutions, strict=True)
            ]

    def _group_rates(self, prepared: Prepared, solution: Solution) -> dict[str, float]:
        """False positive rate of each group, weighted: how likely someone without label 1 is to get it."""
        if self.groups is None:
            return {}
        from fairwise.learning.model.mixture import Mixture

        points = prepared.problem.points
        probability = Mixture(solution.classifiers, solution.weights).probabilities(points.rows)
        # The people with positive weight, in the order in which a problem has them.
        weight = (
            np.ones(len(self.people)) if self.sample_weight is None else np.asarray(self.sample_weight, dtype=float)
        )
        negative = (weight > 0) & (np.asarray(self.outcome) != prepared.classes[1])
        given = probability[prepared.people][negative[weight > 0]]
        group, weight = self.groups.to_numpy()[negative], weight[negative] / weight.max()
        rates = pd.Series(weight * given).groupby(group).sum() / pd.Series(weight).groupby(group).sum()
        return {f"{RATE}{group}": float(rates.get(group, np.nan)) for group in sorted(self.groups.unique(), key=str)}


def frontier(
    people: Any,
    outcome: Any,
    judgments: Judgments,
    *,
    gammas: Sequence[float] | None = None,
    etas: Sequence[float | None] | None = None,
    by: Literal["panel", "judge"] = "panel",
    n_jobs: int = 1,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    groups: Any = None,
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
        A file that keeps finished curves: called again with it and the same arguments, the run goes on.
    progress
        Called with the number of points done and in all.
    groups
        A group for each person, in the order of people: adds a column ``false_positive_rate GROUP`` for each.
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
    if not isinstance(judgments, Judgments):
        raise InputError("judgments must be a Judgments object: wrap the table in Judgments(...).")
    if by not in ("panel", "judge"):
        raise InputError(f"by={shown(by)} is not allowed: use 'panel' or 'judge'.")
    checked = _checked_settings(settings)
    if by == "judge" and checked["judge_budgets"] is not None:
        raise InputError("judge_budgets are about a whole panel: use them with by='panel'.")
    if n_jobs == 0:
        raise InputError("n_jobs=0 is not allowed: at least one process must work, or -1 for one per core.")
    points = _checked_points(gammas, etas, checked)
    large = large_table(people, outcome)
    if large is not None:
        from fairwise.auditing.large_curves import large_frontier

        given = {"checkpoint": checkpoint, "sample_weight": sample_weight, "groups": groups}
        given["sensitive_features"] = sensitive_features
        for name in (name for name, value in given.items() if value is not None):
            raise InputError(f"{name}= needs the whole table in memory (groups: LargeTable(..., groups='column')).")
        return large_frontier(large, judgments, points, checked, by_judge=by == "judge", client=client)
    run = _Run(
        people, outcome, judgments, checked, points, sample_weight, sensitive_features, _checked_groups(groups, people)
    )

    judges: list[Any] = [None] if by == "panel" else judgments.judges
    if not judges:
        raise InputError("there is no judge to trace a curve for.")
    kept = None if checkpoint is None else Checkpoint(checkpoint, _fingerprint(run, by))
    finished: dict[str, Rows] = {} if kept is None else kept.finished
    left = [judge for judge in judges if str(judge) not in finished]
    tell = _Progress(progress, len(judges) * len(points), (len(judges) - len(left)) * len(points))
    for judge, rows in _solved(run, left, n_jobs, tell, client):
        finished[str(judge)] = rows
        if kept is not None:
            kept.add(str(judge), rows)
    curves = pd.DataFrame([row for judge in judges for row in finished[str(judge)]])
    return curves.assign(**{COLUMN: str(MadeFrom.of(pd.DataFrame(people), outcome, judgments, checked))})


def _solved(run: _Run, judges: list[Any], n_jobs: int, tell: _Progress, client: Any) -> Iterator[tuple[Any, Rows]]:
    """Curves as they are finished."""
    generates = run.settings["solver"] == "column-generation"
    shared = _shared_seeds(run) if generates and judges and judges != [None] else None
    if client is None and (len(judges) == 1 or n_jobs == 1):
        yield from ((judge, run.curve(judge, shared, tell.step)) for judge in judges)
        return
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    # Games against the regression oracle are compiled and over before a process would have started.
    quick = run.settings["estimator"] == "linear-regression" and run.settings["solver"] == "no-regret"
    work = (delayed(_named)(run, judge, shared) for judge in judges)
    jobs = n_jobs if client is None else -1
    with threadpool_limits(1), joblib_on(client):
        parallel = Parallel(n_jobs=jobs, prefer="threads" if quick else None, return_as="generator_unordered")
        for judge, rows in parallel(work):
            tell.step(len(rows))
            yield judge, rows


def _named(run: _Run, judge: Any, shared: Classifiers | None) -> tuple[Any, Rows]:
    return judge, run.curve(judge, shared)


def _shared_seeds(run: _Run) -> Classifiers | None:
    """Where the class is linear: what a few rounds of the dynamics find for the whole panel, given to every judge."""
    from threadpoolctl import threadpool_limits

    from fairwise.learning.solvers.regression_game import seeds

    with threadpool_limits(1):
        prepared = run.prepared(run.judgments)
        return seeds(prepared.problem, prepared.oracle)


class _Progress:
    def __init__(self, tell: Callable[[int, int], None] | None, total: int, done: int) -> None:
        self._tell, self._total, self._done = tell, total, done
        self.step(0)

    def step(self, points: int = 1) -> None:
        self._done += points
        if self._tell is not None:
            self._tell(self._done, self._total)


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


def _checked_groups(groups: Any, people: Any) -> pd.Series | None:
    from fairwise.learning.inputs import group_labels

    index = people.index if isinstance(people, pd.DataFrame) else pd.RangeIndex(len(people))
    return None if groups is None else group_labels(groups, index, "groups")


def _checked_points(
    gammas: Sequence[float] | None, etas: Sequence[float | None] | None, settings: dict[str, Any]
) -> list[tuple[float, float | None]]:
    from fairwise.learning.settings import FitSettings

    points = []
    at_gammas = _GAMMAS if gammas is None else _values("gammas", gammas)
    for eta in (0.0,) if etas is None else _values("etas", etas):
        for gamma in at_gammas:
            FitSettings.of({**settings, "gamma": gamma, "eta": eta})
            points.append((float(gamma), None if eta is None else float(eta)))
    if not points:
        raise InputError("frontier needs at least one gamma and one eta.")
    return points


def _values(name: str, given: Any) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise InputError(f"{name}={shown(given)} is not allowed: give a list of numbers from 0 to 1.") from None


def _fingerprint(run: _Run, by: str) -> str:
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
        settings = checksum_of_settings(run.settings)
    except PicklingError as error:
        raise InputError(f"checkpoint= needs an estimator that can be pickled: {error.args[0]}") from None
    content.update(repr((version("fairwise"), by, run.points, settings)).encode())
    return content.hexdigest()
