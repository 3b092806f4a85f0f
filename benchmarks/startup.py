"""How long a fresh process takes to import the estimator, and to make its first small fit."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

from benchmarks.row import Row

_REPEATS = 11
_BAR = 0.5
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
    in_turn = [(fresh("import fairwise"), fresh(_IMPORT), fresh(_BASELINE)) for _ in range(_REPEATS + 1)][1:]
    package, ours, baseline = (median(times) for times in zip(*in_turn, strict=True))
    fits = {}
    for estimator in _ESTIMATORS:
        before = _PREPARE.format(estimator=estimator)
        fits[estimator] = median([fresh(_FIT, before) for _ in range(_REPEATS + 1)][1:])
    slowest = package + max(fits.values())
    shown = ", ".join(f"`{estimator}` {took:.2f} s" for estimator, took in fits.items())
    return Row(
        what="`import fairwise` plus first small fit after set-up",
        bar=f"≤ {_BAR} s where pandas and scikit-learn are loaded; `{_IMPORT}` ≤ 1.3 times importing these",
        measured=f"{package:.3f} s, and {shown}; {ours / baseline:.2f} times ({ours:.2f} s against {baseline:.2f} s)",
        reached=slowest <= _BAR and ours <= 1.3 * baseline,
        notes=f"Fresh processes in turn, timed inside, medians of {_REPEATS}. The fit: 200 people, 5 features, "
        "10 judgments, compiled code in its cache. `import fairwise` loads nothing else; the estimator loads pandas "
        "and scikit-learn, which whoever fits anything has loaded, so their time is beside the sum and not in it. More "
        "than half of a first fit of linear thresholds is numba's own loading.",
        ratios={
            "importing pandas and sklearn.base / ours": baseline / ours,
            "bar / import and first fit": _BAR / slowest,
        },
    )


def fresh(timed: str, before: str = "") -> float:
    """Seconds that these lines take in a process of their own, after the ones before; modules are compiled once."""
    script = _TIMED.format(before=before, timed=timed)
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    answer = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    return float(answer.stdout)
