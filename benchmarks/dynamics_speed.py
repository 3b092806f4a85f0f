"""The paper's dynamics against a loop that refits scikit-learn's LinearRegression in every round."""

from __future__ import annotations

from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import compas
from benchmarks.plain_loop import plain_loop
from benchmarks.row import Row, median_seconds, seconds
from fairwise import PairwiseFairClassifier
from fairwise.learning.solvers.no_regret import solve_no_regret

_ROUNDS = 1000
_GAMMA = 0.3


def run() -> Row:
    judge = compas.judges()[0]
    table, outcome = compas.people()
    pairs = compas.pairs_of(judge)
    problem = compas.problem_of(judge, gamma=_GAMMA)
    place = table.index.get_indexer(pairs.people)
    arguments = compas.encoded(), outcome.to_numpy(), place[pairs.reference], place[pairs.owed]

    solution = solve_no_regret(problem, compas.regression(problem), n_rounds=_ROUNDS)
    said = compas.panel().select([judge])
    model = PairwiseFairClassifier(
        "linear-regression", solver="no-regret", n_rounds=_ROUNDS, gamma=_GAMMA, favorable_label=0
    ).fit(table, outcome, judgments=said)
    with threadpool_limits(1):  # matrices this small are slower on more
        ours = median_seconds(lambda: solve_no_regret(problem, compas.regression(problem), n_rounds=_ROUNDS), 21)
        fit = median_seconds(lambda: model.fit(table, outcome, judgments=said), 21)
        errors, violations = plain_loop(*arguments, gamma=_GAMMA, n_rounds=_ROUNDS)
        theirs = median(seconds(lambda: plain_loop(*arguments, gamma=_GAMMA, n_rounds=_ROUNDS)) for _ in range(3))

    off_error = np.abs(errors - solution.trajectory["error"])
    off_violation = np.abs(violations - solution.trajectory["max_violation"])
    same = max(off_error[-1], off_violation[-1], abs(model.certificate_.error - errors[-1])) <= 1e-6
    return Row(
        what=f"paper's dynamics, COMPAS, one simulated subject's 50 pairs ({len(problem)} ordered rows), "
        f"{_ROUNDS:,} rounds, trajectory and final error included, against a plain loop refitting LinearRegression",
        bar="≥ 120 times faster through PairwiseFairClassifier.fit, same error and violation",
        measured=f"{theirs / fit:.0f} times ({1e3 * fit:.1f} ms against {theirs:.2f} s), the game alone "
        f"{theirs / ours:.0f} times; error {solution.error:.6f} "
        f"and {errors[-1]:.6f}, violation {solution.trajectory['max_violation'][-1]:.6f} and {violations[-1]:.6f}",
        reached=bool(theirs / fit >= 120 and same),
        notes=f"Building the oracle is part of our time. gamma = {_GAMMA}, lambda_bound = 1, eta = 0, one BLAS "
        f"thread for both. Along the whole trajectory the running errors differ by at most {off_error.max():.1e}, the "
        f"running violations by {off_violation.max():.1e}.",
        ratios={"times faster than refitting": theirs / ours, "times faster through fit": theirs / fit},
    )
