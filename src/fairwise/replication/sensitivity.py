"""The paper's dynamics with other numbers of rounds, other bounds on the multipliers, and other oracles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from fairwise.auditing import frontier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwise.judgments import Judgments

    Progress = Callable[[str, int, int], None]

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
    favorable_label: Any

    def games(self, judge: Any, estimator: str, settings: Sequence[tuple[float, int, float]]) -> list[dict[str, Any]]:
        """Play one judge's games at each (gamma, rounds, bound on lambda), on one thread."""
        from threadpoolctl import threadpool_limits

        from fairwise.learning.estimator import PairwiseFairClassifier
        from fairwise.learning.preparation import make_oracle, prepare
        from fairwise.replication.dynamics import play_and_measure

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
    tasks: list[tuple[Any, str, list[tuple[float, int, float]]]] = [
        (judge, estimator, controls) for estimator in CONTROLS for judge in spread_subjects(case.judgments)
    ]
    tasks += [(judge, REGRESSION, settings) for judge in case.judgments.judges]
    found = _side_by_side("games of each subject", case.games, tasks, n_jobs, progress, prefer="processes")
    return pd.DataFrame([row for rows in found for row in rows])


def panel_games(
    case: Case, etas: Sequence[float], rounds: Sequence[int], *, n_jobs: int, progress: Progress
) -> pd.DataFrame:
    """The whole panel at gamma = 0 and each eta, for each number of rounds and bounds; the longest for equal ones."""

    def curve(n_rounds: int, lambda_bound: float, tau_bound: float) -> Any:
        found = frontier(
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
        found = found[["eta", "error", "mean_violation", "mean_excess", "max_violation"]]
        return found.assign(rounds=n_rounds, lambda_bound=lambda_bound, tau_bound=tau_bound)

    each = sorted({PAPER_ROUNDS, *rounds})
    tasks = [task for task in product(each, BOUNDS, BOUNDS) if task[0] <= LONG or task[1] == task[2]]
    found: list[pd.DataFrame] = _side_by_side("games of the panel", curve, tasks, n_jobs, progress, prefer="threads")
    return pd.concat(found, ignore_index=True)


def spread_subjects(judgments: Judgments, most: int = CONTROL_SUBJECTS) -> list[Any]:
    """A few subjects, evenly spread over the order of their numbers of constraints; those without any are left out."""
    counts = judgments.counts().drop(columns="no_constraint").sum(axis="columns")
    ordered = counts[counts > 0].sort_values(kind="stable").index
    which = np.unique(np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int))
    return [ordered[position] for position in which]


def _side_by_side(
    part: str,
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int,
    progress: Progress,
    prefer: Literal["threads", "processes"],
) -> list[Any]:
    """Results in the order of the tasks."""
    from joblib import Parallel, delayed

    results = []
    progress(part, 0, len(tasks))
    for result in Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(delayed(work)(*task) for task in tasks):
        results.append(result)
        progress(part, len(results), len(tasks))
    return results
