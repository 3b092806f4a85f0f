"""What section 5 reads off its curves, and why the paper's algorithm ends above the default solver."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from fairwise.auditing.frontier import RATE
from fairwise.judgments import Judgments
from fairwise.numbers import EqualNan
from replication.study import AT_GAMMA, CONTROLS, PAPER_BOUND, PAPER_ROUNDS, REGRESSION, Study

ABOUT_16 = (14, 18)
FEW = 30  # people without label 1: a rate of fewer says little
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Correlation(EqualNan):
    """Pearson's r of ``n`` points with a 95 % interval; NaN where one side does not vary."""

    r: float
    low: float
    high: float
    n: int


def correlation(x: pd.Series, y: pd.Series) -> Correlation:
    """Pearson's r, with Fisher's interval ``tanh(artanh r ± z / sqrt(n - 3))``."""
    n = len(x)
    if n < 4 or x.std() == 0 or y.std() == 0:
        return Correlation(np.nan, np.nan, np.nan, n)
    r = float(np.corrcoef(x, y)[0, 1])
    middle = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    width = ndtri((1 + _CONFIDENCE) / 2) / np.sqrt(n - 3)
    return Correlation(r, float(np.tanh(middle - width)), float(np.tanh(middle + width)), n)


def subjects(study: Study) -> pd.DataFrame:
    """One row per subject and method: constraints, opposing, error at gamma = 0.3 and at 0, difficulty."""
    constraints = constraint_counts(study.judgments, study.outcome)
    worst = worst_error(study)
    lowest = {method: lowest_error(study, method) for method in study.unconstrained}
    lines = []
    method: Any
    judge: Any
    for (method, judge), curve in study.curves.groupby(["method", "judge"], sort=False):
        error = curve.set_index("gamma")["error"]
        lines.append(
            {
                "method": method,
                "judge": judge,
                **constraints.loc[judge].to_dict(),
                "error": float(error[AT_GAMMA]),
                "error_at_0": float(error[0.0]),
                "difficulty": difficulty(curve, worst, lowest[method]),
            }
        )
    return pd.DataFrame(lines)


def constraint_counts(judgments: Judgments, outcome: pd.Series) -> pd.DataFrame:
    """Per judge: pairs in force, and how many of them are opposing, that is, their people's true labels differ."""
    answers = judgments.counted()
    answers = answers[answers["answer"] != "no_constraint"]
    label = pd.Series(outcome.to_numpy(), index=outcome.index.map(str))
    differ = answers["a"].map(str).map(label).to_numpy() != answers["b"].map(str).map(label).to_numpy()
    tally = pd.DataFrame({"constraints": 1, "opposing": differ.astype(int)}).groupby(answers["judge"].to_numpy()).sum()
    return tally.reindex(judgments.judges, fill_value=0)


def worst_error(study: Study) -> float:
    """Of the better constant, which keeps every pairwise rule: no curve needs to be above it anywhere."""
    share = float((study.outcome == sorted(study.outcome.unique())[1]).mean())
    return min(share, 1.0 - share)


def lowest_error(study: Study, method: str) -> float:
    """Of the plain model, or of something better that the method found along a curve."""
    lowest = study.curves.loc[study.curves["method"] == method, "error"].min()
    return float(min(study.unconstrained[method], lowest))


def difficulty(curve: pd.DataFrame, worst: float, lowest: float) -> float:
    """Area between the curve and the lowest error, as a share of that under the worst-case line.

    The line goes from the constant's error at gamma = 0 to the lowest error at 1: mixtures of the two, which are always
    there. 0: the judgments cost nothing; 1: nothing better than the line was found; above 1: not even that.
    """
    if worst <= lowest:
        return np.nan
    points = curve.sort_values("gamma")
    area = float(np.trapezoid(points["error"] - lowest, points["gamma"]))
    width = float(points["gamma"].iloc[-1] - points["gamma"].iloc[0])
    return area / ((worst - lowest) * width / 2)


def spread(table: pd.DataFrame) -> tuple[float, int]:
    """Range of the errors of subjects with about 16 constraints, and how many they are."""
    alike = table.loc[table["constraints"].between(*ABOUT_16), "error"]
    return (float(alike.max() - alike.min()) if len(alike) > 1 else np.nan), len(alike)


def rate_correlations(study: Study, method: str) -> pd.DataFrame:
    """For each pair of groups: mean over subjects of r(realised gamma, difference of false positive rates).

    Also how many subjects have one (both vary), and the smaller group's number of people without label 1.
    """
    if study.groups is None:
        return pd.DataFrame(columns=pd.Index(["group", "other", "correlation", "subjects", "people", "few"]))
    curves = study.curves[study.curves["method"] == method]
    positive = sorted(study.outcome.unique())[1]
    count = study.groups[(study.outcome != positive).to_numpy()].value_counts()
    lines = []
    for group, other in combinations(sorted(study.groups.unique(), key=str), 2):
        gap = (curves[f"{RATE}{group}"] - curves[f"{RATE}{other}"]).abs()
        each = [
            correlation(curves.loc[rows.index, "max_violation"], rows).r
            for _, rows in gap.groupby(curves["judge"], sort=False)
        ]
        known = [r for r in each if np.isfinite(r)]
        people = int(min(count.get(group, 0), count.get(other, 0)))
        lines.append(
            {
                "group": group,
                "other": other,
                "correlation": float(np.mean(known)) if known else np.nan,
                "subjects": len(known),
                "people": people,
                "few": people < FEW,
            }
        )
    return pd.DataFrame(lines)


def group_rates(study: Study) -> pd.DataFrame:
    """The same for every method, one below the other."""
    return pd.concat(
        [rate_correlations(study, method).assign(method=method) for method in study.unconstrained], ignore_index=True
    )


def panel_violation_at(curve: pd.DataFrame, error: float) -> float:
    """Mean violation of the panel's "same" pairs where its curve over eta comes down to this error; NaN if never."""
    curve = curve.sort_values("eta")
    lowest_so_far = curve["error"].cummin().to_numpy()
    if lowest_so_far[-1] > error:
        return np.nan
    return float(np.interp(-error, -lowest_so_far, curve["mean_violation"]))


def panel_curve(study: Study, method: str) -> pd.DataFrame:
    return study.panel[study.panel["method"] == method]


def beside_the_paper(study: Study, method: str) -> pd.DataFrame:
    """Each point of the paper's algorithm beside one of the other methods, at the same realised violation."""
    points = study.curves.loc[study.curves["method"] == "paper", ["judge", "gamma", "max_violation", "error"]]
    points = points.rename(columns={"max_violation": "realised", "error": "paper"}).reset_index(drop=True)
    points[method] = error_at(study, method, points["judge"], points["realised"])
    return points.assign(excess=points["paper"] - points[method])


def error_at(study: Study, method: str, judges: pd.Series, violations: pd.Series) -> NDArray[np.float64]:
    """Error of a method for each of these judges, when that much violation is allowed.

    Curves of column generation are convex, so a chord between two points is attained by mixing their models.
    """
    curves = study.curves[study.curves["method"] == method].sort_values("gamma").groupby("judge", sort=False)
    errors = np.empty(len(judges))
    for judge, rows in violations.groupby(judges.to_numpy(), sort=False):
        curve = curves.get_group(judge)
        at = violations.index.get_indexer(rows.index)
        errors[at] = np.interp(rows, curve["gamma"], curve["error"])
    return errors


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
