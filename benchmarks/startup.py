"""How long a fresh process takes to import the estimator, and to make its first small fit."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.row import Row

_REPEATS = 11
_IMPORT = "from fairwise import PairwiseFairClassifier"
_BASELINE = "import pandas, sklearn.base"
_ESTIMATORS = ("linear", "tree", "linear-regression")
_TIMED = """
from time import perf_counter
{before}
start = perf_counter()
{timed}
print(perf_counter() - start)
"""
_PREPARE = """
from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import make_people
people, outcome = make_people(200, 5, seed=0)
said = [{{"judge": "j", "a": 2 * k + 1, "b": 2 * k + 2, "answer": "same"}} for k in range(10)]
judgments = Judgments(said, people=people)
model = PairwiseFairClassifier("{estimator}")
"""
_FIT = "model.fit(people, outcome, judgments=judgments)"


def run() -> Row:
    in_turn = [(fresh(_IMPORT), fresh(_BASELINE)) for _ in range(_REPEATS + 1)][1:]
    ours, baseline = (median(times) for times in zip(*in_turn, strict=True))
    fits = {}
    for estimator in _ESTIMATORS:
        before = _PREPARE.format(estimator=estimator)
        fits[estimator] = median([fresh(_FIT, before) for _ in range(6)][1:])
    shown = ", ".join(f"`{estimator}` {took:.2f} s" for estimator, took in fits.items())
    return Row(
        what=f"`{_IMPORT}`; first small fit with a warm cache",
        bar="≤ 1.3 times importing pandas and sklearn.base; ≤ 1 s",
        measured=f"{ours / baseline:.2f} times ({ours:.2f} s against {baseline:.2f} s); {shown}",
        reached=ours <= 1.3 * baseline and max(fits.values()) <= 1,
        notes=f"Fresh processes in turn, timed inside, medians of {_REPEATS} and 5. The fit: 200 people, 5 features, "
        "10 judgments; the import is not part of its time.",
        ratios={"importing pandas and sklearn.base / ours": baseline / ours, "bar / first fit": 1 / max(fits.values())},
    )


def fresh(timed: str, before: str = "") -> float:
    """Seconds that these lines take in a process of their own, after the ones before."""
    script = _TIMED.format(before=before, timed=timed)
    answer = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    return float(answer.stdout)
