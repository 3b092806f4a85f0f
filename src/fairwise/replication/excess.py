"""Why the paper's algorithm ends above the default solver: its excess in three parts, and the regret behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.replication.measures import error_at, panel_violation_at, worst_error
from fairwise.replication.sensitivity import AT_GAMMA, CONTROLS, PAPER_BOUND, PAPER_ROUNDS, REGRESSION

if TYPE_CHECKING:
    from fairwise.replication.study import Study

PARTS = ("averaging", "same_heuristic", "stronger_search")
REGRETS = ("gap", "dual_regret", "promised", "primal_regret", "oracle_regret")
_REFERENCE = {REGRESSION: "default", "linear": "default", "tree": "proven"}


def excess_by_game(study: Study) -> pd.DataFrame:
    """Every game against the paper's heuristic, with its excess over the default solver at the same realised violation.

    It is the sum of three parts: ``averaging``, what the best weights on the very same classifiers would save;
    ``same_heuristic``, what column generation with the same oracle saves beyond that; ``stronger_search``, what the
    default's search saves beyond that.
    """
    games = study.games[study.games["oracle"] == REGRESSION].reset_index(drop=True)
    same, default = (
        error_at(study, method, games["judge"], games["max_violation"]) for method in ("same_oracle", "default")
    )
    return games.assign(
        averaging=games["error"] - games["same_classifiers"],
        same_heuristic=games["same_classifiers"] - same,
        stronger_search=same - default,
        excess=games["error"] - default,
    )


def excess_in_parts(study: Study) -> pd.DataFrame:
    """One row: means over all subjects and gammas at the paper's settings, and over how many games.

    ``above_line`` counts the games whose error is above that of mixing the plain model with a constant, at the same
    realised violation.
    """
    games = excess_by_game(study)
    games = games[(games["rounds"] == PAPER_ROUNDS) & (games["lambda_bound"] == PAPER_BOUND)]
    means = games[["error", "max_violation", *PARTS, "excess"]].mean()
    line = worst_error(study) + (study.unconstrained["paper"] - worst_error(study)) * games["max_violation"]
    above = int((games["error"] > line).sum())
    counts = {"games": len(games), "subjects": games["judge"].nunique(), "above_line": above}
    return pd.DataFrame([counts]).assign(**{str(name): value for name, value in means.items()})


def excess_by_rounds(study: Study) -> pd.DataFrame:
    """Means over all subjects at gamma = 0.3, for each bound on lambda and each number of rounds."""
    games = excess_by_game(study)
    games = games[games["gamma"] == AT_GAMMA]
    values = ["error", "max_violation", "excess", *PARTS, *REGRETS]
    grouped = games.groupby(["lambda_bound", "rounds"])
    return grouped[values].mean().assign(subjects=grouped["judge"].nunique()).reset_index()


def excess_by_oracle(study: Study) -> pd.DataFrame:
    """The same games with other oracles, for those subjects that played them all, at gamma = 0.3 and the paper's bound.

    Excess is over the best method of the oracle's own class at the same realised violation: trees over the proven
    optimum of trees, the others over the default solver.
    """
    games = study.games
    others = games[games["oracle"].isin(CONTROLS)]
    games = games[
        games["judge"].isin(others["judge"])
        & games["rounds"].isin(others["rounds"])
        & (games["gamma"] == AT_GAMMA)
        & (games["lambda_bound"] == PAPER_BOUND)
    ].reset_index(drop=True)
    reference = np.empty(len(games))
    for oracle, rows in games.groupby("oracle"):
        reference[rows.index] = error_at(study, _REFERENCE[str(oracle)], rows["judge"], rows["max_violation"])
    games = games.assign(excess=games["error"] - reference, averaging=games["error"] - games["same_classifiers"])
    grouped = games.groupby(["oracle", "rounds"])
    means = grouped[["error", "max_violation", "excess", "averaging", *REGRETS]].mean()
    return means.assign(subjects=grouped["judge"].nunique()).reindex(list(_REFERENCE), level="oracle").reset_index()


def panel_by_bounds(study: Study) -> pd.DataFrame:
    """The panel at gamma = 0: the lowest error over eta, and the mean violation that goes with it, for every setting.

    ``violation_at_plain`` is where the error comes down to that of the paper's heuristic without judgments.
    """
    plain, lines = study.unconstrained["paper"], []
    for (bound, tau, rounds), curve in study.panel_games.groupby(["lambda_bound", "tau_bound", "rounds"]):
        lowest = curve.iloc[int(curve["error"].argmin())]
        lines.append(
            {
                "lambda_bound": bound,
                "tau_bound": tau,
                "rounds": rounds,
                "lowest_error": lowest["error"],
                "mean_violation": lowest["mean_violation"],
                "violation_at_plain": panel_violation_at(curve, plain),
            }
        )
    return pd.DataFrame(lines)
