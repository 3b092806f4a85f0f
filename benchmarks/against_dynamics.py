"""Column generation over linear thresholds against the paper's dynamics, at the violation the dynamics realised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from benchmarks import compas
from benchmarks.row import Row, table
from fairwise.learning.solvers.no_regret import solve_no_regret

_GAMMAS = (0.1, 0.3, 0.6)
_LAMBDA_BOUNDS = (0.3, 1.0, 3.0, 10.0)
_NEARLY_KEPT = 0.02


@dataclass(frozen=True)
class Comparison:
    """One run of the dynamics, and what column generation reaches when asked for no more violation than it had."""

    gamma: float
    lambda_bound: float
    best: bool
    error: float
    violation: float
    our_error: float
    our_violation: float

    @property
    def gain(self) -> float:
        return self.error - self.our_error

    @property
    def overshoot(self) -> float:
        return self.our_violation - self.violation


def run() -> Row:
    by_judge = Parallel(n_jobs=2)(delayed(compare)(judge) for judge in compas.judges())
    everything = [comparison for comparisons in by_judge for comparison in comparisons]
    best = [comparison for comparison in everything if comparison.best]
    share, gain = _summary(best)
    overshoot = max(comparison.overshoot for comparison in everything)
    lines = []
    for gamma in _GAMMAS:
        at_gamma = [comparison for comparison in best if comparison.gamma == gamma]
        theirs, ours = (
            np.mean([getattr(comparison, name) for comparison in at_gamma]) for name in ("error", "our_error")
        )
        realised = np.mean([comparison.violation for comparison in at_gamma])
        lower, _ = _summary(at_gamma)
        lines.append([f"{gamma}", f"{realised:.3f}", f"{theirs:.4f}", f"{ours:.4f}", f"{lower:.1%}"])
    every_share, every_gain = _summary(everything)
    return Row(
        what="`linear` + column generation against the paper's dynamics at the best lambda_bound of 0.3, 1, 3, 10, "
        "compared at the realised violation of that run, 43 simulated subjects, gamma = 0.1, 0.3, 0.6",
        bar="lower error for ≥ 95 %, by ≥ 0.03 on average; own violation never above what was asked + 1e-6",
        measured=f"lower for {share:.1%} of {len(best)}, by {gain:.4f} on average; worst overshoot {overshoot:.1e}",
        reached=bool(share >= 0.95 and gain >= 0.03 and overshoot <= 1e-6),
        notes=f"The best lambda_bound for a subject and gamma: among the four runs of 1,000 rounds, the lowest error "
        f"of those whose violation is at most gamma + {_NEARLY_KEPT}; where there is none, the smallest violation. "
        f"Compared with each of the four runs instead, ours is lower for {every_share:.1%} of {len(everything)}, by "
        f"{every_gain:.4f} on average.\n\n"
        + table(["gamma", "mean realised violation", "mean error, dynamics", "mean error, ours", "ours lower"], lines),
        ratios={"error saved / bar": gain / 0.03},
    )


def compare(judge: str) -> list[Comparison]:
    problem = compas.problem_of(judge)
    oracle = compas.regression(problem)
    ours = compas.linear(problem)
    comparisons = []
    for gamma in _GAMMAS:
        runs = [solve_no_regret(problem.at(gamma), oracle, lambda_bound=bound) for bound in _LAMBDA_BOUNDS]
        errors = np.array([solution.error for solution in runs])
        violations = np.array([solution.trajectory["max_violation"][-1] for solution in runs])
        kept = violations <= gamma + _NEARLY_KEPT
        best = np.argmin(np.where(kept, errors, np.inf)) if kept.any() else np.argmin(violations)
        for number, bound in enumerate(_LAMBDA_BOUNDS):
            asked = problem.at(float(violations[number]))
            answer = ours.solve(asked)
            comparisons.append(
                Comparison(
                    gamma=gamma,
                    lambda_bound=bound,
                    best=number == best,
                    error=float(errors[number]),
                    violation=asked.gamma,
                    our_error=answer.error,
                    our_violation=compas.violation(asked, answer),
                )
            )
    return comparisons


def _summary(comparisons: list[Comparison]) -> tuple[float, float]:
    """For how many ours is lower, and by how much on average."""
    gains = np.array([comparison.gain for comparison in comparisons])
    return float(np.mean(gains > 0)), float(gains.mean())
