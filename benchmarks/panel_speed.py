"""The whole study by the paper's dynamics: every subject, every gamma, two cores."""

from __future__ import annotations

from joblib import Parallel, delayed

from benchmarks import compas
from benchmarks.row import Row, seconds
from fairwise.learning.no_regret import solve_no_regret


def run() -> Row:
    curve(compas.judges()[0])  # load the compiled code
    took = {
        how: seconds(lambda how=how: Parallel(n_jobs=2, prefer=how)(delayed(curve)(judge) for judge in compas.judges()))
        for how in ("threads", "processes")
    }
    return Row(
        what="43 simulated subjects, 11 values of gamma each, 1,000 rounds each, 2 cores",
        bar="≤ 15 s",
        measured=f"{took['threads']:.1f} s",
        reached=took["threads"] <= 15,
        notes=f"In two threads, from the answers on: building each subject's problem and oracle is included. In two "
        f"processes, which have to start first: {took['processes']:.1f} s.",
    )


def curve(judge: str) -> list[tuple[float, float]]:
    """Error and violation of the dynamics at each gamma."""
    problem = compas.problem_of(judge)
    oracle = compas.regression(problem)
    solved = [solve_no_regret(problem.at(gamma), oracle) for gamma in compas.GAMMAS]
    return [(solution.error, float(solution.trajectory["max_violation"][-1])) for solution in solved]
