"""A hundred times more people, the same judgments: what a round costs, and how much memory a fit takes."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.memory import GIB, own_peak
from benchmarks.row import Row, seconds
from fairwise import Judgments, PairwiseFairClassifier
from fairwise.constraints.pairs import PairRows, panel_budget
from fairwise.datasets import make_people
from fairwise.learning.deduplication import merge_equal
from fairwise.learning.encoding import TableEncoder
from fairwise.learning.oracles.linear import RegressionOracle
from fairwise.learning.problem import Problem
from fairwise.learning.solvers.no_regret import play_game
from fairwise.learning.solvers.regret_bound import promise

if TYPE_CHECKING:
    from collections.abc import Callable

_FEW, _MANY, _FEATURES, _JUDGMENTS = 10_000, 1_000_000, 20, 10_000
_SHORT, _LONG, _REPEATS = 50, 350, 15


def run() -> Row:
    child = "from benchmarks.scaling import fit_many; fit_many()"
    answer = subprocess.run([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True, check=True)
    fitted = json.loads(answer.stdout)

    play_few, play_many = player(_FEW), player(_MANY)
    with threadpool_limits(1):
        rounds = [(_round_seconds(play_few), _round_seconds(play_many)) for _ in range(_REPEATS + 1)][1:]
    few, many = (median(times) for times in zip(*rounds, strict=True))
    ratio = many / few
    return Row(
        what=f"a round's time with n = {_FEW:,} and n = {_MANY:,}, the same {_JUDGMENTS:,} judgments; peak memory of "
        f"a fit at n = {_MANY:,}, {_FEATURES} features",
        bar="within 20 %; under 3 GiB",
        measured=f"{1e3 * few:.2f} ms and {1e3 * many:.2f} ms a round, ratio {ratio:.2f}; "
        f"{fitted['peak'] / GIB:.2f} GiB",
        reached=bool(abs(ratio - 1) <= 0.2 and fitted["peak"] < 3 * GIB),
        notes=f"Regression dynamics at eta = 0. A round's time is the processor time of {_LONG} rounds minus that of "
        f"{_SHORT}, over {_LONG - _SHORT}, so that the passes over everyone before and after cancel; medians of "
        f"{_REPEATS}, taken in turn. The larger table contains the smaller one's people. The fit is "
        f'`PairwiseFairClassifier("linear-regression", solver="no-regret")`, {fitted["seconds"]:.0f} s for 1,000 '
        f"rounds in a fresh process, whose peak includes the table itself ({_MANY * _FEATURES * 8 / GIB:.2f} GiB).",
        ratios={"round with few people / with many": few / many, "3 GiB / peak memory": 3 * GIB / fitted["peak"]},
    )


def people(n: int) -> tuple[pd.DataFrame, pd.Series]:
    """``n`` people, the first ``_FEW`` of them always the same."""
    first = make_people(_FEW, _FEATURES, seed=0)
    if n == _FEW:
        return first
    others = make_people(n - _FEW, _FEATURES, seed=1)
    everyone = range(1, n + 1)
    return (
        pd.concat([first[0], others[0]], ignore_index=True).set_axis(everyone),
        pd.concat([first[1], others[1]], ignore_index=True).set_axis(everyone),
    )


def judgments(table: pd.DataFrame) -> Judgments:
    """One judge calls random pairs of the first people the same."""
    draw = np.random.default_rng(0)
    pairs = np.sort([draw.choice(_FEW, 2, replace=False) + 1 for _ in range(_JUDGMENTS + _JUDGMENTS // 10)], axis=1)
    pairs = np.unique(pairs, axis=0)
    a, b = draw.permutation(pairs)[:_JUDGMENTS].T
    return Judgments({"judge": ["simulated"] * len(a), "a": a, "b": b, "answer": ["same"] * len(a)}, people=table)


def player(n: int) -> Callable[[int], object]:
    """A function that plays so many rounds on a table of ``n`` people."""
    table, outcome = people(n)
    pairs = PairRows.from_judgments(judgments(table))
    encoder = TableEncoder.learn(table, np.ones(n), scaled=True)
    judged = encoder.encode(table.loc[pairs.people])
    placed = merge_equal(encoder.encode(table), outcome.to_numpy(), np.ones(n), judged)
    budget = panel_budget(pairs, 0.0, "answers")
    problem = Problem.build(placed.points, placed.judged, pairs, [budget], sign=1.0, gamma=0.3)
    terms = RegressionOracle(problem.points.rows, problem.points.multiplicity).regression_terms(problem)
    assert terms is not None

    def play(n_rounds: int) -> object:
        plan = promise(len(problem), lambda_bound=1.0, tau_bound=1.0, n_rounds=n_rounds)
        return play_game(problem, terms, plan)

    return play


def fit_many() -> None:
    """Fit a model to a million people and print seconds and peak memory; run in a process of its own."""
    table, outcome = people(_MANY)
    said = judgments(table)
    model = PairwiseFairClassifier("linear-regression", gamma=0.3, solver="no-regret")
    took = seconds(lambda: model.fit(table, outcome, judgments=said))
    print(json.dumps({"seconds": took, "peak": own_peak()}))


def _round_seconds(play: Callable[[int], object]) -> float:
    clock = []
    for n_rounds in (_SHORT, _LONG):
        clock.append(process_time())
        play(n_rounds)
    short, long = np.diff([*clock, process_time()])
    return float(long - short) / (_LONG - _SHORT)
