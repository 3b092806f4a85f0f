"""A small town in which people get nothing, half or all of something, and a panel that answered about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier

VALUES = {"none": 0.0, "half": 0.6, "full": 1.0}


@dataclass(frozen=True, eq=False)
class Tiers:
    people: pd.DataFrame
    outcome: pd.Series
    judgments: Judgments
    model: PairwiseFairClassifier

    @property
    def loss(self) -> pd.DataFrame:
        """Too little costs more than too much."""
        return pd.DataFrame(
            {"none": [0.0, 1.0, 2.0], "half": [0.5, 0.0, 0.75], "full": [1.0, 0.5, 0.0]}, index=["none", "half", "full"]
        )

    def with_loss(self) -> Tiers:
        model = PairwiseFairClassifier("tree", gamma=0.1, label_values=VALUES, loss=self.loss)
        return replace(self, model=model.fit(self.people, self.outcome, judgments=self.judgments))


def make_tiers() -> Tiers:
    rng = np.random.default_rng(3)
    n = 120
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "income": rng.normal(2, 1, n).round(1),
            "town": rng.choice(["Aix", "Bonn"], n),
        }
    )
    need = -people["income"] + 0.02 * people["age"] + 0.6 * rng.normal(size=n) + 0.5 * (people["town"] == "Aix")
    outcome = pd.Series(np.array(["none", "half", "full"])[np.digitize(need, [-1.5, -0.4])], index=people.index)
    rows, answers = [], ["same", "a_at_least_b", "b_at_least_a", "same", "no_constraint"]
    for judge in range(5):
        for _ in range(8):
            a, b = rng.choice(n, 2, replace=False)
            rows.append({"judge": f"j{judge}", "a": a, "b": b, "answer": str(rng.choice(answers))})
    judgments = Judgments(pd.DataFrame(rows), people=people)
    model = PairwiseFairClassifier("tree", gamma=0.1, eta=0.01, label_values=VALUES)
    return Tiers(people, outcome, judgments, model.fit(people, outcome, judgments=judgments))


@pytest.fixture(scope="session")
def tiers() -> Tiers:
    return make_tiers()
