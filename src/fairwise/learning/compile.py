"""Compile every numba loop into its cache, so that the first real fit does not wait.

The set-up runs ``python -m fairwise.learning.compile``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fairwise.judgments import Judgments
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.large.table import LargeTable
from fairwise.learning.settings import ESTIMATORS, parity


def compile_kernels() -> None:
    """Fit tiny models that go through every compiled loop."""
    rng = np.random.default_rng(0)
    people = rng.normal(size=(60, 3))
    outcome = (people[:, 0] + rng.normal(size=60) > 0).astype(int)
    rows = [{"judge": "warm-up", "a": i, "b": i + 30, "answer": "same"} for i in range(5)]
    judgments = Judgments(rows, people=people, by="position")
    for estimator in ESTIMATORS:
        for depth in (1, 2, 3) if estimator == "tree" else (2,):
            PairwiseFairClassifier(estimator, max_depth=depth).fit(people, outcome, judgments=judgments)
    PairwiseFairClassifier("linear").fit(people, outcome)  # the cautious search is a loop of its own
    groups = PairwiseFairClassifier("tree", max_depth=1, group_constraints=[parity("dp", 0.5)])
    groups.fit(people, outcome, sensitive_features=people[:, 0] > 0)  # their sums are over other numbers
    paper = PairwiseFairClassifier("linear-regression", solver="no-regret", n_rounds=20)
    paper.fit(people, outcome, judgments=judgments)
    table = pd.DataFrame(people).rename(columns=str)
    paper.fit([table.assign(outcome=outcome)], "outcome", judgments=judgments)
    with TemporaryDirectory() as folder:  # columns of files are not to be written to, which numba compiles apart
        table.assign(outcome=outcome).to_parquet(file := Path(folder) / "people.parquet")
        paper.fit(file, "outcome", judgments=judgments)
        table.assign(outcome=outcome, who=np.arange(60)).to_parquet(file)
        paper.fit(LargeTable(file, outcome="outcome", id="who"), None, judgments=Judgments(rows))
    values, three = {0: 0, 1: 0.5, 2: 1}, outcome + (people[:, 1] > 0)
    paper.set_params(label_values=values)
    paper.fit([table.assign(outcome=three)], "outcome", judgments=judgments)
    PairwiseFairClassifier("linear", label_values=values, max_iter=2).fit(people, three, judgments=judgments)


if __name__ == "__main__":
    compile_kernels()
