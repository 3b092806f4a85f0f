"""The small town of the three decisions, in which people get a sum of money, and a panel that answered about them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pytest
from tests.support.three_decisions import make_tiers

from fairwise import Judgments, PairwiseFairRegressor


@dataclass(frozen=True, eq=False)
class Sums:
    people: pd.DataFrame
    outcome: pd.Series
    judgments: Judgments
    model: PairwiseFairRegressor


def make_sums() -> Sums:
    tiers = make_tiers()
    people, judgments = tiers.people, tiers.judgments
    outcome = (100 * people["income"].clip(0, 5) + people["age"]).rename("sum")
    model = PairwiseFairRegressor(gamma=0.1, max_depth=1, outcome_range=(0, 600), larger_is_better=True)
    return Sums(people, outcome, judgments, model.fit(people, outcome, judgments=judgments))


@pytest.fixture(scope="session")
def sums() -> Sums:
    return make_sums()
