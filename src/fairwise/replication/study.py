"""The computations of section 5: every subject's curve by several methods, trajectories, the panel, the dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import audit, frontier
from fairwise.errors import InputError
from fairwise.replication.sensitivity import PAPER_ROUNDS, REGRESSION, ROUNDS, Case, panel_games, subject_games

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier

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
    :func:`~fairwise.replication.sensitivity.subject_games`, ``panel_games`` those of the panel.
    """

    people: pd.DataFrame
    outcome: pd.Series
    judgments: Judgments
    groups: pd.Series | None
    favorable_label: Any
    simulated: bool
    curves: pd.DataFrame
    panel: pd.DataFrame
    unconstrained: dict[str, float]
    """Least error each method found without any judgment."""

    trajectories: pd.DataFrame
    subject: Any
    games: pd.DataFrame
    panel_games: pd.DataFrame


def run_study(
    people: pd.DataFrame,
    outcome: pd.Series,
    judgments: Judgments,
    *,
    favorable_label: Any = None,
    groups: pd.Series | None = None,
    simulated: bool,
    rounds: Sequence[int] = ROUNDS,
    n_jobs: int = 2,
    progress: Callable[[str, int, int], None] = lambda _task, _done, _all: None,
) -> Study:
    """Compute everything; ``progress`` gets the name of the part, how much of it is done, and how much there is.

    ``rounds`` are those of the dynamics that are compared; the paper's 1,000 are always played as well.
    """
    if not judgments.counts().drop(columns="no_constraint").to_numpy().any():
        raise InputError("no answer asks for anything: every one is no_constraint, so there is nothing to respect")

    def curves(method: str, part: str, **asked: Any) -> pd.DataFrame:
        found = frontier(
            people,
            outcome,
            judgments,
            n_jobs=n_jobs,
            favorable_label=favorable_label,
            progress=lambda done, total: progress(f"{part}: {METHOD_NAMES[method]}", done, total),
            **METHODS[method],
            **asked,
        )
        return found.assign(method=method)

    subjects = [curves(method, "each subject", gammas=GAMMAS, by="judge", groups=groups) for method in METHODS]
    plain = {method: _plain(people, outcome, method) for method in METHODS}
    etas = {
        method: np.linspace(0.0, _mean_excess(plain[method], people, judgments, favorable_label), N_ETAS).tolist()
        for method in PANEL_METHODS
    }
    panel = [curves(method, "the panel", gammas=(0.0,), etas=etas[method]) for method in PANEL_METHODS]
    subject = _typical(judgments)
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


def _plain(people: pd.DataFrame, outcome: pd.Series, method: str) -> PairwiseFairClassifier:
    from fairwise.learning.estimator import PairwiseFairClassifier

    return PairwiseFairClassifier(**METHODS[method]).fit(people, outcome)


def _mean_excess(model: PairwiseFairClassifier, people: pd.DataFrame, judgments: Judgments, favorable: Any) -> float:
    """Of a plain model at gamma = 0: beyond it, eta asks for nothing."""
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    label = None if favorable is None else int(favorable == model.classes_[1])
    overall = audit(scores, judgments, gamma=0.0, favorable_label=label).overall
    return float(overall["mean_excess"]["value"])


def _typical(judgments: Judgments) -> Any:
    """The subject with the median number of constraints."""
    constraints = judgments.counts().drop(columns="no_constraint").sum(axis="columns").sort_values(kind="stable")
    return constraints.index[len(constraints) // 2]


def _trajectories(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments, favorable: Any) -> pd.DataFrame:
    from fairwise.learning.estimator import PairwiseFairClassifier

    found = []
    for gamma in TRAJECTORY_GAMMAS:
        model = PairwiseFairClassifier(gamma=gamma, eta=0.0, favorable_label=favorable, **METHODS["paper"])
        rounds = model.fit(people, outcome, judgments=judgments).trajectory_
        found.append(rounds.reset_index()[["round", "error", "max_violation"]].assign(gamma=gamma))
    return pd.concat(found, ignore_index=True)
