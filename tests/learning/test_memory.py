"""No fit needs more than four times its table and a gigabyte."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

_FIT = """
    import resource, sys, warnings
    import numpy as np
    import pandas as pd
    from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor

    estimator, n = sys.argv[1], int(sys.argv[2])
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.normal(size=(n, 10))).add_prefix("c")
    score = people["c0"] + 0.5 * people["c1"] + rng.normal(size=n)
    first, other = rng.permutation(n)[:1000].reshape(2, 500)
    kinds = rng.choice(["same", "a_at_least_b"], 500)
    said = pd.DataFrame({"judge": "j", "a": first, "b": other, "answer": kinds})
    asked = {"gamma": 0.1, "eta": 0.05, "time_limit": float(sys.argv[3])}
    warnings.simplefilter("ignore")
    if estimator == "amounts":
        model = PairwiseFairRegressor(larger_is_better=True, grid=8, **asked)
        model.fit(people, score, judgments=Judgments(said)).predict(people)
    else:
        model = PairwiseFairClassifier(estimator, favorable_label=1, **asked)
        model.fit(people, (score > 0).astype(int), judgments=Judgments(said)).predict_proba(people)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(peak, people.memory_usage().sum() / 2**20)
"""


def peak_and_table(estimator: str, n_people: int, time_limit: float = 1.0) -> tuple[float, float]:
    """Megabytes."""
    asked = [sys.executable, "-c", dedent(_FIT), estimator, str(n_people), str(time_limit)]
    told = subprocess.run(asked, capture_output=True, text=True, check=True)
    peak, table = map(float, told.stdout.split())
    return peak, table


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["linear", "linear-regression", "tree", "amounts"])
def test_a_fit_needs_no_more_than_four_times_its_table_and_a_gigabyte(estimator: str) -> None:
    peak, table = peak_and_table(estimator, 300_000)
    assert peak < 4 * table + 1024
