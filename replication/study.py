"""The computations of section 5: every subject's curve by several methods, trajectories, the panel, the dynamics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from fairwise.auditing import audit, frontier
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.oracles import make_oracle
from fairwise.learning.preparation import prepare
from replication.dynamics import play_and_measure

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
GameSettings = tuple[float, int, float]
"""Gamma, rounds, and the bound on lambda."""

PAPER_ROUNDS, PAPER_BOUND = 1_000, 1.0
AT_GAMMA = 0.3  # where the paper compares subjects
BOUNDS = (0.3, 1.0, 10.0)
ROUNDS = (1_000, 10_000, 50_000)
REGRESSION = "linear-regression"
CONTROLS = ("linear", "tree")  # a stronger heuristic, and trees, whose every answer is a proven minimum
CONTROL_SUBJECTS = 3
CONTROL_ROUNDS = 10_000  # at most: these oracles are not compiled into the game
LONG = 10_000  # the panel plays more rounds than this with equal bounds only


@dataclass(frozen=True, eq=False)
class Case:
    """The people and what was said about them."""

    people: pd.DataFrame
    outcome: pd.Series
    judgments: Judgments
    favorable_label: object

    def games(self, judge: Hashable, estimator: str, settings: Sequence[GameSettings]) -> list[dict[str, object]]:
        """Play one judge's games at each (gamma, rounds, bound on lambda), on one thread."""
        with threadpool_limits(1):
            params = PairwiseFairClassifier(estimator, favorable_label=self.favorable_label).get_params(deep=False)
            prepared = prepare(params, self.people, self.outcome, self.judgments.select([judge]))
            problem, oracle = prepared.problem, prepared.oracle
            if len(problem) == 0:  # nothing to keep: there is no game
                return []
            search = (
                oracle
                if oracle.exact
                else make_oracle(replace(prepared.settings, estimator="linear"), problem.points, [], 0)
            )
            return [
                {
                    "judge": judge,
                    "oracle": estimator,
                    "gamma": gamma,
                    "rounds": n_rounds,
                    "lambda_bound": bound,
                    **asdict(
                        play_and_measure(problem.at(gamma), oracle, search, n_rounds=n_rounds, lambda_bound=bound)
                    ),
                }
                for gamma, n_rounds, bound in settings
            ]


def subject_games(
    case: Case, gammas: Sequence[float], rounds: Sequence[int], *, n_jobs: int, progress: Progress
) -> pd.DataFrame:
    """Every subject at the paper's settings and each gamma, and at gamma = 0.3 with each number of rounds and bound.

    A few subjects, spread over their numbers of constraints, also with other oracles and the same numbers of rounds.
    """
    at_03 = [(AT_GAMMA, n_rounds, bound) for n_rounds, bound in product(sorted({PAPER_ROUNDS, *rounds}), BOUNDS)]
    paper = [(gamma, PAPER_ROUNDS, PAPER_BOUND) for gamma in gammas]
    settings = list(dict.fromkeys([*paper, *at_03]))
    short = [n_rounds for n_rounds in rounds if n_rounds <= CONTROL_ROUNDS] or [PAPER_ROUNDS]
    controls = [(AT_GAMMA, n_rounds, PAPER_BOUND) for n_rounds in short]
    tasks: list[tuple[Hashable, str, list[GameSettings]]] = [
        (judge, estimator, controls) for estimator in CONTROLS for judge in spread_subjects(case.judgments)
    ]
    tasks += [(judge, REGRESSION, settings) for judge in case.judgments.judges]
    results = _side_by_side("games of each subject", case.games, tasks, n_jobs, progress, prefer="processes")
    return pd.DataFrame([row for rows in results for row in rows])


def panel_games(
    case: Case, etas: Sequence[float], rounds: Sequence[int], *, n_jobs: int, progress: Progress
) -> pd.DataFrame:
    """The whole panel at gamma = 0 and each eta, for each number of rounds and bounds; the longest for equal ones."""

    def curve(n_rounds: int, lambda_bound: float, tau_bound: float) -> pd.DataFrame:
        curve = frontier(
            case.people,
            case.outcome,
            case.judgments,
            gammas=(0.0,),
            etas=etas,
            favorable_label=case.favorable_label,
            estimator=REGRESSION,
            solver="no-regret",
            n_rounds=n_rounds,
            lambda_bound=lambda_bound,
            tau_bound=tau_bound,
        )
        curve = curve[["eta", "error", "mean_violation", "mean_excess", "max_violation"]]
        return curve.assign(rounds=n_rounds, lambda_bound=lambda_bound, tau_bound=tau_bound)

    each = sorted({PAPER_ROUNDS, *rounds})
    tasks = [task for task in product(each, BOUNDS, BOUNDS) if task[0] <= LONG or task[1] == task[2]]
    curves = _side_by_side("games of the panel", curve, tasks, n_jobs, progress, prefer="threads")
    return pd.concat(curves, ignore_index=True)


def spread_subjects(judgments: Judgments, most: int = CONTROL_SUBJECTS) -> list[Hashable]:
    """A few subjects, evenly spread over the order of their numbers of constraints; those without any are left out."""
    counts = judgments.counts().drop(columns="no_constraint").sum(axis="columns")
    ordered = counts[counts > 0].sort_values(kind="stable").index
    which = np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))
    return [ordered[position] for position in which]


def _side_by_side(
    part: str,
    work: Callable[..., Result],
    tasks: Sequence[tuple[object, ...]],
    n_jobs: int,
    progress: Progress,
    prefer: Literal["threads", "processes"],
) -> list[Result]:
    """Results in the order of the tasks."""
    results = []
    progress(part, 0, len(tasks))
    for result in Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(delayed(work)(*task) for task in tasks):
        results.append(result)
        progress(part, len(results), len(tasks))
    return results


