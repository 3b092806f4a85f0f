"""A large simulated panel on a large table, with default settings; in a process of its own, for its memory."""

from __future__ import annotations

import json
import subprocess
import sys
from time import perf_counter

from benchmarks.memory import GIB, own_peak
from benchmarks.row import Row
from fairwise import PairwiseFairClassifier
from fairwise.auditing import audit
from fairwise.datasets import make_people
from fairwise.learning.preparation import prepare
from fairwise.learning.solvers.column_generation import ColumnGeneration
from fairwise.learning.solvers.no_regret import seeds
from fairwise.simulation import simulate_panel

_PEOPLE, _FEATURES, _JUDGES, _PAIRS = 100_000, 20, 1_000, 100
_LONGER = 10
_SECONDS = 8
_WITHIN = 0.003


def run() -> Row:
    command = [sys.executable, "-c", "from benchmarks.large_panel import fit_once; fit_once()"]
    fitted = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    difference = fitted["error"] - fitted["longer_error"]
    return Row(
        what=f"{_JUDGES:,} simulated judges, {_PAIRS} pairs each, on {_PEOPLE:,} people with {_FEATURES} features; eta "
        "= half the unconstrained mean_excess; default settings",
        bar=f"≤ {_SECONDS} s, < 4 GiB; error within {_WITHIN} of a run ten times as long",
        measured=f"{fitted['seconds']:.1f} s, {fitted['peak'] / GIB:.2f} GiB; {difference:.4f} above a run of "
        f"{fitted['longer_seconds'] / fitted['seconds']:.0f} times its length",
        reached=fitted["seconds"] <= _SECONDS and fitted["peak"] < 4 * GIB and difference <= _WITHIN,
        notes=f"The unconstrained model has error {fitted['plain_error']:.4f} and mean_excess "
        f"{fitted['plain_excess']:.4f}; the fit has error {fitted['error']:.4f} at half of it. Peak memory of the "
        f"whole process, the table and the panel included. The search ended with certificate_.stopped = "
        f"{fitted['stopped']!r}, {fitted['left']:.4f} above what its oracle found nothing below. The longer run asks "
        f"the same solver to go on for {fitted['longer_seconds']:.0f} s.",
        ratios={"bar / seconds": _SECONDS / fitted["seconds"], "4 GiB / peak memory": 4 * GIB / fitted["peak"]},
    )


def fit_once() -> None:
    """Print what was measured as JSON."""
    people, outcome = make_people(_PEOPLE, _FEATURES, 0)
    judgments = simulate_panel(people, n_judges=_JUDGES, n_pairs=_PAIRS, seed=0)
    plain = PairwiseFairClassifier(gamma=0.0, eta=None, favorable_label=1).fit(people, outcome)
    scores = people.assign(score=plain.predict_proba(people)[:, 1])["score"]
    found = audit(scores, judgments, gamma=0.0, favorable_label=1).overall["mean_excess"]
    excess = float(found["value"])

    model = PairwiseFairClassifier(gamma=0.0, eta=excess / 2, favorable_label=1)
    start = perf_counter()
    model.fit(people, outcome, judgments=judgments)
    took = perf_counter() - start
    peak = own_peak()

    prepared = prepare(model.get_params(deep=False), people, outcome, judgments, None, None)
    solver = ColumnGeneration(prepared.problem, prepared.oracle, seeds(prepared.problem, prepared.oracle))
    start = perf_counter()
    while (left := _LONGER * took - (perf_counter() - start)) > 0:
        longer = solver.solve(tol=model.tol, time_limit=left)  # goes on from all it has found
    print(
        json.dumps(
            {
                "plain_error": plain.certificate_.error,
                "plain_excess": excess,
                "seconds": took,
                "peak": peak,
                "error": model.certificate_.error,
                "left": model.certificate_.error - model.certificate_.oracle_bound,
                "stopped": model.certificate_.stopped,
                "longer_error": longer.error,
                "longer_seconds": perf_counter() - start,
            }
        )
    )
