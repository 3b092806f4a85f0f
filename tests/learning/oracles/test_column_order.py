"""Labels that come with an answer are those of the classifiers that are kept, whatever the order of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from fairwise import PairwiseFairClassifier
from fairwise.learning.deduplication import merge_equal
from fairwise.learning.oracles import make_oracle
from fairwise.learning.settings import FitSettings

LINEAR = FitSettings.of(PairwiseFairClassifier("linear").get_params(deep=False))


@pytest.mark.parametrize("seed", range(8))
def test_labels_are_those_of_the_translated_classifiers(seed: int) -> None:
    """On small tables of few levels, where many scores are nothing but rounding."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        rows = (rng.integers([4, 3, 2, 3], size=(40, 4)) - [1.5, 1.0, 0.5, 1.0]) / [1.1, 0.7, 0.3, 0.9]
        placed = merge_equal(rows, rng.integers(2, size=40), np.ones(40), rows[:12])
        oracle = make_oracle(LINEAR, placed.points, [], 0, placed.judged)
        warm = oracle.best_response(placed.points.error_cost)
        for _ in range(6):
            cost = placed.points.error_cost.copy()
            cost[placed.judged] += rng.choice([-0.1, 0.0, 0.1], size=12)
            answer = oracle.best_responses(cost, warm)
            known = oracle.known_labels(answer)
            assert known is None or np.array_equal(known, answer.labels(placed.points.rows))
            warm = warm.joined(answer)
            varied = oracle.variations(cost, np.inf, 32)
            assert varied is not None
            found, labels = varied
            assert np.array_equal(labels, found.labels(placed.points.rows))