GAMMAS = tuple(float(gamma) for gamma in np.linspace(0.0, 1.0, 11).round(1))
TRAJECTORY_GAMMAS = (0.0, 0.1, 0.3, 0.5, 0.7)
N_ETAS = 11
PANEL_METHODS = ("paper", "same_oracle", "default")

# The paper's own algorithm comes first, then its heuristic in another solver, the default, and a proven optimum.
METHODS: dict[str, dict[str, Any]] = {
    "paper": {"estimator": REGRESSION, "solver": "no-regret", "n_rounds": PAPER_ROUNDS},
    "same_oracle": {"estimator": REGRESSION},
    "default": {"estimator": "linear"},
    "proven": {"estimator": "tree", "max_depth": 2},
}
METHOD_NAMES = {
    "paper": "the paper's algorithm, 1,000 rounds",
    "same_oracle": "the paper's heuristic in column generation",
    "default": "default solver (linear thresholds)",
    "proven": "proven optimum (trees of depth 2)",
}


@dataclass(frozen=True, eq=False)
class Study:
    """Numbers of section 5, not yet compared with anything.

    ``curves`` and ``panel`` are frontiers with a column ``method``; ``trajectories`` has gamma, round, error and
    max_violation of the running average of the paper's algorithm for one ``subject``. ``games`` are those of
    :func:`~replication.study.subject_games`, ``panel_games`` those of the panel.
    """

    people: pd.DataFrame
    outcome: pd.Series
    judgments: Judgments
    groups: pd.Series | None
    favorable_label: object
    simulated: bool
    curves: pd.DataFrame
    panel: pd.DataFrame
    unconstrained: dict[str, float]
    """Least error each method found without any judgment."""

    trajectories: pd.DataFrame
    subject: Hashable
    games: pd.DataFrame
    panel_games: pd.DataFrame


def run_study(
    people: pd.DataFrame,
    outcome: pd.Series,
    judgments: Judgments,
    *,
    favorable_label: object = None,
    groups: pd.Series | None = None,
    simulated: bool,
    rounds: Sequence[int] = ROUNDS,
    n_jobs: int = 2,
    progress: Progress = lambda _task, _done, _all: None,
) -> Study:
    """Compute everything; ``progress`` gets the name of the part, how much of it is done, and how much there is.

    ``rounds`` are those of the dynamics that are compared; the paper's 1,000 are always played as well.
    """
    if not judgments.counts().drop(columns="no_constraint").to_numpy().any():
        raise InputError("no answer asks for anything: every one is no_constraint, so there is nothing to respect")

    def curves(method: str, part: str, **asked: Any) -> pd.DataFrame:
        curve = frontier(
            people,
            outcome,
            judgments,
            n_jobs=n_jobs,
            favorable_label=favorable_label,
            progress=lambda done, total: progress(f"{part}: {METHOD_NAMES[method]}", done, total),
            **METHODS[method],
            **asked,
        )
        return curve.assign(method=method)

    subjects = [curves(method, "each subject", gammas=GAMMAS, by="judge", groups=groups) for method in METHODS]
    plain = {method: PairwiseFairClassifier(**own).fit(people, outcome) for method, own in METHODS.items()}
    etas = {
        method: np.linspace(0.0, _mean_excess(plain[method], people, judgments, favorable_label), N_ETAS).tolist()
        for method in PANEL_METHODS
    }
    panel = [curves(method, "the panel", gammas=(0.0,), etas=etas[method]) for method in PANEL_METHODS]
    subject = _typical_subject(judgments)
    case = Case(people, outcome, judgments, favorable_label)
    return Study(
        people=people,
        outcome=outcome,
        judgments=judgments,
        groups=groups,
        favorable_label=favorable_label,
        simulated=simulated,
        curves=pd.concat(subjects, ignore_index=True),
        panel=pd.concat(panel, ignore_index=True),
        unconstrained={method: model.certificate_.plain_error for method, model in plain.items()},
        trajectories=_trajectories(people, outcome, judgments.select([subject]), favorable_label),
        subject=subject,
        games=subject_games(case, GAMMAS, rounds, n_jobs=n_jobs, progress=progress),
        panel_games=panel_games(case, etas["paper"], rounds, n_jobs=n_jobs, progress=progress),
    )


def _mean_excess(model: PairwiseFairClassifier, people: pd.DataFrame, judgments: Judgments, favorable: object) -> float:
    """Of a plain model at gamma = 0: beyond it, eta asks for nothing."""
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    label = None if favorable is None else int(favorable == model.classes_[1])
    overall = audit(scores, judgments, gamma=0.0, favorable_label=label).overall
    return float(overall["mean_excess"]["value"])


def _typical_subject(judgments: Judgments) -> Hashable:
    """The subject with the median number of constraints."""
    constraints = judgments.counts().drop(columns="no_constraint").sum(axis="columns").sort_values(kind="stable")
    subject: Hashable = constraints.index[len(constraints) // 2]
    return subject


def _trajectories(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments, favorable: object) -> pd.DataFrame:
    trajectories = []
    for gamma in TRAJECTORY_GAMMAS:
        model = PairwiseFairClassifier(gamma=gamma, eta=0.0, favorable_label=favorable, **METHODS["paper"])
        rounds = model.fit(people, outcome, judgments=judgments).trajectory_
        trajectories.append(rounds.reset_index()[["round", "error", "max_violation"]].assign(gamma=gamma))
    return pd.concat(trajectories, ignore_index=True)
